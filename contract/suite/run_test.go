package suite_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/suite"
	"github.com/shakedown-go/shakedown/scoring"
)

// The fixture has all parts. An agent that pays once for a lost reply passes the contract
// part, and one that retries fails it; each part of the score says what it counted.
func TestASuiteIsRun(t *testing.T) {
	s, err := suite.Load("testdata/refunds.yaml", options())
	require.NoError(t, err)
	var names []string
	for name, m := range s.Matrices(world(1)) {
		names = append(names, name)
		assert.Equal(t, uint64(42), m.Seed)
		assert.Equal(t, 2, m.Trials)
	}
	assert.Equal(t, []string{"contract", "mutation", "replay"}, names)

	reports := runs(t, s, world(2))
	assert.Equal(t, "refunds: Nobody is paid twice", reports["contract"].Name)
	states := map[string]contract.CellState{}
	for _, r := range reports {
		for _, c := range r.Cells {
			states[c.Cell.String()] = c.State
		}
	}
	for cell, want := range map[string]contract.CellState{
		"no-chaos/one-refund/1": contract.Held, "lost/one-refund/1": contract.Broken,
		"lost/no-figures/2":   contract.Held,
		"outage/one-refund/1": contract.Undelivered, "chaos/one-refund/1": contract.Held,
		"refund-1042/one-refund/1": contract.Held, "typo-1/one-refund/2": contract.Held,
		"shop-7/one-refund/1": contract.Inconclusive, // nobody says what its tools do
	} {
		assert.Equal(t, want, states[cell], cell)
	}
	result, err := s.Score(reports, nil)
	require.NoError(t, err)
	assert.Equal(t, scoring.Fail, result.Verdict)
	assert.Equal(t, 6, result.Replay.Decided)
	assert.Equal(t, 8, result.Replay.Total, "two cells of the session that does not say what its tools do")
	assert.InDelta(t, 0.2*100*result.Mutation.Value+0.35*result.Chaos.Value+0.35*result.Contract.Value+0.1*100,
		result.Overall.Value, 0.01)

	_, err = s.Score(map[string]*contract.Report{"contracts": nil}, nil)
	require.ErrorContains(t, err, "contracts")
	delete(reports, "replay")
	result, err = s.Score(reports, nil)
	require.Error(t, err, "a part that the file has did not run")
	assert.Equal(t, scoring.Fail, result.Verdict)
}

// Parts that the file does not have are left out, and the result says so.
func TestScoreOfAPartOfTheParts(t *testing.T) {
	s := loaded(t, contractOf("{type: completes}", calmly+"\n"+down), nil)
	result, err := s.Score(runs(t, s, in(calls(0, "1"))), nil)
	require.NoError(t, err)
	assert.Equal(t, scoring.Weights{Chaos: 0.5, Contract: 0.5}, result.Weights)
	assert.True(t, result.Overall.Renormalised)
	assert.Equal(t, []string{"mutation", "replay"}, result.Overall.Missing)
	assert.Equal(t, scoring.Pass, result.Verdict)

	result, err = s.Score(nil, nil)
	require.Error(t, err)
	assert.Equal(t, scoring.Inconclusive, result.Verdict, "what did not run has not passed")
}

// The chaos score leaves out what broke without faults too.
func TestChaosPartLooksAtTheCalmTwin(t *testing.T) {
	s := loaded(t, contractOf("{id: a, type: contains, value: x}\n{id: b, type: completes}", calmly+"\n"+down), nil)
	result, err := s.Score(runs(t, s, in(calls(0, "1"))), nil)
	require.NoError(t, err)
	assert.Equal(t, 1, result.Chaos.CalmBroken)
	assert.Equal(t, 1, result.Chaos.Decided)
	assert.InDelta(t, 100, result.Chaos.Value, 0)
}

// A file with an agent behind HTTP needs no Go for its worlds. The prompt is escaped, and
// variables of the environment are filled in.
func TestAnAgentBehindHTTP(t *testing.T) {
	t.Setenv("SHAKEDOWN_SUITE_TOKEN", `to"ken`)
	var bodies []string
	resets := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/reset" {
			resets++
			return
		}
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body)+" "+r.Header.Get("X-Token"))
		_, _ = io.WriteString(w, `{"data": {"text": "Order 1042 was refunded."}}`)
	}))
	defer server.Close()
	s := loaded(t, `version: "2.0"
agent:
  endpoint: `+server.URL+`/ask
  type: http
  method: POST
  request_template: '{"input": "{prompt}", "key": "${SHAKEDOWN_SUITE_TOKEN}"}'
  response_path: data.text
  headers: {X-Token: "${SHAKEDOWN_SUITE_TOKEN}"}
  timeout: 20000
  reset_endpoint: `+server.URL+`/reset
golden_prompts: ["say \"hi\"\n"]
contract:
  name: http
  invariants: [{type: contains, value: refunded}]
  chaos_matrix: [{name: calm}]
mutations: {types: [upper]}
`, nil)
	reports := runs(t, s, nil)
	assert.Equal(t, `{"input": "say \"hi\"\n", "key": "to\"ken"} to"ken`, bodies[0])
	assert.Contains(t, bodies[1], `SAY \"hi\"\n`)
	assert.Equal(t, 2, resets)
	result, err := s.Score(reports, nil)
	require.NoError(t, err)
	assert.Equal(t, scoring.Pass, result.Verdict)
}

// A file with twins can pass: an invariant whose premise the faults of a scenario do not meet is
// asked in the others alone.
func TestAFileWithTwins(t *testing.T) {
	s := loaded(t, contractOf("{type: delay_changes_nothing}\n{type: retry_changes_nothing}", calmly+
		"\n{name: slow, tool_faults: [{tool: refund, mode: slow}]}"+
		"\n{name: once, rules: [{target: refund, fault: {kind: error, params: {message: service unavailable}}, limit: 1}]}"), nil)
	for _, m := range s.Matrices(world(2)) {
		r, err := m.Run(t.Context(), inBubbles(t, m))
		require.NoError(t, err)
		assert.Equal(t, scoring.Pass, r.Score.Verdict, r.Score.Why)
		assert.Equal(t, 4, r.Score.Decided)
		assert.True(t, r.Cells[3].DoesNotApply, "a delay is no failure: %s", r.Cells[3].Why)
		assert.True(t, r.Cells[4].DoesNotApply, "a failure is no delay: %s", r.Cells[4].Why)
	}
}

// Without worlds from Go and without an agent in the file a run is an error that says so.
func TestNoWorlds(t *testing.T) {
	s, err := suite.Load("testdata/refunds.yaml", options())
	require.NoError(t, err)
	for name, m := range s.Matrices(nil) {
		_, err := m.Run(t.Context(), nil)
		require.ErrorContains(t, err, "no worlds", name)
	}
	path := fixture(t, "refunds.yaml", func(text string) string {
		return strings.Replace(text, "trials: 2", "agent: {endpoint: 'http://127.0.0.1:1/x'}", 1)
	})
	s, err = suite.Load(path, options())
	require.NoError(t, err)
	for name, m := range s.Matrices(nil) {
		if name == "replay" {
			_, err := m.Run(t.Context(), nil)
			require.ErrorContains(t, err, "the tools of a session cannot be given to an agent behind HTTP")
		}
	}
}
