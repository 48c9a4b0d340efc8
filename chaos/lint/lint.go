// Package lint finds what is wrong with a plan that is well formed: rules that
// never match, and texts that reveal the test.
//
//	for _, f := range lint.Plan(plan, &lint.Options{Targets: targets}) {
//		fmt.Println(f)
//	}
//	// error: rule "late": never: the trigger matches no call
//
// [chaos.NewPlan] refuses what makes no sense by itself, such as a probability
// of 30. This package reports what makes sense and yet does not do what its
// author meant. A plan without findings may still be pointless.
//
// What a trigger matches is asked of its Match method. Which calls there are to
// try it with, and whether it leaves anything to chance, is known from what its
// Describe method returns, never from its type. A kind that is not known here is
// never reported: it might match any call, and do anything.
//
// Nothing is guessed: a trigger that is reported to match no call matches none. Not
// all such rules are found, though: none whose trigger draws. A plan of a hundred
// rules takes milliseconds; a trigger is tried with at most 65,536 calls. All
// functions are safe for concurrent use.
//
// Stability: may change.
package lint

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/telltale"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A Finding is one problem of a rule.
type Finding struct {
	Rule     string   `json:"rule"` // its name
	Code     Code     `json:"code"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"` // what is wrong, for people
}

// String returns the finding in one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s: rule %q: %s: %s", f.Severity, f.Rule, f.Code, f.Message)
}

// Severity is how bad a finding is.
type Severity string

// The severities.
const (
	Error   Severity = "error"   // the rule does nothing
	Warning Severity = "warning" // it does something else than it seems to
)

// A Code is the kind of a finding, for programs.
type Code string

// The codes.
const (
	Never         Code = "never"          // the trigger matches no call
	UnknownTarget Code = "unknown-target" // the target matches no known injection point
	TelltaleText  Code = "telltale-text"  // the text reveals that this is a test
)

// Options are what a linter may know besides the plan. The zero value means
// that nothing else is known.
type Options struct {
	_ struct{}
	// Targets are all injection points that exist; empty: unknown.
	Targets []string
}

// Plan returns the findings of a plan in the order of its rules, errors first
// within a rule; nil: there are none. o may be nil, and a nil plan has no
// rules.
func Plan(p *chaos.Plan, o *Options) []Finding {
	if p == nil {
		return nil
	}
	return Rules(p.Rules(), o)
}

// Rules is [Plan] for a list of rules in the order in which they act, names
// filled in, such as those of a live injector ([chaos.Injector.Rules]).
func Rules(rules []chaos.Rule, o *Options) []Finding {
	l := linter{Options: *cmp.Or(o, &Options{})}
	for _, r := range rules {
		l.check(r)
	}
	return l.found
}

type linter struct {
	Options
	found []Finding
}

type rule struct {
	chaos.Rule
	glob  *glob.Glob // nil: malformed
	when  trigger
	fault chaos.Description
}

func (l *linter) check(c chaos.Rule) {
	r := &rule{Rule: c, when: trigger{kind: "always"}}
	r.glob, _ = glob.Compile(r.Target)
	if d, ok := r.Fault.(chaos.Described); ok {
		r.fault = d.Describe()
	}
	if r.When != nil {
		r.when = triggerOf(r.When)
	}
	report := func(code Code, s Severity, format string, args ...any) {
		l.found = append(l.found, Finding{r.Name, code, s, fmt.Sprintf(format, args...)})
	}
	if r.glob != nil && len(l.Targets) > 0 && !slices.ContainsFunc(l.Targets, r.glob.Match) {
		report(UnknownTarget, Error, "the target %q matches no known injection point", r.Target)
	}
	if r.never() {
		report(Never, Error, "the trigger matches no call")
	}
	var params any
	_ = json.Unmarshal(r.fault.Params, &params) // no parameters have no texts
	for _, said := range texts(params) {
		if word := telltale.Find(said); word != "" {
			report(TelltaleText, Warning, "the text %q contains %q, by which a model may know that this is a test",
				text.Clip(said, 80), word)
		}
	}
}

