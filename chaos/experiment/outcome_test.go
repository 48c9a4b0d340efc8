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
