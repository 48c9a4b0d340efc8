package search

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"pgregory.net/rapid"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/habits"
	"github.com/shakedown-go/shakedown/contract/invariant"
)

// numbers makes a lockstep whose runs are numbers: the answer is the trial of the cell.
func numbers(o Options) (l *lockstep, runs func() []int) {
	var mu sync.Mutex
	var all []int
	run := func(_ context.Context, q runRequest) (*contract.Result, error) {
		for range rand.IntN(4) {
			runtime.Gosched()
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, q.Cell.Trial)
		return &contract.Result{}, nil
	}
	l = newLockstep(&contract.Runner{}, &o, func(r runRequest, _ *contract.Result) *runDigest {
		return &runDigest{Answer: uint64(r.Cell.Trial)}
	})
	l.makes = run
	return l, func() []int { return slices.Sorted(slices.Values(all)) }
}

func number(n int) runRequest {
	return runRequest{Cell: contract.Cell{Trial: n}, Key: strconv.Itoa(n)}
}

// halving are tasks that ask for their number, its half and so on, and write down what
// they learn.
func halving(heard [][]int) []task {
	tasks := make([]task, len(heard))
	for i := range tasks {
		tasks[i] = func(ask askFunc) {
			for n := i + 1; n > 0; n /= 2 {
				if answer := ask(number(n)); answer != nil {
					heard[i] = append(heard[i], int(answer.Answer))
				} else {
					heard[i] = append(heard[i], -n)
				}
			}
		}
	}
	return tasks
}

func TestEachDifferentRunIsMadeOnceAtAnyNumberOfWorkers(t *testing.T) {
	for _, workers := range []int{1, 2, 8, 64} {
		l, runs := numbers(Options{Run: contract.RunOptions{Workers: workers}, Budget: Budget{Runs: 1000}})
		heard := make([][]int, 40)
		require.NoError(t, l.Run(t.Context(), halving(heard)...))
		assert.Len(t, runs(), 40)
		assert.Equal(t, []int{40, 20, 10, 5, 2, 1}, heard[39])
		assert.Equal(t, 40, l.Spent.Runs)
		assert.Empty(t, l.Cut)
	}
}

func TestABudgetOfRunsOrCostCutsAtTheSamePlace(t *testing.T) {
	for name, o := range map[string]Options{
		"runs": {Budget: Budget{Runs: 17}},
		"cost": {Budget: Budget{Cost: 8.6}, Cost: func(*contract.Result) float64 { return .5 }},
	} {
		var first [][]int
		for _, workers := range []int{1, 2, 8, 64} {
			o.Run.Workers = workers
			l, runs := numbers(o)
			heard := make([][]int, 40)
			require.NoError(t, l.Run(t.Context(), halving(heard)...))
			assert.Len(t, runs(), 17, name)
			assert.Contains(t, l.Cut, name)
			if first == nil {
				first = heard
			}
			assert.Equal(t, first, heard)
			assert.Equal(t, -40, heard[39][0], "cut within the round, in order")
			assert.Equal(t, 17, heard[16][0])
			assert.Equal(t, []int{-18, 9, 4, 2, 1}, heard[17], "what is known is still answered")
		}
	}
}

func TestWhatARunCostsIsLearntFromOneRun(t *testing.T) {
	l, runs := numbers(Options{Run: contract.RunOptions{Workers: 8}, Budget: Budget{Cost: 1},
		Cost: func(*contract.Result) float64 { return 3 }})
	require.NoError(t, l.Run(t.Context(), halving(make([][]int, 8))...))
	assert.Equal(t, []int{1}, runs())
}

func TestACostThatIsNoNumberEndsTheSearch(t *testing.T) {
	for name, cost := range map[string]func(*contract.Result) float64{
		"is no number": func(*contract.Result) float64 { return -1 },
		"panics":       func(*contract.Result) float64 { panic("no price") },
	} {
		l, _ := numbers(Options{Budget: Budget{Runs: 10}, Cost: cost})
		err := l.Run(t.Context(), halving(make([][]int, 3))...)
		assert.ErrorContains(t, err, "Cost", name)
	}
}

