package planjson

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/internal/strictjson"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A Capture is a run whose faults can be repeated: a plan that injects them
// into exactly the same calls, and the calls of the run. [CaptureOf] makes one;
// [Capture.Encode] and [DecodeCapture] write and read it as JSON.
// [Capture.Check] reports whether another run made the same calls.
//
// Faults that draw, such as a latency of a distribution, draw the same numbers
// again: their draws depend on seed, cell, rule name and call, which are all
// kept.
//
// The captured rules have no group, limit or cool-down, and the run's
// [chaos.Safeguards] are not kept. Their outcome is in the list of calls: a
// call on which they held a rule back is not in it. What ended faults in
// progress, such as [chaos.Injector.Disarm] or a kill switch, is not repeated.
//
// Faults that remember earlier calls get all the calls that they got, delivered
// or not, in the order of the new run. If lanes interleave in another way, they
// may remember something else.
type Capture struct {
	Cell  string
	Plan  *chaos.Plan
	Calls []CapturedCall // in the order in which they began
}

// A CapturedCall is one call of a run and the rules that were delivered on it.
type CapturedCall struct {
	when.Coord
	Delivered []string `json:"delivered,omitempty"` // names of rules, sorted
}

// String returns the call as errors show it.
func (c CapturedCall) String() string {
	s := fmt.Sprintf("%s, key %d, occurrence %d", c.Target, c.Key, c.Occurrence)
	if len(c.Delivered) > 0 {
		s += fmt.Sprintf(", delivered: %v", c.Delivered)
	}
	return s
}

// CaptureOf makes a capture of the events of one cell and their plan. Every
// call of the run must be among the events, so set
// [chaos.InjectorOptions.RecordAll] and look at [chaos.Injector.Dropped].
//
// Errors are: a gap in the calls of a lane to a target, events of several
// cells, events of rules that the plan does not have, and events of
// [chaos.Injector.InjectNow], which are not calls. All problems are joined,
// each an [*Error].
func CaptureOf(p *chaos.Plan, events []chaos.Event) (*Capture, error) {
	var found problems
	if p == nil {
		found.add(&Error{Reason: Missing, Allowed: "the plan of the run"})
		return nil, found.err()
	}
	matched := matchedCalls(events, &found)
	gaps(events, &found)
	var rules []chaos.Rule
	for _, r := range p.Rules() {
		if calls := matched[r.Name]; len(calls) > 0 {
			rules = append(rules,
				chaos.Rule{Name: r.Name, Target: r.Target, When: when.Exactly(calls...), Fault: r.Fault,
					Layer: r.Layer})
		}
		delete(matched, r.Name)
	}
	for name := range matched {
		found.add(&Error{Rule: name, Reason: BadValue, Value: "events of a rule that the plan does not have",
			Allowed: "the plan that the run was made with"})
	}
	if err := found.err(); err != nil {
		return nil, err
	}
	plan, err := chaos.NewPlan(p.Seed(), rules...)
	if err != nil {
		return nil, err
	}
	r := &Capture{Plan: plan, Calls: capturedCalls(events)}
	if len(events) > 0 {
		r.Cell = events[0].Cell
	}
	return r, nil
}

// matchedCalls lists, for each rule, the calls that it matched, delivered or
// not, since a fault may have remembered them. Calls on which the rule was held
// back are left out.
func matchedCalls(events []chaos.Event, found *problems) map[string][]when.Coord {
	matched := make(map[string][]when.Coord)
	for i, e := range events {
		at := fmt.Sprintf("event %d", i)
		if e.Layer == "" {
			found.add(&Error{Reason: BadValue, Value: at + ", of Injector.InjectNow",
				Allowed: "calls of injection points"})
		}
		if e.Cell != events[0].Cell {
			found.add(&Error{Reason: BadValue, Value: fmt.Sprintf("%s, of cell %q", at, e.Cell),
				Allowed: fmt.Sprintf("events of one cell; the first is of %q", events[0].Cell)})
		}
		for _, rule := range slices.Concat(e.Also, e.Idle, e.Masked, []string{e.Rule}) {
			if rule != "" {
				matched[rule] = append(matched[rule], coordOf(e))
			}
		}
	}
	return matched
}

