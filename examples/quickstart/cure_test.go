package main

import (
	"bytes"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/examples/internal/orderdesk"
)

// The fragile agent goes from six defects to a pass with three habits, in at most three times the runs that explain.
// Two trials have the defects of five: what a trial draws decides in which cells one is seen, and not which there are.
func TestCure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := parse([]string{"-agent", fragile, "-trials", "2"})
		require.NoError(t, err)
		m := s.matrix()
		r, err := m.Run(t.Context(), &contract.RunOptions{Workers: workers})
		require.NoError(t, err)
		require.NoError(t, s.explain(t.Context(), m, r, ""))
		require.Len(t, r.Defects, 6)
		require.NoError(t, s.cure(t.Context(), m, r))
		for _, d := range r.Defects {
			assert.NotEmpty(t, d.Cure.Habits, "%s: %s", d.Sentence, d.Cure.Why)
		}
		require.NotNil(t, r.Cure)
		assert.Equal(t, 6, r.Cure.Defects)
		assert.LessOrEqual(t, len(r.Cure.Habits), 4)
		t.Logf("%d runs, beside %d that explain", r.CureSearch.Runs, r.SearchRuns)
		assert.LessOrEqual(t, r.CureSearch.Runs, 3*r.SearchRuns)
		var b, said bytes.Buffer
		require.NoError(t, report.Text(&b, r, nil))
		assert.Contains(t, b.String(), "mended by an idempotency key on payments.refund (2 of 2 cells; +0 calls, +0 s)")
		require.NoError(t, s.mended(t.Context(), r, &said))
		assert.Contains(t, said.String(), "PASS no critical invariant broke; 180 of 180 decided cells held")

		// Who follows a printed habit in the agent's code sees its defect gone: an idempotency key, and retries.
		byHand := orderdesk.Matrix(orderdesk.Habits{IdempotencyKeys: true})
		assertGone(t, byHand, r, "payments.refund does its work and its reply is lost", "payments.refund is executed twice", "mail.send is executed twice")
		assertGone(t, orderdesk.Matrix(orderdesk.Habits{Retry: true}), r, "orders.get fails twice in a row")
	})
}

// assertGone runs a matrix of the agent in which a habit was followed by hand: the cells of these defects hold. Only their
// scenarios and invariants are run, because a cell does not depend on others.
func assertGone(t *testing.T, m *contract.Matrix, before *contract.Report, sentences ...string) {
	t.Helper()
	broken := map[string][]contract.Cell{} // by the sentence of a defect
	scenarios, invariants := map[string]bool{}, map[string]bool{}
	for _, d := range before.Defects {
		if !slices.Contains(sentences, d.Sentence) {
			continue
		}
		for _, b := range d.Breaks {
			for _, c := range b.Cells {
				broken[d.Sentence] = append(broken[d.Sentence], c)
				scenarios[c.Scenario], invariants[c.Invariant] = true, true
			}
		}
	}
	m.Trials = before.Trials
	m.Scenarios = slices.DeleteFunc(m.Scenarios, func(one contract.Scenario) bool { return !scenarios[one.Name] })
	m.Invariants = slices.DeleteFunc(m.Invariants, func(one contract.Invariant) bool { return !invariants[one.Name] })
	after, err := m.Run(t.Context(), &contract.RunOptions{Workers: workers})
	require.NoError(t, err)
	states := map[contract.Cell]contract.CellState{}
	for _, c := range after.Cells {
		states[c.Cell] = c.State
	}
	for _, sentence := range sentences {
		assert.NotEmpty(t, broken[sentence], sentence)
		for _, c := range broken[sentence] {
			assert.Equal(t, contract.Held, states[c], "%s: %v", sentence, c)
		}
	}
}