// TestABudgetOfTimeLeavesAPrefix: wherever the time ends, each task has learnt what it
// learns without an end, up to a question; whole rounds were made.
func TestABudgetOfTimeLeavesAPrefix(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tasks := rapid.IntRange(1, 30).Draw(rt, "tasks")
		budget := time.Duration(rapid.IntRange(1, 40).Draw(rt, "seconds")) * time.Second
		workers := rapid.SampledFrom([]int{1, 2, 8, 64}).Draw(rt, "workers")
		takes := rapid.SliceOfN(rapid.IntRange(0, 5), 31, 31).Draw(rt, "each takes")
		synctest.Test(t, func(*testing.T) {
			heard := func(o Options) [][]int {
				o.Run.Workers = workers
				l, _ := numbers(o)
				made := l.makes
				l.makes = func(ctx context.Context, q runRequest) (*contract.Result, error) {
					time.Sleep(time.Duration(takes[q.Cell.Trial]) * time.Second)
					return made(ctx, q)
				}
				all := make([][]int, tasks)
				if err := l.Run(context.Background(), halving(all)...); err != nil {
					rt.Fatal(err)
				}
				return all
			}
			full, cut := heard(Options{Budget: Budget{Runs: 1000}}), heard(Options{Budget: Budget{Time: budget}})
			for i := range full {
				refused := slices.IndexFunc(cut[i], func(n int) bool { return n < 0 })
				if refused < 0 {
					refused = len(full[i])
				}
				if !slices.Equal(full[i][:refused], cut[i][:refused]) || refused == 0 {
					rt.Fatalf("task %d learnt %v in %v, and %v without an end", i, cut[i], budget, full[i])
				}
			}
		})
	})
}

func TestARunThatCannotBeMadeEndsAllTasks(t *testing.T) {
	l, _ := numbers(Options{Budget: Budget{Runs: 100}})
	broken := errors.New("no world")
	l.makes = func(context.Context, runRequest) (*contract.Result, error) { return nil, broken }
	heard := make([][]int, 3)
	assert.ErrorIs(t, l.Run(t.Context(), halving(heard)...), broken)
	assert.Equal(t, [][]int{{-1}, {-2, -1}, {-3, -1}}, heard)
}

func TestOptionsNameEveryProblem(t *testing.T) {
	_, err := (&Options{Budget: Budget{Runs: -1, Time: -1, Cost: -1}, Depth: 5, Strength: 3}).checked(&contract.Matrix{})
	for _, want := range []string{"Budget.Runs", "Budget.Time", "Budget.Cost", "Depth is 5", "Strength is 3", "allowed: 1 to 4"} {
		assert.ErrorContains(t, err, want)
	}
	_, err = (*Options)(nil).checked(&contract.Matrix{})
	assert.ErrorContains(t, err, "Budget")
	_, err = (&Options{Budget: Budget{Cost: 1}}).checked(&contract.Matrix{})
	assert.ErrorContains(t, err, "Cost is nil beside Budget.Cost")
	_, err = (&Options{Budget: Budget{Runs: 1}, Habits: []*habits.Habit{habits.Retries(nil), nil, habits.Retries(&habits.Options{Tries: 8})}}).
		checked(&contract.Matrix{})
	assert.EqualError(t, err, "search: Habits[1] is nil; allowed: a habit\n"+
		`search: Habits[2].Name is "bounded-retries"; allowed: a name that no other habit has: HabitsOf finds them by it`)
	o, err := (&Options{Budget: Budget{Runs: 1}}).checked(&contract.Matrix{})
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprint(2, 2), fmt.Sprint(o.Depth, o.Strength))
}

// What a judge costs counts in the budget of the search, beside what the agent costs, and
// where the agent costs nothing.
func TestJudgesCountInTheBudget(t *testing.T) {
	judge := func(context.Context, invariant.Question) (invariant.Judgement, error) {
		return invariant.Judgement{Ruling: invariant.Held, Cost: .5}, nil
	}
	for agent, most := range map[float64]int{0: 10, 2: 2} {
		for _, workers := range []int{1, 8} {
			m := many()
			m.Scenarios = m.Scenarios[:4]
			m.Invariants = append(m.Invariants, invariant.Judged("polite", contract.Low, "The answer is polite.", judge))
			var last Progress
			o := &Options{Budget: Budget{Cost: 5}, Cost: func(*contract.Result) float64 { return agent },
				OnProgress: func(p Progress) { last = p }}
			o.Run.Workers = workers
			r := explained(t, m, o)
			assert.Equal(t, most, r.SearchRuns)
			assert.InDelta(t, (agent+.5)*float64(most), last.Cost, 1e-9)
			assert.Contains(t, r.SearchStopped, "exceeded the cost of 5")

			free := &Options{Budget: Budget{Runs: 3}, OnProgress: func(p Progress) { last = p }}
			_, err := Sweep(t.Context(), m, free)
			require.NoError(t, err)
			assert.InDelta(t, 1.5, last.Cost, 1e-9, "without a function of the agent's cost it is told all the same")
		}
	}
}