// gaps refuses events that are not complete.
func gaps(events []chaos.Event, found *problems) {
	type strand struct{ lane, target string }
	ordinals := make(map[strand][]uint64)
	for _, e := range events {
		at := strand{e.Lane, e.Target}
		ordinals[at] = append(ordinals[at], e.Ordinal)
	}
	for at, seen := range ordinals {
		slices.Sort(seen)
		for i, ordinal := range seen {
			if ordinal != uint64(i) {
				found.add(&Error{Reason: Missing,
					Value:   fmt.Sprintf("the call of ordinal %d in lane %q to %q", i, at.lane, at.target),
					Allowed: "events of all calls: record from the first call on, and keep as many as there are"})
				break
			}
		}
	}
}

func capturedCalls(events []chaos.Event) []CapturedCall {
	calls := make([]CapturedCall, len(events))
	for i, e := range events {
		calls[i].Coord = coordOf(e)
		if e.Delivered {
			calls[i].Delivered = slices.Sorted(slices.Values(append(slices.Clone(e.Also), e.Rule)))
		}
	}
	return calls
}

func coordOf(e chaos.Event) when.Coord {
	return when.Coord{Lane: e.Lane, Target: e.Target, Key: e.Key, Occurrence: e.Occurrence}
}

// Injector makes an injector that repeats the faults of the captured run, in a
// cell of the same name. It records all calls, so that [Capture.Check] can
// judge them; the other settings are those of o, which may be nil. A capture
// without a plan injects nothing.
func (r *Capture) Injector(o *chaos.InjectorOptions) *chaos.Injector {
	plan := r.Plan
	plan = cmp.Or(plan, &chaos.Plan{})
	settings := chaos.InjectorOptions{}
	if o != nil {
		settings = *o
	}
	settings.RecordAll = true
	return plan.Injector(r.Cell, &settings)
}

type captureDoc struct {
	Cell  string         `json:"cell" doc:"the cell of the run, on which its draws depend"`
	Plan  planDoc        `json:"plan" doc:"the rules with the calls that they match"`
	Calls []CapturedCall `json:"calls" doc:"all calls of the run, in the order in which they began"`
}

// Encode writes the capture as JSON, under the conditions of [Encode].
func (r *Capture) Encode(o *Options) ([]byte, error) {
	doc, err := Describe(r.Plan, o)
	if err != nil {
		return nil, err
	}
	calls := r.Calls
	if calls == nil {
		calls = []CapturedCall{}
	}
	return indented(struct {
		Cell  string         `json:"cell"`
		Plan  *Plan          `json:"plan"`
		Calls []CapturedCall `json:"calls"`
	}{r.Cell, doc, calls})
}

// DecodeCapture reads what [Capture.Encode] wrote, as strictly as [Decode]. o
// may be nil.
func DecodeCapture(data []byte, o *Options) (*Capture, error) {
	t, err := o.table()
	if err != nil {
		return nil, err
	}
	b := newBinder(t)
	n := strictjson.Parse(data, t.maxBytes, &b.Problems)
	if n == nil {
		return nil, b.Err()
	}
	var doc captureDoc
	b.Bind(n, "", reflect.ValueOf(&doc).Elem(), strictjson.Tag{})
	seen := make(map[when.Coord]bool, len(doc.Calls))
	for i, c := range doc.Calls {
		if seen[c.Coord] {
			b.add(&Error{Pointer: fmt.Sprintf("/calls/%d", i), Reason: Duplicate, Value: c.String(),
				Allowed: "each call once"})
		}
		seen[c.Coord] = true
	}
	r := &Capture{Cell: doc.Cell, Calls: doc.Calls}
	if b.Count() == 0 {
		r.Plan = b.compile("/plan", doc.Plan.Seed, doc.Plan.Rules)
		b.delivered(r)
	}
	if err := b.Err(); err != nil {
		return nil, err
	}
	return r, nil
}

// delivered refuses names of rules that the plan does not have, since no replay
// could agree with them. It sorts the others, as [CaptureOf] does.
func (b *binder) delivered(r *Capture) {
	if r.Plan == nil {
		return
	}
	var names []string
	for _, rule := range r.Plan.Rules() {
		names = append(names, rule.Name)
	}
	for i, c := range r.Calls {
		for k, name := range c.Delivered {
			if !slices.Contains(names, name) {
				b.add(&Error{Pointer: fmt.Sprintf("/calls/%d/delivered/%d", i, k), Reason: BadValue,
					Value:   strictjson.Short(fmt.Sprintf("%q", name)),
					Allowed: "the name of a rule of the plan" + text.Meant(name, names)})
			}
		}
		slices.Sort(c.Delivered)
	}
}
