package fault_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/internal/catalogtest"
	"github.com/shakedown-go/shakedown/chaos/planjson"
)

func TestRows(t *testing.T) { catalogtest.Run(t, fault.Rows()) }

func decoded(t *testing.T, kind, params string) chaos.Fault {
	plan, err := planjson.Decode([]byte(`{"seed":"1","rules":[{"target":"x","fault":{"kind":"`+kind+`","params":`+params+`}}]}`), nil)
	require.NoError(t, err)
	return plan.Rules()[0].Fault
}

// A label differs from its base in what its row says, and in nothing else: the
// example with another name does the same to a call.
func TestLabelsAreTheirBase(t *testing.T) {
	rows := map[string]*catalog.Row{}
	for _, r := range fault.Rows() {
		rows[r.Kind] = r
	}
	labels := 0
	for _, r := range fault.Rows() {
		if r.Base == "" {
			continue
		}
		labels++
		t.Run(r.Kind, func(t *testing.T) {
			params := r.Example
			if strings.Contains(params, "value") {
				params = `{"value":"approved"}` // of the type of the desk's results
			}
			ofBase := params
			if r.Base == "latency" {
				ofBase = strings.Replace(params, "{", `{"distribution":"fixed",`, 1)
			}
			plain := decoded(t, r.Base, ofBase)
			again := fault.As(r.Kind, plain)
			assert.Equal(t, decoded(t, r.Kind, params), again, "in JSON and in Go")
			everywhere(t, func(t *testing.T, _ string, d *desk, call ask) {
				one, calls := outcome(t, plain, d, call)
				two, other := outcome(t, again, d, call)
				assert.Equal(t, one, two)
				assert.Equal(t, calls, other)
			})
			assert.Equal(t, r.Base, plain.(chaos.Described).Describe().Kind, "As changes nothing")
		})
	}
	assert.GreaterOrEqual(t, labels, 7)
}

// outcome is what a caller gets, and how often the callee was reached.
func outcome(t *testing.T, f chaos.Fault, d *desk, call ask) (got [2]string, calls int) {
	ctx, _ := withRules(t, chaos.Rule{Name: "r", Fault: f})
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	before := d.calls
	status, err := call(ctx)
	got[0] = status
	if err != nil {
		got[1] = err.Error()
	}
	return got, d.calls - before
}

// labels says which labels a kind has, from the rows.
func labels(base string) string {
	var kinds []string
	for _, r := range fault.Rows() {
		if r.Base == base {
			kinds = append(kinds, r.Kind)
		}
	}
	slices.Sort(kinds)
	return "one of " + strings.Join(kinds, ", ")
}

// A kind that does not fit is refused when a plan is made, and the error says
// which would.
func TestLabelsThatDoNotFit(t *testing.T) {
	const none = "itself, without As: the fault has no other kinds"
	for _, c := range []struct {
		why   string
		fault chaos.Fault
		kind  string // of the problem
		param string
		says  string
	}{
		{"a misspelled kind", fault.As("guardrail_hung", fault.Hang()), "hang", "kind", labels("hang") + "; did you mean guardrail_hang?"},
		{"an unknown kind", fault.As("x", fault.Fail(errBusy)), "error", "kind", labels("error")},
		{"no kind", fault.As("", fault.Hang()), "hang", "kind", labels("hang")},
		{"a label of another fault", fault.As("message_storm", fault.Hang()), "hang", "kind", labels("hang")},
		{"a kind that is no label", fault.As("hang", fault.Fail(errBusy)), "error", "kind", labels("error")},
		{"a fault without labels", fault.As("guardrail_down", fault.AuthExpired()), "auth_expired", "kind", "auth_expired " + none},
		{"a fault of one's own", fault.As("guardrail_down", Abridge(1)), "abridged_text", "kind", "abridged_text " + none},
		{"a delay that is drawn", fault.As("handoff_delayed", fault.Uniform(0, time.Second)), "handoff_delayed", "distribution", "a fixed delay, which is Delay"},
		{"a reply that must be learned", fault.As("handoff_dropped", fault.SilentNoOp()), "handoff_dropped", "value", "a reply, as of SilentNoOpWith"},
		{"no fault", fault.As("guardrail_hang", nil), "guardrail_hang", "fault", "a fault of this package, such as Hang()"},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := chaos.NewPlan(1, chaos.Rule{Target: target, Fault: c.fault})
			var wrong *chaos.ParamError
			require.ErrorAs(t, err, &wrong)
			assert.Equal(t, c.kind, wrong.Kind)
			assert.Equal(t, c.param, wrong.Param)
			assert.Equal(t, c.says, wrong.Allowed)
			assert.NotPanics(t, func() {
				next := func(context.Context, any) (any, error) { return "done", nil }
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				_, _ = c.fault.Inject(ctx, chaos.Call{}, nil, next)
			})
		})
	}
}

// The problems of a label and of the fault's parameters are joined.
func TestLabelsCheckParameters(t *testing.T) {
	err := fault.As("x", fault.Repeat(1)).(chaos.Checked).Check()
	assert.Equal(t, []string{"times", "kind"}, fields(err))
	err = fault.As("x", fault.ToolRemoved()).(chaos.Checked).Check()
	assert.Equal(t, []string{"tools", "kind"}, fields(err))
	assert.Equal(t, "guardrail_down", fault.As("guardrail_down", fault.As("delegation_rejected", fault.Fail(errBusy))).(chaos.Described).Describe().Kind,
		"the last kind counts")
	f := fault.As("guardrail_down", fault.Fail(errBusy))
	assert.Equal(t, errBusy, f.(chaos.Failer).Fail(chaos.Call{}), "what a fault can do, it can do under another kind")
	assert.True(t, slices.ContainsFunc(fault.Rows(), func(r *catalog.Row) bool { return r.Kind == "guardrail_down" && r.Base == "error" }))
}
