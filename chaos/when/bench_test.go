package when_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

//go:noinline
func bare(_ context.Context, n int) (int, error) { return n + 1, nil }

// BenchmarkTrigger is a wrapped call with a rule whose trigger says no. Read it by
// BenchmarkCall/byHand of package chaos in the same run.
func BenchmarkTrigger(b *testing.B) {
	work := chaos.Wrap("work", bare)
	const far = 1 << 30
	for _, c := range []struct {
		name string
		when chaos.When
	}{
		{"Prob", when.Prob(1e-12)},
		{"Nth", when.Nth(far)},
		{"First", when.First(1)},
		{"After", when.After(far)},
		{"Every", when.Every(far)},
		{"Intermittent", when.Intermittent(1, far)},
		{"Burst", when.Burst(far, 1)},
		{"Late", when.Late(far)},
		{"Not", when.Not(when.Always())},
	} {
		b.Run(c.name, func(b *testing.B) {
			p, err := chaos.NewPlan(1, chaos.Rule{Target: "work", When: c.when, Fault: fault.Fail(errors.New("down"))})
			require.NoError(b, err)
			ctx := chaos.NewContext(b.Context(), p.Injector("cell", nil))
			_, _ = work(ctx, 0) // the first call, which some match
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_, _ = work(ctx, i)
			}
		})
	}
}
