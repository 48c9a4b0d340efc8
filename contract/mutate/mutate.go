package mutate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// A Mutator is a kind of one's own. Its methods must be safe for concurrent use and always
// return the same, or the same seed does not give the same texts.
type Mutator interface {
	// Kind is the name: letters, digits, '.', '_' and '-', and none that this package has.
	Kind() string
	// Weight is that in the score, finite and above 0.
	Weight() float64
	Intent() Intent
	// Mutate returns the prompt in other words. It has its random numbers from d. An
	// error that matches [ErrRefused] leaves the prompt as it is.
	Mutate(ctx context.Context, prompt string, d Draw) (string, error)
}

// Options are the settings of [New]. nil and the zero value make one variant of each kind of
// intent [Same] and [Attack], with seed 0.
type Options struct {
	_ struct{}
	// Seed is that of all random numbers.
	Seed uint64
	// Variants is the number of scenarios of each kind, up to 1,000; 0: 1. A kind that
	// has one form is made once.
	Variants int
	// Kinds are the names of kinds and groups of this package; see [Kinds]. "encode" is
	// all encodings. A kind that is named twice is made once. nil: all of intent Same and
	// Attack.
	Kinds []string
	// Own adds the caller's mutators.
	Own []Mutator
	// Strength is the share of words that are touched, by kinds that touch words: above 0
	// and up to 1, and one word at least. 0: what [Kind].Strength says.
	Strength float64
}

// A Set makes the scenarios of its kinds, and scores their report. It is immutable and safe
// for concurrent use.
type Set struct {
	seed      uint64
	kinds     []kind
	mutations []mutation
}

// A kind is one that the set makes, of this package or of the user.
type kind struct {
	Kind
	variants int
	mutate   func(p *prompt, d Draw) string // of this package; nil: own
	own      Mutator
	index    int // in Options.Own
}

// A mutation is a variant of a kind.
type mutation struct {
	kind    *kind
	variant int
}

// scenario is the name of its scenario.
func (m mutation) scenario() string { return m.kind.Name + "-" + strconv.Itoa(m.variant) }

const maxVariants = 1000

// New checks the options. All problems are joined, each a [*FieldError].
func New(o *Options) (*Set, error) {
	o = cmp.Or(o, &Options{})
	p := fields.List()
	p.Demand(o.Variants >= 0 && o.Variants <= maxVariants, "Variants", o.Variants, "1 to 1000, or 0 for 1")
	p.Demand(o.Strength >= 0 && o.Strength <= 1, "Strength", o.Strength,
		"above 0 and up to 1, or 0 for that of each kind")
	all := rows()
	s := &Set{seed: o.Seed}
	for _, r := range selected(p, all, o.Kinds) {
		s.kinds = append(s.kinds, kind{Kind: r.Kind, mutate: r.mutate})
	}
	s.addOwn(p, all, o.Own)
	if err := p.Err(); err != nil {
		return nil, err
	}
	if len(s.kinds) == 0 {
		return nil, fields.Wrong("Kinds", fielderror.Found("empty, and so is Own"), "one or more, or nil for all")
	}
	for i := range s.kinds {
		k := &s.kinds[i]
		if o.Strength > 0 && (k.own != nil || k.Strength > 0) {
			k.Strength = o.Strength
		}
		k.variants = max(o.Variants, 1)
		if k.Once {
			k.variants = 1
		}
		for v := range k.variants {
			s.mutations = append(s.mutations, mutation{k, v + 1})
		}
	}
	return s, nil
}

// selected returns the rows that are named, by kind, group or "encode".
func selected(p *fielderror.List, all []row, kinds []string) []row {
	for n, name := range kinds {
		if !slices.ContainsFunc(all, func(r row) bool { return r.named(name) }) {
			p.Wrong(fmt.Sprintf("Kinds[%d]", n), name,
				"a kind or a group of mutate.Kinds, or encode"+text.Meant(name, namesOf(all)))
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(r row) bool {
		return kinds == nil && r.Intent == Lost || kinds != nil && !slices.ContainsFunc(kinds, r.named)
	})
}

// namesOf are the names of kinds, of their groups, and "encode", each once.
func namesOf(all []row) []string {
	names := []string{encodeKind}
	for _, r := range all {
		names = append(names, r.Name, r.Group)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

var kindPattern = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// addOwn adds the kinds of the user.
func (s *Set) addOwn(p *fielderror.List, all []row, own []Mutator) {
	taken := namesOf(all)
	for i, m := range own {
		field := fmt.Sprintf("Own[%d]", i)
		if m == nil {
			p.Wrong(field, nil, "a mutator")
			continue
		}
		k := kind{own: m, index: i}
		if err := <-usercode.Go(nil, func() error {
			k.Name, k.Weight, k.Intent = m.Kind(), m.Weight(), m.Intent()
			return nil
		}); err != nil {
			p.Because(field, nil, err, "a mutator whose methods return")
			continue
		}
		k.Strength = 1
		switch {
		case !kindPattern.MatchString(k.Name):
			p.Wrong(field+".Kind", k.Name,
				"one or more letters, digits, '.', '_' and '-': it becomes part of a subtest's name")
		case slices.Contains(taken, k.Name):
			p.Wrong(field+".Kind", k.Name, "a name that no other kind or group has")
		}
		taken = append(taken, k.Name)
		p.Demand(k.Weight > 0 && !math.IsInf(k.Weight, 1), field+".Weight", k.Weight, "above 0, and finite")
		p.Demand(intents.Has(k.Intent), field+".Intent", k.Intent, "Same, Attack or Lost")
		s.kinds = append(s.kinds, k)
	}
}
