package suite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/cassette"
	"github.com/shakedown-go/shakedown/contract/mutate"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/strictjson"
	"github.com/shakedown-go/shakedown/internal/text"
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
	if l.r.fill(part{root, ""}, &s.doc, instead[""]); root.Kind != '{' {
		return s
	}
	s.agent = l.agent(s.doc.Agent)
	l.prompts(&s.doc)
	var places, placesOfMutation []string
	l.r.oneOrMore("/contract/invariants", "one invariant or more")
	s.contract, places = l.invariants(s.doc.Contract.Invariants)
	s.mutation = s.contract
	if s.doc.Invariants.node != nil {
		l.r.oneOrMore("/invariants", "one invariant or more; left out: the contract's")
		s.mutation, placesOfMutation = l.invariants(s.doc.Invariants)
	}
	scenarioPlaces := l.scenarios(s)
	l.mutations(s)
	l.sessions(s)
	s.weights = l.weights(s.doc.Scoring)
	l.cassette(s)
	l.apply(s, places, placesOfMutation)
	if l.ok() {
		l.validate(s, places, scenarioPlaces)
	}
	return s
}

// prompts holds prompts, points and the name to what they may be.
func (l *loader) prompts(doc *document) {
	if l.r.root.Member("golden_prompts") == nil {
		l.r.refuse("/golden_prompts", "missing", "one prompt or more")
	}
	l.r.oneOrMore("/golden_prompts", "one prompt or more")
	l.r.visible("/contract/name", "a name")
	for i := range doc.Prompts {
		l.r.visible("/golden_prompts/"+strconv.Itoa(i), "a text that is not empty")
	}
	for i := range doc.Points {
		l.r.visible("/points/"+strconv.Itoa(i), "the name of an injection point")
	}
}

// scenarios reads the scenarios of the contract, and returns their places.
func (l *loader) scenarios(s *Suite) (places []string) {
	first := map[string]string{}
	for _, item := range l.r.items(s.doc.Contract.Scenarios) {
		sc, ok := l.scenario(item)
		if !ok {
			continue
		}
		l.unique(first, sc.Name, item.at+"/name", item.at)
		s.scenarios, places = append(s.scenarios, sc), append(places, item.at)
	}
	l.r.oneOrMore("/contract/chaos_matrix", "one scenario or more")
	if p := s.doc.Chaos; p.node != nil {
		var keys faultKeys
		sc := contract.Scenario{Name: "chaos"}
		if l.r.fill(p, &keys, nil) {
			l.faults(&sc, keys)
			l.unique(first, sc.Name, p.at, p.at)
			if len(p.node.Keys) == 0 || len(sc.Rules) == 0 && sc.Rewrite == nil && l.r.ok() {
				l.r.refuse(p.at, "no faults", "one fault or more")
			}
		}
		s.scenarios, places = append(s.scenarios, sc), append(places, p.at)
	}
	return places
}

// onTheNetwork are mutation types of the field that only write terms of networks into a
// prompt.
var onTheNetwork = []string{"http_header_injection", "payload_size_attack", "content_type_confusion",
	"query_parameter_poisoning", "request_method_attack", "protocol_level_attack", "resource_exhaustion",
	"concurrent_request_pattern", "timeout_manipulation"}

