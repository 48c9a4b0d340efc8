package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

type scenarioKeys struct {
	Name             string `json:"name" doc:"its name in reports"`
	Rules            part   `json:"rules,omitempty" doc:"rules as a plan has them"`
	ToolFaults       part   `json:"tool_faults,omitempty" doc:"faults of tools"`
	LLMFaults        part   `json:"llm_faults,omitempty" doc:"faults of models"`
	ContextAttacks   part   `json:"context_attacks,omitempty" doc:"texts that come into the prompts"`
	AllowUndelivered bool   `json:"allow_undelivered,omitempty" doc:"it may deliver no fault"`
}

// The keys of the entries of each list.
type (
	entryKeys struct {
		Mode        string   `json:"mode" doc:"what goes wrong"`
		Probability *float64 `json:"probability,omitempty" bounds:"min=0,max=1" doc:"the share of calls; left out: all"`
		AfterCalls  int      `json:"after_calls,omitempty" bounds:"min=1" doc:"the first call that it is about, from 1"`
	}
	toolKeys struct {
		entryKeys
		Tool string `json:"tool" bounds:"min=1" doc:"a glob of tools; * is all of them"`
	}
	llmKeys struct {
		entryKeys
		Point string `json:"point" bounds:"min=1" doc:"a glob of the model's injection point"`
		API   string `json:"api" bounds:"enum=openai|anthropic|gemini|ollama|bedrock" doc:"the form of the model's messages"`
	}
	attackKeys struct {
		Type     string `json:"type" bounds:"enum=memory_poisoning" doc:"what is attacked"`
		Payload  string `json:"payload" bounds:"min=1" doc:"the text that comes into the prompt"`
		Strategy string `json:"strategy,omitempty" bounds:"enum=prepend|append|replace" doc:"left out: append"`
	}
)

func (l *loader) scenario(n node) (contract.Scenario, bool) {
	var keys scenarioKeys
	fits := l.r.fill(n, &keys)
	if n.Kind() != jsonedit.Object {
		return contract.Scenario{}, false
	}
	if name := n.Get("name"); name != nil && name.Kind() == jsonedit.String && !validName.MatchString(name.String()) {
		l.r.Refuse(name, "letters, digits, '.', '_' and '-'", nil)
	}
	s := contract.Scenario{Name: keys.Name, AllowUndelivered: keys.AllowUndelivered, Rules: l.rules(keys.Rules.node)}
	for _, item := range l.r.items(keys.ToolFaults.node) {
		l.entry(&s, toolFaults, item)
	}
	for _, item := range l.r.items(keys.LLMFaults.node) {
		l.entry(&s, llmFaults, item)
	}
	for _, item := range l.r.items(keys.ContextAttacks.node) {
		var attack attackKeys
		if before := s.Rewrite; l.r.fill(item, &attack) {
			s.Rewrite = func(prompt string) string {
				if before != nil {
					prompt = before(prompt)
				}
				return attack.rewrite(prompt)
			}
		}
	}
	names := map[string]int{}
	for i := range s.Rules {
		if s.Rules[i].Name == "" {
			continue
		}
		names[s.Rules[i].Name]++
		if n := names[s.Rules[i].Name]; n > 1 {
			s.Rules[i].Name = fmt.Sprintf("%s (%d)", s.Rules[i].Name, n)
		}
	}
	if l.r.ok() {
		_, err := chaos.NewPlan(0, s.Rules...)
		l.r.causes(n, err)
	}
	if keys.AllowUndelivered && len(s.Rules) == 0 && s.Rewrite == nil && l.r.ok() {
		l.r.refuse(n.Get("allow_undelivered"), "a field without a meaning in a scenario without faults", "none")
	}
	return s, fits
}

func (a *attackKeys) rewrite(prompt string) string {
	switch a.Strategy {
	case "replace":
		return a.Payload
	case "prepend":
		return a.Payload + "\n\n" + prompt
	}
	return prompt + "\n\n" + a.Payload
}

