package search

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// runDigest is what is kept of a run: enough to decide on it and to state facts, without
// its observations. What is equal in many runs is kept once.
type runDigest struct {
	States    []*judged
	Hits      []*hit
	Answer    uint64        // a hash of the answers to the prompts; 0: there is none
	Again     []*chaos.Tool // those that were called again with equal arguments after their work was done
	Keyless   []keylessCalls
	Equal     []operation // that were called several times for a prompt; kept with the hits
	*runCalls             // of a run of a sweep, and of one that is to be compared; else nil
	*curedRun             // of a run of Cure; else nil
}

// runCalls are what a run did beside the calm run of its sweep.
type runCalls struct {
	delivered partSet
	made      []bool                  // by calm call: whether the run made it; nil if several faults were delivered
	extra     []chaos.Event           // calls that the calm run lacks, until they were looked at
	changed   string                  // the most that it changed
	shown     []*contract.Observation // of a run that is to be compared with another, until then
}

type judged struct {
	Invariant  string
	State      contract.CellState
	Broke      bool
	Shape, Why string // if it broke
}

func (j *judged) Holds() bool {
	return !j.Broke && (j.State == contract.Held || j.State == contract.Undelivered)
}

func (j *judged) Undecided() bool { return !j.Broke && !j.Holds() }

// A hit is one rule whose fault was delivered on one call, or only injected.
type hit struct {
	contract.Delivery
	Delivered bool
	Effect    chaos.Effect  // of the call
	Failed    bool          // the caller got an error
	Waited    time.Duration // what faults asked the call to wait
	Tries     int           // of the agent's: calls of its lane and target with its arguments for the prompt
	Prompt    int
	Nth       int  // its number among these and those of habits, from 1
	Equal     bool // without any fault there are several of them too
}

// An operation is what a repeated try repeats: coordinates without an occurrence.
type operation when.Coord

func operationOf(e *chaos.Event) operation {
	return operation{Lane: e.Lane, Target: e.Target, Key: e.Key}
}

func (h *hit) Op() operation { return operation{Lane: h.Lane, Target: h.Target, Key: h.Key} }

// Coord are the exact coordinates of the call.
func (h *hit) Coord() when.Coord { return coordOfDelivery(&h.Delivery) }

func coordOf(e *chaos.Event) when.Coord {
	return when.Coord{Lane: e.Lane, Target: e.Target, Key: e.Key, Occurrence: e.Occurrence}
}

func coordOfDelivery(d *contract.Delivery) when.Coord {
	return when.Coord{Lane: d.Lane, Target: d.Target, Key: d.Key, Occurrence: d.Occurrence}
}

// deliveryOn is a rule on a call.
func deliveryOn(e *chaos.Event, rule, kind string) contract.Delivery {
	return contract.Delivery{Rule: rule, Fault: kind, Target: e.Target, Lane: e.Lane, Key: e.Key,
		Occurrence: e.Occurrence, Ordinal: e.Ordinal, Attempt: e.Attempt}
}

func deliveriesOf(hits []hit) (all []contract.Delivery) {
	for _, h := range hits {
		all = append(all, h.Delivery)
	}
	return all
}

// keylessCalls counts calls of a tool without the idempotency key that it declares.
type keylessCalls struct {
	Tool, Pointer string
	Without, Of   int
}

// judgedBy is what an invariant said: not run, if the run was not judged by it.
func (s *runDigest) judgedBy(invariant string) *judged {
	if i := slices.IndexFunc(s.States, func(j *judged) bool { return j.Invariant == invariant }); i >= 0 {
		return s.States[i]
	}
	return &judged{Invariant: invariant, State: contract.NotRun}
}

// Breaks reports whether the run broke an invariant for a reason of the shape.
func (s *runDigest) Breaks(invariant, shape string) bool {
	j := s.judgedBy(invariant)
	return j.Broke && j.Shape == shape
}

