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
			run := func(set actSet) *contract.Result {
				r := l.Request(set, 0)
				made, err := runner.Run(b.Context(), r.Cell, r.Rules)
				require.NoError(b, err)
				return made
			}
			l.learnCalm(l.digest(view, run(nil)))
			for call := range l.calmly {
				l.addActs(call, []chaos.Fault{fault.Fail(fault.ErrUnavailable)}, false)
			}
			made := run(actSet{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
			var all []*outcome
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
