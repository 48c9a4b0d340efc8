package contract_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

// lies puts another value in place.
type lies struct{}

func (lies) Phase() chaos.Phase { return chaos.PhaseChange }
func (lies) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	if _, err := next(ctx, args); err != nil {
		return nil, err
	}
	chaos.Changed(ctx, chaos.Change{Before: json.RawMessage(`"noon"`), After: json.RawMessage(`"midnight"`)})
	return "midnight", nil
}

// TestFaultsThatToolsRecoverFrom: such a fault is delivered to something that the
// agent uses, and decides the cell. These cells are counted apart.
func TestFaultsThatToolsRecoverFrom(t *testing.T) {
	type source = func(context.Context, string) (string, error)
	wrap := func(target string, fn source) source { return chaos.Wrap(target, fn) }
	inner := wrap("inner", func(context.Context, string) (string, error) { return "noon", nil })
	through := func(ctx context.Context, in string) (string, error) { return inner(ctx, in) }
	retrying := func(ctx context.Context, in string) (string, error) {
		if _, err := inner(ctx, in); err != nil {
			return "from the cache", nil
		}
		return "noon", nil
	}
	hasty := func(ctx context.Context, in string) (string, error) {
		told := make(chan string, 1)
		go func() { answer, _ := inner(ctx, in); told <- answer }()
		select {
		case answer := <-told:
			return answer, nil
		case <-time.After(time.Second):
			return "from the cache", nil
		}
	}
	shouting := func(ctx context.Context, in string) (string, error) {
		answer, err := inner(ctx, in)
		return answer + "!", err
	}
	middle := func(fn source) source {
		return func(ctx context.Context, in string) (string, error) { return wrap("middle", fn)(ctx, in) }
	}
	for _, tc := range []struct {
		reason   string
		target   string
		fault    chaos.Fault
		clock    source
		absorbed bool
	}{
		{"on the agent's own call", "clock", fails{}, retrying, false},
		{"an error that the tool passes on", "inner", fails{}, through, false},
		{"an error that two calls pass on", "inner", fails{}, middle(through), false},
		{"an error that the tool gets over", "inner", fails{}, retrying, true},
		{"an error that a call within the tool gets over", "inner", fails{}, middle(retrying), true},
		{"a wait that the tool waits for", "inner", delays{time.Minute}, through, false},
		{"a wait that the tool does not wait for", "inner", delays{time.Minute}, hasty, true},
		{"another value that the tool returns", "inner", lies{}, through, false},
		{"another value that the tool makes something of: nobody can tell", "inner", lies{}, shouting, true},
	} {
		m := matrix(t, nil, func(m *contract.Matrix) {
			m.Points, m.Trials = []string{"inner", "middle"}, 2
			m.Scenarios = append(m.Scenarios, contract.Scenario{Name: "faulty", Rules: []chaos.Rule{{Target: tc.target, Fault: tc.fault}}})
			m.Invariants[0].JudgesErrors, m.Invariants[0].Needs = true, contract.NeedResults
			m.NewWorld = func(context.Context) (*contract.World, error) {
				tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "clock"}, func(ctx context.Context, _ struct{}) (string, error) {
					return tc.clock(ctx, "now")
				}))
				return &contract.World{Tools: tools, Agent: func(ctx context.Context, p string, tools chaos.ToolRegistry) (string, error) {
					answer, err := tellsTime(ctx, p, tools)
					time.Sleep(time.Hour) // what is under way comes to its end
					return answer, err
				}}, err
			}
		})
		r := run(t, m, virtual(t))
		for _, c := range r.Cells {
			want := c.Cell.Scenario == "faulty"
			require.Equal(t, want, c.Delivered > 0, "%s: %v", tc.reason, c.Cell)
			assert.Equal(t, contract.Held, c.State, tc.reason)
			assert.Equal(t, want && tc.absorbed, c.Absorbed, tc.reason)
		}
		assert.Equal(t, map[bool]int{true: 2}[tc.absorbed], r.Absorbed, tc.reason)
	}
}

// TestUndeliveredCellsAbsorbNothing: there was no fault to recover from.
func TestUndeliveredCellsAbsorbNothing(t *testing.T) {
	m := matrix(t, tellsTime, func(m *contract.Matrix) {
		m.Scenarios = []contract.Scenario{{Name: "idle", AllowUndelivered: true, Rules: []chaos.Rule{{Target: "clock", Fault: idles{}}}}}
	})
	r := run(t, m, nil)
	assert.False(t, r.Cells[0].Absorbed)
	assert.Zero(t, r.Absorbed)
}
