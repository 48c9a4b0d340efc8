package experiment_test

import (
	"context"
	"errors"
	"runtime"
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
		a.PauseAfter = time.Hour
		j := run(t, &experiment.Experiment{Method: []experiment.Activity{a}}, nil)
		assert.Equal(t, 1.0, j.Run[0].Duration)
		assert.Equal(t, time.Second+time.Hour, j.End.Sub(j.Start))
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

// A situation is a row of a table of outcomes.
type situation struct {
	name      string
	checks    []answer // nil: no hypothesis
	interrupt bool     // in the method
	action    error
	rollback  error

	status   experiment.Status
	deviated bool
	ran      []string // activities of the method; none: it was not started, and nothing is rolled back
}

var both = []string{"first", "second"}

// How each situation ends, and whether its rollbacks run.
func TestOutcomes(t *testing.T) {
	boom := errors.New("boom")
	for _, row := range []situation{
		{name: "all well", checks: []answer{yes}, status: "completed", ran: both},
		{name: "no hypothesis", status: "completed", ran: both},
		{name: "a miss before the method fails the run, nothing ran, nothing is rolled back", checks: []answer{no}, status: "failed", deviated: true},
		{name: "probe before the method raised", checks: []answer{failsWith("boom")}, status: "failed"},
		{name: "action failed; the next activities still run", checks: []answer{yes}, action: boom, status: "completed", ran: both},
		{name: "interrupted in the method, rolled back all the same", checks: []answer{yes}, interrupt: true, status: "interrupted", ran: both[:1]},
		{name: "hypothesis after out of tolerance", checks: []answer{yes, no}, status: "completed", deviated: true, ran: both},
		{name: "hypothesis after raised", checks: []answer{yes, failsWith("boom")}, status: "failed", deviated: true, ran: both},
		{name: "rollback activity failed", checks: []answer{yes}, rollback: boom, status: "completed", ran: both},
	} {
		t.Run(row.name, func(t *testing.T) { synctest.Test(t, row.run) })
	}
}

func (row situation) run(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var rolledBack []string
	rollback := func(name string, err error) experiment.Activity {
		return experiment.Activity{Name: name, Run: func(ctx context.Context) (any, error) {
			rolledBack = append(rolledBack, name)
			assert.NoError(t, ctx.Err(), "a rollback has a context of its own")
			return nil, err
		}}
	}
	e := &experiment.Experiment{
		Name: row.name,
		Method: []experiment.Activity{
			{Name: "first", Run: func(ctx context.Context) (any, error) {
				if row.interrupt {
					cancel()
				}
				time.Sleep(500 * time.Millisecond)
				return nil, row.action
			}},
			{Name: "second", Run: doNothing},
		},
		Rollbacks: []experiment.Activity{rollback("r1", nil), rollback("r2", row.rollback), rollback("r3", nil)},
	}
	if row.checks != nil {
		e.Hypothesis = (&system{answers: row.checks}).hypothesis()
	}
	j, err := experiment.Run(ctx, e, nil)
	require.NoError(t, err)
	assert.Equal(t, row.status, j.Status, j.Why)
	assert.Equal(t, row.deviated, j.Deviated)
	assert.Equal(t, row.status == "completed", j.Why == "")
	var ran []string
	for _, rec := range j.Run {
		ran = append(ran, rec.Activity.Name)
	}
	assert.Equal(t, row.ran, ran)
	var want []string
	if row.ran != nil {
		want = []string{"r3", "r2", "r1"} // what failed does not stop the next
	}
	assert.Equal(t, want, rolledBack)
	assert.Len(t, j.Rollbacks, len(want))
	assert.Equal(t, j.Status == "completed" && !j.Deviated, j.ExitCode() == 0)
}

func TestEveryProbeAndEveryToleranceCounts(t *testing.T) {
	miss := func(name string) experiment.Activity {
		return experiment.Activity{Name: name, Run: func(context.Context) (any, error) { return false, nil }}
	}
	e := &experiment.Experiment{
		Name: "e", Hypothesis: &experiment.Hypothesis{Probes: []experiment.Activity{miss("p1"), miss("p2")}},
	}
	j, err := experiment.Run(t.Context(), e, nil)
	require.NoError(t, err)
	assert.Len(t, j.SteadyStates.Before.Probes, 2, "all probes are evaluated")

	look := miss("look")
	look.Kind, look.Tolerance = experiment.Probe, isTrue{}
	j, err = experiment.Run(t.Context(), &experiment.Experiment{Name: "e", Method: []experiment.Activity{look}}, nil)
	require.NoError(t, err)
	assert.True(t, j.Deviated, "a tolerance anywhere in the method")
}

type isTrue struct{}

func (isTrue) Holds(_ context.Context, output any) (bool, error) { return output == true, nil }

// diary notes what happened, in order; all in one bubble, one at a time.
type diary []string

func (d *diary) note(what string) { *d = append(*d, what) }

// doing is an activity that notes itself.
func (d *diary) doing(name string) experiment.Activity {
	return experiment.Activity{Name: name, Run: func(context.Context) (any, error) { d.note(name); return nil, nil }}
}

// starting is an action that notes itself and returns its own rollback.
func (d *diary) starting(name string, err error) experiment.Activity {
	return experiment.Activity{Name: name, Start: func(context.Context) (any, experiment.Undo, error) {
		d.note(name)
		return nil, func(context.Context) error { d.note("undo " + name); return nil }, err
	}}
}

func run(t *testing.T, e *experiment.Experiment, o *experiment.Options) *experiment.Journal {
	t.Helper()
	if e.Name == "" {
		e.Name = "e"
	}
	j, err := experiment.Run(t.Context(), e, o)
	require.NoError(t, err)
	return j
}

func TestUndosRunInReverseBeforeTheListedRollbacks(t *testing.T) {
	var d diary
	j := run(t, &experiment.Experiment{
		Method:    []experiment.Activity{d.starting("a", nil), d.starting("b", errors.New("half done")), d.doing("c")},
		Rollbacks: []experiment.Activity{d.doing("r1"), d.doing("r2")},
	}, nil)
	assert.Equal(t, diary{"a", "b", "c", "undo b", "undo a", "r2", "r1"}, d)
	assert.Equal(t, "half done", j.Run[1].Exception)
	assert.Equal(t, "undo b", j.Rollbacks[0].Activity.Name)
}

func TestOnlyWhatWasStartedIsUndone(t *testing.T) {
	var d diary
	ctx, cancel := context.WithCancel(t.Context())
	first := d.starting("a", nil)
	start := first.Start
	first.Start = func(ctx context.Context) (any, experiment.Undo, error) { cancel(); return start(ctx) }
	j, err := experiment.Run(ctx, &experiment.Experiment{
		Name: "e", Method: []experiment.Activity{first, d.starting("late", nil)},
	}, nil)
	require.NoError(t, err)
	assert.Equal(t, diary{"a", "undo a"}, d)
	assert.Equal(t, experiment.Interrupted, j.Status)
}

// However an action ends, it is recorded and the rollbacks run.
func TestNothingIsLost(t *testing.T) {
	forever := make(chan struct{})
	for name, tc := range map[string]struct {
		act       func(ctx context.Context) (any, error)
		exception string
		abandoned bool
	}{
		"a panic":            {func(context.Context) (any, error) { panic("boom") }, "panic: boom", false},
		"a Goexit":           {func(context.Context) (any, error) { runtime.Goexit(); return nil, nil }, experiment.ErrExited.Error(), false},
		"a polite hang":      {func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, ctx.Err() }, "context deadline exceeded (experiment: not over in time: 5s)", false},
		"a deaf hang":        {func(context.Context) (any, error) { <-forever; return nil, nil }, "left behind: experiment: not over in time: 5s", true},
		"a slow one in time": {func(ctx context.Context) (any, error) { <-ctx.Done(); time.Sleep(time.Second / 2); return 1, nil }, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				forever = make(chan struct{})
				var d diary
				j := run(t, &experiment.Experiment{
					Method:    []experiment.Activity{{Name: "act", Run: tc.act, Timeout: 5 * time.Second}, d.doing("next")},
					Rollbacks: []experiment.Activity{d.doing("r1"), {Name: "r2", Run: tc.act, Timeout: 5 * time.Second}},
				}, nil)
				assert.Equal(t, tc.exception, j.Run[0].Exception)
				assert.Equal(t, tc.abandoned, j.Run[0].Abandoned)
				assert.Equal(t, diary{"next", "r1"}, d)
				assert.Equal(t, tc.exception, j.Rollbacks[0].Exception, "a rollback has a deadline too")
				assert.Equal(t, experiment.Completed, j.Status)
				close(forever)
			})
		})
	}
}

