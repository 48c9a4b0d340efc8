package experiment_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/experiment"
)

func sleeping(name string, d time.Duration) experiment.Activity {
	return experiment.Activity{Name: name, Run: func(ctx context.Context) (any, error) {
		select {
		case <-time.After(d):
			return "slept", nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
}

func TestBackgroundActivitiesAreJoinedAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := sleeping("long", time.Minute)
		long.Background = true
		j := run(t, &experiment.Experiment{Method: []experiment.Activity{long, sleeping("short", time.Second)}}, nil)
		require.Len(t, j.Run, 2)
		assert.Equal(t, "long", j.Run[0].Activity.Name, "in the order of the method")
		assert.True(t, j.Run[0].Activity.Background)
		assert.Equal(t, j.Run[0].Start, j.Run[1].Start)
		assert.Equal(t, []float64{60, 1, 60}, []float64{j.Run[0].Duration, j.Run[1].Duration, j.Duration})
	})
}

func TestPausesAreNoPartOfTheDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := sleeping("a", time.Second)
		a.PauseBefore, a.PauseAfter = time.Minute, time.Hour
		j := run(t, &experiment.Experiment{Method: []experiment.Activity{a}}, nil)
		assert.Equal(t, 1.0, j.Run[0].Duration)
		assert.Equal(t, time.Minute, j.Run[0].Start.Sub(j.Start))
		assert.Equal(t, time.Minute+time.Second+time.Hour, j.End.Sub(j.Start))
	})
}

func TestMaximumDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		j := run(t, &experiment.Experiment{
			Method:    []experiment.Activity{d.starting("a", nil), sleeping("long", time.Hour), d.doing("never")},
			Rollbacks: []experiment.Activity{sleeping("in its own time", 30*time.Second)}, MaxDuration: time.Minute,
		}, nil)
		assert.Equal(t, experiment.Aborted, j.Status)
		assert.Equal(t, "the maximum duration of 1m0s is over", j.Why)
		assert.Equal(t, diary{"a", "undo a"}, d)
		assert.Equal(t, experiment.ActivitySucceeded, j.Rollbacks[1].Status)
		assert.Equal(t, 90.0, j.Duration)
		r := j.Result()
		assert.Equal(t, "Action failed: context deadline exceeded (the maximum duration of 1m0s is over)", *r.Error)
	})
}

func TestGuards(t *testing.T) {
	for name, tc := range map[string]struct {
		check func(ctx context.Context, polled int) error
		every time.Duration
		after time.Duration // when the method ended
		why   string
	}{
		"says stop at the start":   {func(context.Context, int) error { return errors.New("too many errors") }, 0, 0, `guard "g": too many errors`},
		"is polled every second":   {func(_ context.Context, n int) error { return map[bool]error{true: errors.New("now")}[n == 4] }, 0, 3 * time.Second, `guard "g": now`},
		"as often as asked":        {func(_ context.Context, n int) error { return map[bool]error{true: errors.New("now")}[n == 4] }, time.Minute, 3 * time.Minute, `guard "g": now`},
		"a broken guard stops too": {func(context.Context, int) error { panic("boom") }, 0, 0, `guard "g": panic: boom`},
		"and so does a hung one":   {func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() }, 0, 9 * time.Second, `guard "g": context deadline exceeded (experiment: not over in time: 9s)`},
		"content to the end":       {func(context.Context, int) error { return nil }, 0, time.Hour, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				polled := 0
				var d diary
				long := sleeping("long", time.Hour)
				long.Timeout = 2 * time.Hour
				j := run(t, &experiment.Experiment{
					Method: []experiment.Activity{d.starting("a", nil), long, d.doing("last")},
					Guards: []experiment.Guard{{Name: "g", Every: tc.every, Check: func(ctx context.Context) error {
						polled++
						return tc.check(ctx, polled)
					}}},
				}, &experiment.Options{Timeout: 9 * time.Second})
				assert.Equal(t, tc.why, j.Why)
				assert.Equal(t, tc.after.Seconds(), j.Duration)
				if len(d) > 0 { // a guard that stops at the start may be quicker than the first action
					assert.Equal(t, "undo a", d[len(d)-1], "it is rolled back")
				}
				if tc.why == "" {
					assert.Equal(t, experiment.Completed, j.Status)
					assert.Equal(t, diary{"a", "last", "undo a"}, d)
				} else {
					assert.Equal(t, experiment.Aborted, j.Status)
					assert.NotContains(t, d, "last")
				}
			})
		})
	}
}

func TestOutputsOfAHypothesisWithoutTolerance(t *testing.T) {
	for _, tc := range []struct {
		output any
		holds  bool
	}{{true, true}, {false, false}, {nil, false}, {"true", false}, {[]int{1}, false}} {
		probe := experiment.Activity{Name: "p", Run: func(context.Context) (any, error) { return tc.output, nil }}
		j := run(t, &experiment.Experiment{Hypothesis: &experiment.Hypothesis{Probes: []experiment.Activity{probe}}}, nil)
		assert.Equal(t, tc.holds, j.SteadyStates.After != nil && j.SteadyStates.After.Met, "%#v", tc.output)
	}
}

type broken struct{ panics bool }

func (b broken) Holds(context.Context, any) (bool, error) {
	if b.panics {
		panic("boom")
	}
	return true, errors.New("cannot say")
}

func TestAToleranceThatCannotJudgeFailsTheProbe(t *testing.T) {
	for panics, want := range map[bool]string{true: "tolerance: panic: boom", false: "tolerance: cannot say"} {
		probe := experiment.Activity{Name: "p", Run: doNothing, Tolerance: broken{panics}}
		j := run(t, &experiment.Experiment{Hypothesis: &experiment.Hypothesis{Probes: []experiment.Activity{probe}}}, nil)
		assert.Equal(t, want, j.SteadyStates.Before.Error)
		assert.Equal(t, experiment.Failed, j.Status)
	}
}
