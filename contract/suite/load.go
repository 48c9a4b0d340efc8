package suite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/cassette"
	"github.com/shakedown-go/shakedown/contract/mutate"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/strictjson"
	"github.com/shakedown-go/shakedown/internal/usercode"
	"github.com/shakedown-go/shakedown/scoring"
)

// A loader makes a suite of a file.
type loader struct {
	r        *reader
	o        Options
	folder   *os.Root // that of the file
	dir      string
	kinds    map[string]Kind
	modes    []mode
	ownKinds []string // the names of Options.Mutators
	secrets  []string // what variables of the environment stand for
	others   []error  // of files that the file names, and of the options
	more     int      // the problems of those that were not kept
	overHTTP bool     // the agent of the file is asked, over HTTP
	points   []string
}

func newLoader(path string, folder *os.Root, o *Options) *loader {
	l := &loader{r: newReader(path), folder: folder, dir: filepath.Dir(path), kinds: map[string]Kind{}, modes: modes()}
	if o != nil {
		l.o = *o
	}
	for _, k := range kinds() {
		l.kinds[k.name] = k
	}
	for _, m := range l.o.Mutators {
		l.ownKinds = append(l.ownKinds, kindOf(m))
	}
	for i, k := range l.o.Invariants {
		at := fmt.Sprintf("Options.Invariants[%d]", i)
		if _, taken := l.kinds[k.name]; taken || !validName.MatchString(k.name) || k.build == nil {
			l.others = append(l.others, fields.Wrong(at, k.name, "a name that is not taken, and a function"))
			continue
		}
		if err := l.r.Bindable(k.params); err != nil {
			l.others = append(l.others, fields.Because(at, k.name, err, "a struct of types that JSON has"))
			continue
		}
		l.kinds[k.name] = k
	}
	return l
}

// fields makes the errors of arguments.
const fields = fielderror.Package("suite")

// ok reports whether nothing was wrong so far.
func (l *loader) ok() bool { return l.r.ok() && len(l.others) == 0 }

// suite reads the document; nil: it has no form.
func (l *loader) suite(data []byte) *Suite {
	root := l.r.parse(data)
	if root == nil {
		return nil
	}
	s := &Suite{root: root}
	if l.r.fill(root, &s.doc, instead[""]); root.Kind != '{' {
		return s
	}
	l.overHTTP, l.points = s.doc.Agent != nil && !l.o.OwnWorlds, s.doc.Points
	s.agent = l.agent(root.Member("agent"), s.doc.Agent)
	l.prompts(root)
	contractOf := &s.doc.Contract
	contractInvariants := l.invariants(contractOf.Invariants.node)
	l.r.filled(contractOf.Invariants.node, "one invariant or more", "")
	mutationInvariants := contractInvariants
	if own := s.doc.Invariants.node; own != nil {
		l.r.filled(own, "one invariant or more; left out: the contract's", "")
		mutationInvariants = l.invariants(own)
	}
	l.scenarios(s)
	l.mutations(s, mutationInvariants)
	l.sessions(s)
	s.weights = l.weights(s.doc.Scoring.node)
	l.cassette(s)
	if l.ok() {
		l.apply(s, contractInvariants, mutationInvariants)
	}
	if l.ok() {
		l.validate(s)
	}
	return s
}

// prompts holds prompts, points and the name to what they may be.
func (l *loader) prompts(root node) {
	prompts := root.Member("golden_prompts")
	if prompts == nil {
		l.r.missing(root, "golden_prompts", "one prompt or more")
	}
	l.r.filled(prompts, "one prompt or more", "a text that is not empty")
	if points := root.Member("points"); points != nil && len(points.Kids) > 0 {
		l.r.filled(points, "", "the name of an injection point")
	}
	l.r.visible(within(root, "/contract/name"), "a name")
}

