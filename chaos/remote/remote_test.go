package remote_test

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/remote"
)

// The type of a fault is its kind: what is listed has the word that the caller used.
func TestATypeIsAKind(t *testing.T) {
	for _, of := range remote.Types() {
		rule, note, err := remote.Spec{Name: "f", Type: of}.Rule()
		require.NoError(t, err)
		assert.Empty(t, note)
		assert.Equal(t, of, remote.KindOf(rule.Fault))
		assert.Equal(t, "f", rule.Target, "the fault's own name")
		assert.Equal(t, remote.DefaultProbability, remote.ProbabilityOf(rule.When))
		assert.Equal(t, of == remote.NetworkPartition, rule.Group == "f", "a partition is a group")
		_, err = chaos.NewPlan(1, rule)
		assert.NoError(t, err)
	}
}

func TestSpecsThatAreRefused(t *testing.T) {
	_, _, err := remote.Spec{Name: "f", Type: "meteor"}.Rule()
	var wrong *chaos.ParamError
	require.ErrorAs(t, err, &wrong)
	assert.Equal(t, "Type", wrong.Param)
	for _, p := range []float64{-0.1, 1.1, math.NaN()} {
		for _, seed := range []*uint64{nil, new(uint64(7))} {
			rule, _, err := remote.Spec{Name: "f", Type: remote.Error, Probability: &p, Seed: seed}.Rule()
			require.NoError(t, err)
			_, err = chaos.NewPlan(1, rule)
			assert.Error(t, err, "%v", p)
		}
	}
}

func TestALatencyOfNothing(t *testing.T) {
	rule, note, err := remote.Spec{Name: "f", Type: remote.Latency, Duration: new(time.Duration(0))}.Rule()
	require.NoError(t, err)
	assert.Contains(t, note, "next to nothing")
	_, err = chaos.NewPlan(1, rule)
	assert.NoError(t, err)
}

// A seed of its own moves the draws of a fault, and those of no other.
func TestASeedMovesTheDraws(t *testing.T) {
	injected := func(seed *uint64) (calls string) {
		rule, _, err := remote.Spec{Name: "f", Type: remote.Error, Probability: new(0.5), Seed: seed, Target: "*"}.Rule()
		require.NoError(t, err)
		in := chaos.NewInjector(3, nil)
		require.NoError(t, in.Register(rule))
		ctx := chaos.NewContext(context.Background(), in)
		for range 64 {
			calls += fmt.Sprint(chaos.Point(ctx, "a") != nil, " ")
		}
		return calls
	}
	assert.Equal(t, injected(new(uint64(1))), injected(new(uint64(1))))
	assert.NotEqual(t, injected(new(uint64(1))), injected(new(uint64(2))))
	assert.NotEqual(t, injected(nil), injected(new(uint64(1))))
}

func TestNextCall(t *testing.T) {
	in := chaos.NewInjector(1, nil)
	never := chaos.Rule{Name: "f", Target: "a", When: never{}, Fault: fault.Fail(fault.ErrDeclined)}
	require.NoError(t, in.Register(never))
	require.NoError(t, in.Register(chaos.Rule{Name: "f (next call)", Target: "b", Fault: fault.Hang()}), "the name is taken")
	next := remote.NextCall(never, in.Rules())
	assert.Equal(t, "f (next call) #2", next.Name)
	of, armed := remote.ArmedFor(next)
	assert.Equal(t, "f", of)
	assert.True(t, armed)
	_, armed = remote.ArmedFor(never)
	assert.False(t, armed)
	require.NoError(t, in.Register(next))
	in.Remove("f (next call)")
	assert.Equal(t, next, remote.NextCall(never, in.Rules()), "it replaces the one that waits")
	ctx := chaos.NewContext(context.Background(), in)
	assert.ErrorIs(t, chaos.Point(ctx, "a"), fault.ErrDeclined)
	assert.NoError(t, chaos.Point(ctx, "a"), "one call alone")
}

type never struct{}

func (never) Match(chaos.Call) bool { return false }

func TestReach(t *testing.T) {
	matched, note := remote.Reach("orders.*", []string{"orders.get", "payments.refund", "orders.put"})
	assert.Equal(t, []string{"orders.get", "orders.put"}, matched)
	assert.Empty(t, note)
	for pattern, known := range map[string][]string{"x": {"orders.get"}, "a[b": {"a[b"}, "*": nil} {
		matched, note = remote.Reach(pattern, known)
		assert.Equal(t, []string{}, matched, "never nil")
		assert.NotEmpty(t, note, "that it reaches nothing is said in words")
	}
	many := make([]string, 101)
	for i := range many {
		many[i] = "t" + strconv.Itoa(i)
	}
	matched, note = remote.Reach("t*", many)
	assert.Len(t, matched, 100)
	assert.Contains(t, note, "matches 101 injection points")
}

func TestARuleLastsUntilTheEarlierOfTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		soon := time.Now().Add(time.Minute)
		assert.Equal(t, time.Hour, remote.Until(time.Hour, time.Time{}))
		assert.Equal(t, time.Duration(0), remote.Until(0, time.Time{}), "endless")
		assert.Equal(t, time.Minute, remote.Until(time.Hour, soon))
		assert.Equal(t, time.Minute, remote.Until(0, soon))
		assert.Equal(t, time.Second, remote.Until(time.Second, soon))
		assert.Equal(t, time.Duration(1), remote.Until(time.Hour, time.Now().Add(-time.Hour)), "over: as good as at once, never endless")
	})
}
