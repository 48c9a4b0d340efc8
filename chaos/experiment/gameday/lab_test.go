package gameday_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/chaos/experiment/gameday"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// play is an experiment whose action takes a time and returns fails. If steady is
// false, two of three checks of its steady state miss.
func play(name string, takes time.Duration, steady bool, fails error) *experiment.Experiment {
	checked := 0
	return &experiment.Experiment{
		Name: name,
		Hypothesis: &experiment.Hypothesis{Probes: []experiment.Activity{{Name: "steady", Run: func(context.Context) (any, error) {
			checked++
			return steady || checked%3 == 1, nil
		}}}},
		Method: []experiment.Activity{{Name: "act", Run: func(ctx context.Context) (any, error) {
			select {
			case <-time.After(takes):
				return nil, fails
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}}},
		Rollbacks: []experiment.Activity{{Name: "undo", Run: func(context.Context) (any, error) { return nil, nil }}},
	}
}

func newLab(t *testing.T, o *gameday.LabOptions, experiments ...*experiment.Experiment) *gameday.Lab {
	t.Helper()
	lab := gameday.NewLab(o)
	require.NoError(t, lab.Register(experiments...))
	return lab
}

func TestLabRunsByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab := newLab(t, nil, play("b", time.Second, true, nil), play("a", 0, false, nil))
		assert.Equal(t, []string{"a", "b"}, lab.Names())
		r, err := lab.Run(t.Context(), "b", false)
		require.NoError(t, err)
		assert.True(t, r.Success)
		assert.Equal(t, 1.0, r.Duration)
		r, err = lab.Run(t.Context(), "a", true)
		require.NoError(t, err)
		assert.True(t, r.Success)
		assert.Len(t, lab.History().Results(""), 1, "a dry run is not remembered")
		_, err = lab.Run(t.Context(), "c", false)
		assert.ErrorIs(t, err, gameday.ErrUnknown)
		assert.EqualError(t, err, `gameday: unknown experiment "c"; registered: a, b`)
	})
}

func TestRegisterTakesAllOrNone(t *testing.T) {
	lab := gameday.NewLab(nil)
	err := lab.Register(play("a", 0, true, nil), nil, &experiment.Experiment{Name: "no hypothesis"}, &experiment.Experiment{})
	for _, want := range []string{"experiment 1 is nil", `experiment "no hypothesis": experiment: Hypothesis`, "experiment: Name"} {
		assert.ErrorContains(t, err, want)
	}
	assert.Equal(t, []string{}, lab.Names())
	_, err = lab.Run(t.Context(), "a", false)
	assert.EqualError(t, err, `gameday: unknown experiment "a"; registered: none`)
}

func TestStatus(t *testing.T) {
	in := chaos.NewInjector(1, nil)
	lab := newLab(t, &gameday.LabOptions{Injector: in}, play("good", 0, true, nil), play("bad", 0, false, nil))
	doc, err := json.Marshal(lab.Status(gameday.Query{IncludeResults: true, Experiment: "unknown"}))
	require.NoError(t, err)
	assert.JSONEq(t, `{"active_faults":[],"registered_experiments":2,"experiments":["bad","good"],"results":[],"total_runs":0,"success_rate":0,"cut_off":[]}`, string(doc))

	require.NoError(t, in.Register(chaos.Rule{Name: "slow", Target: "db", When: when.Prob(0.25), Fault: fault.Delay(time.Second)}))
	require.NoError(t, in.Register(chaos.Rule{Name: "cut", Target: "db", When: when.Nth(3), Fault: fault.Partition()}))
	for _, name := range []string{"good", "bad", "good"} {
		_, err := lab.Run(t.Context(), name, false)
		require.NoError(t, err)
	}
	s := lab.Status(gameday.Query{})
	assert.Equal(t, []gameday.ActiveFault{{Name: "slow", FaultType: "latency", Probability: 0.25, InForce: true}, {Name: "cut", FaultType: "network_partition", Probability: 1, InForce: true}}, s.ActiveFaults)
	assert.Nil(t, s.Results)
	assert.Equal(t, 3, s.TotalRuns)
	assert.InDelta(t, 2.0/3, s.SuccessRate, 1e-12)
	doc, err = json.Marshal(s)
	require.NoError(t, err)
	assert.NotContains(t, string(doc), "results", "only when asked for")
	s = lab.Status(gameday.Query{IncludeResults: true, Experiment: "bad"})
	assert.Len(t, s.Results, 1)
	assert.Equal(t, 1, s.TotalRuns)
	assert.Zero(t, s.SuccessRate)
}

func TestAnInvalidRunIsNotRemembered(t *testing.T) {
	h := gameday.NewHistory(0)
	e := play("spoilt", 0, true, nil)
	lab := newLab(t, &gameday.LabOptions{History: h}, e)
	e.Hypothesis = nil // after it was registered
	_, err := lab.Run(t.Context(), "spoilt", false)
	var wrong *experiment.FieldError
	assert.ErrorAs(t, err, &wrong)
	assert.Empty(t, h.Results(""))
}
