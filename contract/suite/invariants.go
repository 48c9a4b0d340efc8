package suite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/strictjson"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// invariantKeys are what every invariant has.
type invariantKeys struct {
	ID          string   `json:"id,omitempty" doc:"its name in reports; left out: the type"`
	Type        string   `json:"type" doc:"what is checked"`
	Severity    string   `json:"severity,omitempty" bounds:"enum=critical|high|medium|low" doc:"left out: medium"`
	When        string   `json:"when,omitempty" doc:"the scenarios in which it is asked; left out: always"`
	Negate      bool     `json:"negate,omitempty" doc:"it holds where the check breaks; of checks of the answer alone"`
	Description string   `json:"description,omitempty" doc:"appears in reports where it broke"`
	Probes      []string `json:"probes,omitempty" doc:"prompts in place of the golden ones"`
}

// An invariantIn is an invariant that is read.
type invariantIn struct {
	invariantKeys
	severity contract.Severity
	kind     Kind
	l        *loader
	node     *strictjson.Node
	at       string
}

// whens are the values of when, in the order of [contract.Applies].
var whens = []string{"always", "tool_faults_active", "llm_faults_active", "any_chaos_active", "no_chaos"}

// inGo are types that cannot be said without Go.
var inGo = map[string]string{
	"claims_match_state": "suite.InvariantKind, with the claims in Go: they read the state",
	"judged":             "suite.InvariantKind, with the judge in Go",
	"part_unchanged":     "suite.InvariantKind, with the part in Go: it reads the state",
}

// validName is that of invariants and scenarios.
var validName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// invariants reads a list of invariants, with the line of each.
func (l *loader) invariants(p part) (list []contract.Invariant, places []string) {
	first := map[string]string{}
	for _, item := range l.r.items(p) {
		v, name, ok := l.invariant(item)
		if name != "" {
			l.unique(first, name, item.at+"/id", item.at)
		}
		if !ok {
			continue
		}
		list = append(list, v)
		places = append(places, item.at)
	}
	return list, places
}

// unique refuses a name that an earlier one of a list has. at is its place, or else that
// of the item.
func (l *loader) unique(first map[string]string, name, at, item string) {
	before, twice := first[name]
	if !twice {
		first[name] = at
		return
	}
	line, _ := l.r.Place(l.r.nearest(before))
	l.r.refuse(at, fmt.Sprintf("%q is there twice, first in line %d", name, line), "")
}

// invariant reads one invariant. What is wrong with some of its keys does not keep the
// others from being looked at. The name is there also if something is wrong.
func (l *loader) invariant(p part) (v contract.Invariant, name string, fits bool) {
	in := &invariantIn{l: l, node: p.node, at: p.at}
	if p.node.Kind != '{' {
		return v, "", l.r.Wrong(p.node, p.at, "an object")
	}
	k, ok := l.kindOf(p)
	if !ok {
		return v, "", false
	}
	in.kind = k
	params := reflect.New(k.params)
	fits, own := l.r.both(p, &in.invariantKeys, params, instead["invariant"])
	fits = in.check(k) && fits
	if !own {
		return v, in.ID, false
	}
	before := len(l.r.list)
	err := <-usercode.Go(nil, func() error {
		v = k.build(in, params.Interface())
		return nil
	})
	if err != nil {
		l.r.at(p.at, p.node, &Error{Problem: "the function of the type " + k.name, Err: err,
			Allowed: "a function that returns"})
	}
	if len(l.r.list) > before {
		return v, in.ID, false
	}
	v.Applies = contract.Applies(max(0, slices.Index(whens, in.When)))
	if len(in.Probes) > 0 {
		v.Probes = in.Probes
	}
	in.refused(v.Err)
	if v.Check != nil {
		if in.Negate {
			v.Check = negated(v.Check)
		}
		if in.Description != "" {
			v.Check = described(v.Check, in.Description)
		}
	}
	return v, in.ID, fits && v.Err == nil
}

// kindOf finds the type of an invariant.
func (l *loader) kindOf(p part) (Kind, bool) {
	n := p.node.Member("type")
	at := p.at + "/type"
	switch {
	case n == nil:
		l.r.refuse(at, "missing", "a type of invariant")
		return Kind{}, false
	case n.Kind != '"':
		return Kind{}, l.r.Wrong(n, at, "a string")
	}
	if k, ok := l.kinds[n.Text]; ok {
		return k, true
	}
	if what := inGo[n.Text]; what != "" {
		l.r.refuse(at, "a type that needs Go: "+n.Text, what)
		return Kind{}, false
	}
	l.r.unknown(at, n.Text, slices.Sorted(maps.Keys(l.kinds)))
	return Kind{}, false
}

// both fills two structs from one object: the common keys, and those of its type. It
// reports whether all of the object fits, and whether the keys of its type do.
func (r *reader) both(p part, common any, params reflect.Value, instead map[string]string) (fits, own bool) {
	v := reflect.ValueOf(common).Elem()
	names, more := r.membersOf(v.Type()).names, r.membersOf(params.Elem().Type()).names
	fits = r.only(p, slices.Concat(names, more), instead)
	fits = r.object(p, names, v) && fits
	own = r.object(p, more, params.Elem())
	return fits && own, own
}

