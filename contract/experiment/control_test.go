package experiment_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/experiment"
)

// control notes where it is called.
func (d *diary) control(name string) experiment.Control {
	note := func(when string) func(context.Context, experiment.Moment) error {
		return func(_ context.Context, m experiment.Moment) error {
			d.note(name + when + string(m.Level) + " " + m.Name)
			return nil
		}
	}
	return experiment.Control{Name: name, Before: note("< "), After: note("> ")}
}

func (d *diary) local(name string) experiment.Control {
	c := d.control(name)
	c.Local = true
	return c
}

func TestControlsStandAroundEverything(t *testing.T) {
	var d diary
	s := &system{answers: []answer{yes}}
	h := s.hypothesis()
	h.Controls = []experiment.Control{d.local("h")}
	h.Probes[0].Name = "p"
	run(t, &experiment.Experiment{
		Hypothesis: h,
		Method:     []experiment.Activity{{Name: "a", Run: doNothing, Controls: []experiment.Control{d.control("own")}}},
		Rollbacks:  []experiment.Activity{{Name: "r", Run: doNothing}},
		Controls:   []experiment.Control{d.control("all"), d.local("top")},
		Strategies: experiment.Strategies{Hypothesis: experiment.BeforeOnly},
	}, nil)
	assert.Equal(t, diary{
		"all< experiment e", "top< experiment e",
		"all< hypothesis all is well", "h< hypothesis all is well",
		"all< activity p", "all> activity p",
		"h> hypothesis all is well", "all> hypothesis all is well",
		"all< method e",
		"all< activity a", "own< activity a", "own> activity a", "all> activity a",
		"all> method e",
		"all< rollback e",
		"all< activity r", "all> activity r",
		"all> rollback e",
		"all< hypothesis all is well", "h< hypothesis all is well",
		"all< activity p", "all> activity p",
		"h> hypothesis all is well", "all> hypothesis all is well",
		"top> experiment e", "all> experiment e",
	}, d)
}

func TestControlsSeeWhatBecameOfIt(t *testing.T) {
	seen := 0
	s := &system{answers: []answer{yes}}
	run(t, &experiment.Experiment{
		Hypothesis: s.hypothesis(),
		Method:     []experiment.Activity{{Name: "a", Run: doNothing}},
		Controls: []experiment.Control{{Name: "c", After: func(_ context.Context, m experiment.Moment) error {
			seen++
			assert.Equal(t, m.Level == experiment.LevelActivity, m.ActivityResult != nil)
			assert.Equal(t, m.Level == experiment.LevelHypothesis, m.SteadyState != nil)
			assert.Equal(t, m.Level == experiment.LevelExperiment, m.Journal != nil && !m.Journal.End.IsZero())
			return nil
		}}},
	}, nil)
	assert.Equal(t, 10, seen)
}

func TestAControlForbids(t *testing.T) {
	for level, want := range map[experiment.Level]struct {
		status experiment.Status
		ran    diary
		why    string
	}{
		experiment.LevelExperiment: {experiment.Aborted, nil, `control "no": forbidden`},
		experiment.LevelHypothesis: {experiment.Failed, nil, `the steady state could not be verified before the method: control "no": forbidden`},
		experiment.LevelMethod:     {experiment.Aborted, nil, `control "no": forbidden`},
		experiment.LevelActivity:   {experiment.Failed, nil, `the steady state could not be verified before the method: control "no": forbidden`},
		experiment.LevelRollback:   {experiment.Completed, diary{"a", "r"}, ""},
	} {
		var d diary
		s := &system{answers: []answer{yes}}
		j := run(t, &experiment.Experiment{
			Hypothesis: s.hypothesis(), Method: []experiment.Activity{d.doing("a")}, Rollbacks: []experiment.Activity{d.doing("r")},
			Controls: []experiment.Control{{Name: "no", Before: func(_ context.Context, m experiment.Moment) error {
				if m.Level == level {
					return errors.New("forbidden")
				}
				return nil
			}}},
		}, nil)
		assert.Equal(t, want.status, j.Status, level)
		assert.Equal(t, want.why, j.Why, level)
		assert.Equal(t, want.ran, d, level)
	}
}

func TestAControlThatBreaksBreaksNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &system{answers: []answer{yes}}
		calls := 0
		j := run(t, &experiment.Experiment{
			Hypothesis: s.hypothesis(), Method: []experiment.Activity{{Name: "a", Run: doNothing, Controls: []experiment.Control{
				{Name: "panics", After: func(context.Context, experiment.Moment) error { panic("boom") }},
				{Name: "hangs", After: func(ctx context.Context, _ experiment.Moment) error { calls++; <-ctx.Done(); return ctx.Err() }},
			}}},
			Rollbacks: []experiment.Activity{{Name: "r", Run: doNothing}},
		}, nil)
		assert.Equal(t, experiment.Completed, j.Status)
		assert.Equal(t, 1, calls)
		require.Len(t, j.Warnings, 2)
		assert.Equal(t, `control "hangs": context deadline exceeded (experiment: not over in time: 5m0s)`, j.Warnings[0])
		assert.Equal(t, `control "panics": panic: boom`, j.Warnings[1])
	})
}
