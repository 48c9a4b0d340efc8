package policy

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/shakedown-go/shakedown/internal/glob"
)

// A TargetLimit bounds the calls of some tools on some targets, such as calls
// that inject faults into payments. All such calls count together.
//
// In doubt a call counts: without the argument, with an argument that is no
// text, and with a pattern that may match a target of the limit (* as
// payments.*). Case is ignored.
type TargetLimit struct {
	_ struct{}

	Tool     string // pattern of tools; it has to take one of the table
	Argument string // that names the target; empty: the Target of the tool's row
	Target   string // pattern of targets
	Limit    Limit
}

type targetRule struct {
	TargetLimit
	key          string // of its bucket
	tool, target *glob.Glob
}

func compileTargets(limits []TargetLimit, rows map[string]*row, bad complain) (rules []targetRule) {
	for i, l := range limits {
		rule := targetRule{TargetLimit: l, key: fmt.Sprintf("target %d", i)}
		var err error
		if rule.target, err = glob.Compile(strings.ToLower(l.Target)); err != nil {
			bad("a pattern of targets", l.Target, "TargetLimits[%d].Target", i)
		}
		if rule.tool, err = glob.Compile(l.Tool); err != nil {
			bad("a pattern of tools", l.Tool, "TargetLimits[%d].Tool", i)
			continue
		}
		l.Limit.check(bad, "TargetLimits[%d].Limit", i)
		used := false
		for name, r := range rows {
			used = used || rule.tool.Match(name) && (l.Argument != "" || r.Target != "") && !r.Unlimited
		}
		if !used {
			bad("a pattern that takes a tool of the table with a target", l.Tool, "TargetLimits[%d].Tool", i)
		}
		rules = append(rules, rule)
	}
	return rules
}

// meets reports whether a call may be about a target of the rule.
func (t *targetRule) meets(r *row, args *arguments) bool {
	name := t.Argument
	if name == "" {
		name = r.Target
	}
	if name == "" || !t.tool.Match(r.Name) {
		return false
	}
	value, ok := args.loose(name)
	return !ok || t.mayBe(value)
}

func (t *targetRule) mayBe(value json.RawMessage) bool {
	got, _ := scalar(value)
	text, ok := got.(string)
	if !ok {
		var list []json.RawMessage
		if json.Unmarshal(value, &list) != nil || len(list) == 0 {
			return true
		}
		for _, element := range list {
			if t.mayBe(element) {
				return true
			}
		}
		return false
	}
	text = strings.ToLower(strings.TrimSpace(text))
	if t.target.Match(text) {
		return true
	}
	pattern, err := glob.Compile(text)
	return err != nil || glob.Meets(t.target, pattern)
}