// mutations makes the scenarios of the mutations.
func (l *loader) mutations(s *Suite) {
	p := s.doc.Mutations
	if p == nil {
		return
	}
	o := &mutate.Options{Seed: s.doc.Advanced.Seed, Variants: p.Count, Own: l.o.Mutators}
	known := map[string]bool{}
	var names []string
	for _, k := range mutate.Kinds() {
		for _, name := range []string{k.Group, k.Name} {
			if name != "" && !known[name] {
				known[name] = true
				names = append(names, name)
			}
		}
	}
	known["encode"] = true // not among names, which has each encoding
	for i, name := range p.Types {
		at := "/mutations/types/" + strconv.Itoa(i)
		switch {
		case known[name]:
			o.Kinds = append(o.Kinds, name)
		case slices.Contains(onTheNetwork, name):
			l.r.refuse(at, "a type that only writes terms of networks into a prompt: "+name,
				"faults in chaos_matrix, as tool_faults with match_url or as rules, which reach the network")
		default:
			l.r.unknown(at, name, names)
		}
	}
	if p.Types != nil && len(p.Types) == 0 {
		l.r.bad("/mutations/types", "one type or more", nil)
	}
	o.Weights = l.mutationWeights(p.Weights, o.Kinds)
	if !l.r.ok() {
		return
	}
	set, err := mutate.New(o)
	if err != nil {
		l.r.cause("/mutations", err)
		return
	}
	prompts := slices.Clone(s.doc.Prompts)
	for _, v := range s.mutation {
		prompts = append(prompts, v.Probes...)
	}
	s.set = set
	s.mutations, s.unchanged, err = set.Scenarios(context.Background(), prompts)
	l.r.cause("/mutations", err)
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
func (l *loader) mutationWeights(p part, kinds []string) map[string]float64 {
	if p.node == nil {
		return nil
	}
	if p.node.Kind != '{' {
		l.r.Wrong(p.node, p.at, "an object")
		return nil
	}
	weights, own := map[string]float64{}, map[string]bool{}
	all, known := mutate.Kinds(), map[string]bool{"encode": true}
	for _, k := range all {
		known[k.Name], known[k.Group] = true, true
	}
	for _, name := range l.ownKinds {
		known[name] = true
	}
	delete(known, "")
	for i, key := range p.node.Keys {
		at := strictjson.Join(p.at, key)
		var w float64
		if !l.r.Bind(p.node.Kids[i], at, reflect.ValueOf(&w).Elem(), strictjson.Tag{}) {
			continue
		}
		switch {
		case !known[key]:
			names := slices.Sorted(maps.Keys(known))
			l.r.at(at, p.node.Key(i), &Error{Problem: "unknown field",
				Allowed: "a kind or a group of mutations: " + listed(names) + text.Meant(key, names)})
		case !(w > 0):
			l.r.bad(at, "a number above 0", nil)
		}
		group, made := false, p.node.Kids[i].Kind != '0' || len(kinds) == 0
		for _, k := range all {
			if k.Name == key || k.Group == key || key == "encode" && strings.HasPrefix(k.Name, "encode") {
				made = made || slices.Contains(kinds, k.Name) || slices.Contains(kinds, k.Group) ||
					strings.HasPrefix(k.Name, "encode") && slices.Contains(kinds, "encode")
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
		made = made || slices.Contains(l.ownKinds, key)
		if !made && known[key] {
			l.r.refuse(at, "a weight of what types does not name: "+key, "kinds and groups that are made")
		}
	}
	return weights
}

// weights reads the weights of the score.
func (l *loader) weights(p part) scoring.Weights {
	if p.node == nil {
		return scoring.DefaultWeights()
	}
	if p.node.Kind == '{' && p.node.Member("weights") != nil {
		if !l.r.only(p, []string{"weights"}, nil) {
			return scoring.Weights{}
		}
		p = part{p.node.Member("weights"), p.at + "/weights"}
	}
	var keys scoringPart
	if !l.r.fill(p, &keys, nil) {
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
			l.r.bad(p.at+"/"+key, f.Allowed, nil)
		} else {
			l.r.refuse(p.at, fmt.Sprintf("weights that sum to %.6g", f.Value), "weights that sum to "+f.Allowed)
		}
	}
	return w
}

// cassette opens the cassette of the file.
func (l *loader) cassette(s *Suite) {
	name := s.doc.Cassette
	if name == "" {
		return
	}
	const at = "/cassette"
	if _, err := l.folder.Stat(name); err != nil && (!errors.Is(err, fs.ErrNotExist) || !filepath.IsLocal(name)) {
		l.r.bad(at, "a file in the folder of the suite", err)
		return
	}
	if !l.ok() {
		return
	}
	tape, err := cassette.Open(filepath.Join(l.dir, name), l.o.Cassette)
	if err != nil {
		l.r.cause(at, err)
		return
	}
	s.tape = tape
}

// apply leaves each matrix the invariants that are asked in it, and refuses those that are
// asked in none.
func (l *loader) apply(s *Suite, places, placesOfMutation []string) {
	if !l.ok() {
		return
	}
	here := &scope{scenarios: s.scenarios}
	inMutations, inReplays := &scope{scenarios: s.mutations}, &scope{scenarios: s.replays(dummyWorld)}
	own := s.doc.Invariants.node != nil
	switch {
	case own && s.set == nil:
		l.r.refuse("/invariants", "invariants of mutations without mutations",
			"with mutations; else in contract/invariants")
	case own:
		for i, v := range s.mutation {
			if !inMutations.applies(v.Applies) {
				l.r.refuse(placesOfMutation[i]+"/when", "an invariant that is asked in no mutation: "+v.Name,
					"always or any_chaos_active")
			}
		}
	}
	s.played = inReplays.asked(s.contract)
	s.mutation = inMutations.asked(s.mutation)
	for i, v := range s.contract {
		if !here.applies(v.Applies) && !inReplays.applies(v.Applies) && (own || !inMutations.applies(v.Applies)) {
			l.r.refuse(places[i]+"/when", "an invariant that is asked in no scenario: "+v.Name,
				"a value of when that fits a scenario of chaos_matrix")
		}
	}
	s.contract = here.asked(s.contract)
	const allowed = "an invariant that is asked there: left out, when is always"
	switch {
	case s.useless():
		l.r.refuse("/scoring", "weights of parts alone that this file does not have",
			"a weight above 0 of the contract, or of another part of this file")
	case len(s.contract) == 0:
		l.r.refuse("/contract/invariants", "no invariant of the contract's scenarios", allowed)
	case s.set != nil && len(s.mutation) == 0:
		l.r.refuse("/mutations", "no invariant of mutations", allowed)
	case len(s.sessions) > 0 && len(s.played) == 0:
		l.r.refuse("/replays/sessions", "no invariant of sessions", allowed)
	}
}

// A scope is the scenarios of a matrix, with what was found out about them.
type scope struct {
	scenarios []contract.Scenario
	known     map[contract.Applies]bool
}

// asked are the invariants that apply in one of the scenarios.
func (s *scope) asked(list []contract.Invariant) (some []contract.Invariant) {
	for _, v := range list {
		if s.applies(v.Applies) {
			some = append(some, v)
		}
	}
	return some
}

// applies reports whether a value holds in one of the scenarios. A matrix knows: it has no
// cells if its invariant is never asked.
func (s *scope) applies(a contract.Applies) bool {
	if a == contract.Always {
		return len(s.scenarios) > 0
	}
	if holds, ok := s.known[a]; ok {
		return holds
	}
	v := contract.Invariant{Name: "any", Severity: contract.Low, Applies: a, Probes: []string{"?"},
		Check: func(context.Context, *contract.Observation) error { return nil }}
	holds := slices.ContainsFunc(s.scenarios, func(one contract.Scenario) bool {
		m := &contract.Matrix{NewWorld: dummyWorld, Invariants: []contract.Invariant{v},
			Scenarios: []contract.Scenario{one}}
		return len(m.Cells()) > 0
	})
	if s.known == nil {
		s.known = map[contract.Applies]bool{}
	}
	s.known[a] = holds
	return holds
}

// dummyWorld stands for worlds where a matrix is only checked.
func dummyWorld(context.Context) (*contract.World, error) { return nil, errNoWorld }

// element is the place in a matrix that an error of it names.
var element = regexp.MustCompile(`^(Invariants|Scenarios)\[(\d+)\]`)

// validate finds what the matrices do not allow.
func (l *loader) validate(s *Suite, invariants, scenarios []string) {
	for name, m := range s.Matrices(dummyWorld) {
		for _, err := range fielderror.Apart(m.Validate()) {
			at := placeOf(name)
			var f *contract.FieldError
			if errors.As(err, &f) && name == contractMatrix {
				if found := element.FindStringSubmatch(f.Field); found != nil {
					list := map[string][]string{"Invariants": invariants, "Scenarios": scenarios}[found[1]]
					if i, _ := strconv.Atoi(found[2]); i < len(list) {
						at = list[i]
					}
				}
			}
			l.r.at(at, l.r.nearest(at), &Error{Err: err})
		}
	}
}

// placeOf is the part of the file that a matrix is made of.
func placeOf(matrix string) string {
	switch matrix {
	case mutationMatrix:
		return "/mutations"
	case replayMatrix:
		return "/replays"
	}
	return "/contract"
}
