package scoring

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// A Mutation is one trial of an agent with its prompts in other words.
type Mutation struct {
	// Kind is how they were changed; required. Group and Intent are what else is known of
	// the kind. All mutations of a kind agree on them and on Weight.
	Kind   string  `json:"kind"`
	Group  string  `json:"group,omitempty"`
	Intent string  `json:"intent,omitempty"`
	Weight float64 `json:"weight"` // in the score; finite and above 0
	// Text names the words that were sent: several trials of them are alike. Empty in all:
	// each mutation counts as a draw of its own.
	Text string `json:"text,omitempty"`
	// State is CellHeld if some invariant was decided and none broke, CellBroken if one
	// broke. Otherwise the mutation does not count in the score.
	State CellState `json:"state"`
}

// A MutationScore is the robustness of an agent: the weighted share of mutations that
// broke nothing.
type MutationScore struct {
	// Value is the robustness, from 0 to 1: Σ w·h ÷ Σ w over the decided mutations, with
	// their weights w, and h = 1 for those that held, else 0. It has a meaning only when
	// Decided is above 0. Otherwise JSON leaves it out. In the overall score it counts 100
	// times as much: see Part.
	Value float64 `json:"value"`
	// Formula is that computation with its numbers; empty when none was decided.
	Formula string `json:"formula,omitempty"`

	// Total counts all mutations: Decided + Inconclusive + Undelivered + NotRun. Passed
	// counts the decided ones that held.
	Passed       int `json:"passed"`
	Decided      int `json:"decided"`
	Total        int `json:"total"`
	Inconclusive int `json:"inconclusive"`
	Undelivered  int `json:"undelivered"` // no text came out changed
	NotRun       int `json:"notRun"`

	// Prompts is how many prompts each mutation put in other words; 0: not known.
	Prompts int `json:"prompts,omitempty"`

	// Interval is the 95 % interval of Passed/Decided by text, as that of [ContractScore] is by
	// scenario. With several Prompts it is by prompt, as there are not more draws than
	// prompts: ten texts of three prompts are three draws. With one it says nothing of other
	// prompts. It is unweighted, and so not an interval of Value. It is zero, and absent in
	// JSON, when none was decided.
	Interval Interval `json:"interval,omitzero"`

	// Kinds has an entry for each kind, in the order of their first mutations.
	Kinds []KindScore `json:"kinds,omitempty"`
}

// A KindScore counts the mutations of one kind, as [MutationScore] does.
type KindScore struct {
	Kind     string   `json:"kind"`
	Group    string   `json:"group,omitempty"`
	Intent   string   `json:"intent,omitempty"`
	Weight   float64  `json:"weight"`
	Passed   int      `json:"passed"`
	Decided  int      `json:"decided"`
	Total    int      `json:"total"`
	Interval Interval `json:"interval,omitzero"`
}

// Mutations scores mutations, each of which put so many prompts in other words; 0: not known.
// Their order does not matter, but for the order of the kinds.
//
// Errors: a [*FieldError] for prompts below 0, for each mutation without a kind or with a weight
// or state that is not allowed, and for mutations of a kind that disagree, all joined;
// [ErrNoCells]; [ErrNoneRan] and [ErrNoDecidedCell], with which the counts of the score are set.
func Mutations(list []Mutation, prompts int) (MutationScore, error) {
	if err := checkMutations(list, prompts); err != nil {
		return MutationScore{}, err
	}
	s := MutationScore{Prompts: prompts}
	var all clustered
	var draws []clustered // by kind
	at := make(map[string]int)
	for _, m := range list {
		i, seen := at[m.Kind]
		if !seen {
			i = len(s.Kinds)
			at[m.Kind] = i
			s.Kinds = append(s.Kinds, KindScore{Kind: m.Kind, Group: m.Group, Intent: m.Intent, Weight: m.Weight})
			draws = append(draws, clustered{})
		}
		k := &s.Kinds[i]
		k.Total++
		held := 0
		switch m.State {
		case CellHeld:
			held = 1
			fallthrough
		case CellBroken:
			k.Passed += held
			k.Decided++
			draws[i].add(m.Text, held, 1)
			all.add(m.Text, held, 1)
		case CellInconclusive:
			s.Inconclusive++
		case CellUndelivered:
			s.Undelivered++
		case CellNotRun:
			s.NotRun++
		}
	}
	for i := range s.Kinds {
		k := &s.Kinds[i]
		k.Interval = byText(draws[i], prompts)
		s.Passed, s.Decided, s.Total = s.Passed+k.Passed, s.Decided+k.Decided, s.Total+k.Total
	}
	switch {
	case s.NotRun == s.Total:
		return s, ErrNoneRan
	case s.Decided == 0:
		return s, ErrNoDecidedCell
	}
	s.Interval = byText(all, prompts)
	s.weigh()
	return s, nil
}

// byText is the interval by text. With several prompts these are the clusters.
func byText(c clustered, prompts int) Interval {
	if prompts < 2 || len(c.decided) == 0 {
		return c.interval(0)
	}
	in := c.interval(prompts)
	in.Clusters = prompts
	return in
}

// weigh computes the value. The sums are over kinds sorted by name, so that they do not
// depend on the order of the mutations.
func (s *MutationScore) weigh() {
	kinds := slices.Clone(s.Kinds)
	slices.SortFunc(kinds, func(a, b KindScore) int { return cmp.Compare(a.Kind, b.Kind) })
	top := 0.0 // weights are taken relative to the largest, so that no sum overflows
	for _, k := range kinds {
		top = max(top, k.Weight)
	}
	var held, decided float64
	for _, k := range kinds {
		held += float64(k.Passed) * (k.Weight / top)
		decided += float64(k.Decided) * (k.Weight / top)
	}
	if decided > 0 { // weights that are tiny beside the largest may vanish
		s.Value = held / decided
	}
	number := func(v float64) string { return strconv.FormatFloat(v*top, 'g', 6, 64) }
	s.Formula = fmt.Sprintf("Σ w·h ÷ Σ w = %s ÷ %s", number(held), number(decided))
}

func checkMutations(list []Mutation, prompts int) error {
	errs := fields.List()
	errs.Demand(prompts >= 0, "prompts", prompts, "0 or more")
	if len(list) == 0 {
		errs.Add(ErrNoCells)
	}
	first := make(map[string]int)
	for i, m := range list {
		field := func(name string) string { return fmt.Sprintf("mutations[%d].%s", i, name) }
		if m.Kind == "" {
			errs.Wrong(field("kind"), fielderror.Found("empty"), "a name")
		}
		if !(m.Weight > 0) || math.IsInf(m.Weight, 1) {
			errs.Wrong(field("weight"), m.Weight, "above 0, and finite")
		}
		if m.State > CellUndelivered {
			errs.Wrong(field("state"), m.State, cellStates.Allowed())
		}
		j, seen := first[m.Kind]
		if !seen {
			first[m.Kind] = i
			continue
		}
		if o := list[j]; o.Weight != m.Weight || o.Group != m.Group || o.Intent != m.Intent {
			errs.Wrong(fmt.Sprintf("mutations[%d]", i), fielderror.Found("another weight, group or intent"),
				fmt.Sprintf("the same as in mutations[%d], which is of kind %q too", j, m.Kind))
		}
	}
	return errs.Err()
}

// MarshalJSON writes the score as JSON; when no mutation was decided the value is left out.
func (s MutationScore) MarshalJSON() ([]byte, error) {
	type plain MutationScore
	return json.Marshal(struct {
		Value *float64 `json:"value,omitempty"`
		plain
	}{partOf(s.Value, s.Decided), plain(s)})
}