// texts lists the strings in parameters, except those that appear only in
// reports.
func texts(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, item := range v {
			list = append(list, texts(item)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if key != "name" && key != "type" && key != "kind" {
				list = append(list, texts(v[key])...)
			}
		}
	}
	return list
}

// trigger is what a trigger's description tells of the calls to try it with: the
// numbers, times and calls that it names. Its kind is empty if the parameters
// cannot be read.
type trigger struct {
	kind    string
	chances []float64       // its probabilities
	numbers []int64         // of calls or turns
	times   []time.Duration // at which its answer may change, or that its stages last
	calls   []when.Coord    // an exact list
	parts   []trigger
}

// triggerOf reads the description of a trigger; one without is of no kind.
func triggerOf(w chaos.When) trigger {
	said, ok := w.(chaos.Described)
	if !ok {
		return trigger{}
	}
	d := said.Describe()
	if len(d.Params) == 0 {
		return trigger{kind: d.Kind}
	}
	var params map[string]any
	doc := json.NewDecoder(bytes.NewReader(d.Params))
	doc.UseNumber()
	if doc.Decode(&params) != nil {
		return trigger{}
	}
	return readTrigger(d.Kind, params)
}

func readTrigger(kind string, params map[string]any) trigger {
	t := trigger{kind: kind}
	if !t.readAll(params) {
		return trigger{}
	}
	return t
}

func (t *trigger) readAll(params map[string]any) bool {
	for name, value := range params {
		if !t.read(name, value) {
			return false
		}
	}
	return true
}

// read takes over a parameter, and reports whether it is one that triggers have.
func (t *trigger) read(name string, value any) bool {
	switch v := value.(type) {
	case json.Number:
		switch name {
		case "enter", "leave": // of a chain: what counts is what it does in its states
			return true
		case "p", "good", "bad":
			p, err := v.Float64()
			t.chances = append(t.chances, p)
			return err == nil
		}
		n, err := v.Int64()
		t.numbers = append(t.numbers, n)
		return err == nil
	case string:
		if name == "lanes" { // globs, which only Match reads
			return true
		}
		d, err := time.ParseDuration(v)
		t.times = append(t.times, d)
		return err == nil
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !t.read(name, item) })
	case map[string]any:
		switch name {
		case "stages":
			return t.readAll(v)
		case "parts", "when":
			kind, _ := v["kind"].(string)
			params, _ := v["params"].(map[string]any)
			t.parts = append(t.parts, readTrigger(kind, params))
			return true
		case "calls":
			doc, _ := json.Marshal(v) // what was decoded has JSON
			var call when.Coord
			err := json.Unmarshal(doc, &call)
			t.calls = append(t.calls, call)
			return err == nil
		}
	}
	return false
}

// all lists the trigger and its parts, and theirs.
func (t trigger) all() []trigger {
	list := []trigger{t}
	for _, part := range t.parts {
		list = append(list, part.all()...)
	}
	return list
}

// settled reports whether the coordinates of a call alone decide: nothing is
// drawn, and no trigger of the user's own or one that reads the arguments is
// asked. lanes says that the lanes of all calls that can match are known.
func (t trigger) settled(lanes bool) bool {
	switch t.kind {
	case "always", "nth", "first", "after", "every", "burst", "intermittent", "early", "mid", "late", "between",
		"since",
		"turn", "turn_between", "exactly":
		return true
	case "lane":
		return lanes
	case "prob":
		return len(t.chances) == 1 && certain(t.chances)
	case "gilbert_elliott":
		return len(t.chances) == 2 && certain(t.chances)
	case "burst_within":
		return len(t.numbers) == 2 && t.numbers[0] == t.numbers[1]
	case "all", "any", "not", "stages":
		lanes = lanes ||
			t.kind == "all" && slices.ContainsFunc(t.parts, func(part trigger) bool { return part.kind == "exactly" })
		return len(t.parts) > 0 &&
			!slices.ContainsFunc(t.parts, func(part trigger) bool { return !part.settled(lanes) })
	}
	return false
}

