package policy

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/glob"
)

// A Tool is a row of the table: what a call of the tool needs. It is plain
// data, so that a [Manifest] can hold it.
type Tool struct {
	_ struct{}

	// Name is the exact name of the tool, in case and space too.
	Name string `yaml:"name"`
	// Capability is what a call needs if no action matches. The zero value is Write.
	Capability Capability `yaml:"capability"`
	// Scopes are all required. None: every authenticated caller may call.
	Scopes []string `yaml:"scopes,flow"`
	// Actions are tried in order. The first that matches a call's arguments decides
	// its capability and scopes, instead of the two fields above.
	Actions []Action `yaml:"actions,omitempty"`
	// Target names the argument that the audit log gives as the call's target.
	Target string `yaml:"target,omitempty"`
	// Limit bounds all calls of the tool together. SessionLimit bounds those of one
	// caller: its sessions count together, so a new session does not start anew.
	// Nil: that of Options.
	Limit, SessionLimit *Limit `yaml:"-"`
	// Unlimited is for a tool that makes things safe, such as one that ends all
	// faults. No limit, no confirmation rule and no failing audit log stops it.
	// Mode and scopes still apply.
	Unlimited bool `yaml:"-"`
	// Failure makes the structured output of a call that the gate refuses or ends,
	// in the form that the tool's output schema wants; args are as they came, and may
	// be no JSON. Nil: such a result has its text alone.
	Failure func(args json.RawMessage, e *Error) any `yaml:"-"`
	// KeepConfirm is for a tool with an argument "confirm" of its own: the gate
	// reads it and passes it on.
	KeepConfirm bool `yaml:"keep_confirm,omitempty"`
}

// An Action is a way to call a tool that needs something else than the tool in
// general. It matches a call whose argument Field, spelt exactly so, is a
// string, boolean or number among Values. Strings are compared ignoring the
// case of ASCII letters, booleans and numbers only with their own kind (the
// string "true" is not the boolean).
type Action struct {
	_ struct{}

	Field      string     `yaml:"field"`
	Values     []any      `yaml:"values,flow"` // of string, bool, int, float64
	Capability Capability `yaml:"capability"`
	Scopes     []string   `yaml:"scopes,flow"`
}

// A Confirm is a rule for calls that need a confirmation. It applies to every
// call of the tools that the pattern Tool matches (*, ? and {a,b}, as in
// "*.delete"). With a Field, it applies only to calls whose argument Field is
// among Values.
//
// In doubt a call needs confirmation. The field's name is compared ignoring
// case, and strings ignoring case and the space around them. One element of an
// array is enough, and an object always matches. A call without the field needs
// no confirmation, so a tool with a dangerous default needs a rule without a
// field.
type Confirm struct {
	_ struct{}

	Tool   string `yaml:"tool"`
	Field  string `yaml:"field,omitempty"`
	Values []any  `yaml:"values,flow,omitempty"` // of string, bool, int, float64; required with Field
}

// A row is a compiled Tool.
type row struct {
	Tool
	confirm []Confirm
}

func compile(o *Options) (map[string]*row, error) {
	problems := fields.List()
	bad := problems.Wrongf
	rows := make(map[string]*row, len(o.Tools))
	for i, t := range o.Tools {
		if t.Name == "" || t.Name != strings.TrimSpace(t.Name) {
			bad("a tool's name, without space around it", t.Name, "Tools[%d].Name", i)
		}
		if rows[t.Name] != nil {
			bad("one row a tool", t.Name, "Tools[%d].Name", i)
		}
		checkNeeds(bad, t.Capability, t.Scopes, "Tools[%d]", i)
		for j, a := range t.Actions {
			checkNeeds(bad, a.Capability, a.Scopes, "Tools[%d].Actions[%d]", i, j)
			checkField(bad, a.Field, a.Values, "Tools[%d].Actions[%d]", i, j)
		}
		t.Limit.check(bad, "Tools[%d].Limit", i)
		t.SessionLimit.check(bad, "Tools[%d].SessionLimit", i)
		if t.Unlimited && (t.Limit != nil || t.SessionLimit != nil) {
			bad("no limit of its own", "with a limit", "Tools[%d].Unlimited", i)
		}
		rows[t.Name] = &row{Tool: t}
	}
	addRules(rows, o.Confirm, problems)
	return rows, problems.Err()
}

type complain = func(allowed string, value any, field string, args ...any)

// addRules gives each row the rules that take its name. A rule that takes none
// is an error: a misspelt one would leave a tool unguarded.
func addRules(rows map[string]*row, rules []Confirm, problems *fielderror.List) {
	for i, rule := range rules {
		pattern, err := glob.Compile(rule.Tool)
		if err != nil {
			problems.Because(fmt.Sprintf("Confirm[%d].Tool", i), rule.Tool, err, "a name pattern")
			continue
		}
		if rule.Field != "" || len(rule.Values) > 0 {
			checkField(problems.Wrongf, rule.Field, rule.Values, "Confirm[%d]", i)
		}
		used := false
		for name, r := range rows {
			if pattern.Match(name) {
				used = true
				if !r.Unlimited {
					r.confirm = append(r.confirm, rule)
				}
			}
		}
		if !used {
			problems.Wrongf("a pattern that takes a tool of the table", rule.Tool, "Confirm[%d].Tool", i)
		}
	}
}

func checkNeeds(bad complain, c Capability, scopes []string, place string, args ...any) {
	if c > Read {
		bad("Write, Read", uint8(c), place+".Capability", args...)
	}
	for _, s := range scopes {
		if !plainWord(s) {
			bad("words without space and comma", s, place+".Scopes", args...)
		}
	}
}

func checkField(bad complain, field string, values []any, place string, args ...any) {
	if field == "" {
		bad("the name of an argument", nil, place+".Field", args...)
	}
	if len(values) == 0 {
		bad("at least one value", nil, place+".Values", args...)
	}
	for _, v := range values {
		switch n := v.(type) {
		case string, bool, int:
		case float64:
			if math.IsNaN(n) || math.IsInf(n, 0) {
				bad("a finite number", n, place+".Values", args...)
			}
		default:
			bad("string, bool, int, float64", fielderror.Found(fmt.Sprintf("a %T", v)), place+".Values", args...)
		}
	}
}

// plainWord reports whether s may be a scope or a subject. Spaces and commas are
// excluded, because lists are separated by them.
func plainWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == ',' || r == 0x7f })
}
