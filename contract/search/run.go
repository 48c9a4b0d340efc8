package search

import (
	"cmp"
	"encoding/json"
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
	States  []*judged
	Hits    []*hit
	Answers []uint64 // hashes of the answers to the prompts
	Again   []string // tools that were called again with equal arguments after their work was done
	Keyless []keylessCalls
	Equal   []operation // that were called several times for a prompt; kept with the hits
	shown   *shownRun   // of a run that is to be compared with another, until then; else nil
}

// A shownRun is what a run showed, call by call. Few runs have one, and a pointer is small.
type shownRun struct{ prompts []*contract.Observation }

type askRun = askFunc[*runDigest]

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
	Tries     int           // calls of its lane and target with its arguments for the prompt
	Prompt    int
	Nth       int  // its number among these, from 1
	Equal     bool // without any fault there are several of them too
	layer     chaos.Layer
}

// An operation is what a repeated try repeats.
type operation struct {
	lane, target string
	key          uint64
}

func operationOf(e *chaos.Event) operation { return operation{e.Lane, e.Target, e.Key} }

func (h *hit) Op() operation { return operation{h.Lane, h.Target, h.Key} }

// Coord are the exact coordinates of the call.
func (h *hit) Coord() when.Coord {
	return when.Coord{Lane: h.Lane, Target: h.Target, Key: h.Key, Occurrence: h.Occurrence}
}

func coordOf(e *chaos.Event) when.Coord {
	return when.Coord{Lane: e.Lane, Target: e.Target, Key: e.Key, Occurrence: e.Occurrence}
}

// keylessCalls counts calls of a tool without the idempotency key that it declares.
type keylessCalls struct {
	Tool, Pointer string
	Without, Of   int
}

// judgedBy returns what an invariant said; nil: the run was not judged by it.
func (s *runDigest) judgedBy(invariant string) *judged {
	if i := slices.IndexFunc(s.States, func(j *judged) bool { return j.Invariant == invariant }); i >= 0 {
		return s.States[i]
	}
	return nil
}

// Breaks reports whether the run broke an invariant for a reason of the shape.
func (s *runDigest) Breaks(invariant, shape string) bool {
	j := s.judgedBy(invariant)
	return j != nil && j.Broke && j.Shape == shape
}

func (s *runDigest) Broken(invariant string) bool {
	j := s.judgedBy(invariant)
	return j != nil && j.Broke
}

func (s *runDigest) Holds(invariant string) bool {
	j := s.judgedBy(invariant)
	return j != nil && j.Holds()
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
	tools  map[string]chaos.Tool
	states pool[judged]
	hits   pool[hit]
}

func newViewer(tools []chaos.Tool, shapes *shaper) *viewer {
	v := &viewer{shapes: shapes, tools: make(map[string]chaos.Tool, len(tools))}
	for _, t := range tools {
		v.tools[t.Name] = t
	}
	return v
}

// Digest is what is kept of a run: as much as detail says.
func (v *viewer) Digest(r *contract.Result, detail int) *runDigest {
	s := v.Judge(r)
	if detail == ofCalls {
		s.shown = &shownRun{r.Observations}
	}
	if detail > ofBreaks || s.Broke() {
		v.Explain(s, hitsOf(r.Observations), r.Observations)
	}
	return s
}

// Judge keeps what the invariants said of a run, and hashes of the answers.
func (v *viewer) Judge(r *contract.Result) *runDigest {
	s := &runDigest{States: make([]*judged, len(r.Cells)), Answers: make([]uint64, len(r.Observations))}
	for i := range r.Cells {
		c := &r.Cells[i]
		j := judged{Invariant: c.Cell.Invariant, State: c.State, Broke: c.Violated}
		if j.Broke {
			j.Shape, j.Why = v.shapes.shapeOf(c.Why), c.Why
		}
		s.States[i] = v.states.shared(j)
	}
	for i, o := range r.Observations {
		s.Answers[i] = hash.String(answerOf(o))
	}
	return s
}

