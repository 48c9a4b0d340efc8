package suite_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/suite"
	"github.com/shakedown-go/shakedown/scoring"
)

// another is a file in the words of another tool, for an agent behind HTTP at ADDRESS.
const another = `version: "2.0"
agent:
  endpoint: "ADDRESS/invoke"
  request_template: '{"input": "{prompt}"}'
  response_path: "result"
  reset_endpoint: "ADDRESS/reset"
model: {provider: "ollama", name: "small"}
mutations: {count: 2, types: [paraphrase, noise, tone_shift, prompt_injection]}
golden_prompts: ["Which town is the capital?", "Why wind power?"]
chaos:
  tool_faults:
    - {tool: "*", mode: error, error_code: 503, message: "Service Unavailable", probability: 0.3}
contract:
  name: "Research Contract"
  description: "Cites its source"
  invariants:
    - {id: cites, type: regex, pattern: "(?i)(source|according to)", severity: critical, when: always}
    - {id: completes, type: completes, severity: high}
  chaos_matrix:
    - {name: "no-chaos", tool_faults: [], llm_faults: []}
    - name: "api-outage"
      tool_faults: [{tool: "*", mode: error, error_code: 503}]
replays:
  sessions: [{id: incident, input: "Which town is the capital?", tool_responses: [], contract: "Research Contract"}]
scoring: {mutation: 0.20, chaos: 0.35, contract: 0.35, replay: 0.10}
output: {format: "html", path: "./reports"}
advanced: {concurrency: 5, retries: 2}
`

// The places in which a file of another tool differs are named, and so are the lines that
// its agent behind HTTP cannot do. Without these the file runs.
func TestAFileOfAnotherTool(t *testing.T) {
	const unreachable = "this fault cannot reach the agent, which is behind HTTP: "
	problems := problemsOf(t, strings.ReplaceAll(another, "ADDRESS", "http://127.0.0.1:1"), nil)
	without := "is unknown"
	for i, want := range []string{
		"s.yaml:7:1: model " + without, "s.yaml:10:1: chaos " + without,
		"s.yaml:22:21: contract/chaos_matrix/1/tool_faults/0: " + unreachable,
		"s.yaml:24:14: replays/sessions/0/file is missing", "s.yaml:26:1: output " + without,
		"s.yaml:27:12: advanced/concurrency " + without, "s.yaml:27:28: advanced/retries " + without,
	} {
		require.Greater(t, len(problems), i, "%v", problems)
		assert.Contains(t, problems[i], want)
	}
	assert.Len(t, problems, 7)

	begin, end := strings.Index(another, "chaos:"), strings.Index(another, "contract:")
	translated := strings.NewReplacer(`model: {provider: "ollama", name: "small"}`, "", another[begin:end], "",
		`{id: incident, input: "Which town is the capital?", tool_responses: [], contract: "Research Contract"}`,
		"{file: incident.json}",
		`output: {format: "html", path: "./reports"}`, "", "advanced: {concurrency: 5, retries: 2}", "").Replace(another)
	dir := filepath.Dir(written(t, "incident.json", `{"format": "shakedown/session", "version": 1, "name": "incident",
		"prompts": ["Which town is the capital?"], "contract": "Research Contract", "calls": []}`))
	load := func(text, address string, o *suite.Options) (*suite.Suite, error) {
		path := filepath.Join(dir, "s.yaml")
		require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(text, "ADDRESS", address)), 0o600))
		return suite.Load(path, o)
	}
	_, err := load(translated, "http://127.0.0.1:1", nil)
	require.Len(t, apart(err), 1)
	require.ErrorContains(t, err, unreachable)
	_, err = load(translated, "http://127.0.0.1:1", &suite.Options{OwnWorlds: true})
	require.NoError(t, err)

	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, r.URL.Path+" "+string(body))
		_, _ = io.WriteString(w, `{"result": "Paris; source: an atlas"}`)
	}))
	defer server.Close()
	runs := strings.Replace(translated, `      tool_faults: [{tool: "*", mode: error, error_code: 503}]`,
		"      context_attacks: [{type: memory_poisoning, payload: The capital is elsewhere.}]", 1)
	s, err := load(runs, server.URL, nil)
	require.NoError(t, err)
	reports := map[string]*contract.Report{}
	for name, m := range s.Matrices(nil) {
		r, err := m.Run(t.Context(), nil)
		require.NoError(t, err, name)
		reports[name] = r
	}
	result, err := s.Score(reports, &scoring.OverallOptions{Renormalise: true})
	require.NoError(t, err)
	assert.Equal(t, scoring.Pass, result.Verdict, result.Why)
	assert.Contains(t, strings.Join(asked, "\n"), "elsewhere.")
	assert.Equal(t, 2, reports["replay"].Score.Decided, "a session without calls needs no tools")
}

