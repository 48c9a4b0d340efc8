package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/mutate"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/scoring"
)

type loader struct {
	r        *reader
	o        Options
	folder   *os.Root // that of the file
	dir      string
	kinds    map[string]kind
	modes    map[string]map[string]mode // by list
	secrets  []string                   // what variables of the environment stand for
	overHTTP bool                       // the agent of the file is asked, over HTTP
	points   []string
	proxied  []string // the injection points of the proxies
	models   []string // those of them that are models by their paths

	ofOthers []error // the problems of files that the file names
}

func newLoader(path string, folder *os.Root, o *Options) *loader {
	l := &loader{r: newReader(path), folder: folder, dir: filepath.Dir(path), kinds: map[string]kind{},
		modes: map[string]map[string]mode{toolFaults: {}, llmFaults: {}}, o: *cmp.Or(o, &Options{})}
	for _, k := range kinds() {
		l.kinds[k.name] = k
	}
	for _, m := range modes() {
		l.modes[m.list][m.name] = m
	}
	return l
}

// ok reports whether nothing was wrong so far.
func (l *loader) ok() bool { return l.r.ok() && len(l.ofOthers) == 0 }

// suite reads the document; nil: it has no form.
func (l *loader) suite(data []byte) *Suite {
	root := l.r.parse(data)
	if root == nil {
		return nil
	}
	s := &Suite{root: root}
	if l.r.fill(root, &s.doc); root.Kind() != jsonedit.Object {
		return s
	}
	l.overHTTP, l.points = s.doc.Agent != nil && !l.o.OwnWorlds, s.doc.Points
	s.agent = l.agent(root.Get("agent"), s.doc.Agent)
	s.points = l.allPoints(s.agent)
	l.prompts(root)
	contractOf := &s.doc.Contract
	invariants := l.invariants(contractOf.Invariants.node)
	l.r.filled(contractOf.Invariants.node, "one invariant or more", "")
	l.scenarios(s)
	l.mutations(s, invariants)
	l.sessions(s)
	s.weights = l.weights(s.doc.Scoring.node)
	if l.ok() {
		l.apply(s, invariants)
	}
	if l.ok() {
		l.validate(s)
	}
	return s
}

// prompts holds prompts, points and the name to what they may be.
func (l *loader) prompts(root node) {
	prompts := root.Get("golden_prompts")
	if prompts == nil {
		l.r.Missing(root, "golden_prompts", "one prompt or more")
	}
	l.r.filled(prompts, "one prompt or more", "a text that is not empty")
	if points := root.Get("points"); points != nil && points.Len() > 0 {
		l.r.filled(points, "", "the name of an injection point")
	}
	l.r.visible(within(root, "/contract/name"), "a name")
}

func (l *loader) scenarios(s *Suite) {
	first := map[string]node{}
	list := s.doc.Contract.Scenarios.node
	for _, item := range l.r.items(list) {
		sc, ok := l.scenario(item)
		if ok {
			l.unique(first, sc.Name, member(item, "name"))
			s.scenarios = append(s.scenarios, sc)
		}
	}
	l.r.filled(list, "one scenario or more", "")
}

func (l *loader) mutations(s *Suite, invariants []asked) {
	p := s.doc.Mutations
	if p == nil {
		return
	}
	o := &mutate.Options{Seed: s.doc.Advanced.Seed, Variants: p.Count, Own: l.o.Mutators}
	n, names := s.root.Get("mutations"), mutationNames()
	if types := n.Get("types"); types != nil {
		l.r.filled(types, "one type or more", "a kind or a group of mutations")
		for i, name := range p.Types {
			switch {
			case slices.Contains(names, name), name == "encode": // names has each encoding
				o.Kinds = append(o.Kinds, name)
			default:
				l.r.unknown(types.At(i), names)
			}
		}
	}
	if !l.r.ok() {
		return
	}
	set, err := mutate.New(o)
	if err != nil {
		l.r.causes(n, err)
		return
	}
	prompts := slices.Clone(s.doc.Prompts)
	for _, v := range invariants {
		prompts = append(prompts, v.Probes...)
	}
	s.set = set
	s.mutations, _, err = set.Scenarios(context.Background(), prompts)
	l.r.causes(n, err)
}

