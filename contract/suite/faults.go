package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// scenarioKeys are what a scenario has.
type scenarioKeys struct {
	Name             string `json:"name" doc:"its name in reports"`
	Rules            part   `json:"rules,omitempty" doc:"rules as a plan has them"`
	ToolFaults       part   `json:"tool_faults,omitempty" doc:"faults of tools"`
	LLMFaults        part   `json:"llm_faults,omitempty" doc:"faults of models"`
	ContextAttacks   part   `json:"context_attacks,omitempty" doc:"attacks by what the agent reads"`
	AllowUndelivered bool   `json:"allow_undelivered,omitempty" doc:"it may deliver no fault"`
}

// faultKeys are those of the scenario that needs no name.
type faultKeys struct {
	ToolFaults     part `json:"tool_faults,omitempty"`
	LLMFaults      part `json:"llm_faults,omitempty"`
	ContextAttacks part `json:"context_attacks,omitempty"`
	Rules          part `json:"rules,omitempty"`
}

// The common keys of the entries of each list.
type (
	toolKeys struct {
		Mode        string   `json:"mode" doc:"what goes wrong"`
		Tool        string   `json:"tool,omitempty" doc:"a glob of tools; * is all of them"`
		MatchURL    string   `json:"match_url,omitempty" doc:"a glob of URLs, in place of tool: of HTTP points"`
		Probability *float64 `json:"probability,omitempty" doc:"the share of calls, 0 to 1; left out: all"`
		AfterCalls  int      `json:"after_calls,omitempty" bounds:"min=1" doc:"the first call that it is about, from 1"`
	}
	llmKeys struct {
		Mode        string   `json:"mode" doc:"what goes wrong"`
		Point       string   `json:"point" bounds:"min=1" doc:"a glob of the model's injection point"`
		API         string   `json:"api" bounds:"enum=openai|anthropic" doc:"the form of the model's messages"`
		Probability *float64 `json:"probability,omitempty" doc:"the share of calls, 0 to 1; left out: all"`
		AfterCalls  int      `json:"after_calls,omitempty" bounds:"min=1" doc:"the first call that it is about, from 1"`
	}
	attackKeys struct {
		Type string `json:"type" doc:"what is attacked"`
	}
)

// An entry is one element of a list of faults that is read.
type entry struct {
	toolKeys
	API    string
	target string
	layer  chaos.Layer
	at     string
}

// scenario reads one scenario.
func (l *loader) scenario(p part) (contract.Scenario, bool) {
	var keys scenarioKeys
	fits := l.r.fill(p, &keys, nil)
	if p.node.Kind != '{' {
		return contract.Scenario{}, false
	}
	if n := p.node.Member("name"); n != nil && n.Kind == '"' && !validName.MatchString(n.Text) {
		l.r.bad(p.at+"/name", "letters, digits, '.', '_' and '-'", nil)
	}
	s := contract.Scenario{Name: keys.Name, AllowUndelivered: keys.AllowUndelivered}
	l.faults(&s, faultKeys{keys.ToolFaults, keys.LLMFaults, keys.ContextAttacks, keys.Rules})
	if keys.AllowUndelivered && len(s.Rules) == 0 && s.Rewrite == nil && l.r.ok() {
		l.r.refuse(p.at+"/allow_undelivered", "a field without a meaning in a scenario without faults", "none")
	}
	return s, fits
}

