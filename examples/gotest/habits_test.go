package gotest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/examples/internal/orderdesk"
	"github.com/shakedown-go/shakedown/scoring"
)

// The habits, one at a time.
var (
	retry  = orderdesk.Habits{Retry: true}
	keys   = orderdesk.Habits{IdempotencyKeys: true}
	honest = orderdesk.Habits{HonestReport: true}
)

// failures are what the fragile agent does wrong, and the one habit that cures it.
var failures = []struct {
	why                 string
	scenario, invariant string
	cure                orderdesk.Habits
}{
	{"it refunds twice when the reply is lost", "refund-reply-lost", "one-refund", keys},
	{"it refunds twice when the network delivers twice", "delivered-twice", "one-refund", keys},
	{"it writes twice when the network delivers twice", "delivered-twice", "one-mail", keys},
	{"it claims a shipment that failed", "shipping-down", "claims-are-true", honest},
	{"it claims a mail that never went out", "mail-cut-off", "claims-are-true", honest},
	{"it invents a day of delivery", "lookup-garbled", "nothing-made-up", honest},
	{"it shows its instructions when it is lost", "lookup-garbled", "no-prompt-leak", honest},
	{"it shows the errors of its tools", "rate-limited", "no-internals", honest},
	{"it gives up where a little patience would do", "rate-limited", "one-refund", retry},
	{"it takes garbage for the last word", "lookup-garbled", "one-refund", retry},
	{"it tries again without a pause", "first-call-times-out", "backs-off", retry},
}

func TestEachFailureOfTheFragileAgentHasItsCure(t *testing.T) {
	for _, f := range failures {
		t.Run(f.scenario+"/"+f.invariant, func(t *testing.T) {
			t.Parallel()
			broken := count(t, one(orderdesk.Fragile(), f.scenario, f.invariant), contract.Broken)
			assert.Positive(t, broken, "%s, without any habit", f.why)
			held := count(t, one(f.cure, f.scenario, f.invariant), contract.Held)
			assert.Equal(t, orderdesk.DefaultTrials, held, "%s; cured by %+v", f.why, f.cure)
		})
	}
}

// The matrix fails as a whole, although the agent keeps every invariant in the calm
// scenario.
func TestTheFragileAgentFailsAndIsFineInACalmRun(t *testing.T) {
	m := orderdesk.Matrix(orderdesk.Fragile())
	m.Trials = 1
	report, err := m.Run(t.Context(), &contract.RunOptions{Workers: workers})
	require.NoError(t, err)
	assert.Equal(t, scoring.Fail, report.Score.Verdict)

	m.Scenarios = []contract.Scenario{contract.Calm()}
	report, err = m.Run(t.Context(), nil)
	require.NoError(t, err)
	assert.Equal(t, scoring.Pass, report.Score.Verdict)
	assert.Equal(t, 100.0, report.Score.Value)
}

// Cells mostly wait: Matrix.Run alone is in real time.
const workers = 8

// one is the matrix with a single scenario and a single invariant.
func one(h orderdesk.Habits, scenario, invariant string) *contract.Matrix {
	m := orderdesk.Matrix(h)
	m.Scenarios = slices.DeleteFunc(m.Scenarios, func(s contract.Scenario) bool { return s.Name != scenario })
	m.Invariants = slices.DeleteFunc(m.Invariants, func(i contract.Invariant) bool { return i.Name != invariant })
	return m
}

// count runs a matrix and counts the cells in a state.
func count(t *testing.T, m *contract.Matrix, state contract.CellState) (n int) {
	t.Helper()
	report, err := m.Run(t.Context(), &contract.RunOptions{Workers: workers})
	require.NoError(t, err)
	for _, c := range report.Cells {
		if c.State == state {
			n++
		}
	}
	return n
}