// check holds the common keys to what they may be.
func (in *invariantIn) check(k Kind) bool {
	before := len(in.l.r.list)
	if in.ID == "" {
		in.ID = in.Type
	}
	if !validName.MatchString(in.ID) {
		in.bad("id", "letters, digits, '.', '_' and '-'")
	}
	in.severity = contract.Medium
	if in.Severity != "" {
		_ = in.severity.UnmarshalText([]byte(in.Severity)) // the reader knows the names
	}
	if in.When != "" && !slices.Contains(whens, in.When) {
		in.l.r.unknown(in.at+"/when", in.When, whens)
	}
	if in.Negate && !k.answers {
		in.l.r.refuse(in.at+"/negate", "a field without a meaning for the type "+k.name,
			"negate with a type that judges the answer alone: "+listed(in.l.negatable()))
	}
	if in.node.Member("probes") != nil {
		in.l.r.oneOrMore(in.at+"/probes", "one prompt or more")
	}
	for i := range in.Probes {
		in.l.r.visible(fmt.Sprintf("%s/probes/%d", in.at, i), "a text that is not empty")
	}
	return len(in.l.r.list) == before
}

// negatable lists the types that can be negated.
func (l *loader) negatable() (names []string) {
	for _, k := range kinds() {
		if k.answers {
			names = append(names, k.name)
		}
	}
	return names
}

// bad refuses the value of a key.
func (in *invariantIn) bad(key, allowed string) {
	in.l.r.bad(in.at+"/"+key, allowed, nil)
}

func (in *invariantIn) missing(key, allowed string) {
	in.l.r.refuse(in.at+"/"+key, "missing", allowed)
}

// dotAll lets a dot match line ends, and refuses a pattern that does not compile.
func (in *invariantIn) dotAll(pattern string) string {
	if _, err := regexp.Compile(pattern); err != nil || pattern == "" {
		in.l.r.bad(in.at+"/pattern", "a regular expression of package regexp that is not empty", err)
		return "."
	}
	return "(?s)" + pattern
}

// effects finds a function of [Options].Effects.
func (in *invariantIn) effects(name string) func(state any) []string {
	own, known := in.l.o.Effects[name]
	if own == nil {
		names := slices.Sorted(maps.Keys(in.l.o.Effects))
		switch {
		case known:
			in.l.r.refuse(in.at+"/effects", fmt.Sprintf("Options.Effects[%q] is nil", name), "a function")
		case len(names) == 0:
			in.l.r.refuse(in.at+"/effects", fmt.Sprintf("unknown value %q", name),
				"names in Options.Effects, which has none")
		default:
			in.l.r.unknown(in.at+"/effects", name, names)
		}
		return func(any) []string { return nil }
	}
	return played(own)
}

// argument is the place in the text of a constructor's problem: its last name.
var argument = regexp.MustCompile(`([A-Za-z]+)(?:\[(\d+)\])?[A-Za-z.]*$`)

// refused adds the problems that a constructor found, at the key that they are about.
func (in *invariantIn) refused(err error) {
	for _, err := range fielderror.Apart(err) {
		at := in.at
		e := &Error{Err: err}
		var f *contract.FieldError
		if errors.As(err, &f) {
			e = &Error{Problem: "bad value", Allowed: f.Allowed, Err: f.Err}
			if m := argument.FindStringSubmatch(f.Field); m != nil {
				at = in.keyOf(m[1], m[2])
			}
		}
		place := in.l.r.nearest(at)
		if at != in.at && e.Problem != "" {
			e.Value = strictjson.Short(string(place.JSON()))
		}
		in.l.r.at(at, place, e)
	}
}

// keyOf finds the key of an invariant that a constructor calls name: one of that name, or
// else the only one that the type has.
func (in *invariantIn) keyOf(name, index string) string {
	name = strings.ToLower(name)
	own := in.l.r.membersOf(in.kind.params).names
	i := slices.IndexFunc(in.node.Keys, func(key string) bool {
		plain := strings.ReplaceAll(key, "_", "")
		return plain == name || plain == name+"s" || plain+"s" == name || strings.HasSuffix(plain, name)
	})
	if i < 0 && len(own) == 1 {
		i = slices.Index(in.node.Keys, own[0])
	}
	if i < 0 {
		return in.at
	}
	at := strictjson.Join(in.at, in.node.Keys[i])
	if kid := in.node.Kids[i]; index != "" && kid.Kind == '[' {
		at += "/" + index
	}
	return at
}

// negated holds where check breaks, and breaks where it holds. What is undecided stays so.
func negated(check func(context.Context, *contract.Observation) error) func(context.Context,
	*contract.Observation) error {
	return func(ctx context.Context, o *contract.Observation) error {
		switch err := check(ctx, o); {
		case err == nil:
			return errors.New("the condition holds, and is negated")
		case errors.Is(err, contract.ErrUndecided):
			return err
		}
		return nil
	}
}

// described puts the description before the reason why an invariant does not hold.
func described(check func(context.Context, *contract.Observation) error, text string,
) func(context.Context, *contract.Observation) error {
	return func(ctx context.Context, o *contract.Observation) error {
		if err := check(ctx, o); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		return nil
	}
}
