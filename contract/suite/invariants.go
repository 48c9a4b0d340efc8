package suite

import (
	"cmp"
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
)

type invariantKeys struct {
	ID          string   `json:"id,omitempty" doc:"its name in reports; left out: the type"`
	Type        string   `json:"type" doc:"what is checked"`
	Severity    string   `json:"severity,omitempty" bounds:"enum=critical|high|medium|low" doc:"left out: medium"`
	When        string   `json:"when,omitempty" bounds:"enum=always|tool_faults_active|llm_faults_active|any_chaos_active|no_chaos" doc:"the scenarios in which it is asked; left out: always"`
	Scenarios   []string `json:"scenarios,omitempty" doc:"globs of their names, of which one must match; left out: all"`
	Negate      bool     `json:"negate,omitempty" doc:"it holds where the check breaks; of checks of the answer alone"`
	Description string   `json:"description,omitempty" doc:"appears in reports where it broke"`
	Probes      []string `json:"probes,omitempty" doc:"prompts in place of the golden ones"`
}

// An invariantIn is an invariant that is read.
type invariantIn struct {
	invariantKeys
	severity contract.Severity
	kind     kind
	l        *loader
	node     node
}

// whens are the values of when, in the order of [contract.Applies].
var whens = []string{"always", "tool_faults_active", "llm_faults_active", "any_chaos_active", "no_chaos"}

// validName is that of invariants and scenarios.
var validName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// An asked invariant has the node that it was read from.
type asked struct {
	contract.Invariant
	node node
}

func (l *loader) invariants(n node) (list []asked) {
	first := map[string]node{}
	for _, item := range l.r.items(n) {
		v, name, ok := l.invariant(item)
		if name != "" {
			l.unique(first, name, member(item, "id"))
		}
		if ok {
			list = append(list, asked{v, item})
		}
	}
	return list
}

// unique refuses a name that an earlier one of a list has.
func (l *loader) unique(first map[string]node, name string, n node) {
	before, twice := first[name]
	if !twice {
		first[name] = n
		return
	}
	line, _ := l.r.Place(before)
	l.r.refuse(n, fmt.Sprintf("%q is there twice, first in line %d", name, line), "")
}

// invariant reads one invariant. What is wrong with some of its keys does not keep the
// others from being looked at. The name is there also if something is wrong.
func (l *loader) invariant(n node) (v contract.Invariant, name string, fits bool) {
	k, ok := choose(l.r, n, "type", "a type of invariant", l.kinds)
	if !ok {
		return v, "", false
	}
	in := &invariantIn{l: l, node: n, kind: k}
	params := reflect.New(k.params)
	fits, own := l.r.both(n, &in.invariantKeys, params)
	fits = in.check(k) && fits
	if !own {
		return v, in.ID, false
	}
	before := l.r.Count()
	if v = k.build(in, params.Interface()); l.r.Count() > before {
		return v, in.ID, false
	}
	v.Applies = contract.Applies(max(0, slices.Index(whens, in.When)))
	v.Scenarios = in.Scenarios
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

// check holds the common keys to what they may be.
func (in *invariantIn) check(k kind) bool {
	before := in.l.r.Count()
	in.ID = cmp.Or(in.ID, in.Type)
	if !validName.MatchString(in.ID) {
		in.l.r.Refuse(member(in.node, "id"), "letters, digits, '.', '_' and '-'", nil)
	}
	in.severity = contract.Medium
	if in.Severity != "" {
		_ = in.severity.UnmarshalText([]byte(in.Severity)) // the reader knows the names
	}
	if globs := in.node.Get("scenarios"); globs != nil {
		for _, glob := range globs.Values() {
			in.l.compiles(glob)
		}
	}
	if in.Negate && !k.answers {
		in.l.r.refuse(in.node.Get("negate"), "a field without a meaning for the type "+k.name,
			"negate with a type that judges the answer alone: "+listed(negatables()))
	}
	in.l.r.filled(in.node.Get("scenarios"), "one glob or more", "a glob of names")
	in.l.r.filled(in.node.Get("probes"), "one prompt or more", "a text that is not empty")
	return in.l.r.Count() == before
}

func negatables() (names []string) {
	for _, k := range kinds() {
		if k.answers {
			names = append(names, k.name)
		}
	}
	return names
}

// dotAll lets a dot match line ends, and refuses a pattern that does not compile.
func (in *invariantIn) dotAll(pattern string) string {
	if _, err := regexp.Compile(pattern); err != nil || pattern == "" {
		in.l.r.Refuse(in.node.Get("pattern"), "a regular expression of package regexp that is not empty", err)
		return "."
	}
	return "(?s)" + pattern
}

func (in *invariantIn) effects(name string) func(state any) []string {
	own, known := in.l.o.Effects[name]
	if own != nil {
		return played(own)
	}
	n, names := in.node.Get("effects"), slices.Sorted(maps.Keys(in.l.o.Effects))
	switch {
	case known:
		in.l.r.refuse(n, fmt.Sprintf("Options.Effects[%q] is nil", name), "a function")
	case len(names) == 0:
		in.l.r.add(n, &fielderror.Error{Value: name, Allowed: "names in Options.Effects, which has none"})
	default:
		in.l.r.unknown(n, names)
	}
	return func(any) []string { return nil }
}

// refused adds the problems that a constructor found, at the key that they are about.
func (in *invariantIn) refused(err error) {
	for _, err := range fielderror.Apart(err) {
		f, ok := errors.AsType[*contract.FieldError](err)
		if !ok {
			in.l.r.causes(in.node, err)
			continue
		}
		n, value := in.argument(f.Field), f.Value
		if n != in.node {
			value = fielderror.Found(strictjson.Short(string(n.JSON())))
		}
		in.l.r.add(n, &fielderror.Error{Value: value, Allowed: f.Allowed, Err: f.Err})
	}
}

// argument finds the value of what a constructor names, such as "values[1]": the key of that
// name, else the only one that the type has, else the invariant.
func (in *invariantIn) argument(field string) node {
	name, _, _ := strings.Cut(field[strings.LastIndexAny(field, " .")+1:], "[")
	i := slices.IndexFunc(in.node.Keys(), func(key string) bool {
		return name != "" && strings.Contains(strings.ReplaceAll(key, "_", ""), strings.ToLower(name))
	})
	if own := strictjson.Fields(in.kind.params); i < 0 && len(own) == 1 {
		i = slices.Index(in.node.Keys(), own[0].Name)
	}
	if i < 0 {
		return in.node
	}
	return in.node.At(i)
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
