package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
)

// BenchmarkBookkeeping is what a search adds to each run, rounds, digests and the cache,
// and what it retains of each: of runs in which nothing broke, and of runs that broke with
// 12 deliveries, of an agent that repeats itself.
func BenchmarkBookkeeping(b *testing.B) {
	for _, answer := range []string{"ok", "bad"} {
		b.Run(answer, func(b *testing.B) {
			m := scripted(func(call func(string, int) error) string { each(call, 4); return answer },
				contract.Under("all", fails("*", nil)))
			runner, err := m.Runner(b.Context(),
				&contract.RunOptions{Keep: contract.KeepAll, Gather: contract.NeedState | contract.NeedResults})
			require.NoError(b, err)
			defer runner.Close()
			made, err := runner.Run(b.Context(), contract.Cell{Scenario: "all", Invariant: "fine", Trial: 1}, runner.Rules("all"))
			require.NoError(b, err)
			view := newViewer(runner.Tools(), newShaper(map[string]bool{"a": true}))
			l := newLockstep(runner, &Options{Budget: Budget{Runs: 1 << 30}},
				func(_ runRequest, r *contract.Result) *runDigest { return view.Digest(r, ofBreaks) })
			l.makes = func(context.Context, runRequest) (*contract.Result, error) { return made, nil }
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			n := 0
			for b.Loop() {
				require.NoError(b, l.Run(b.Context(), func(ask askFunc) {
					for range 100 {
						n++
						ask(runRequest{Key: fmt.Sprint("all 1 ", n)})
					}
				}))
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/run")
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(n), "B-kept/run")
			runtime.KeepAlive(l)
		})
	}
}

// BenchmarkGrouping groups 10^5 broken cells of 10^3 groups.
func BenchmarkGrouping(b *testing.B) {
	r := &contract.Report{}
	for i := range 100_000 {
		r.Cells = append(r.Cells, contract.CellReport{
			Cell: contract.Cell{Scenario: fmt.Sprint("scenario-", i%100),
				Invariant: fmt.Sprint("invariant-", i/100%10), Trial: i/1000 + 1},
			Violated: true, Severity: contract.High,
			Why: fmt.Sprintf("an effect happened more than once: %q is there %d times", fmt.Sprint(i), i),
		})
	}
	for b.Loop() {
		e := &explainer{report: r}
		e.group()
	}
}

// BenchmarkExplain explains two defects of an agent that makes 16 calls.
func BenchmarkExplain(b *testing.B) {
	m := scripted(breaksWith(5, "a2", "c4"), contract.Under("all", fails("*", nil)))
	r, err := m.Run(b.Context(), nil)
	require.NoError(b, err)
	runs := 0
	for b.Loop() {
		require.NoError(b, Explain(b.Context(), m, r, &Options{Budget: Budget{Runs: 1000}}))
		runs = r.SearchRuns
	}
	b.ReportMetric(float64(runs), "runs")
}

// BenchmarkKeeping is what a sweep keeps of a run with 12 deliveries, and how long that
// takes: of one in which nothing broke, and of one that broke.
func BenchmarkKeeping(b *testing.B) {
	for _, answer := range []string{"ok", "bad"} {
		b.Run(answer, func(b *testing.B) {
			m := &contract.Matrix{
				Prompts: []string{"go"},
				NewWorld: func(context.Context) (*contract.World, error) {
					tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "a"}, func(_ context.Context, n int) (int, error) { return n, nil }))
					return &contract.World{Tools: tools, State: func(context.Context) (any, error) { return 1, nil },
						Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
							for i := range 12 {
								_, _ = tools.CallTool(ctx, "a", json.RawMessage(fmt.Sprint(i)))
							}
							return answer, nil
						}}, err
				},
				Invariants: []contract.Invariant{{Name: "fine", Severity: contract.High, Check: func(_ context.Context, o *contract.Observation) error {
					if o.Response != "ok" {
						return errors.New(o.Response)
					}
					return nil
				}}},
			}
			runner, err := m.Runner(b.Context(),
				&contract.RunOptions{Keep: contract.KeepAll, Gather: contract.NeedState | contract.NeedResults})
			require.NoError(b, err)
			defer runner.Close()
			view, l := newViewer(runner.Tools(), newShaper(nil)), promptListsOf(m)[0]
			l.runs = map[string]*runDigest{}
			run := func(set partSet) *contract.Result {
				r := l.request(set, nil)
				made, err := runner.Run(b.Context(), r.Cell, r.Rules)
				require.NoError(b, err)
				return made
			}
			l.calm[0] = l.digest(view, run(nil))
			l.learnCalm()
			for call := range l.calmly {
				l.addParts(call, []chaos.Fault{fault.Fail(fault.ErrUnavailable)})
			}
			made := run(partSet{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
			var all []*runDigest
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for b.Loop() {
				all = append(all, l.digest(view, made))
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			require.Len(b, all[0].delivered, 12)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(all)), "B-kept/run")
			runtime.KeepAlive(all)
		})
	}
}
