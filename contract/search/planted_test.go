package search

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
)

// A try is a call of a step: the how-manieth in a row.
type try struct {
	step   string
	number int
}

func (t try) String() string { return fmt.Sprintf("%s %d", t.step, t.number) }

// A tries is a set of failed tries. A later try of a step is made only if those before failed.
type tries []try

func (s tries) within(other tries) bool {
	return !slices.ContainsFunc(s, func(t try) bool { return !slices.Contains(other, t) })
}

func (s tries) String() string {
	var all []string
	for _, t := range s {
		all = append(all, t.String())
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// failing adds the first tries of a step, each of which failed.
func (s tries) failing(step string, times int) tries {
	for n := 1; n <= times; n++ {
		s = append(s, try{step, n})
	}
	return s
}

// plantedIn is a matrix whose agent calls each step up to three times, tells all that it saw, and
// breaks if and only if all of a cause failed. Draws decide on the causes, on the scenarios and
// on what the reason says.
func plantedIn(seed uint64) (m *contract.Matrix, causes []tries) {
	draw := rand.New(rand.NewPCG(seed, 24))
	steps := []string{"find", "price", "ship", "mail", "note"}[:3+draw.IntN(3)]
	for range 1 + draw.IntN(3) {
		var cause tries
		for _, i := range draw.Perm(len(steps))[:1+draw.IntN(min(3, len(steps)))] {
			cause = cause.failing(steps[i], 1+draw.IntN(2))
		}
		causes = append(causes, cause)
	}
	causes = slices.DeleteFunc(slices.Clone(causes), func(s tries) bool { // the smallest alone are causes
		return slices.ContainsFunc(causes, func(o tries) bool { return o.within(s) && len(o) < len(s) })
	})
	var scenarios []contract.Scenario
	for i := range 1 + draw.IntN(2) {
		share := []float64{.3, .5, .7}[draw.IntN(3)]
		scenarios = append(scenarios, contract.Under(fmt.Sprint("s", i), fails("*", when.Prob(share))))
	}
	says := draw.IntN(3)
	m = scripted(nil, scenarios...)
	m.Seed, m.Trials = seed, 6+draw.IntN(6)
	m.NewWorld = func(context.Context) (*contract.World, error) {
		var tools []chaos.ToolFunc
		for _, name := range steps {
			tools = append(tools, chaos.Func(chaos.Tool{Name: name}, func(context.Context, map[string]any) (int, error) { return 1, nil }))
		}
		r, err := chaos.NewRegistry(tools...)
		return &contract.World{Tools: r, Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
			var failed tries
			for _, step := range steps {
				for n := 1; n <= 3; n++ {
					if _, err := tools.CallTool(ctx, step, []byte(`{"n":1}`)); err == nil {
						break
					}
					failed = append(failed, try{step, n})
				}
			}
			return failed.String(), nil
		}}, err
	}
	m.Invariants = []contract.Invariant{{Name: "fine", Severity: contract.High, Check: func(_ context.Context, o *contract.Observation) error {
		failed := failedIn([]*contract.Observation{o})
		if failed.String() != o.Response {
			return fmt.Errorf("the agent saw %s", o.Response) // the oracle is wrong
		}
		i := slices.IndexFunc(causes, func(s tries) bool { return s.within(failed) })
		switch {
		case i < 0:
			return nil
		case says == 0:
			return errors.New("bad")
		case says == 1:
			return fmt.Errorf("these steps failed: %v", failed)
		}
		return fmt.Errorf("%v is why", causes[i])
	}}}
	return m, causes
}

// failedIn are the tries that a fault failed.
func failedIn(run []*contract.Observation) (failed tries) {
	for _, o := range run {
		for i := range o.Events {
			if e := &o.Events[i]; e.Delivered {
				failed = append(failed, try{e.Target, e.Attempt})
			}
		}
	}
	return failed
}

var failsClause = regexp.MustCompile(`^(.*) fails(?:| (twice|\d+ times) in a row)$`)

// printed are the sets of failed tries that a sentence claims to break it: several where it has a
// choice of targets. at are the targets where they are not the sentence's.
func printed(t *testing.T, sentence string, at []string) (sets []tries) {
	sets = []tries{nil}
	for i, clause := range strings.Split(sentence, ", then ") {
		parts := failsClause.FindStringSubmatch(clause)
		require.NotNil(t, parts, sentence)
		times := 1
		if count, _, _ := strings.Cut(parts[2], " "); count == "twice" {
			times = 2
		} else if count != "" {
			times, _ = strconv.Atoi(count)
		}
		choice := strings.Split(strings.ReplaceAll(parts[1], " or ", ", "), ", ")
		if len(at) > 0 {
			choice = at[i : i+1]
		}
		var all []tries
		for _, s := range sets {
			for _, step := range choice {
				all = append(all, slices.Clone(s).failing(step, times))
			}
		}
		sets = all
	}
	return sets
}

// A share is how many of some were as they should be.
type share struct{ right, of int }

func (s *share) add(right bool) {
	s.of++
	if right {
		s.right++
	}
}

func (s share) String() string { return fmt.Sprintf("%d of %d", s.right, s.of) }

// Each planted cause that some cell met alone is named, and most of those that each cell met beside
// another: what else breaks a cell is looked for in the cells that are searched. Each cell is counted with faults that it met, once. Each file repeats the faults of its
// sentence.
func TestPlantedCausesAreNamedWithTheirCells(t *testing.T) {
	const matrices = 60
	var named, hidden, met, counted, replayed share
	for seed := range uint64(matrices) {
		m, causes := plantedIn(seed)
		dir := t.TempDir()
		r := explained(t, m, &Options{Dir: dir})
		require.Empty(t, r.SearchStopped)
		cells := map[contract.Cell]tries{}
		for i := range r.Cells {
			if c := &r.Cells[i]; c.Violated {
				require.NotContains(t, c.Why, "the agent saw", "the oracle sees what the agent sees")
				cells[c.Cell] = failedIn(c.Observations())
			}
		}
		said, times := map[string]bool{}, map[contract.Cell]int{}
		for _, d := range r.Defects {
			for _, b := range d.Breaks {
				sets := printed(t, d.Sentence, b.At)
				for _, s := range sets {
					said[s.String()] = true
				}
				for _, c := range b.Cells {
					times[c]++
					met.add(slices.ContainsFunc(sets, func(s tries) bool { return s.within(cells[c]) }))
				}
			}
		}
		for cell := range cells {
			counted.add(times[cell] == 1)
		}
		for _, cause := range causes {
			seen, alone := false, false
			for _, failed := range cells {
				others := slices.ContainsFunc(causes, func(o tries) bool { return o.String() != cause.String() && o.within(failed) })
				seen = seen || cause.within(failed)
				alone = alone || cause.within(failed) && !others
			}
			switch {
			case alone:
				named.add(said[cause.String()])
			case seen:
				hidden.add(said[cause.String()])
			}
		}
		kept := keptIn(t, dir)
		for _, k := range kept {
			status, cell, err := k.Run(t.Context(), m, &contract.RunOptions{Harness: bubbled(t)})
			require.NoError(t, err)
			sets := printed(t, k.Sentence, nil)
			replayed.add(status == StatusOngoing && len(sets) == 1 && sets[0].String() == failedIn(cell.Observations()).String())
		}
	}
	t.Logf("of %d matrices: named are %v causes that some cell met alone, and %v that each cell met beside another; "+
		"cells that met what is printed %v, counted once %v, files that repeat their sentence %v",
		matrices, named, hidden, met, counted, replayed)
	for what, s := range map[string]share{"named": named, "met": met, "counted": counted, "replayed": replayed} {
		assert.NotZero(t, s.of, what)
		assert.Equal(t, s.of, s.right, what)
	}
	assert.Greater(t, float64(hidden.right), .7*float64(hidden.of))
}