// scenarios reads the scenarios of the contract.
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
	n := s.doc.Chaos.node
	if n == nil {
		return
	}
	var keys faultKeys
	sc := contract.Scenario{Name: "chaos"}
	if l.r.fill(n, &keys, nil) {
		l.faults(&sc, n, keys)
		l.unique(first, sc.Name, n)
		if len(n.Keys) == 0 || len(sc.Rules) == 0 && sc.Rewrite == nil && l.r.ok() {
			l.r.refuse(n, "no faults", "one fault or more")
		}
	}
	s.scenarios = append(s.scenarios, sc)
}

// mutations makes the scenarios of the mutations.
func (l *loader) mutations(s *Suite, invariants []asked) {
	p := s.doc.Mutations
	if p == nil {
		return
	}
	o := &mutate.Options{Seed: s.doc.Advanced.Seed, Variants: p.Count, Own: l.o.Mutators}
	n, names := s.root.Member("mutations"), mutationNames()
	if types := n.Member("types"); types != nil {
		l.r.filled(types, "one type or more", "a kind or a group of mutations")
		for i, name := range p.Types {
			switch {
			case slices.Contains(names, name), name == "encode": // names has each encoding
				o.Kinds = append(o.Kinds, name)
			default:
				l.r.unknown(types.Kids[i], names)
			}
		}
	}
	o.Weights = l.mutationWeights(p.Weights.node, o.Kinds)
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
	s.mutations, s.unchanged, err = set.Scenarios(context.Background(), prompts)
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

// kindOf is the name of a mutator; "" if it has none. [mutate.New] says what is wrong then.
func kindOf(m mutate.Mutator) (name string) {
	if m == nil {
		return ""
	}
	<-usercode.Go(nil, func() error {
		name = m.Kind()
		return nil
	})
	return name
}

// mutationWeights gives each kind of a group the weight of the group, unless it has one of
// its own.
func (l *loader) mutationWeights(n node, made []string) map[string]float64 {
	if n == nil {
		return nil
	}
	if n.Kind != '{' {
		l.r.Wrong(n, n.Pointer(), "an object")
		return nil
	}
	names := slices.Sorted(slices.Values(slices.Concat(mutationNames(), l.ownKinds, []string{"encode"})))
	weights, own := map[string]float64{}, map[string]bool{}
	for i, key := range n.Keys {
		kid, w := n.Kids[i], 0.0
		if !l.r.Bind(kid, kid.Pointer(), reflect.ValueOf(&w).Elem(), strictjson.Tag{}) {
			continue
		}
		if !slices.Contains(names, key) {
			l.r.addAtName(n, i, &Error{Problem: "unknown field",
				Allowed: "a kind or a group of mutations: " + oneOf(key, names)})
			continue
		}
		if !(w > 0) {
			l.r.bad(kid, "a number above 0", nil)
		}
		group, isMade := false, len(made) == 0 || slices.Contains(l.ownKinds, key)
		for _, k := range mutate.Kinds() {
			encodes := strings.HasPrefix(k.Name, "encode")
			if k.Name == key || k.Group == key || key == "encode" && encodes {
				isMade = isMade || slices.Contains(made, k.Name) || slices.Contains(made, k.Group) ||
					encodes && slices.Contains(made, "encode")
			}
			if k.Group == key && k.Name != key {
				group = true
				if !own[k.Name] {
					weights[k.Name] = w
				}
			}
		}
		if !group {
			weights[key], own[key] = w, true
		}
		if !isMade {
			l.r.refuse(kid, "a weight of what types does not name: "+key, "kinds and groups that are made")
		}
	}
	return weights
}

// weights reads the weights of the score.
func (l *loader) weights(n node) scoring.Weights {
	if n == nil {
		return scoring.DefaultWeights()
	}
	if n.Kind == '{' && n.Member("weights") != nil {
		if !l.r.only(n, []string{"weights"}, nil) {
			return scoring.Weights{}
		}
		n = n.Member("weights")
	}
	var keys scoringPart
	if !l.r.fill(n, &keys, nil) {
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
			l.r.bad(member(n, key), f.Allowed, nil)
		} else {
			l.r.refuse(n, fmt.Sprintf("weights that sum to %.6g", f.Value), "weights that sum to "+f.Allowed)
		}
	}
	return w
}