// rules reads rules as a plan has them. The problems are those of planjson, at the
// places of this file.
func (l *loader) rules(n node) []chaos.Rule {
	if n == nil {
		return nil
	}
	doc, _ := json.Marshal(map[string]json.RawMessage{"seed": []byte(`"0"`), "rules": n.JSON()})
	plan, err := planjson.Decode(doc, l.o.Plan)
	for _, err := range fielderror.Apart(err) {
		var of *planjson.Error
		if !errors.As(err, &of) {
			l.r.causes(n, err)
			continue
		}
		pointer := strings.TrimPrefix(of.Pointer, "/rules")
		line, column := l.r.Place(within(n, pointer))
		l.r.Add(&strictjson.Problem{Pointer: n.Pointer() + pointer, Line: line, Column: column,
			Reason: strictjson.Reason(of.Reason), Value: of.Value, Allowed: of.Allowed, Err: of.Err})
	}
	if err != nil {
		return nil
	}
	rules := plan.Rules()
	for i, r := range rules {
		l.reaches(n.At(i), &r)
		if l.overHTTP && r.Layer == "" && l.leads(r.Target, l.modelNames()) {
			rules[i].Layer = chaos.LayerLLM
		}
	}
	return rules
}

func (l *loader) reaches(n node, r *chaos.Rule) {
	if !l.overHTTP {
		return
	}
	target := r.Target
	g, err := glob.Compile(target)
	if err != nil || slices.ContainsFunc(l.points, g.Match) {
		return
	}
	if len(l.proxied) > 0 {
		if l.deliverable(n, r.Fault); !l.leads(target, l.proxied) {
			l.r.refuse(n, fmt.Sprintf("no proxy leads to %q, and points has no such name", target), oneOf(target, l.proxied))
		}
		return
	}
	l.r.refuse(n, "this fault cannot reach the agent, which is behind HTTP: its prompts and answers pass here, and its "+
		"calls of tools and models do not", "agent/proxies in front of its tools and its model; memory_poisoning and mutations, which change prompts; a fault of an "+
		"injection point in this process, whose name is in points; or "+inGoAllowed)
}

// inGoAllowed is what lifts the limits of an agent behind HTTP.
const inGoAllowed = "an agent that Go gives to Suite.Matrices (Options.OwnWorlds)"

// entry reads one element of a list of faults. Each key is looked at, whatever is wrong with
// the others.
func (l *loader) entry(s *contract.Scenario, list string, n node) {
	m, ok := choose(l.r, n, "mode", "", l.modes[list])
	if !ok {
		return
	}
	var tool toolKeys
	var model llmKeys
	keys, target, api := &tool.entryKeys, n.Get("tool"), chaoshttp.API("")
	params, fits := reflect.New(m.params), false
	layer := chaos.LayerTool
	if list == llmFaults {
		fits, _ = l.r.both(n, &model, params)
		keys, target, layer, api = &model.entryKeys, n.Get("point"), chaos.LayerLLM, chaoshttp.API(model.API)
	} else {
		fits, _ = l.r.both(n, &tool, params)
	}
	if !l.compiles(target) || !fits {
		return
	}
	r := chaos.Rule{Name: target.String() + ":" + m.name, Target: target.String(), When: keys.trigger(layer, target.String(), l.modelNames()),
		Fault: m.fault(api, params.Interface()), Layer: layer}
	if _, err := chaos.NewPlan(0, r); err != nil {
		l.r.causes(n, err)
		return
	}
	l.reaches(n, &r)
	s.Rules = append(s.Rules, r)
}

// compiles reports whether a text is a glob. One that is missing or empty was refused before.
func (l *loader) compiles(n node) bool {
	if n == nil || n.String() == "" {
		return false
	}
	if _, err := glob.Compile(n.String()); err != nil {
		return l.r.Refuse(n, "a glob: * for any run of characters, ? for one, [a-z], {a,b}", err)
	}
	return true
}

func (e *entryKeys) trigger(layer chaos.Layer, target string, models []string) chaos.When {
	var parts []chaos.When
	if layer == chaos.LayerTool && glob.Literal(target) != target {
		parts = append(parts, tools{models})
	}
	if e.AfterCalls > 1 {
		parts = append(parts, when.After(e.AfterCalls-1))
	}
	if e.Probability != nil {
		parts = append(parts, when.Prob(*e.Probability))
	}
	switch len(parts) {
	case 0:
		return nil
	case 1:
		return parts[0]
	}
	return when.All(parts...)
}

// tools is a trigger that matches calls of tools: neither the listing of the tools nor
// requests over HTTP, whose names a glob such as * matches too.
type tools struct {
	models []string // points of models behind proxies, where others have the model behind a #; nil: no proxies
}

// Match reports whether the target is a tool.
func (t tools) Match(c chaos.Call) bool {
	ofModel := t.models != nil && strings.Contains(c.Target, "#") || slices.Contains(t.models, c.Target)
	return c.Target != chaos.ListTarget && !strings.Contains(c.Target, " ") && !ofModel
}

// Describe names the trigger.
func (tools) Describe() chaos.Description { return chaos.Description{Kind: "tools"} }