func (s *runDigest) DeliveredAt(c when.Coord) bool {
	return slices.ContainsFunc(s.Hits, func(h *hit) bool { return h.Delivered && h.Coord() == c })
}

// Delivered are copies of the hits whose fault was delivered.
func (s *runDigest) Delivered() (all []hit) {
	for _, h := range s.Hits {
		if h.Delivered {
			all = append(all, *h)
		}
	}
	return all
}

// How much is kept of a run.
const (
	// ofBreaks keeps what was delivered only if something broke: else nobody asks why.
	ofBreaks = iota
	// ofFaults keeps it anyway.
	ofFaults
	// ofCalls also keeps all that was shown, to compare the run with another.
	ofCalls
)

// A viewer digests runs.
type viewer struct {
	shapes *shaper
	tools  map[string]*chaos.Tool
	states memo[judged, *judged]
	hits   memo[hit, *hit]
}

func newViewer(tools []chaos.Tool, shapes *shaper) *viewer {
	v := &viewer{shapes: shapes, tools: make(map[string]*chaos.Tool, len(tools))}
	for i := range tools {
		v.tools[tools[i].Name] = &tools[i]
	}
	return v
}

// Digest is what is kept of a run: as much as detail says.
func (v *viewer) Digest(r *contract.Result, detail int) *runDigest {
	s := v.Judge(r)
	if detail == ofCalls {
		s.runCalls = &runCalls{shown: r.Observations}
	}
	if detail > ofBreaks || s.Broke() {
		v.Explain(s, hitsOf(r.Observations), r.Observations)
	}
	return s
}

// Judge keeps what the invariants said of a run, and a hash of the answers.
func (v *viewer) Judge(r *contract.Result) *runDigest {
	s := &runDigest{States: make([]*judged, len(r.Cells))}
	for i := range r.Cells {
		c := &r.Cells[i]
		j := judged{Invariant: c.Cell.Invariant, State: c.State, Broke: c.Violated}
		if j.Broke {
			j.Shape, j.Why = v.shapes.shapeOf(c.Why), c.Why
		}
		s.States[i] = v.states.recall(j, func(j judged) *judged { return &j })
	}
	for _, o := range r.Observations {
		s.Answer = hash.Combine(s.Answer+1, hash.String(answerOf(o)))
	}
	return s
}

// Explain keeps what sentences and facts are made of.
func (v *viewer) Explain(s *runDigest, hits []hit, observations []*contract.Observation) {
	s.Hits = make([]*hit, len(hits))
	for i, h := range hits {
		s.Hits[i] = v.hits.recall(h, func(h hit) *hit { return &h })
	}
	s.Equal = equalCalls(observations)
	v.addEffects(s, observations)
}

func (s *runDigest) Broke() bool {
	return slices.ContainsFunc(s.States, func(j *judged) bool { return j.Broke })
}

// hitsOf lists the rules that were injected, in the order of the calls.
func hitsOf(observations []*contract.Observation) (hits []hit) {
	type asked struct { // a user who asks again makes no try of it
		operation
		prompt int
	}
	type count struct{ all, ofHabits int }
	tries := map[asked]count{}
	for prompt, o := range observations {
		for i := range o.Events {
			e := &o.Events[i]
			if e.Layer == "" {
				continue // InjectNow: no call
			}
			own := asked{operationOf(e), prompt}
			n := tries[own]
			if n.all++; e.Habit != "" {
				n.ofHabits++
			}
			tries[own] = n
			if e.Rule == "" {
				continue
			}
			for list, rules := range [][]string{{e.Rule}, e.Also, e.Idle, e.Masked} {
				for _, rule := range rules {
					h := hit{Delivery: deliveryOn(e, rule, ""), Delivered: list == 0 && e.Delivered || list == 1,
						Effect: e.Effect, Failed: e.Err != "", Waited: e.Asked, Prompt: prompt, Nth: n.all}
					if rule == e.Rule {
						h.Fault = e.Fault
					}
					hits = append(hits, h)
				}
			}
		}
	}
	for i := range hits {
		n := tries[asked{hits[i].Op(), hits[i].Prompt}]
		hits[i].Tries = n.all - n.ofHabits
	}
	return hits
}