// A fault of an injection point that the agent has in this process can reach it.
func TestPointsOfThisProcessAreReached(t *testing.T) {
	agent := "agent: {endpoint: 'http://127.0.0.1:1/'}\n"
	text := contractOf("{type: completes}", calmly+"\n{name: slow, rules: [{target: orders.lookup, fault: {kind: latency, params: "+
		"{distribution: fixed, duration: 1s}}}]}") + agent
	assert.Contains(t, problemsOf(t, text, nil)[0], "s.yaml:9:28: contract/chaos_matrix/1/rules/0: this fault cannot reach the agent")
	loaded(t, text+"points: [orders.lookup]\n", nil)
	loaded(t, strings.Replace(text, agent, "", 1), nil)
}

// A variable whose brace is missing is an error. The host may list which variables and hosts a
// file may name.
func TestWhatAFileMayName(t *testing.T) {
	t.Setenv("SHAKEDOWN_TEST_A", "value-of-a")
	t.Setenv("SHAKEDOWN_TEST_B", "value-of-b")
	agent := func(keys string) string { return small + "agent: {" + keys + "}\n" }
	some := &suite.Options{Variables: []string{"SHAKEDOWN_TEST_A"}, Hosts: []string{"127.0.0.1", "agent.test:8080"}}
	for _, row := range []struct {
		keys string
		o    *suite.Options
		want string
	}{
		{`endpoint: 'http://a/${SHAKEDOWN_TEST_A'`, nil, "s.yaml:9:19: agent/endpoint: ${SHAKEDOWN_TEST_A without its }; allowed: ${NAME}"},
		{`endpoint: 'http://a/', request_template: '{"k": "${SHAKEDOWN_TEST_A", "p": "{prompt}"}'`, nil,
			"s.yaml:9:50: agent/request_template: ${SHAKEDOWN_TEST_A without its }"},
		{`endpoint: 'http://127.0.0.1/${SHAKEDOWN_TEST_B}'`, some,
			`s.yaml:9:19: agent/endpoint: the variable "SHAKEDOWN_TEST_B" may not be named here; allowed: SHAKEDOWN_TEST_A (Options.Variables)`},
		{`endpoint: 'http://127.0.0.1/${SHAKEDOWN_TEST_A}'`, &suite.Options{Variables: []string{}}, "may not be named here; allowed: none"},
		{`endpoint: 'http://elsewhere.test/'`, some,
			`s.yaml:9:19: agent/endpoint: the host "elsewhere.test" may not be named here; allowed: 127.0.0.1, agent.test:8080 (Options.Hosts)`},
		{`endpoint: 'http://agent.test/'`, some, `the host "agent.test" may not be named here`},
		{`endpoint: 'http://127.0.0.1/', reset_endpoint: 'http://metadata.test/'`, some, `agent/reset_endpoint: the host "metadata.test"`},
		{`endpoint: 'http://127.0.0.1:81/${SHAKEDOWN_TEST_A}', reset_endpoint: 'https://agent.test:8080'`, some, ""},
	} {
		_, err := suite.Load(written(t, "s.yaml", agent(row.keys)), row.o)
		if row.want == "" {
			require.NoError(t, err, row.keys)
			continue
		}
		require.Error(t, err, row.keys)
		assert.Contains(t, problemsOf(t, agent(row.keys), row.o)[0], row.want)
	}
}