// The undo of an abandoned action is run once, when it arrives.
func TestALateUndoIsRun(t *testing.T) {
	for _, tc := range []struct {
		slow time.Duration // what follows keeps the method going
		want diary
	}{
		{0, diary{"rollback", "undone"}},
		{time.Hour, diary{"undone", "rollback"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var d diary
			run(t, &experiment.Experiment{
				Method: []experiment.Activity{{Name: "deaf", Timeout: time.Second, Start: func(context.Context) (any, experiment.Undo, error) {
					time.Sleep(time.Minute)
					return nil, func(ctx context.Context) error { d.note("undone"); return ctx.Err() }, nil
				}}, {Name: "slow", Run: func(context.Context) (any, error) { time.Sleep(tc.slow); return nil, nil }, Timeout: 2 * time.Hour}},
				Rollbacks: []experiment.Activity{d.doing("rollback")},
			}, nil)
			time.Sleep(time.Hour)
			synctest.Wait()
			assert.Equal(t, tc.want, d)
		})
	}
}

// An undo that arrives while the rollbacks run is the next of them.
func TestAnUndoThatComesDuringTheRollbacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		j := run(t, &experiment.Experiment{
			Method: []experiment.Activity{{Name: "deaf", Timeout: time.Second, Start: func(context.Context) (any, experiment.Undo, error) {
				time.Sleep(time.Minute)
				return nil, func(context.Context) error { d.note("undone"); return nil }, nil
			}}},
			Rollbacks: []experiment.Activity{d.doing("last"), {Name: "slow", Timeout: time.Hour, Run: func(context.Context) (any, error) {
				time.Sleep(2 * time.Minute)
				d.note("slow")
				return nil, nil
			}}},
		}, nil)
		assert.Equal(t, diary{"slow", "undone", "last"}, d)
		assert.Equal(t, "undo deaf", j.Rollbacks[1].Activity.Name)
		assert.True(t, j.Run[0].Abandoned)
	})
}

