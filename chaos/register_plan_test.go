package chaos_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
)

func planOf(t require.TestingT, rules ...chaos.Rule) *chaos.Plan {
	plan, err := chaos.NewPlan(3, rules...)
	require.NoError(t, err)
	return plan
}

func namesOf(in *chaos.Injector) (names []string) {
	for _, r := range in.Rules() {
		names = append(names, r.Name)
	}
	return names
}

// A plan in one step is the same as its rules one by one, and then the removal of
// those that it does not have.
func TestRegisterPlanIsItsRulesOneByOne(t *testing.T) {
	rules := rapid.Custom(func(t *rapid.T) []chaos.Rule {
		return rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) chaos.Rule {
			r := chaos.Rule{
				Name:   rapid.SampledFrom([]string{"1", "2", "3", "4"}).Draw(t, "name"),
				Target: rapid.SampledFrom([]string{"*", "a", "b*", "none"}).Draw(t, "target"),
				When:   rapid.SampledFrom([]chaos.When{nil, chance(0.5), everyOther{}, ordinals(0, 2)}).Draw(t, "when"),
				Group:  rapid.SampledFrom([]string{"", "", "g", "h"}).Draw(t, "group"), Fault: down(),
			}
			return r
		}), 0, 4, func(r chaos.Rule) string { return r.Name }).Draw(t, "rules")
	})
	calls := func(in *chaos.Injector) {
		for range 4 {
			for _, target := range []string{"a", "b", "b/long"} {
				_ = chaos.Point(chaos.NewContext(context.Background(), in), target)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		atOnce, oneByOne := chaos.NewInjector(7, nil), chaos.NewInjector(7, nil)
		for _, in := range []*chaos.Injector{atOnce, oneByOne} { // a rule that is not the plan's
			require.NoError(t, in.Register(chaos.Rule{Name: "other", Target: "a", When: chance(0.3), Fault: down()}))
		}
		for range rapid.IntRange(1, 4).Draw(t, "plans") {
			list := rules.Draw(t, "plan")
			_, err := atOnce.RegisterPlan("p/", planOf(t, list...), 0)
			require.NoError(t, err)
			for _, r := range list {
				r.Name = "p/" + r.Name
				require.NoError(t, oneByOne.Register(r))
			}
			for _, name := range namesOf(oneByOne) {
				of, ours := strings.CutPrefix(name, "p/")
				if ours && !slices.ContainsFunc(list, func(r chaos.Rule) bool { return r.Name == of }) {
					oneByOne.Remove(name)
				}
			}
			assert.Equal(t, namesOf(oneByOne), namesOf(atOnce))
			calls(atOnce)
			calls(oneByOne)
		}
		got, want := atOnce.Events(), oneByOne.Events()
		require.Equal(t, len(want), len(got))
		for i := range got {
			assert.Equal(t, fmt.Sprint(want[i].Target, want[i].Rule, want[i].HeldBack), fmt.Sprint(got[i].Target, got[i].Rule, got[i].HeldBack))
		}
	})
}

// A plan that is refused changes nothing, and all that is wrong is in the error.
func TestAPlanThatIsRefusedChangesNothing(t *testing.T) {
	in := chaos.NewInjector(1, &chaos.InjectorOptions{Targets: []string{"a", "b"}})
	_, err := in.RegisterPlan("p/", planOf(t, chaos.Rule{Name: "old", Target: "a", Fault: down()}), 0)
	require.NoError(t, err)
	require.NoError(t, in.Register(chaos.Rule{Name: "host", Target: "a", Group: "g", Limit: 1, Fault: down()}))
	_, err = in.RegisterPlan("p/", planOf(t,
		chaos.Rule{Name: "fine", Target: "b", Fault: down()},
		chaos.Rule{Name: "nowhere", Target: "c", Fault: down()},
		chaos.Rule{Name: "grouped", Target: "b", Group: "g", Limit: 2, Fault: down()}), 0)
	assert.ErrorContains(t, err, `rule "p/nowhere": Target`)
	assert.ErrorContains(t, err, `rule "p/grouped": Limit is 2; allowed: 1, that of rule "host" in the same group`)
	assert.Equal(t, []string{"p/old", "host"}, namesOf(in))

	var wrong *chaos.RuleError
	_, err = in.RegisterPlan("", planOf(t), 0)
	require.ErrorAs(t, err, &wrong)
	assert.ErrorContains(t, err, "prefix")
	_, err = in.RegisterPlan("p/", planOf(t), -1)
	assert.ErrorContains(t, err, `rule "p/": life is -1`)
}

// The rules of a plan keep the place of those that they replace, end the waits of
// those that they do not, and are removed each by its own function.
func TestAPlanReplacesTheFormer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := chaos.NewInjector(1, nil)
		slow := chaos.Rule{Name: "slow", Target: "work", Fault: delay(time.Hour)}
		_, err := in.RegisterPlan("p/", planOf(t, chaos.Rule{Name: "kept", Target: "none", Fault: down()}, slow), 0)
		require.NoError(t, err)
		require.NoError(t, in.Register(chaos.Rule{Name: "host", Target: "none", Fault: down()}))
		ended := make(chan time.Duration)
		go func() {
			d, err := took(in)
			assert.NoError(t, err)
			ended <- d
		}()
		time.Sleep(time.Minute)
		remove, err := in.RegisterPlan("p/", planOf(t, chaos.Rule{Name: "new", Target: "none", Fault: down()}, chaos.Rule{Name: "kept", Target: "a", Fault: down()}), time.Hour)
		require.NoError(t, err)
		assert.Equal(t, time.Minute, <-ended, "the delay of the removed rule ends")
		assert.Equal(t, []string{"p/kept", "host", "p/new"}, namesOf(in))

		require.NoError(t, in.Register(chaos.Rule{Name: "p/new", Target: "b", Fault: down()}))
		assert.False(t, remove[0](), "another rule has its name")
		assert.True(t, remove[1]())
		assert.Equal(t, []string{"host", "p/new"}, namesOf(in))
		_, err = in.RegisterPlan("p/", planOf(t), 0)
		require.NoError(t, err)
		assert.Equal(t, []string{"host"}, namesOf(in), "a plan without rules takes the former one back")
	})
}

// Calls beside the exchange of two plans meet one of them, never a mixture: of two
// rules one covers the target at any time.
func TestNoCallMeetsHalfAPlan(t *testing.T) {
	in := chaos.NewInjector(1, nil)
	both := func(one, two string) *chaos.Plan {
		return planOf(t, chaos.Rule{Name: "one", Target: one, Fault: down()}, chaos.Rule{Name: "two", Target: two, Fault: down()})
	}
	plans := []*chaos.Plan{both("a", "b"), both("b", "a")}
	_, err := in.RegisterPlan("p/", plans[0], 0)
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 2000 {
			_, _ = in.RegisterPlan("p/", plans[i%2], 0)
		}
	}()
	ctx := chaos.NewContext(context.Background(), in)
	for calls := 0; ; calls++ {
		assert.Error(t, chaos.Point(ctx, "a"))
		select {
		case <-done:
			return
		default:
		}
	}
}