// faults gives a scenario its rules and its rewriting.
func (l *loader) faults(s *contract.Scenario, keys faultKeys) {
	s.Rules = l.rules(keys.Rules)
	for _, list := range []struct {
		name string
		part part
	}{{toolFaults, keys.ToolFaults}, {llmFaults, keys.LLMFaults}, {contextAttacks, keys.ContextAttacks}} {
		for _, item := range l.r.items(list.part) {
			l.entry(s, list.name, item)
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
}

// rules reads rules as a plan has them. The problems are those of planjson, at the
// places of this file.
func (l *loader) rules(p part) []chaos.Rule {
	if p.node == nil {
		return nil
	}
	doc, _ := json.Marshal(map[string]json.RawMessage{"seed": []byte(`"0"`), "rules": p.node.JSON()})
	plan, err := planjson.Decode(doc, l.o.Plan)
	for _, err := range fielderror.Apart(err) {
		e, at := &Error{Err: err}, p.at
		var of *planjson.Error
		if errors.As(err, &of) {
			at = p.at + strings.TrimPrefix(of.Pointer, "/rules")
			e = &Error{Problem: string(of.Reason), Value: of.Value, Allowed: of.Allowed, Err: of.Err}
		}
		l.r.at(at, l.r.nearest(at), e)
	}
	if err != nil {
		return nil
	}
	return plan.Rules()
}

// entry reads one element of a list of faults.
func (l *loader) entry(s *contract.Scenario, list string, p part) {
	m, ok := l.modeOf(list, p)
	if !ok {
		return
	}
	e, params := &entry{at: p.at}, reflect.New(m.params)
	fits := l.keysOf(e, list, p, params)
	if d, is := params.Interface().(*drift); is && d.Type != "" && !slices.Contains(drifts, d.Type) {
		l.r.unknown(p.at+"/drift_type", d.Type, drifts)
		fits = false
	}
	trigger, ok := l.trigger(e)
	if !fits || !ok {
		return
	}
	if m.rewrite != nil {
		if before := s.Rewrite; before != nil {
			rewrite := m.rewrite(params.Interface())
			s.Rewrite = func(prompt string) string { return rewrite(before(prompt)) }
		} else {
			s.Rewrite = m.rewrite(params.Interface())
		}
		return
	}
	if e.MatchURL != "" {
		s.Layer = chaos.LayerTool // for when: its rules are those of tools, at points of HTTP
	}
	r := chaos.Rule{Name: ruleName(e, m), Target: e.target, When: trigger, Fault: m.fault(e, params.Interface()),
		Layer: e.layer}
	if _, err := chaos.NewPlan(0, r); err != nil {
		l.r.cause(p.at, err)
		return
	}
	s.Rules = append(s.Rules, r)
}

// ruleName names a rule by what it does, so that its draws stay when others come and go.
func ruleName(e *entry, m mode) string {
	return e.target + ":" + m.name
}

// modeOf finds the mode of an entry.
func (l *loader) modeOf(list string, p part) (mode, bool) {
	if p.node.Kind != '{' {
		return mode{}, l.r.Wrong(p.node, p.at, "an object")
	}
	key := "mode"
	if list == contextAttacks {
		key = "type"
	}
	var names []string
	for _, m := range l.modes {
		if m.list == list {
			names = append(names, m.name)
		}
	}
	n := p.node.Member(key)
	switch {
	case n == nil:
		l.r.refuse(p.at+"/"+key, "missing", listed(names))
		return mode{}, false
	case n.Kind != '"':
		return mode{}, l.r.Wrong(n, p.at+"/"+key, "a string")
	}
	i := slices.IndexFunc(l.modes, func(m mode) bool { return m.list == list && m.name == n.Text })
	if i < 0 {
		l.r.unknown(p.at+"/"+key, n.Text, names)
		return mode{}, false
	}
	return l.modes[i], true
}

// keysOf reads the keys of an entry, and finds what it is about. Each key is looked at,
// whatever is wrong with the others.
func (l *loader) keysOf(e *entry, list string, p part, params reflect.Value) bool {
	switch list {
	case toolFaults:
		fits, _ := l.r.both(p, &e.toolKeys, params, nil)
		e.layer = chaos.LayerTool
		return l.toolTarget(e, p.node) && fits
	case llmFaults:
		if n := p.node; n.Member("point") == nil || n.Member("api") == nil {
			l.r.at(p.at, n, &Error{Problem: "a fault of a model without its place", Allowed: "point, " +
				"the model's injection point, such as POST api.openai.com/*, and api, openai or anthropic"})
			return false
		}
		var keys llmKeys
		fits, _ := l.r.both(p, &keys, params, instead[llmFaults])
		e.toolKeys = toolKeys{Mode: keys.Mode, Probability: keys.Probability, AfterCalls: keys.AfterCalls}
		e.API, e.layer = keys.API, chaos.LayerLLM
		e.target = keys.Point
		return l.compiles(p.at+"/point", e.target) && fits
	}
	var keys attackKeys
	fits, _ := l.r.both(p, &keys, params, instead[contextAttacks])
	if in, ok := params.Interface().(*injection); ok {
		before := len(l.r.list)
		if p.node.Member("payloads") != nil {
			l.r.oneOrMore(p.at+"/payloads", "one text or more")
		}
		for i := range in.Payloads {
			l.r.visible(fmt.Sprintf("%s/payloads/%d", p.at, i), "a text that is not empty")
		}
		fits = fits && len(l.r.list) == before
		e.Probability = in.Probability
		e.Tool, e.layer = in.Tool, chaos.LayerTool
		if e.Tool == "" {
			e.Tool = "*"
		}
		return l.toolTarget(e, p.node) && fits
	}
	return fits
}

// toolTarget is the target of an entry about tools.
func (l *loader) toolTarget(e *entry, n *strictjson.Node) bool {
	switch {
	case e.Tool == "" && n.Member("tool") == nil && n.Member("match_url") == nil:
		l.r.refuse(e.at+"/tool", "missing", "a glob of tools, such as *, or match_url")
		return false
	case e.MatchURL != "" && e.Tool != "" && e.Tool != "*":
		l.r.refuse(e.at+"/tool", "a field without a meaning beside match_url", "tool or match_url")
		return false
	case e.MatchURL != "":
		e.target, e.layer = urlTarget(e.MatchURL), chaos.LayerHTTP // an agent without a registry has such tools too
		return l.compiles(e.at+"/match_url", e.target)
	}
	e.target = e.Tool
	return l.compiles(e.at+"/tool", e.target)
}

// compiles reports whether a target is a glob. One that is empty was refused before.
func (l *loader) compiles(at, target string) bool {
	if target == "" {
		return false
	}
	if _, err := glob.Compile(target); err != nil {
		l.r.bad(at, "a glob: * for any run of characters, ? for one, [a-z], {a,b}", err)
		return false
	}
	return true
}

// trigger says on which calls an entry acts.
func (l *loader) trigger(e *entry) (chaos.When, bool) {
	var parts []chaos.When
	if e.layer == chaos.LayerTool && e.MatchURL == "" && glob.Literal(e.target) != e.target {
		parts = append(parts, tools{})
	}
	if e.AfterCalls > 1 {
		parts = append(parts, when.After(e.AfterCalls-1))
	}
	if p := e.Probability; p != nil {
		if !(*p >= 0 && *p <= 1) {
			key := "probability"
			if l.r.nearest(e.at).Member(key) == nil {
				key = "trigger_probability"
			}
			l.r.bad(e.at+"/"+key, "0 to 1", nil)
			return nil, false
		}
		parts = append(parts, when.Prob(*p))
	}
	switch len(parts) {
	case 0:
		return nil, true
	case 1:
		return parts[0], true
	}
	return when.All(parts...), true
}

// tools is a trigger that matches calls of tools: neither the listing of the tools nor
// requests over HTTP, whose names a glob such as * matches too.
type tools struct{}

// Match reports whether the target is a tool.
func (tools) Match(c chaos.Call) bool {
	return c.Target != chaos.ListTarget && !strings.Contains(c.Target, " ")
}

// Describe names the trigger.
func (tools) Describe() chaos.Description { return chaos.Description{Kind: "tools"} }
