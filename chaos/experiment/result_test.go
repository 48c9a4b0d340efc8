package experiment_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/experiment"
)

// answer is what one check of the steady state says.
type answer struct {
	steady bool
	err    error
	panics bool
}

// system answers one check after the other; later ones are like the last.
type system struct {
	answers []answer
	asked   int
}

func (s *system) probe(context.Context) (any, error) {
	a := s.answers[min(s.asked, len(s.answers)-1)]
	s.asked++
	if a.panics {
		panic("probe broke")
	}
	return a.steady, a.err
}

func (s *system) hypothesis() *experiment.Hypothesis {
	return &experiment.Hypothesis{Name: "all is well", Probes: []experiment.Activity{{Name: "steady", Run: s.probe}}}
}

var (
	yes = answer{steady: true}
	no  = answer{}
)

func failsWith(text string) answer { return answer{err: errors.New(text)} }

func doNothing(context.Context) (any, error) { return nil, nil }

func TestResultsOfASimpleRun(t *testing.T) {
	boom := func(context.Context) (any, error) { panic("boom") }
	fails := func(text string) func(context.Context) (any, error) {
		return func(context.Context) (any, error) { return nil, errors.New(text) }
	}
	for name, tc := range map[string]struct {
		checks                 []answer // before, after
		action, rollback       func(context.Context) (any, error)
		success, before, after bool
		err                    string
		acted, rolledBack      bool
	}{
		"all well":                                {[]answer{yes, yes}, doNothing, doNothing, true, true, true, "", true, true},
		"pre-check says no":                       {[]answer{no}, doNothing, doNothing, false, false, false, "System not in steady state before experiment", false, false},
		"pre-check fails":                         {[]answer{failsWith("E")}, doNothing, doNothing, false, false, false, "Failed to verify initial steady state: E", false, false},
		"pre-check panics":                        {[]answer{{panics: true}}, doNothing, doNothing, false, false, false, "Failed to verify initial steady state: panic: probe broke", false, false},
		"post-check says no":                      {[]answer{yes, no}, doNothing, doNothing, false, true, false, "", true, true},
		"post-check fails":                        {[]answer{yes, failsWith("E")}, doNothing, doNothing, false, true, false, "Failed to verify steady state after: E", true, true},
		"post-check panics":                       {[]answer{yes, {panics: true}}, doNothing, doNothing, false, true, false, "Failed to verify steady state after: panic: probe broke", true, true},
		"action fails, post-check yes":            {[]answer{yes, yes}, fails("E"), doNothing, true, true, true, "Action failed: E", true, true},
		"action panics, post-check yes":           {[]answer{yes, yes}, boom, doNothing, true, true, true, "Action failed: panic: boom", true, true},
		"action fails, post-check no":             {[]answer{yes, no}, fails("E"), doNothing, false, true, false, "Action failed: E", true, true},
		"action and post-check fail":              {[]answer{yes, failsWith("F")}, fails("E"), doNothing, false, true, false, "Action failed: E", true, true},
		"rollback fails":                          {[]answer{yes, yes}, doNothing, fails("R"), true, true, true, "Rollback failed: R", true, true},
		"rollback panics":                         {[]answer{yes, yes}, doNothing, boom, true, true, true, "Rollback failed: panic: boom", true, true},
		"post-check says no, rollback fails":      {[]answer{yes, no}, doNothing, fails("R"), false, true, false, "Rollback failed: R", true, true},
		"post-check fails, rollback fails":        {[]answer{yes, failsWith("E")}, doNothing, fails("R"), false, true, false, "Failed to verify steady state after: E; Rollback failed: R", true, true},
		"action fails, rollback fails":            {[]answer{yes, yes}, fails("E"), fails("R"), true, true, true, "Action failed: E; Rollback failed: R", true, true},
		"action, post-check and rollback fail":    {[]answer{yes, failsWith("F")}, fails("E"), fails("R"), false, true, false, "Action failed: E; Rollback failed: R", true, true},
		"pre-check fails, rollback would, if run": {[]answer{failsWith("E")}, doNothing, fails("R"), false, false, false, "Failed to verify initial steady state: E", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &system{answers: tc.checks}
				var order []string
				e := &experiment.Experiment{
					Name: "e", Hypothesis: s.hypothesis(),
					Method: []experiment.Activity{{Name: "action", Run: func(ctx context.Context) (any, error) {
						order = append(order, "action")
						time.Sleep(3 * time.Second)
						return tc.action(ctx)
					}}},
					Rollbacks: []experiment.Activity{{Name: "rollback", Run: func(ctx context.Context) (any, error) {
						order = append(order, "rollback")
						return tc.rollback(ctx)
					}}},
				}
				began := time.Now()
				r, err := experiment.RunSimple(t.Context(), e, false, nil)
				require.NoError(t, err)
				assert.Equal(t, "e", r.Name)
				assert.Equal(t, []bool{tc.success, tc.before, tc.after}, []bool{r.Success, r.Before, r.After})
				if tc.err == "" {
					assert.Nil(t, r.Error)
				} else if assert.NotNil(t, r.Error) {
					assert.Equal(t, tc.err, *r.Error)
				}
				var want []string
				if tc.acted {
					want = append(want, "action")
				}
				if tc.rolledBack {
					want = append(want, "rollback")
					assert.NotNil(t, r.Recovered)
				} else {
					assert.Nil(t, r.Recovered)
				}
				assert.Equal(t, want, order)
				assert.True(t, r.StartedAt.Equal(began))
				assert.Equal(t, time.UTC, r.StartedAt.Location())
				assert.Equal(t, float64(3*len(want[:min(1, len(want))])), r.Duration)
			})
		})
	}
}

func TestResultAsJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &system{answers: []answer{yes}}
		r, err := experiment.RunSimple(t.Context(), &experiment.Experiment{Name: "e", Hypothesis: s.hypothesis()}, false, nil)
		require.NoError(t, err)
		doc, err := json.Marshal(r)
		require.NoError(t, err)
		assert.JSONEq(t, `{"experiment_name":"e","success":true,"steady_state_before":true,"steady_state_after":true,
			"duration_seconds":0,"error":null,"started_at":"2000-01-01T00:00:00Z","steady_state_recovered":true}`, string(doc))
	})
}

func TestDryRunOfASimpleRun(t *testing.T) {
	for name, tc := range map[string]struct {
		check answer
		holds bool
		err   string
	}{
		"steady":     {yes, true, ""},
		"not steady": {no, false, "System not in steady state before experiment"},
		"fails":      {failsWith("E"), false, "Failed to verify initial steady state: E"},
	} {
		s := &system{answers: []answer{tc.check}}
		touched := func(context.Context) (any, error) { t.Error("a dry run must touch nothing"); return nil, nil }
		e := &experiment.Experiment{
			Name: "e", Hypothesis: s.hypothesis(),
			Method:    []experiment.Activity{{Name: "action", Run: touched}},
			Rollbacks: []experiment.Activity{{Name: "rollback", Run: touched}},
		}
		r, err := experiment.RunSimple(t.Context(), e, true, nil)
		require.NoError(t, err, name)
		assert.Equal(t, []bool{tc.holds, tc.holds, tc.holds}, []bool{r.Success, r.Before, r.After}, name)
		assert.Equal(t, 1, s.asked, "%s: checked once", name)
		if tc.err == "" {
			assert.Nil(t, r.Error, name)
		} else if assert.NotNil(t, r.Error, name) {
			assert.Equal(t, tc.err, *r.Error, name)
		}
	}
}

func TestASimpleRunNeedsAHypothesis(t *testing.T) {
	_, err := experiment.RunSimple(t.Context(), &experiment.Experiment{Name: "e"}, false, nil)
	var wrong *experiment.FieldError
	require.ErrorAs(t, err, &wrong)
	assert.Equal(t, "Hypothesis", wrong.Field)
}

func TestSteadyStateAfterTheRollbackStandsApart(t *testing.T) {
	s := &system{answers: []answer{yes, no, yes}}
	e := &experiment.Experiment{Name: "e", Hypothesis: s.hypothesis(), Method: []experiment.Activity{{Name: "a", Run: doNothing}}}
	r, err := experiment.RunSimple(t.Context(), e, false, nil)
	require.NoError(t, err)
	assert.False(t, r.Success)
	require.NotNil(t, r.Recovered)
	assert.True(t, *r.Recovered)
	assert.Equal(t, []string{"the method has actions, and nothing undoes them"}, r.Warnings)
}
