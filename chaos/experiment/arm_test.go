package experiment_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// method is an experiment that has nothing but a method.
func method(all ...experiment.Activity) *experiment.Experiment {
	return &experiment.Experiment{Method: all}
}

// look is an activity that observes the system while the ones before it are in effect.
func look(fn func(ctx context.Context)) experiment.Activity {
	return experiment.Activity{Name: "look", Kind: experiment.Probe, Run: func(ctx context.Context) (any, error) { fn(ctx); return nil, nil }}
}

func TestArmedRulesInjectUntilTheyAreRolledBack(t *testing.T) {
	in := chaos.NewInjector(1, nil)
	ctx := chaos.NewContext(t.Context(), in)
	j := run(t, method(
		experiment.Activity{Name: "arm", Start: experiment.Arm(in, 0, chaos.Rule{Target: "db.*", Fault: fault.Fail(fault.ErrUnavailable)})},
		look(func(context.Context) { assert.ErrorIs(t, chaos.Point(ctx, "db.query"), fault.ErrUnavailable) }),
	), nil)
	assert.JSONEq(t, `{"rules":["db.*:error"]}`, string(j.Run[0].Output))
	assert.Equal(t, "undo arm", j.Rollbacks[0].Activity.Name)
	assert.NoError(t, chaos.Point(ctx, "db.query"))
	assert.Empty(t, in.Rules())
}

// The rollback ends the waits of its rules, and does not remove rules that have
// replaced them.
func TestTheRollbackOfArmedRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := chaos.NewInjector(1, nil)
		_, undo, err := experiment.Arm(in, 0, chaos.Rule{Name: "slow", Target: "db", Fault: fault.Hang()}, chaos.Rule{Name: "taken", Target: "db.x", Fault: fault.Hang()})(t.Context())
		require.NoError(t, err)
		go func() {
			time.Sleep(time.Minute)
			assert.NoError(t, in.Register(chaos.Rule{Name: "taken", Target: "never", Fault: fault.Hang()}))
			assert.NoError(t, undo(t.Context()))
		}()
		began := time.Now()
		_, err = chaos.WrapWith("db", func(context.Context, int) (int, error) { return 0, nil }, &chaos.WrapOptions[int]{Injector: in})(t.Context(), 1)
		assert.NoError(t, err)
		assert.Equal(t, time.Minute, time.Since(began))
		require.Len(t, in.Rules(), 1)
		assert.Equal(t, "never", in.Rules()[0].Target)
	})
}

func TestArmedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := chaos.NewInjector(1, nil)
		ctx := chaos.NewContext(t.Context(), in)
		var failed []int
		j := run(t, method(
			experiment.Activity{Name: "arm", Background: true, Start: experiment.Arm(in, 3*time.Second, chaos.Rule{Target: "db", Fault: fault.Fail(fault.ErrUnavailable)})},
			look(func(context.Context) {
				for second := range 5 {
					time.Sleep(time.Second)
					synctest.Wait()
					if chaos.Point(ctx, "db") != nil {
						failed = append(failed, second+1)
					}
				}
			})), nil)
		assert.Equal(t, []int{1, 2}, failed)
		assert.Equal(t, experiment.ActivitySucceeded, j.Run[0].Status)
	})
}

func TestArmIsAllOrNothing(t *testing.T) {
	known := chaos.Rule{Name: "known", Target: "x", Fault: fault.Partition()}
	good := chaos.Rule{Name: "good", Target: "db", Fault: fault.Partition()}
	for name, tc := range map[string]struct {
		rules []chaos.Rule
		want  string
	}{
		"a wrong rule":             {[]chaos.Rule{good, {Target: "["}}, "Fault"},
		"two of the same name":     {[]chaos.Rule{good, good}, "share this one"},
		"the name of another rule": {[]chaos.Rule{good, known}, `rule "known" is registered already`},
		"a target that is nowhere": {[]chaos.Rule{good, {Target: "cache", Fault: fault.Partition()}}, "cache"},
	} {
		in := chaos.NewInjector(1, &chaos.InjectorOptions{Targets: []string{"db", "x"}})
		require.NoError(t, in.Register(known))
		j := run(t, method(experiment.Activity{Name: "arm", Start: experiment.Arm(in, 0, tc.rules...)}), nil)
		assert.Contains(t, j.Run[0].Exception, tc.want, name)
		require.Len(t, in.Rules(), 1, name)
		assert.Equal(t, "known", in.Rules()[0].Name, name)
	}
	j := run(t, method(experiment.Activity{Name: "arm", Start: experiment.Arm(nil, 0, good)}), nil)
	assert.Contains(t, j.Run[0].Exception, "the injector is nil")
}

func TestAnInterruptedActionHeals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := chaos.NewInjector(1, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, undo, err := experiment.Arm(in, time.Hour, chaos.Rule{Target: "db", Fault: fault.Partition()})(ctx)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Empty(t, in.Rules())
		assert.NoError(t, errors.Join(undo(t.Context()), undo(t.Context())), "undoing what is undone does nothing")
	})
}
