// Package seen is what a search keeps of a run: what the invariants said, for reasons of
// which shape, which faults were delivered on which calls, and what the agent then did. It
// also compares two runs call by call. The observations themselves are not kept.
package seen

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// Run is what is kept of a run: enough to decide on it and to state facts, without
// its observations. What is equal in many runs is kept once.
type Run struct {
	States  []*Judged
	Hits    []*Hit
	Answers []uint64 // hashes of the answers to the prompts
	Again   []string // tools that were called again with equal arguments after their work was done
	Keyless []Keyless
	Trail   *Trail // of a run that is to be compared with another, until then; else nil
}

// Judged is what an invariant said of a run.
type Judged struct {
	Invariant  string
	State      contract.CellState
	Broke      bool
	Shape, Why string // if it broke; Why only where the viewer keeps reasons
}

// Holds reports whether the invariant held.
func (j *Judged) Holds() bool {
	return !j.Broke && (j.State == contract.Held || j.State == contract.Undelivered)
}

// Undecided reports whether it neither held nor broke.
func (j *Judged) Undecided() bool { return !j.Broke && !j.Holds() }

// A Hit is one rule whose fault was delivered on one call, or only injected.
type Hit struct {
	contract.Delivery
	Delivered bool
	Effect    chaos.Effect  // of the call
	Failed    bool          // the caller got an error
	Waited    time.Duration // what faults asked the call to wait
	Tries     int           // calls of its lane and target with its arguments for the prompt
	Prompt    int
	layer     chaos.Layer
}

// An Operation is what a repeated try repeats.
type Operation struct {
	lane, target string
	key          uint64
}

// Op is the operation of the call.
func (h *Hit) Op() Operation { return Operation{h.Lane, h.Target, h.Key} }

// Coord are the exact coordinates of the call.
func (h *Hit) Coord() when.Coord {
	return when.Coord{Lane: h.Lane, Target: h.Target, Key: h.Key, Occurrence: h.Occurrence}
}

// Keyless counts calls of a tool without the idempotency key that it declares.
type Keyless struct {
	Tool, Pointer string
	Without, Of   int
}

// Of returns what an invariant said; nil: the run was not judged by it.
func (s *Run) Of(invariant string) *Judged {
	if i := slices.IndexFunc(s.States, func(j *Judged) bool { return j.Invariant == invariant }); i >= 0 {
		return s.States[i]
	}
	return nil
}

// Breaks reports whether the run broke an invariant for a reason of the shape.
func (s *Run) Breaks(invariant, shape string) bool {
	j := s.Of(invariant)
	return j != nil && j.Broke && j.Shape == shape
}

// Holds reports whether an invariant held in the run.
func (s *Run) Holds(invariant string) bool {
	j := s.Of(invariant)
	return j != nil && j.Holds()
}

// DeliveredAt reports whether some fault was delivered on a call.
func (s *Run) DeliveredAt(c when.Coord) bool {
	return slices.ContainsFunc(s.Hits, func(h *Hit) bool { return h.Delivered && h.Coord() == c })
}

// Delivered are copies of the hits whose fault was delivered.
func (s *Run) Delivered() (all []Hit) {
	for _, h := range s.Hits {
		if h.Delivered {
			all = append(all, *h)
		}
	}
	return all
}

// How much is kept of a run.
const (
	// OfBreaks keeps what was delivered only if something broke: else nobody asks why.
	OfBreaks = iota
	// OfFaults keeps it anyway.
	OfFaults
	// OfCalls also keeps the trail, to compare the run with another.
	OfCalls
)

// A Viewer digests runs.
type Viewer struct {
	shapes  *Shaper
	tools   map[string]chaos.Tool
	Reasons bool // they are kept too
	states  pool[Judged]
	hits    pool[Hit]
}

// NewViewer returns one for runs with these tools.
func NewViewer(tools []chaos.Tool, shapes *Shaper) *Viewer {
	v := &Viewer{shapes: shapes, tools: make(map[string]chaos.Tool, len(tools))}
	for _, t := range tools {
		v.tools[t.Name] = t
	}
	return v
}

