package suite

import (
	"cmp"
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
	node   node
}

// scenario reads one scenario.
func (l *loader) scenario(n node) (contract.Scenario, bool) {
	var keys scenarioKeys
	fits := l.r.fill(n, &keys, nil)
	if n.Kind != '{' {
		return contract.Scenario{}, false
	}
	if name := n.Member("name"); name != nil && name.Kind == '"' && !validName.MatchString(name.Text) {
		l.r.bad(name, "letters, digits, '.', '_' and '-'", nil)
	}
	s := contract.Scenario{Name: keys.Name, AllowUndelivered: keys.AllowUndelivered}
	l.faults(&s, n, faultKeys{keys.ToolFaults, keys.LLMFaults, keys.ContextAttacks, keys.Rules})
	if keys.AllowUndelivered && len(s.Rules) == 0 && s.Rewrite == nil && l.r.ok() {
		l.r.refuse(n.Member("allow_undelivered"), "a field without a meaning in a scenario without faults", "none")
	}
	return s, fits
}

// faults gives a scenario, which n is, its rules and its rewriting.
func (l *loader) faults(s *contract.Scenario, n node, keys faultKeys) {
	s.Rules = l.rules(keys.Rules.node)
	for _, list := range []struct {
		name string
		part part
	}{{toolFaults, keys.ToolFaults}, {llmFaults, keys.LLMFaults}, {contextAttacks, keys.ContextAttacks}} {
		for _, item := range l.r.items(list.part.node) {
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
	if l.r.ok() {
		_, err := chaos.NewPlan(0, s.Rules...)
		l.r.causes(n, err)
	}
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
		e := &Error{Problem: string(of.Reason), Value: of.Value, Allowed: of.Allowed, Err: of.Err}
		if l.r.placed(e, n.Pointer()+pointer, line, column) {
			l.r.AddError(e)
		}
	}
	if err != nil {
		return nil
	}
	rules := plan.Rules()
	for i, r := range rules {
		l.reaches(n.Kids[i], r.Target)
	}
	return rules
}

// reaches refuses a fault that cannot reach the agent of the file.
func (l *loader) reaches(n node, target string) {
	if !l.overHTTP {
		return
	}
	g, err := glob.Compile(target)
	if err != nil || slices.ContainsFunc(l.points, g.Match) {
		return
	}
	l.r.refuse(n, "this fault cannot reach the agent, which is behind HTTP: its prompts and answers pass here, and its "+
		"calls of tools and models do not", "memory_poisoning and mutations, which change prompts; a fault of an "+
		"injection point in this process, whose name is in points; or "+inGoAllowed)
}

// inGoAllowed is what lifts the limits of an agent behind HTTP.
const inGoAllowed = "an agent that Go gives to Suite.Matrices (Options.OwnWorlds)"

// entry reads one element of a list of faults.
func (l *loader) entry(s *contract.Scenario, list string, n node) {
	m, ok := l.modeOf(list, n)
	if !ok {
		return
	}
	e, params := &entry{node: n}, reflect.New(m.params)
	fits := l.keysOf(e, list, params)
	if d, is := params.Interface().(*drift); is && d.Type != "" && !slices.Contains(drifts, d.Type) {
		l.r.unknown(n.Member("drift_type"), drifts)
		fits = false
	}
	trigger, ok := l.trigger(e)
	if !fits || !ok {
		return
	}
	if m.rewrite != nil {
		rewrite, before := m.rewrite(params.Interface()), s.Rewrite
		if before == nil {
			before = func(prompt string) string { return prompt }
		}
		s.Rewrite = func(prompt string) string { return rewrite(before(prompt)) }
		return
	}
	if e.MatchURL != "" {
		s.Layer = chaos.LayerTool // for when: its rules are those of tools, at points of HTTP
	}
	r := chaos.Rule{Name: ruleName(e, m), Target: e.target, When: trigger, Fault: m.fault(e, params.Interface()),
		Layer: e.layer}
	if _, err := chaos.NewPlan(0, r); err != nil {
		l.r.causes(n, err)
		return
	}
	l.reaches(n, r.Target)
	s.Rules = append(s.Rules, r)
}

// ruleName names a rule by what it does, so that its draws stay when others come and go.
func ruleName(e *entry, m mode) string {
	return e.target + ":" + m.name
}

// modeOf finds the mode of an entry.
func (l *loader) modeOf(list string, n node) (mode, bool) {
	if n.Kind != '{' {
		return mode{}, l.r.Wrong(n, n.Pointer(), "an object")
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
	named, ok := l.name(n, key, listed(names))
	if !ok {
		return mode{}, false
	}
	i := slices.IndexFunc(l.modes, func(m mode) bool { return m.list == list && m.name == named.Text })
	if i < 0 {
		l.r.unknown(named, names)
		return mode{}, false
	}
	return l.modes[i], true
}

// name is a member that is a text and must be there.
func (l *loader) name(n node, key, allowed string) (named node, ok bool) {
	named = n.Member(key)
	switch {
	case named == nil:
		l.r.missing(n, key, allowed)
	case named.Kind != '"':
		l.r.Wrong(named, named.Pointer(), "a string")
	}
	return named, named != nil && named.Kind == '"'
}

// keysOf reads the keys of an entry, and finds what it is about. Each key is looked at,
// whatever is wrong with the others.
func (l *loader) keysOf(e *entry, list string, params reflect.Value) bool {
	n := e.node
	switch list {
	case toolFaults:
		fits, _ := l.r.both(n, &e.toolKeys, params, nil)
		e.layer = chaos.LayerTool
		return l.toolTarget(e) && fits
	case llmFaults:
		if n.Member("point") == nil || n.Member("api") == nil {
			l.r.refuse(n, "a fault of a model without its place", "point, the model's injection point, such as "+
				"POST api.openai.com/*, and api, openai or anthropic")
			return false
		}
		var keys llmKeys
		fits, _ := l.r.both(n, &keys, params, instead[llmFaults])
		e.toolKeys = toolKeys{Mode: keys.Mode, Probability: keys.Probability, AfterCalls: keys.AfterCalls}
		e.API, e.layer = keys.API, chaos.LayerLLM
		e.target = keys.Point
		return l.compiles(n.Member("point"), e.target) && fits
	}
	var keys attackKeys
	fits, _ := l.r.both(n, &keys, params, instead[contextAttacks])
	if in, ok := params.Interface().(*injection); ok {
		before := l.r.Count()
		l.r.filled(n.Member("payloads"), "one text or more", "a text that is not empty")
		fits = fits && l.r.Count() == before
		e.Probability = in.Probability
		e.Tool, e.layer = cmp.Or(in.Tool, "*"), chaos.LayerTool
		return l.toolTarget(e) && fits
	}
	return fits
}

// toolTarget is the target of an entry about tools.
func (l *loader) toolTarget(e *entry) bool {
	tool, url := e.node.Member("tool"), e.node.Member("match_url")
	switch {
	case e.Tool == "" && tool == nil && url == nil:
		l.r.missing(e.node, "tool", "a glob of tools, such as *, or match_url")
		return false
	case e.MatchURL != "" && e.Tool != "" && e.Tool != "*":
		l.r.refuse(tool, "a field without a meaning beside match_url", "tool or match_url")
		return false
	case e.MatchURL != "":
		e.target, e.layer = urlTarget(e.MatchURL), chaos.LayerHTTP // an agent without a registry has such tools too
		return l.compiles(url, e.target)
	}
	e.target = e.Tool
	return l.compiles(tool, e.target)
}

// compiles reports whether a target is a glob. One that is empty was refused before.
func (l *loader) compiles(n node, target string) bool {
	if target == "" {
		return false
	}
	if _, err := glob.Compile(target); err != nil {
		l.r.bad(n, "a glob: * for any run of characters, ? for one, [a-z], {a,b}", err)
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
			share := e.node.Member("probability")
			if share == nil {
				share = e.node.Member("trigger_probability")
			}
			l.r.bad(share, "0 to 1", nil)
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
