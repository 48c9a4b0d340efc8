package experiment_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/experiment"
)

func TestValidateReportsEverything(t *testing.T) {
	start := func(context.Context) (any, experiment.Undo, error) { return nil, nil, nil }
	e := &experiment.Experiment{
		MaxDuration: -1, Quiet: -1,
		Hypothesis: &experiment.Hypothesis{Probes: []experiment.Activity{
			{Name: "p", Start: start, Kind: experiment.Action, Background: true},
		}},
		Method: []experiment.Activity{
			{},
			{Name: "both", Run: doNothing, Start: start, PauseBefore: -1, PauseAfter: -1, Timeout: -1, Kind: "chance", Tolerance: wrong{}},
		},
		Rollbacks: []experiment.Activity{{Name: "r", Start: start}},
		Guards:    []experiment.Guard{{Every: -1}},
	}
	assert.Equal(t, []string{
		"Name", "MaxDuration", "Quiet",
		"Guards[0].Name", "Guards[0].Check", "Guards[0].Every",
		"Hypothesis.Probes[0].Start", "Hypothesis.Probes[0].Background", "Hypothesis.Probes[0].Kind",
		"Method[0].Name", "Method[0]",
		"Method[1]", "Method[1].Kind", "Method[1].PauseBefore", "Method[1].PauseAfter", "Method[1].Timeout", "Method[1].Tolerance",
		"Rollbacks[0].Start",
	}, fields(t, e.Validate()))
	_, err := experiment.Run(t.Context(), e, nil)
	assert.EqualError(t, err, e.Validate().Error(), "a run refuses with the same errors")
}

type wrong struct{ isTrue }

func (wrong) Check() error { return errors.New("makes no sense") }

func fields(t *testing.T, err error) (names []string) {
	t.Helper()
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok, "%v", err)
	for _, err := range joined.Unwrap() {
		var wrong *experiment.FieldError
		require.ErrorAs(t, err, &wrong)
		assert.Contains(t, err.Error(), "experiment: "+wrong.Field)
		assert.True(t, wrong.Allowed != "" || wrong.Err != nil)
		names = append(names, wrong.Field)
	}
	return names
}

func TestOptionsAreValidatedToo(t *testing.T) {
	_, err := experiment.Run(t.Context(), &experiment.Experiment{Name: "e"}, &experiment.Options{
		Timeout: -1, RollbackTimeout: -1,
	})
	assert.Equal(t, []string{
		"Options.Timeout", "Options.RollbackTimeout",
	}, fields(t, err))
}

func TestAnExperimentThatIsNone(t *testing.T) {
	_, err := experiment.Run(t.Context(), nil, nil)
	assert.EqualError(t, err, "experiment: Experiment is missing; allowed: an experiment, not nil")
	_, err = experiment.RunSimple(t.Context(), nil, false, nil)
	assert.Error(t, err)
	err = (&experiment.Experiment{Name: "e", Hypothesis: &experiment.Hypothesis{}}).Validate()
	assert.EqualError(t, err, "experiment: Hypothesis.Probes is missing; allowed: at least one probe; no hypothesis is written nil")
}
