package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/internal/golden"
	"github.com/shakedown-go/shakedown/scoring"
)

// scored is the report of an agent, with its scores. In virtual time no machine stalls.
func scored(t *testing.T, agent string) (r *contract.Report) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := parse([]string{"-agent", agent, "-trials", "1"})
		require.NoError(t, err)
		r, err = s.matrix().Run(t.Context(), &contract.RunOptions{Workers: workers})
		require.NoError(t, err)
		require.NoError(t, s.score(t.Context(), r))
	})
	return r
}

// scoreLines are the lines of the text from the chaos score to the overall score.
func scoreLines(t *testing.T, r *contract.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, report.Text(&b, r, nil))
	_, block, found := strings.Cut(b.String(), "\nchaos ")
	require.True(t, found, b.String())
	block, _, found = strings.Cut(block, "\ncells ")
	require.True(t, found, b.String())
	return []byte("chaos " + block + "\n")
}

// The planner, which both agents have, knows no other words for "refund" and meets a typing
// error in that word once. Only the habits tell a prompt that is there three times from three.
func TestScoresOfBothAgents(t *testing.T) {
	const typo, paraphrase, repeat, ignore = .8, 1., 1.1, 1.5
	const all = 3*typo + 3*paraphrase + 1*repeat + 3*ignore
	for agent, want := range map[string]struct {
		verdict          scoring.Verdict
		mutation, replay float64
	}{
		robust:  {scoring.Pass, (2*typo + 1*repeat + 3*ignore) / all, 100},
		fragile: {scoring.Fail, (2*typo + 3*ignore) / all, 0},
	} {
		t.Run(agent, func(t *testing.T) {
			r := scored(t, agent)
			golden.Equal(t, "scores-"+agent+".txt", scoreLines(t, r))

			assert.Equal(t, want.verdict, r.Overall.Verdict)
			assert.InDelta(t, want.mutation, r.Mutation.Value, 1e-9)
			assert.InDelta(t, want.replay, r.Replay.Value, 0)
			assert.Equal(t, 1, r.Replay.Decided)
			assert.Empty(t, r.Overall.Missing, "all four parts ran")
			sum := .2*100*r.Mutation.Value + .35*r.Chaos.Value + .35*r.Score.Value + .1*r.Replay.Value
			assert.InDelta(t, sum, r.Overall.Value, .005)
			assert.Equal(t, 90, r.Score.Total, "the cells of mutations and sessions are not in the contract")
		})
	}
}

// The cells behind the scores are shown like those of the contract.
func TestACellOfAPart(t *testing.T) {
	for _, row := range []struct {
		agent, cell string
		status      int
		want        []string
	}{
		{robust, "paraphrase-1/one-refund/1", exitFail, []string{"prompt  Give the money back for", "answer  I can refund and ship orders", "calls: none\n"}},
		{robust, "repeat-1/one-refund/1", exitPass, []string{"Once more, the same request"}},
		{fragile, "repeat-1/one-refund/1", exitFail, []string{"Once more, the same request", `"1042" is there 2 times (0 before)`}},
		{robust, "refund-reply-lost_one-refund_1/one-refund/1", exitPass, []string{"payments.refund  try 1  i/o timeout", "try 2  ok"}},
		{fragile, "refund-reply-lost_one-refund_1/one-refund/1", exitFail, []string{"i/o timeout", `"1042" is there 2 times (0 before)`}},
	} {
		status, out, errs := try(t, "-agent", row.agent, "-cell", row.cell)
		assert.Equal(t, row.status, status, "%s %s\n%s%s", row.agent, row.cell, out, errs)
		inOrder(t, out, row.want...)
		assert.NotContains(t, out, " \n", "no line ends in a blank")
	}
}

// A part that is missing is no 0, and where none is, an inconclusive contract does not pass.
func TestWhatDidNotRun(t *testing.T) {
	s, err := parse(nil)
	require.NoError(t, err)
	decided := scoring.ContractScore{Value: 50, Total: 2, Decided: 2, Verdict: scoring.Inconclusive}

	r := &contract.Report{Score: decided}
	require.NoError(t, s.score(t.Context(), r))
	assert.Equal(t, []string{"chaos"}, r.Overall.Missing)
	assert.True(t, r.Overall.Renormalised)

	r = &contract.Report{Score: decided, Chaos: &scoring.ChaosScore{Value: 50, Total: 2, Decided: 2}}
	require.NoError(t, s.score(t.Context(), r))
	assert.Empty(t, r.Overall.Missing)
	assert.Equal(t, scoring.Inconclusive, r.Overall.Verdict)
}
