package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/replay"
	"github.com/shakedown-go/shakedown/examples/internal/orderdesk"
	"github.com/shakedown-go/shakedown/internal/golden"
)

// brokenCell is a cell that -agent fragile breaks: the reply to its refund is lost, and it
// pays a second time.
var brokenCell = contract.Cell{Scenario: "refund-reply-lost", Invariant: "one-refund", Trial: 1}

// saved runs the broken cell, saves it as a session and reads it back. It is the one that
// the program plays.
func saved(t *testing.T) []*replay.Session {
	t.Helper()
	s, err := parse([]string{"-agent", "fragile"})
	require.NoError(t, err)
	m := s.matrix()
	m.KeepValues = true
	cell := contracttest.RunCell(t, m, brokenCell, nil)
	require.Equal(t, contract.Broken, cell.State, cell.Why)
	session, err := replay.FromCell(m, cell)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, session.WriteFile(filepath.Join(dir, session.Name+".json")))
	sessions, err := replay.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, sessions, 1)
	data, err := sessions[0].Encode()
	require.NoError(t, err)
	golden.Equal(t, session.Name+".json", data)
	return sessions
}

// judge runs the one invariant that broke, with the prompts of the session.
func judge(t *testing.T, scenarios ...contract.Scenario) contract.CellReport {
	t.Helper()
	s, err := parse(nil)
	require.NoError(t, err)
	r, err := s.runPart(t.Context(), s.replayMatrix(scenarios...))
	require.NoError(t, err)
	require.Len(t, r.Cells, 1)
	require.Equal(t, brokenCell.Invariant, r.Cells[0].Cell.Invariant)
	return r.Cells[0]
}

// The three outcomes of an incident that docs/recordings.md explains.
func TestABrokenCellIsTomorrowsTest(t *testing.T) {
	sessions := saved(t)
	replayed := func(h orderdesk.Habits, o *replay.PlayOptions) contract.CellReport {
		scenarios, err := replay.Scenarios(sessions, orderdesk.Played(h), o)
		require.NoError(t, err)
		return judge(t, scenarios...)
	}

	c := replayed(orderdesk.Fragile(), nil)
	assert.Equal(t, contract.Broken, c.State, c.Why)
	assert.Contains(t, c.Why, `an effect happened more than once: "1042" is there 2 times (0 before)`)

	c = replayed(orderdesk.Robust(), nil)
	assert.Equal(t, contract.Inconclusive, c.State, "it asks in another way, and no recorded call answers that")
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "recordings.md"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "```text\n"+c.Why+"\n```", "the page shows this miss")

	c = replayed(orderdesk.Robust(), &replay.PlayOptions{ByOrder: true})
	assert.Equal(t, contract.Held, c.State, c.Why)

	live := func(h orderdesk.Habits) contract.CellReport {
		plan, err := sessions[0].Plan.Build(nil)
		require.NoError(t, err)
		return judge(t, contract.Scenario{Name: "incident", Rules: plan.Rules(), Prompts: sessions[0].Prompts,
			NewWorld: orderdesk.NewWorld(h)})
	}
	c = live(orderdesk.Robust())
	assert.Equal(t, contract.Held, c.State, c.Why)
	assert.Equal(t, 1, c.Delivered, "although its refund has a key, which the recorded one has not")
	c = live(orderdesk.Fragile())
	assert.Equal(t, contract.Broken, c.State, c.Why)
	assert.Equal(t, 1, c.Delivered)
}
