package experiment_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/experiment"
)

func TestOnStepIsToldOfEverything(t *testing.T) {
	var d diary
	s := &system{answers: []answer{yes}}
	h := s.hypothesis()
	h.Probes[0].Name = "p"
	run(t, &experiment.Experiment{
		Hypothesis: h,
		Method:     []experiment.Activity{{Name: "a", Run: doNothing}},
		Rollbacks:  []experiment.Activity{{Name: "r", Run: doNothing}},
		OnStep: func(_ context.Context, s experiment.Step) {
			when := map[bool]string{false: "< ", true: "> "}[s.Ended]
			d.note(when + string(s.Level) + " " + s.Name)
			assert.Equal(t, s.Ended && s.Level == experiment.LevelActivity, s.Activity != nil)
			assert.Equal(t, s.Ended && s.Level == experiment.LevelHypothesis, s.SteadyState != nil)
			assert.Equal(t, s.Ended && s.Level == experiment.LevelExperiment, s.Journal != nil && !s.Journal.End.IsZero())
		},
	}, nil)
	verified := diary{"< hypothesis all is well", "< activity p", "> activity p", "> hypothesis all is well"}
	want := append(diary{"< experiment e"}, verified...)
	want = append(want, "< method e", "< activity a", "> activity a", "> method e")
	want = append(want, verified...)
	want = append(want, "< rollback e", "< activity r", "> activity r", "> rollback e")
	want = append(want, verified...)
	assert.Equal(t, append(want, "> experiment e"), d)
}

func TestAnOnStepThatBreaksBreaksNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &system{answers: []answer{yes}}
		j := run(t, &experiment.Experiment{
			Hypothesis: s.hypothesis(), Method: []experiment.Activity{{Name: "a", Run: doNothing}},
			Rollbacks: []experiment.Activity{{Name: "r", Run: doNothing}},
			OnStep: func(ctx context.Context, s experiment.Step) {
				switch {
				case s.Name == "a" && s.Ended:
					panic("boom")
				case s.Name == "r" && !s.Ended:
					<-ctx.Done()
				}
			},
		}, nil)
		assert.Equal(t, experiment.Completed, j.Status)
		assert.Equal(t, experiment.ActivitySucceeded, j.Rollbacks[0].Status)
		require.Len(t, j.Warnings, 1, "it ended with its context")
		assert.Equal(t, `OnStep of activity "a": panic: boom`, j.Warnings[0])
	})
}