func certain(chances []float64) bool { return slices.Max(chances) <= 0 || slices.Min(chances) >= 1 }

// maxTried bounds how many calls a trigger is tried with.
const maxTried = 1 << 16

// A grid is the calls with which a trigger is tried: each ordinal below a number, at each
// time, in each turn, with what each of places says.
type grid struct {
	ordinals int64
	times    []time.Duration
	turns    []int
	places   []chaos.Call
}

// tooLarge reports whether the grid has more calls than are tried.
func (g grid) tooLarge() bool {
	return float64(g.ordinals)*float64(len(g.times))*float64(len(g.turns))*float64(len(g.places)) > maxTried
}

// matches reports whether the trigger matches some call of the grid.
func (g grid) matches(w chaos.When) bool {
	for ordinal := range uint64(g.ordinals) {
		for _, at := range g.times {
			for _, turn := range g.turns {
				for _, c := range g.places {
					c.Ordinal, c.Turn = ordinal, turn
					if w.Match(c.AtElapsed(at)) {
						return true
					}
				}
			}
		}
	}
	return false
}

// allCalls are calls such that the trigger answers every other call of the rule as one of
// them.
func (r *rule) allCalls() grid {
	g := grid{times: []time.Duration{0}, turns: []int{0}}
	g.places = []chaos.Call{{Target: r.Target, Lane: "\x00"}} // stands for all that no list names
	ordinals, period := int64(1), int64(1)
	for _, t := range r.when.all() {
		begin := time.Duration(0)
		for _, d := range t.times { // a time since the beginning, or since the end of the stage before
			begin += d
			g.times = append(g.times, d, begin)
		}
		for _, c := range t.calls {
			if r.could(c) {
				g.places = append(g.places,
					chaos.Call{Lane: c.Lane, Target: c.Target, Key: c.Key, Occurrence: c.Occurrence})
			}
		}
		if t.kind == "turn" || t.kind == "turn_between" {
			for _, n := range t.numbers {
				g.turns = append(g.turns, int(n-1), int(n), int(n+1))
			}
			continue
		}
		sum := int64(0)
		for _, n := range t.numbers {
			sum = min(sum+min(max(n, 0), maxTried), maxTried)
		}
		ordinals = min(ordinals+sum, maxTried)
		if t.kind == "every" || t.kind == "intermittent" {
			period = common(period, max(sum, 1))
		}
	}
	slices.Sort(g.times)
	slices.Sort(g.turns)
	g.ordinals, g.times, g.turns = ordinals+period, slices.Compact(g.times), slices.Compact(g.turns)
	return g
}

// common returns the least common multiple, at most math.MaxInt32.
func common(a, b int64) int64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return min(a/x*b, math.MaxInt32)
}

// could reports whether a call of an exact list can be one of the rule's. In a
// group no call has a key.
func (r *rule) could(c when.Coord) bool {
	return (r.glob == nil || r.glob.Match(c.Target)) && (r.Group == "" || c.Key == 0)
}

// never reports whether the rule's trigger can match no call.
func (r *rule) never() bool {
	if r.When == nil || !r.when.settled(false) {
		return false
	}
	g := r.allCalls()
	return !g.tooLarge() && !g.matches(r.When)
}

// Counts reports whether a trigger counts calls, or is combined of one that does: then
// it matters in which order the calls of a lane come. It reads the trigger's
// description; one without that counts if it is a [chaos.OrdinalWhen].
func Counts(w chaos.When) bool {
	if _, ok := w.(chaos.Described); !ok {
		_, ok = w.(chaos.OrdinalWhen)
		return ok
	}
	for _, t := range triggerOf(w).all() {
		switch t.kind {
		case "nth", "first", "after", "every", "burst", "burst_within", "intermittent", "markov", "gilbert_elliott",
			"early", "mid", "late":
			return true
		case "stages":
			return len(t.numbers) > 0 // calls that stages last
		}
	}
	return false
}