func TestRollbacksRunUnderAFreshDeadlineWhenInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s := &system{answers: []answer{yes}}
		j, err := experiment.Run(ctx, &experiment.Experiment{
			Name: "e", Hypothesis: s.hypothesis(), Quiet: time.Hour,
			Method: []experiment.Activity{{Name: "wait", Run: func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, ctx.Err() }}},
			Rollbacks: []experiment.Activity{{Name: "undo", Run: func(ctx context.Context) (any, error) {
				deadline, ok := ctx.Deadline()
				assert.True(t, ok)
				assert.Equal(t, 7*time.Second, time.Until(deadline))
				return nil, ctx.Err()
			}}},
		}, &experiment.Options{RollbackTimeout: 7 * time.Second})
		require.NoError(t, err)
		assert.Equal(t, experiment.Interrupted, j.Status)
		assert.Equal(t, "context deadline exceeded", j.Why)
		assert.Equal(t, experiment.ActivitySucceeded, j.Rollbacks[0].Status)
		require.NotNil(t, j.SteadyStates.Recovered, "verified even then, without the quiet time")
		assert.True(t, j.SteadyStates.Recovered.Met)
		assert.Equal(t, 1.0, j.Duration)
	})
}

func TestCancelledBeforeItBegan(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var d diary
	s := &system{answers: []answer{yes}}
	j, err := experiment.Run(ctx, &experiment.Experiment{
		Name: "e", Hypothesis: s.hypothesis(), Method: []experiment.Activity{d.doing("a")}, Rollbacks: []experiment.Activity{d.doing("r")},
	}, nil)
	require.NoError(t, err)
	assert.Equal(t, experiment.Interrupted, j.Status)
	assert.Empty(t, d)
	assert.Nil(t, j.SteadyStates.Before, "what it would have found says nothing about the system")
}

func TestQuietTimeStandsBeforeTheLastCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		began := time.Now()
		probe := func(context.Context) (any, error) { at = append(at, time.Since(began)); return true, nil }
		run(t, &experiment.Experiment{
			Hypothesis: &experiment.Hypothesis{Probes: []experiment.Activity{{Name: "p", Run: probe}}},
			Method:     []experiment.Activity{{Name: "a", Run: doNothing, PauseAfter: 3 * time.Second}},
			Quiet:      time.Minute,
		}, nil)
		assert.Equal(t, []time.Duration{0, 3 * time.Second, 63 * time.Second}, at)
	})
}

func TestMissingRollbacksAreWarnedOf(t *testing.T) {
	const warning = "the method has actions, and nothing undoes them"
	s := &system{answers: []answer{yes}}
	start := func(undo experiment.Undo) experiment.Activity {
		return experiment.Activity{Name: "a", Start: func(context.Context) (any, experiment.Undo, error) { return nil, undo, nil }}
	}
	for name, tc := range map[string]struct {
		method   experiment.Activity
		rollback bool
		want     []string
	}{
		"an action":               {experiment.Activity{Name: "a", Run: doNothing}, false, []string{warning}},
		"an action and rollbacks": {experiment.Activity{Name: "a", Run: doNothing}, true, []string{}},
		"a probe":                 {experiment.Activity{Name: "a", Run: doNothing, Kind: experiment.Probe}, false, []string{}},
		"an action with an undo":  {start(func(context.Context) error { return nil }), false, []string{}},
		"one that returned none":  {start(nil), false, []string{warning}},
	} {
		e := &experiment.Experiment{Hypothesis: s.hypothesis(), Method: []experiment.Activity{tc.method}}
		if tc.rollback {
			e.Rollbacks = []experiment.Activity{{Name: "r", Run: doNothing}}
		}
		assert.Equal(t, tc.want, run(t, e, nil).Warnings, name)
	}
	assert.Contains(t, run(t, &experiment.Experiment{}, nil).Warnings, "the experiment has no steady-state hypothesis: a run of it can show nothing")
}

// lateContext shows a deadline and outlives it.
type lateContext struct{ context.Context }

func (c lateContext) Deadline() (time.Time, bool) { return time.Now().Add(time.Millisecond), true }
func (c lateContext) Done() <-chan struct{}       { return nil }

func TestAPauseEndsUnderAContextThatOutlivesItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &experiment.Experiment{Name: "e", Method: []experiment.Activity{{Name: "a", Run: doNothing, PauseAfter: time.Minute}}}
		j, err := experiment.Run(lateContext{t.Context()}, e, nil)
		require.NoError(t, err)
		assert.Equal(t, experiment.Completed, j.Status)
	})
}