// cassette opens the cassette of the file.
func (l *loader) cassette(s *Suite) {
	name, n := s.doc.Cassette, s.root.Member("cassette")
	if name == "" {
		return
	}
	if l.overHTTP {
		l.r.refuse(n, "a cassette cannot be played to the agent, which is behind HTTP: it makes its requests itself",
			"no cassette here, or "+inGoAllowed)
	}
	if _, err := l.folder.Stat(name); err != nil && (!errors.Is(err, fs.ErrNotExist) || !filepath.IsLocal(name)) {
		l.r.bad(n, "a file in the folder of the suite", err)
		return
	}
	if !l.ok() {
		return
	}
	tape, err := cassette.Open(filepath.Join(l.dir, name), l.o.Cassette)
	l.r.causes(n, err)
	s.tape = tape
}

// apply gives each matrix the invariants that are asked in it, and refuses those that are
// asked in none.
func (l *loader) apply(s *Suite, ofContract, ofMutations []asked) {
	own := s.doc.Invariants.node
	if own != nil && s.set == nil {
		l.r.refuse(own, "invariants of mutations without mutations", "with mutations; else in contract/invariants")
		return
	}
	here, played := s.asks(ofContract, s.scenarios), s.asks(ofContract, s.replays(nil))
	mutated := s.asks(ofMutations, s.mutations)
	for i, v := range ofContract {
		if here[i] {
			s.contract = append(s.contract, v.Invariant)
		}
		if played[i] {
			s.played = append(s.played, v.Invariant)
		}
		if !here[i] && !played[i] && (own != nil || !mutated[i]) {
			l.r.refuse(whenOf(v), "an invariant that is asked in no scenario: "+v.Name,
				"what fits a scenario of chaos_matrix, in when and in scenarios")
		}
	}
	for i, v := range ofMutations {
		if mutated[i] {
			s.mutation = append(s.mutation, v.Invariant)
		} else if own != nil {
			l.r.refuse(whenOf(v), "an invariant that is asked in no mutation: "+v.Name, "always or any_chaos_active")
		}
	}
	const allowed = "an invariant that is asked there: left out, when is always"
	switch root := s.root; {
	case s.useless():
		l.r.refuse(member(root, "scoring"), "weights of parts alone that this file does not have",
			"a weight above 0 of the contract, or of another part of this file")
	case len(s.contract) == 0:
		l.r.refuse(s.doc.Contract.Invariants.node, "no invariant of the contract's scenarios", allowed)
	case s.set != nil && len(s.mutation) == 0:
		l.r.refuse(root.Member("mutations"), "no invariant of mutations", allowed)
	case len(s.sessions) > 0 && len(s.played) == 0:
		l.r.refuse(s.doc.Replays.Sessions.node, "no invariant of sessions", allowed)
	}
}

// asks reports of each invariant whether it is asked in one of the scenarios.
func (s *Suite) asks(list []asked, scenarios []contract.Scenario) []bool {
	m := &contract.Matrix{Points: s.doc.Points, Scenarios: scenarios}
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
	if n := v.node.Member("when"); n != nil {
		return n
	}
	return member(v.node, "scenarios")
}

// validate finds what the matrices do not allow.
func (l *loader) validate(s *Suite) {
	parts := map[string]string{contractMatrix: "contract", mutationMatrix: "mutations", replayMatrix: "replays"}
	for name, m := range s.Matrices(nil) {
		if m.NewWorld == nil && m.World == nil {
			m.NewWorld = noWorlds
		}
		l.r.causes(s.root.Member(parts[name]), m.Validate())
	}
}