// mutationNames are the kinds and groups of mutations, a group before its kinds.
func mutationNames() (names []string) {
	for _, k := range mutate.Kinds() {
		for _, name := range []string{k.Group, k.Name} {
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func (l *loader) weights(n node) scoring.Weights {
	if n == nil {
		return scoring.DefaultWeights()
	}
	var keys scoringPart
	if !l.r.fill(n, &keys) {
		return scoring.Weights{}
	}
	w := scoring.Weights(keys)
	// Scoring parts that are all there tells what is wrong with the weights: they have one rule.
	zero := new(float64)
	_, err := w.Overall(scoring.Parts{Mutation: zero, Chaos: zero, Contract: zero, Replay: zero}, nil)
	for _, err := range fielderror.Apart(err) {
		var f *scoring.FieldError
		errors.As(err, &f)
		if key, ok := strings.CutPrefix(f.Field, "weights."); ok {
			l.r.Refuse(member(n, key), f.Allowed, nil)
		} else {
			l.r.refuse(n, fmt.Sprintf("weights that sum to %.6g", f.Value), "weights that sum to "+f.Allowed)
		}
	}
	return w
}

// apply gives each matrix the invariants that are asked in it, and refuses those that are
// asked in none.
func (l *loader) apply(s *Suite, invariants []asked) {
	here, mutated := s.asks(invariants, s.scenarios), s.asks(invariants, s.mutations)
	played := s.asks(invariants, s.replays(nil))
	for i, v := range invariants {
		if here[i] {
			s.contract = append(s.contract, v.Invariant)
		}
		if mutated[i] {
			s.mutation = append(s.mutation, v.Invariant)
		}
		if played[i] {
			s.played = append(s.played, v.Invariant)
		}
		if !here[i] && !mutated[i] && !played[i] {
			l.r.refuse(whenOf(v), "an invariant that is asked in no scenario: "+v.Name,
				"what fits a scenario of chaos_matrix, in when and in scenarios")
		}
	}
	const allowed = "an invariant that is asked there, such as one without when and scenarios"
	switch root := s.root; {
	case s.useless():
		l.r.refuse(member(root, "scoring"), "weights of parts alone that this file does not have",
			"a weight above 0 of the contract, or of another part of this file")
	case len(s.contract) == 0:
		l.r.refuse(s.doc.Contract.Invariants.node, "no invariant of the contract's scenarios", allowed)
	case s.set != nil && len(s.mutation) == 0:
		l.r.refuse(root.Get("mutations"), "no invariant of mutations", allowed)
	case len(s.sessions) > 0 && len(s.played) == 0:
		l.r.refuse(s.doc.Replays.Sessions.node, "no invariant of sessions", allowed)
	}
}

// asks reports of each invariant whether it is asked in one of the scenarios.
func (s *Suite) asks(list []asked, scenarios []contract.Scenario) []bool {
	m := &contract.Matrix{Points: s.points, Scenarios: scenarios}
	is := make([]bool, len(list))
	for i, v := range list {
		m.Invariants = append(m.Invariants, v.Invariant)
		is[i] = true
	}
	for _, i := range m.Unasked() {
		is[i] = false
	}
	return is
}

// whenOf is the key that says where an invariant is asked.
func whenOf(v asked) node {
	if n := v.node.Get("when"); n != nil {
		return n
	}
	return member(v.node, "scenarios")
}

func (l *loader) validate(s *Suite) {
	parts := map[string]string{contractMatrix: "contract", mutationMatrix: "mutations", replayMatrix: "replays"}
	for name, m := range s.Matrices(nil) {
		if m.NewWorld == nil && m.World == nil {
			m.NewWorld = noWorlds
		}
		l.r.causes(s.root.Get(parts[name]), m.Validate())
	}
}