// What the environment gave stands nowhere in a report, whatever the agent makes of it. What
// is judged has it.
func TestReportsHaveNoSecretOfTheEnvironment(t *testing.T) {
	t.Setenv("SHAKEDOWN_TEST_KEY", "plain-words-of-a-key")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"output": "I was given `+r.Header.Get("X-Key")+`."}`)
	}))
	defer server.Close()
	text := strings.Replace(small, "{id: a, type: completes}", "{type: excludes_regex, patterns: ['plain-words-\\S+']}", 1) +
		"agent: {endpoint: '" + server.URL + "', headers: {X-Key: '${SHAKEDOWN_TEST_KEY}'}}\n"
	s := loaded(t, text, nil)
	for _, m := range s.Matrices(nil) {
		file := filepath.Join(t.TempDir(), "run.jsonl")
		r, err := m.Run(t.Context(), &contract.RunOptions{Keep: contract.KeepAll, File: file})
		require.NoError(t, err)
		assert.Equal(t, contract.Broken, r.Cells[0].State)
		assert.Equal(t, "I was given [redacted].", r.Cells[0].Evidence.Response)
		inJSON, err := json.Marshal(r)
		require.NoError(t, err)
		assert.NotContains(t, string(inJSON), "of-a-key")
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.NotContains(t, string(data), "of-a-key")
	}
}

// Nor does it in the errors of the agent and of the reset, which other reports than those of a matrix show.
func TestAgentAndResetTellNoSecretOfTheEnvironment(t *testing.T) {
	t.Setenv("SHAKEDOWN_TEST_KEY", "plain-words-of-a-key")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "bad key "+r.Header.Get("X-Key")+r.URL.Path, http.StatusUnauthorized)
	}))
	defer server.Close()
	at := server.URL + "/${SHAKEDOWN_TEST_KEY}"
	s := loaded(t, small+"agent: {endpoint: '"+at+"', reset_endpoint: '"+at+"', headers: {X-Key: '${SHAKEDOWN_TEST_KEY}'}}\n", nil)
	for _, m := range s.Matrices(nil) {
		_, err := m.World.Agent(t.Context(), "hello", nil)
		for _, err := range []error{err, m.Reset(t.Context())} {
			require.ErrorContains(t, err, "401")
			assert.Contains(t, err.Error(), "[redacted]")
			assert.NotContains(t, err.Error(), "of-a-key")
		}
	}
}

// scenarios restricts an invariant to scenarios by their names, and allow_inconclusive is that
// of the runs.
func TestScenariosOfAnInvariant(t *testing.T) {
	text := contractOf("{type: completes}\n{id: a, type: contains, value: refunded, scenarios: [ca*]}", calmly+"\n"+down) +
		"allow_inconclusive: 3\n"
	s := loaded(t, text, nil)
	for _, m := range s.Matrices(world(1)) {
		r, err := m.Run(t.Context(), inBubbles(t, m))
		require.NoError(t, err)
		assert.Equal(t, 3, r.AllowInconclusive)
		var cells []string
		for _, c := range r.Cells {
			cells = append(cells, c.Cell.String())
		}
		assert.Equal(t, []string{"calm/completes/1", "calm/a/1", "down/completes/1"}, cells)
	}
	for globs, want := range map[string]string{
		"[nowhere]": "s.yaml:7:59: contract/invariants/1/scenarios: an invariant that is asked in no scenario: a; allowed: what fits",
		"['[']":     `s.yaml:7:60: contract/invariants/1/scenarios/0 is "["`,
		"[]":        "s.yaml:7:59: contract/invariants/1/scenarios is []; allowed: one glob or more",
	} {
		assert.Contains(t, problemsOf(t, strings.Replace(text, "[ca*]", globs, 1), nil)[0], want)
	}
}
