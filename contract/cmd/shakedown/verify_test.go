package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
)

const claimedSuite = `version: "2.0"
golden_prompts: ["Refund order 1042"]
agent: {endpoint: ENDPOINT, RESET type: http, request_template: '{"q": "{{prompt}}"}', response_path: $.a}
contract:
  name: refunds
  invariants:
    - {id: names-it, type: contains, value: "1042", severity: critical}
  chaos_matrix: [{name: no-chaos}]
advanced: {seed: 5}
trials: TRIALS
`

// verify runs the verb in this process.
func verify(t *testing.T, args ...string) (status int, out string) {
	t.Helper()
	var b strings.Builder
	status = run(t.Context(), append([]string{"verify"}, args...), &b, &b)
	return status, b.String()
}

func TestVerify(t *testing.T) {
	var answers, asked atomic.Int64 // answers: how often, of ten prompts, the answer is right
	answers.Store(10)
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		text := "I do not know"
		if asked.Add(1)%10 < answers.Load() {
			text = "order 1042 is refunded"
		}
		fmt.Fprintf(w, `{"a": %q}`, text)
	}))
	defer agent.Close()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) string {
		require.NoError(t, os.WriteFile(path(name), []byte(text), 0o600))
		return path(name)
	}
	filled := func(reset string) string {
		return strings.NewReplacer("ENDPOINT", agent.URL, "TRIALS", "200", "RESET", reset).Replace(claimedSuite)
	}
	text := filled("reset_endpoint: " + agent.URL + "/reset,")
	file, other := write("suite.yaml", text), write("other.yaml", strings.Replace(text, "seed: 5", "seed: 6", 1))
	without := write("without.yaml", filled(""))
	_, matrices, err := load(file)
	require.NoError(t, err)
	r, err := matrices[0].matrix.Run(t.Context(), &contract.RunOptions{File: path("a.run.jsonl"), Build: "one"})
	require.NoError(t, err)
	claim, err := os.ReadFile(path("a.run.jsonl"))
	require.NoError(t, err)
	repeatable := func() string {
		r.Repeatable = "yes"
		var b strings.Builder
		require.NoError(t, report.Write(&b, r, nil))
		return write("repeatable.run.jsonl", b.String())
	}()
	runVerb, run := run, path("a.run.jsonl")
	for _, tc := range []struct {
		name    string
		answers int64
		args    []string
		status  int
		says    string
	}{
		{"honest", 10, []string{file, "--rerun", "20", "--build", "one", run}, 0, "PASS: nothing contradicts the file"},
		{"the seed is said", 10, []string{"--build=one", "--seed=9", file, run}, 0, "--seed 9 draws the same units"},
		{"rates that are not possible", 5, []string{file, run, "--build", "one"}, 1, "all units / no broken cell: 200 of 200 in the file"},
		{"a repeatable agent that differs", 5, []string{file, repeatable, "--rerun", "30", "--build", "one"}, 1, "broken ("},
		{"a world without a reset", 5, []string{without, run, "--build", "one"}, 2, "The world has no Reset"},
		{"too few", 10, []string{file, run, "--build", "one", "--rerun", "1"}, 2, "INCONCLUSIVE"},
		{"another build", 10, []string{file, run}, 3, "SHAKEDOWN_BUILD of both runs may name it"},
		{"another suite", 10, []string{other, run, "--build", "one"}, 3, "report.seed is 5; allowed: 6"},
		{"a damaged file", 10, []string{file, write("torn.run.jsonl", strings.Replace(string(claim), "hhh", "hhb", 1)[:2000]+"x"+string(claim[2001:])), "--build", "one"}, 3, "sum"},
		{"half a file", 10, []string{file, write("half.run.jsonl", string(claim[:len(claim)/2])), "--build", "one"}, 0, "lacks"},
		{"no file", 10, []string{file, path("none.run.jsonl")}, 3, "none.run.jsonl"},
		{"one operand", 10, []string{file}, 3, "verify SUITE FILE"},
		{"no units", 10, []string{file, run, "--build", "one", "--rerun", "0"}, 3, "--rerun is 0; allowed: 1 and more"},
	} {
		answers.Store(tc.answers)
		status, out := verify(t, tc.args...)
		assert.Equal(t, tc.status, status, "%s: %s", tc.name, out)
		assert.Contains(t, out, tc.says, tc.name)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	var said strings.Builder
	assert.Equal(t, 2, runVerb(ended, []string{"verify", file, run, "--build", "one"}, &said, &said))
	assert.Contains(t, said.String(), "a.run.jsonl is not verified: the run was ended")
	agent.Close()
	status, out := verify(t, file, run, "--build", "one", "--rerun", "5")
	assert.NotEqual(t, 0, status, "nobody is there: %s", out)
	t.Log(out)
}
