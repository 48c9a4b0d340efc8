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
			Method:     []experiment.Activity{{Name: "a", Run: doNothing, PauseBefore: time.Second, PauseAfter: 2 * time.Second}},
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