// equalCalls are the operations that were called several times for one prompt.
func equalCalls(observations []*contract.Observation) (all []operation) {
	for _, o := range observations {
		times := map[operation]int{}
		for i := range o.Events {
			op := operationOf(&o.Events[i])
			if times[op]++; times[op] == 2 && o.Events[i].Layer != "" && !slices.Contains(all, op) {
				all = append(all, op)
			}
		}
	}
	return all
}

// addEffects looks for work that was asked for again after it was done, and for calls
// without the idempotency key that their tool declares.
func (v *viewer) addEffects(s *runDigest, observations []*contract.Observation) {
	done := map[operation]bool{}
	counts := map[string]keylessCalls{}
	for _, o := range observations {
		for i := range o.Events {
			e := &o.Events[i]
			tool := v.tools[e.Target]
			if e.Layer != chaos.LayerTool || tool == nil || tool.Effect != chaos.EffectDone {
				continue
			}
			op := operation{Target: e.Target, Key: e.Key}
			if done[op] && !slices.Contains(s.Again, tool) {
				s.Again = append(s.Again, tool)
			}
			done[op] = done[op] || e.Effect == chaos.EffectDone
			if tool.IdempotencyKey != "" && len(e.Args) > 0 {
				k := counts[tool.Name]
				k.Tool, k.Pointer, k.Of = tool.Name, tool.IdempotencyKey, k.Of+1
				if !jsonedit.Given(e.Args, k.Pointer) {
					k.Without++
				}
				counts[tool.Name] = k
			}
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(counts)) {
		s.Keyless = append(s.Keyless, counts[tool])
	}
}

// A memo remembers what was made of each key. It is safe for concurrent use; the zero memo is
// empty.
type memo[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]V
}

// maxMemo bounds what is remembered: the runs of an agent that does not repeat itself may be
// different each time.
const maxMemo = 10_000

func (m *memo[K, V]) recall(key K, make func(K) V) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.known[key]
	if !ok {
		v = make(key)
		if m.known == nil {
			m.known = map[K]V{}
		}
		if len(m.known) < maxMemo {
			m.known[key] = v
		}
	}
	return v
}

var (
	quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"?…?|` + "`[^`]*`…?|“[^”]*”…?")
	listed = regexp.MustCompile(`(“”|@)(?:(?:,? and |,? or |, |; )(?:“”|@))+`)
	// a number, its unit, and the rest of a duration such as 1h2m
	numeric = regexp.MustCompile(`[+-]?\d[\d.,:_]*(?:e[+-]?\d+)?` +
		`(?:\s?(?:ns|µs|ms|s|m|h|%|[KMG]i?B|B|bytes?|times?|calls?)\b)?[\dhms.µ]*`)
)

// A shaper takes out of a reason what differs from cell to cell: quoted texts, names of
// injection points, how many of either a list has, and numbers with their units. What is left
// is the shape.
type shaper struct {
	targets *strings.Replacer
	known   memo[string, string]
}

func newShaper(targets map[string]bool) *shaper {
	names := slices.SortedFunc(maps.Keys(targets), func(a, b string) int { // the longest first
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	})
	var pairs []string
	for _, name := range names {
		if len(name) > 1 {
			pairs = append(pairs, name, "@")
		}
	}
	return &shaper{targets: strings.NewReplacer(pairs...)}
}

func (s *shaper) shapeOf(why string) string {
	return s.known.recall(why, func(why string) string {
		shape := quoted.ReplaceAllString(why, "“”")
		shape = listed.ReplaceAllString(s.targets.Replace(shape), "$1")
		return numeric.ReplaceAllString(shape, "#")
	})
}