// Digest is what is kept of a run: as much as detail says.
func (v *Viewer) Digest(r *contract.Result, detail int) *Run {
	s := v.Judge(r)
	if detail == OfCalls {
		s.Trail = TrailOf(r.Observations)
	}
	if detail > OfBreaks || s.Broke() {
		v.Explain(s, HitsOf(r.Observations), r.Observations)
	}
	return s
}

// Judge keeps what the invariants said of a run, and hashes of the answers.
func (v *Viewer) Judge(r *contract.Result) *Run {
	s := &Run{States: make([]*Judged, len(r.Cells)), Answers: make([]uint64, len(r.Observations))}
	for i := range r.Cells {
		c := &r.Cells[i]
		j := Judged{Invariant: c.Cell.Invariant, State: c.State, Broke: c.Violated}
		if j.Broke {
			j.Shape = v.shapes.Of(c.Why)
			if v.Reasons {
				j.Why = c.Why
			}
		}
		s.States[i] = v.states.of(j)
	}
	for i, o := range r.Observations {
		s.Answers[i] = hash.String(answerOf(o))
	}
	return s
}

// Explain keeps what sentences and facts are made of.
func (v *Viewer) Explain(s *Run, hits []Hit, observations []*contract.Observation) {
	s.Hits = v.shared(hits)
	v.addEffects(s, observations)
}

// Broke reports whether the run broke any invariant.
func (s *Run) Broke() bool {
	return slices.ContainsFunc(s.States, func(j *Judged) bool { return j.Broke })
}

// shared are hits that are kept once.
func (v *Viewer) shared(hits []Hit) []*Hit {
	shared := make([]*Hit, len(hits))
	for i, h := range hits {
		shared[i] = v.hits.of(h)
	}
	return shared
}

// HitsOf lists the rules that were injected, in the order of the calls.
func HitsOf(observations []*contract.Observation) (hits []Hit) {
	type asked struct { // a user who asks again makes no try of it
		Operation
		prompt int
	}
	tries := map[asked]int{}
	for prompt, o := range observations {
		for i := range o.Events {
			e := &o.Events[i]
			if e.Layer == "" {
				continue // InjectNow: no call
			}
			h := Hit{Delivery: contract.Delivery{Target: e.Target, Lane: e.Lane, Key: e.Key, Occurrence: e.Occurrence,
				Ordinal: e.Ordinal, Attempt: e.Attempt}, Effect: e.Effect, Failed: e.Err != "", Waited: e.Asked,
				Prompt: prompt, layer: e.Layer}
			tries[asked{h.Op(), h.Prompt}]++
			if e.Rule == "" {
				continue
			}
			add := func(rule string, delivered bool) {
				own := h
				own.Rule, own.Delivered = rule, delivered
				if rule == e.Rule {
					own.Fault = e.Fault
				}
				hits = append(hits, own)
			}
			add(e.Rule, e.Delivered)
			for _, rule := range e.Also {
				add(rule, true)
			}
			for _, rule := range e.Idle {
				add(rule, false)
			}
			for _, rule := range e.Masked {
				add(rule, false)
			}
		}
	}
	for i := range hits {
		hits[i].Tries = tries[asked{hits[i].Op(), hits[i].Prompt}]
	}
	return hits
}

// addEffects looks for work that was asked for again after it was done, and for calls
// without the idempotency key that their tool declares.
func (v *Viewer) addEffects(s *Run, observations []*contract.Observation) {
	done, again := map[Operation]bool{}, map[string]bool{}
	counts := map[string]*Keyless{}
	for _, o := range observations {
		for i := range o.Events {
			e := &o.Events[i]
			if e.Layer != chaos.LayerTool || v.tools[e.Target].Effect != chaos.EffectDone {
				continue
			}
			op := Operation{target: e.Target, key: e.Key}
			if done[op] && !again[e.Target] {
				again[e.Target] = true
				s.Again = append(s.Again, e.Target)
			}
			done[op] = done[op] || e.Effect == chaos.EffectDone
			v.countKey(counts, e)
		}
	}
	for _, tool := range sortedKeys(counts) {
		s.Keyless = append(s.Keyless, *counts[tool])
	}
}

