package chaos_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
)

// asked counts how often it is asked what it is.
type asked struct {
	failer
	times *int
}

func (f asked) Describe() chaos.Description {
	*f.times++
	return chaos.Description{Kind: "asked"}
}

// A plan of other rules is that of NewPlan, whatever another plan knew of the names.
func TestPlanWith(t *testing.T) {
	every := func(change func(r *chaos.Rule)) chaos.Rule {
		r := chaos.Rule{Name: "r", Target: "work", When: chance(.5), Fault: down()}
		change(&r)
		return r
	}
	before := every(func(*chaos.Rule) {})
	unlike := chaos.Rule{Name: "unlike", Target: "work", Fault: failer{uncomparable{[]int{1}}}}
	outcomes := func(p *chaos.Plan) (all []any) {
		in := p.Injector("cell", &chaos.InjectorOptions{RecordAll: true})
		for n := range 40 {
			target := []string{"work", "rest"}[n%2]
			_, err := chaos.Wrap(target, double)(chaos.NewContext(context.Background(), in), n)
			all = append(all, err)
		}
		for _, e := range in.Events() {
			all = append(all, e.Rule, e.Fault, e.Delivered, e.Target, e.Outcome)
		}
		return all
	}
	for reason, rules := range map[string][]chaos.Rule{
		"the same rule":                   {before},
		"none":                            nil,
		"another trigger":                 {every(func(r *chaos.Rule) { r.When = chance(.2) })},
		"no trigger":                      {every(func(r *chaos.Rule) { r.When = nil })},
		"a wrong trigger":                 {every(func(r *chaos.Rule) { r.When = misconfigured{} })},
		"another target":                  {every(func(r *chaos.Rule) { r.Target = "re*" })},
		"a malformed target":              {every(func(r *chaos.Rule) { r.Target = "a{b" })},
		"a fault of another phase":        {every(func(r *chaos.Rule) { r.Fault = delay(0) })},
		"no fault":                        {every(func(r *chaos.Rule) { r.Fault = nil })},
		"a wrong fault":                   {every(func(r *chaos.Rule) { r.Fault = oddFault{phase: chaos.PhaseAfter + 1} })},
		"a negative limit":                {every(func(r *chaos.Rule) { r.Limit = -1 })},
		"a limit":                         {every(func(r *chaos.Rule) { r.Limit = 2 })},
		"another name":                    {every(func(r *chaos.Rule) { r.Name = "s" })},
		"no name":                         {every(func(r *chaos.Rule) { r.Name = "" })},
		"twice":                           {before, before},
		"another order":                   {unlike, before},
		"groups that contradict":          {every(func(r *chaos.Rule) { r.Group, r.Limit = "g", 1 }), {Name: "s", Target: "*", Group: "g", Fault: down()}},
		"faults that cannot be compared":  {unlike},
		"such a fault in place of others": {every(func(r *chaos.Rule) { r.Fault = unlike.Fault })},
	} {
		want, wrong := chaos.NewPlan(7, rules...)
		base, err := chaos.NewPlan(7, before, unlike)
		require.NoError(t, err)
		got, err := base.With(rules...)
		if wrong != nil {
			assert.EqualError(t, err, wrong.Error(), reason)
			continue
		}
		require.NoError(t, err, reason)
		assert.Equal(t, names(want.Rules()), names(got.Rules()), reason)
		assert.EqualValues(t, 7, got.Seed())
		assert.Equal(t, outcomes(want), outcomes(got), reason)
		assert.Equal(t, []string{"r", "unlike"}, names(base.Rules()), "the plan did not change")
	}
}

// A fault that did not change is not asked again, whatever else of its rule did.
func TestPlanWithAsksAFaultOnce(t *testing.T) {
	times := 0
	r := chaos.Rule{Name: "r", Target: "work", Fault: asked{failer{errDown}, &times}}
	p := plan(t, r)
	require.Positive(t, times)
	times = 0
	r.When, r.Target, r.Layer = chance(.5), "rest", chaos.LayerTool
	_, err := p.With(r)
	require.NoError(t, err)
	assert.Zero(t, times)
	r.Fault = asked{failer{context.Canceled}, &times}
	_, err = p.With(r)
	require.NoError(t, err)
	assert.Positive(t, times)
}