// Explain keeps what sentences and facts are made of.
func (v *viewer) Explain(s *runDigest, hits []hit, observations []*contract.Observation) {
	s.Hits = v.shared(hits)
	s.Equal = equalCalls(observations)
	v.addEffects(s, observations)
}

func (s *runDigest) Broke() bool {
	return slices.ContainsFunc(s.States, func(j *judged) bool { return j.Broke })
}

func (v *viewer) shared(hits []hit) []*hit {
	shared := make([]*hit, len(hits))
	for i, h := range hits {
		shared[i] = v.hits.shared(h)
	}
	return shared
}

// hitsOf lists the rules that were injected, in the order of the calls.
func hitsOf(observations []*contract.Observation) (hits []hit) {
	type asked struct { // a user who asks again makes no try of it
		operation
		prompt int
	}
	tries := map[asked]int{}
	for prompt, o := range observations {
		for i := range o.Events {
			e := &o.Events[i]
			if e.Layer == "" {
				continue // InjectNow: no call
			}
			h := hit{Delivery: contract.Delivery{Target: e.Target, Lane: e.Lane, Key: e.Key, Occurrence: e.Occurrence,
				Ordinal: e.Ordinal, Attempt: e.Attempt}, Effect: e.Effect, Failed: e.Err != "", Waited: e.Asked,
				Prompt: prompt, layer: e.Layer}
			tries[asked{h.Op(), h.Prompt}]++
			h.Nth = tries[asked{h.Op(), h.Prompt}]
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
	done, again := map[operation]bool{}, map[string]bool{}
	counts := map[string]*keylessCalls{}
	for _, o := range observations {
		for i := range o.Events {
			e := &o.Events[i]
			if e.Layer != chaos.LayerTool || v.tools[e.Target].Effect != chaos.EffectDone {
				continue
			}
			op := operation{target: e.Target, key: e.Key}
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

func (v *viewer) countKey(counts map[string]*keylessCalls, e *chaos.Event) {
	pointer := v.tools[e.Target].IdempotencyKey
	if pointer == "" || len(e.Args) == 0 {
		return
	}
	k := counts[e.Target]
	if k == nil {
		k = &keylessCalls{Tool: e.Target, Pointer: pointer}
		counts[e.Target] = k
	}
	k.Of++
	if !hasKey(e.Args, pointer) {
		k.Without++
	}
}

func hasKey(args json.RawMessage, pointer string) bool {
	doc, valid := jsonedit.Parse(args)
	if !valid {
		return false
	}
	i, found := doc.Lookup(jsonedit.PointerKeys(pointer)...)
	return found && doc.IsMember(i) && doc.Kind(i) != jsonedit.Null && string(doc.Raw(i)) != `""`
}

// A pool keeps one copy of each value, for what is equal in many runs. It is safe for
// concurrent use; the zero pool is empty.
type pool[T comparable] struct {
	mu    sync.Mutex
	known map[T]*T
}

// maxPool bounds the values that are looked up: those of an agent that does not repeat
// itself may be different each time.
const maxPool = 10_000

// shared returns the copy of a value, which must not be changed.
func (p *pool[T]) shared(v T) *T {
	p.mu.Lock()
	defer p.mu.Unlock()
	if shared, ok := p.known[v]; ok {
		return shared
	}
	own := v
	if p.known == nil {
		p.known = map[T]*T{}
	}
	if len(p.known) < maxPool {
		p.known[v] = &own
	}
	return &own
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

	mu    sync.Mutex
	known map[string]string // bounded: a reason may be different each time
}

// maxShapes bounds the reasons whose shapes are remembered.
const maxShapes = 10_000

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
	return &shaper{targets: strings.NewReplacer(pairs...), known: map[string]string{}}
}

func (s *shaper) shapeOf(why string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	shape, ok := s.known[why]
	if !ok {
		shape = quoted.ReplaceAllString(why, "“”")
		shape = listed.ReplaceAllString(s.targets.Replace(shape), "$1")
		shape = numeric.ReplaceAllString(shape, "#")
		if len(s.known) < maxShapes {
			s.known[why] = shape
		}
	}
	return shape
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