func (v *Viewer) countKey(counts map[string]*Keyless, e *chaos.Event) {
	pointer := v.tools[e.Target].IdempotencyKey
	if pointer == "" || len(e.Args) == 0 {
		return
	}
	k := counts[e.Target]
	if k == nil {
		k = &Keyless{Tool: e.Target, Pointer: pointer}
		counts[e.Target] = k
	}
	k.Of++
	if !hasKey(e.Args, pointer) {
		k.Without++
	}
}

// hasKey reports whether arguments have a value at the pointer that is not empty.
func hasKey(args json.RawMessage, pointer string) bool {
	var doc any
	if json.Unmarshal(args, &doc) != nil {
		return false
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") { // RFC 6901
		members, _ := doc.(map[string]any)
		doc = members[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	return doc != nil && doc != ""
}

// A Trail is a run call by call, for comparing it with another.
type Trail struct {
	calls   []CallMark // by lane, in order
	answers []uint64
	texts   []string // the answers
	states  []uint64 // 0: not known
	ends    []int    // the number of calls up to each answer
}

// A CallMark is one call and what its caller got.
type CallMark struct {
	lane, target string
	key          uint64
	got          uint64 // outcome and error
	result       uint64 // 0: not kept
	text         string // outcome and error, for people
}

// TrailOf is the trail of a run.
func TrailOf(observations []*contract.Observation) *Trail {
	t := &Trail{}
	for _, o := range observations {
		t.calls = append(t.calls, CallsOf(o)...)
		answer := answerOf(o)
		t.answers = append(t.answers, hash.String(answer))
		t.texts = append(t.texts, Answered(o))
		t.states = append(t.states, stateHash(o.After))
		t.ends = append(t.ends, len(t.calls))
	}
	return t
}

// CallsOf are the calls for a prompt, by lane: calls of several lanes may begin in any order.
func CallsOf(o *contract.Observation) []CallMark {
	calls := make([]CallMark, len(o.Events))
	for i := range o.Events {
		e := &o.Events[i]
		m := CallMark{lane: e.Lane, target: e.Target, key: e.Key, text: Gotten(e)}
		m.got = hash.String(m.text)
		if len(e.Result) > 0 {
			m.result = hash.Bytes(e.Result)
		}
		calls[i] = m
	}
	slices.SortStableFunc(calls, func(a, b CallMark) int { return strings.Compare(a.lane, b.lane) })
	return calls
}

// Gotten is how a call ended for its caller.
func Gotten(e *chaos.Event) string {
	if e.Err == "" {
		return string(e.Outcome)
	}
	return string(e.Outcome) + ": " + e.Err
}

// answerOf is an answer with its error.
func answerOf(o *contract.Observation) string {
	if o.Err != nil {
		return o.Response + "\x00" + usercode.ErrorText(o.Err)
	}
	return o.Response
}

// Answered is an answer for people, or the error in its place.
func Answered(o *contract.Observation) string {
	if o.Err != nil {
		return "error: " + usercode.ErrorText(o.Err)
	}
	return o.Response
}

// stateHash is a hash of a state as JSON; 0: it has none, or is not known.
func stateHash(state any) uint64 {
	if state == nil {
		return 0
	}
	doc, err := jsonvalue.Encode(state) // a state is the user's: it may have a MarshalJSON
	if err != nil {
		return 0
	}
	return hash.Bytes(doc)
}

// SameState reports whether two states are equal, or one of them is not known.
func SameState(a, b any) bool { return a == nil || b == nil || reflect.DeepEqual(a, b) }
