package planjson

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// A Recording is a run whose faults can be had again: a plan that strikes
// exactly the calls that were struck, and the calls of the run, by which
// [Recording.Check] tells whether another run made the same ones. [Record]
// makes one, [Recording.Encode] and [DecodeRecording] keep it as JSON.
//
// Faults that draw, such as a latency of a distribution, draw the same again:
// their draws hang on seed, cell, rule name and call, which are all kept. The
// recorded rules have no group, limit or cool-down, and the run's [chaos.Safeguards]
// are not kept: their outcome is in the list of calls, so that calls on which
// they held a rule back are not struck. What ended faults under way, as
// [chaos.Injector.Disarm] or a kill switch does, is no outcome of a call and is
// not had again. Faults that remember earlier calls are given all the calls
// that they were given, delivered or not, in the order of the new run: where
// lanes interleave in another way, what they remember may differ.
type Capture struct {
	Cell  string
	Plan  *chaos.Plan
	Calls []CapturedCall // in the order in which they began
}

// A RecordedCall is one call of a run and the rules that were delivered on it.
type CapturedCall struct {
	when.Coord
	Delivered []string `json:"delivered,omitempty"` // names of rules, sorted
}

// String is the call as errors show it.
func (c CapturedCall) String() string {
	s := fmt.Sprintf("%s, key %d, occurrence %d", c.Target, c.Key, c.Occurrence)
	if len(c.Delivered) > 0 {
		s += fmt.Sprintf(", struck by %v", c.Delivered)
	}
	return s
}

// Record makes a recording of the events of one cell and the plan they came
// from. Every call of the run must be among them, so record with
// [chaos.InjectorOptions.RecordAll] and look at [chaos.Injector.Dropped]: a gap in
// the calls of a lane to a target is an error, as are events of several cells
// and of rules that the plan does not have, and a fault that was made by
// [chaos.Injector.InjectNow], which is no call. All problems are joined.
func CaptureOf(p *chaos.Plan, events []chaos.Event) (*Capture, error) {
	var found problems
	if p == nil {
		found.add(&Error{Reason: Missing, Allowed: "the plan of the run"})
		return nil, found.err()
	}
	struck := matchedCalls(events, &found)
	gaps(events, &found)
	var rules []chaos.Rule
	for _, r := range p.Rules() {
		if calls := struck[r.Name]; len(calls) > 0 {
			rules = append(rules, chaos.Rule{Name: r.Name, Target: r.Target, When: when.Exactly(calls...), Fault: r.Fault, Layer: r.Layer})
		}
		delete(struck, r.Name)
	}
	for name := range struck {
		found.add(&Error{Rule: name, Reason: BadValue, Value: "events of a rule that the plan does not have", Allowed: "the plan that the run was made with"})
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

// strikes lists, for each rule, the calls that it was drawn on: also those on
// which it came to nothing, since a fault may have remembered them, but not those
// on which it was held back.
func matchedCalls(events []chaos.Event, found *problems) map[string][]when.Coord {
	struck := make(map[string][]when.Coord)
	for i, e := range events {
		at := fmt.Sprintf("event %d", i)
		if e.Layer == "" {
			found.add(&Error{Reason: BadValue, Value: at + ", of Injector.Trigger", Allowed: "calls of injection points"})
		}
		if e.Cell != events[0].Cell {
			found.add(&Error{Reason: BadValue, Value: fmt.Sprintf("%s, of cell %q", at, e.Cell), Allowed: fmt.Sprintf("events of one cell; the first is of %q", events[0].Cell)})
		}
		for _, rule := range slices.Concat(e.Also, e.Idle, e.Masked, []string{e.Rule}) {
			if rule != "" {
				struck[rule] = append(struck[rule], coordOf(e))
			}
		}
	}
	return struck
}

// gaps refuses events that are not all there were.
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
				found.add(&Error{Reason: Missing, Value: fmt.Sprintf("the call of ordinal %d in lane %q to %q", i, at.lane, at.target),
					Allowed: "events of all calls: record from the first on, and keep as many as there are"})
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

// Injector makes an injector that strikes as the recorded run was struck, in a
// cell of its name. It records all calls, so that [Recording.Check] can judge
// them; the other settings are those of o, which may be nil. A recording without
// a plan strikes nothing.
func (r *Capture) Injector(o *chaos.InjectorOptions) *chaos.Injector {
	plan := r.Plan
	if plan == nil {
		plan = &chaos.Plan{}
	}
	settings := chaos.InjectorOptions{}
	if o != nil {
		settings = *o
	}
	settings.RecordAll = true
	return plan.Injector(r.Cell, &settings)
}

type captureDoc struct {
	Cell  string         `json:"cell" doc:"the cell of the run, on which its draws depend"`
	Plan  planDoc        `json:"plan" doc:"the rules with the calls that they strike"`
	Calls []CapturedCall `json:"calls" doc:"all calls of the run, in the order in which they began"`
}

// Encode writes the recording as JSON. What [Encode] says of plans holds.
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

// DecodeRecording reads what [Recording.Encode] wrote, as strictly as [Decode].
func DecodeCapture(data []byte, o *Options) (*Capture, error) {
	t, err := o.table()
	if err != nil {
		return nil, err
	}
	b := &binder{table: t, problems: &problems{}}
	n := parse(data, t.maxBytes, b.problems)
	if n == nil {
		return nil, b.err()
	}
	var doc captureDoc
	b.bind(n, "", reflect.ValueOf(&doc).Elem(), tag{})
	seen := make(map[when.Coord]bool, len(doc.Calls))
	for i, c := range doc.Calls {
		if seen[c.Coord] {
			b.add(&Error{Pointer: fmt.Sprintf("/calls/%d", i), Reason: Duplicate, Value: c.String(), Allowed: "each call once"})
		}
		seen[c.Coord] = true
	}
	r := &Capture{Cell: doc.Cell, Calls: doc.Calls}
	if b.count() == 0 {
		r.Plan = b.compile("/plan", doc.Plan.Seed, doc.Plan.Rules)
		b.delivered(r)
	}
	if err := b.err(); err != nil {
		return nil, err
	}
	return r, nil
}

// delivered refuses names of rules that the plan does not have, on which no
// replay could agree, and brings the others into the order of [Record].
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
				b.add(&Error{Pointer: fmt.Sprintf("/calls/%d/delivered/%d", i, k), Reason: BadValue, Value: short(fmt.Sprintf("%q", name)),
					Allowed: "the name of a rule of the plan" + meant(name, names)})
			}
		}
		slices.Sort(c.Delivered)
	}
}
