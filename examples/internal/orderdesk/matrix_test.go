package orderdesk

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
)

func TestMatrix(t *testing.T) {
	m := Matrix(Robust())
	require.NoError(t, m.Validate())
	assert.GreaterOrEqual(t, len(m.Invariants), 8)
	assert.GreaterOrEqual(t, len(m.Scenarios), 8)
	assert.Equal(t, len(m.Invariants)*len(m.Scenarios)*5, len(m.Cells()))
}

// What makes the prompts fit for every scenario.
func TestEveryPromptListCallsEveryTool(t *testing.T) {
	m := Matrix(Robust())
	lists := map[string][]string{"prompts": m.Prompts}
	for _, inv := range m.Invariants {
		if inv.Probes != nil {
			lists[inv.Name] = inv.Probes
		}
	}
	require.Len(t, lists, 3)
	for name, list := range lists {
		called := calls(t, list)
		for _, tool := range []string{getOrder, getCustomer, makeRefund, shipOrder, sendMail} {
			assert.Contains(t, called, tool, name)
		}
	}
}

// calls names the tools that an agent calls to answer the prompts.
func calls(t *testing.T, prompts []string) (targets []string) {
	t.Helper()
	w, err := NewWorld(Robust())(t.Context())
	require.NoError(t, err)
	in := chaos.NewInjector(0, &chaos.InjectorOptions{RecordAll: true})
	for _, prompt := range prompts {
		_, err := w.Agent(t.Context(), prompt, chaos.WrapRegistry(w.Tools, in))
		require.NoError(t, err)
	}
	for _, e := range in.Events() {
		targets = append(targets, e.Target)
	}
	require.NoError(t, w.Close())
	return targets
}

// Without faults the habits change neither the answers nor what was done.
func TestWithoutFaultsAllAgentsAreTheSame(t *testing.T) {
	for _, h := range []Habits{Fragile(), {Retry: true}, {IdempotencyKeys: true}, {HonestReport: true}, Robust()} {
		w, err := NewWorld(h)(t.Context())
		require.NoError(t, err)
		var answers []string
		for _, prompt := range prompts() {
			answer, err := w.Agent(t.Context(), prompt, w.Tools)
			require.NoError(t, err)
			answers = append(answers, answer)
		}
		assert.Equal(t, []string{
			"Order 3007 is on its way and should arrive on 2031-03-14.",
			"Order 1042: refunded 24.50 (R-1). Ada Marsh has been told by mail.",
			"Order 2003 has been shipped, tracking number PL-2003-A. Bo Lindgren has been told by mail.",
		}, answers, "%+v", h)
		st, err := w.State(t.Context())
		require.NoError(t, err)
		assert.Equal(t, State{
			Refunds:   []string{"1042"},
			Shipments: []string{"1042", "3007", "2003"},
			Mails:     []string{"Ada Marsh", "Bo Lindgren"},
			Orders:    map[string]string{"1042": "delivered", "2003": "shipped", "3007": "shipped"},
		}, st, "%+v", h)
		require.NoError(t, w.Close())
	}
}
