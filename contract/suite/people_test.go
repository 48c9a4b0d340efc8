package suite_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/mutate"
	"github.com/shakedown-go/shakedown/contract/suite"
)

// small is a valid file of eight lines, to which tests add.
const small = `version: "2.0"
golden_prompts: ["Refund order 1042"]
contract:
  name: refunds
  invariants:
    - {id: a, type: completes}
  chaos_matrix:
    - {name: calm}
`

// problemsOf are what Load says about a text, without its path.
func problemsOf(t *testing.T, text string, o *suite.Options) []string {
	t.Helper()
	path := written(t, "s.yaml", text)
	_, err := suite.Load(path, o)
	require.Error(t, err)
	return strings.Split(strings.ReplaceAll(err.Error(), path, "s.yaml"), "\n")
}

// What is no YAML at all has a line: the one up to which the YAML library had read.
func TestWhatIsNoYAMLHasItsLine(t *testing.T) {
	for _, row := range []struct{ why, text, want string }{
		{"a colon in the first line", `version: "2.0": x`, "s.yaml:1:1: "},
		{"a tab that indents", "version: x\ncontract:\n\tname: x", "s.yaml:3:1: "},
		{"a directive", "%foo\na: b", "s.yaml:1:1: "},
		{"a text that never ends", "version: \"2.0\n\ntrials: 2\n", "s.yaml:3:1: "},
		{"a text in quotation marks that is not closed", small + "points: [\"a]\n", "s.yaml:9:1: "},
		{"a list that is not closed", small + "points: [a, b\ntrials: 2\n", "s.yaml:10:1: "},
		{"a mark of the byte order", "\ufeffversion: \"2.0\n\ntrials: 2\n", "s.yaml:3:1: "},
		{"a key that is indented too little", strings.Replace(small, "{id: a, type: completes}",
			"id: a\n      type: completes\n     severity: low", 1), "s.yaml:8:1: "},
		{"a key without a space behind it", strings.Replace(small, "name: refunds", "name:refunds", 1), "s.yaml:6:1: "},
		{"a star without quotation marks", small + "points: [*]\n", "s.yaml:9:1: "},
		{"an alias of nothing", small + "points: [a*b, *no]\n", "s.yaml:9:1: "},
		{"a control character", small + "points: [\"é\b\"]\n", "s.yaml:9:13: "},
		{"a byte of another encoding", small + "points: [\"\xe9\"]\n", "s.yaml:9:11: "},
		{"UTF-16", "\xff\xfev\x00e\x00r\x00s\x00", "s.yaml:1:1: "},
		{"nothing", "# nothing\n", "s.yaml:1:1: "},
		{"a mistake in a second document", small + "---\na: b: c\n", "s.yaml:10:1: "},
	} {
		t.Run(row.why, func(t *testing.T) {
			problems := problemsOf(t, row.text, nil)
			require.Len(t, problems, 1)
			assert.Contains(t, problems[0], row.want+"syntax, here or before: ")
			assert.Contains(t, problems[0], "; allowed: YAML: levels are indented by spaces, ")
		})
	}
}

// Each problem is told, and told once, whatever else is wrong around it.
func TestEachProblemIsToldOnce(t *testing.T) {
	for _, row := range []struct {
		why, text string
		want      []string
	}{
		{"all keys of an invariant", strings.Replace(small, "{id: a, type: completes}",
			"{id: a b, type: regex, pattern: '(', severity: top, when: ever, probes: [], extra: 1}", 1), []string{
			`s.yaml:6:12: contract/invariants/0/id is "a b"; allowed: letters`,
			`s.yaml:6:39: contract/invariants/0/pattern is "("`,
			`s.yaml:6:54: contract/invariants/0/severity is "top"; allowed: one of critical, high`,
			`s.yaml:6:65: contract/invariants/0/when is "ever"; allowed: one of always, `,
			`s.yaml:6:79: contract/invariants/0/probes is []; allowed: one prompt or more`,
			`s.yaml:6:83: contract/invariants/0/extra is unknown; allowed: one of id, `,
		}},
		{"a name twice, once in what is wrong itself", strings.Replace(small, "- {id: a, type: completes}",
			"- {id: a, type: completes}\n    - {id: a, type: completes, extra: 1}", 1), []string{
			`s.yaml:7:12: contract/invariants/1/id: "a" is there twice, first in line 6`,
			`s.yaml:7:32: contract/invariants/1/extra is unknown`,
		}},
		{"all keys of a scenario and of its faults", strings.Replace(small, "{name: calm}",
			`{name: a b, tool_faults: [{tool: "[", mode: error, error_code: 5, after_calls: 0, probability: 7, x: 1}], y: 1}`, 1),
			[]string{
				`s.yaml:8:14: contract/chaos_matrix/0/name is "a b"`,
				`s.yaml:8:40: contract/chaos_matrix/0/tool_faults/0/tool is "["`,
				`s.yaml:8:70: contract/chaos_matrix/0/tool_faults/0/error_code is 5; allowed: an integer from 400`,
				`s.yaml:8:86: contract/chaos_matrix/0/tool_faults/0/after_calls is 0`,
				`s.yaml:8:102: contract/chaos_matrix/0/tool_faults/0/probability is 7; allowed: a number from 0 to 1`,
				`s.yaml:8:105: contract/chaos_matrix/0/tool_faults/0/x is unknown`,
				`s.yaml:8:113: contract/chaos_matrix/0/y is unknown`,
			}},
		{"all keys of an agent", small + "agent: {endpoint: '${SHAKEDOWN_NOT_SET}', method: GET, reset_endpoint: here}\n", []string{
			`s.yaml:9:19: agent/endpoint: the variable "SHAKEDOWN_NOT_SET" is not set`,
			`s.yaml:9:51: agent/method is "GET"; allowed: one of POST`,
			`s.yaml:9:72: agent/reset_endpoint is "here"; allowed: an absolute http or https URL`,
		}},
		{"sections without anything", "version: '2.0'\ngolden_prompts:\ncontract:\n  name:\n  invariants:\n  chaos_matrix:\nagent:\n",
			[]string{
				"s.yaml:2:16: golden_prompts is null; allowed: a list",
				"s.yaml:4:8: contract/name is null; allowed: a string",
				"s.yaml:5:14: contract/invariants is null; allowed: a list",
				"s.yaml:6:16: contract/chaos_matrix is null; allowed: a list",
				"s.yaml:7:7: agent is null; allowed: an object",
			}},
		{"sections that are empty", "version: '2.0'\ngolden_prompts: []\ncontract: {name: ' ', invariants: [], chaos_matrix: []}\n" +
			"replays: {}\npoints: ['']\n", []string{
			"s.yaml:2:17: golden_prompts is []; allowed: one prompt or more",
			`s.yaml:3:18: contract/name is " "; allowed: a name`,
			"s.yaml:3:35: contract/invariants is []; allowed: one invariant or more",
			"s.yaml:3:53: contract/chaos_matrix is []; allowed: one scenario or more",
			"s.yaml:4:10: replays/sessions is missing; allowed: a list",
			`s.yaml:5:10: points/0 is ""; allowed: the name of an injection point`,
		}},
		{"a contract of another kind, and what stands beside it", "version: '2.0'\ncontract: []\ntrials: 0\n", []string{
			"s.yaml:1:1: golden_prompts is missing; allowed: one prompt or more",
			"s.yaml:2:11: contract is a list; allowed: an object",
			"s.yaml:3:9: trials is 0",
		}},
		{"prompts that YAML takes for something else", strings.Replace(small, `["Refund order 1042"]`, "[1.10, ~, {a: b}]", 1),
			[]string{
				"s.yaml:2:18: golden_prompts/0 is a number; allowed: a string",
				"s.yaml:2:24: golden_prompts/1 is null; allowed: a string",
				"s.yaml:2:27: golden_prompts/2 is an object; allowed: a string",
			}},
		{"values that YAML allows to be written so", small + "trials: 0x10\nshare: True\ntimeout: !x 5s\nscoring: {contract: .nan}\n",
			[]string{
				"s.yaml:9:9: trials: a number written as 0x10; allowed: integers in plain decimal",
				"s.yaml:10:8: share: a boolean written as True; allowed: true or false",
				"s.yaml:11:10: timeout: a tag !x; allowed: values without a tag",
				"s.yaml:12:21: scoring/contract: a number written as .nan; allowed: numbers as 0.5",
			}},
		{"a number that no float64 holds", small + "scoring: {contract: 1e400}\n",
			[]string{"s.yaml:9:21: scoring/contract is 1e400; allowed: a number that a float64 holds"}},
		{"an attack that adds nothing", small + "    - {name: x, context_attacks: [{type: memory_poisoning, payload: ''}]}\n",
			[]string{`s.yaml:9:69: contract/chaos_matrix/1/context_attacks/0/payload is ""; allowed: a text that is not empty`}},
		{"an argument that the constructor names otherwise", strings.Replace(small, "type: completes",
			"type: contains_any, values: [x, ' ']", 1),
			[]string{`s.yaml:6:43: contract/invariants/0/values is ["x"," "]; allowed: text that is not empty`}},
	} {
		t.Run(row.why, func(t *testing.T) {
			problems := problemsOf(t, row.text, nil)
			require.Len(t, problems, len(row.want), strings.Join(problems, "\n"))
			for i, want := range row.want {
				assert.Contains(t, problems[i], want)
			}
		})
	}
}

// Weights are those that scoring takes, and one of them has an effect.
func TestWeightsAreThoseOfScoring(t *testing.T) {
	for _, taken := range []string{
		"contract: 0.999", // 1 - 0.999 is above 0.001 in binary
		"contract: 1.001", "mutation: 0.333, chaos: 0.333, contract: 0.333", "contract: 0.999999999999",
	} {
		s := loaded(t, small+"scoring: {"+taken+"}\n", nil)
		result, err := s.Score(runs(t, s, in(says("x"))), nil)
		require.NoError(t, err, taken)
		assert.InDelta(t, 100, result.Overall.Value, 0.2, taken)
	}
	for refused, want := range map[string]string{
		"contract: 0.998":              "scoring: weights that sum to 0.998; allowed: weights that sum to 1 within 0.001",
		"contract: 1.5, mutation: -.5": "scoring/mutation: a number written as -.5",
		"contract: 2, mutation: -1":    "scoring/mutation is -1; allowed: 0 or more, and finite",
		"mutation: 1":                  "scoring: weights of parts alone that this file does not have; allowed: a weight above 0 of",
	} {
		assert.Contains(t, strings.Join(problemsOf(t, small+"scoring: {"+refused+"}\n", nil), "\n"), want)
	}
}

// nobody is a mutator without a name.
type nobody struct{ mutate.Mutator }

// A mutator that is missing, or has no name, is an error.
func TestAMutatorThatIsNone(t *testing.T) {
	for _, m := range []mutate.Mutator{nil, nobody{}} {
		problems := problemsOf(t, small+"mutations: {types: [noise]}\n", &suite.Options{Mutators: []mutate.Mutator{m}})
		assert.Contains(t, strings.Join(problems, "\n"), "s.yaml:9:12: mutations: mutate: Own[0]")
	}
}

// What Go gives and does not work is an error too, at the place that names it.
func TestOptionsThatAreNone(t *testing.T) {
	o := &suite.Options{Effects: map[string]func(state any) []string{"none": nil}}
	problems := problemsOf(t, contractOf("{type: at_most_once, effects: none}", calmly), o)
	assert.Equal(t, []string{
		`s.yaml:6:37: contract/invariants/0/effects: Options.Effects["none"] is nil; allowed: a function`}, problems)
}

// At most 100 problems are shown, those of the first places; one line counts the others.
// Those of other files stand last.
func TestTheFirstProblemsAreShown(t *testing.T) {
	text := strings.Replace(small, `["Refund order 1042"]`, "["+strings.Repeat("1, ", 150)+"'']", 1) +
		"extra: 1\n" + strings.Repeat("# \n", 3) + "points: [" + strings.Repeat("'', ", 1500) + "'x']\n"
	problems := problemsOf(t, text, nil)
	require.Len(t, problems, 101)
	assert.Contains(t, problems[0], "s.yaml:2:18: golden_prompts/0")
	assert.Equal(t, "suite: and 1552 more problems", problems[100])

	path := fixture(t, "refunds.yaml", func(text string) string {
		return strings.Replace(text, "replays/refund-1042.json", "bad.json", 1) + "extra: 1\n"
	})
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), "bad.json"), []byte(`{"format": "shakedown/session", "version": 9}`), 0o600))
	_, err := suite.Load(path, options())
	require.Error(t, err)
	lines := strings.Split(err.Error(), "\n")
	assert.Contains(t, lines[0], "extra is unknown")
	assert.Contains(t, lines[1], "bad.json:1:")
}

// No error in a report has what the environment gave: neither in the address of a request that failed,
// nor in a response that repeats a header.
func TestErrorsHaveNoSecretOfTheEnvironment(t *testing.T) {
	t.Setenv("SHAKEDOWN_TEST_KEY", "plain-words-of-a-key")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no access with "+r.Header.Get("Authorization"), http.StatusForbidden)
	}))
	defer server.Close()
	for why, row := range map[string]struct{ agent, want string }{
		"a refusal that repeats it": {`endpoint: "` + server.URL + `/a?k=${SHAKEDOWN_TEST_KEY}", ` +
			`headers: {Authorization: "Bearer ${SHAKEDOWN_TEST_KEY}"}`, "no access with"},
		"no server": {`endpoint: "http://127.0.0.1:1/${SHAKEDOWN_TEST_KEY}"`, "127.0.0.1:1/[redacted]"},
		"no server that resets": {`endpoint: "` + server.URL + `", reset_endpoint: "http://127.0.0.1:1/?k=${SHAKEDOWN_TEST_KEY}"`,
			"127.0.0.1:1/?k=[redacted]"},
	} {
		s := loaded(t, small+"agent: {"+row.agent+"}\n", nil)
		for _, m := range s.Matrices(nil) {
			r, err := m.Run(t.Context(), nil)
			require.NoError(t, err, why)
			inJSON, err := json.Marshal(r)
			require.NoError(t, err)
			text := string(inJSON)
			assert.Contains(t, text, row.want, why)
			assert.NotContains(t, text, "plain-words", why)
		}
	}
}

// Where nobody answers is no secret, though the environment may say it. What stands behind
// the host may be one.
func TestErrorsNameTheHostOfTheEnvironment(t *testing.T) {
	for _, row := range []struct{ why, value, endpoint, want string }{
		{"the origin", "http://127.0.0.1:1", "${SHAKEDOWN_TEST}/ask", `"http://127.0.0.1:1/ask"`},
		{"the host", "127.0.0.1", "http://${SHAKEDOWN_TEST}:1/ask", `"http://127.0.0.1:1/ask"`},
		{"a number in spaces", "  1  ", "http://127.0.0.1:1/${SHAKEDOWN_TEST}", `"http://127.0.0.1:1/`},
		{"the whole address", "http://127.0.0.1:1/private/plain-words", "${SHAKEDOWN_TEST}", `"http://127.0.0.1:1[redacted]"`},
		{"an address with a password", "http://ann:plain-words@127.0.0.1:1", "${SHAKEDOWN_TEST}/ask", "@127.0.0.1:1/ask"},
	} {
		t.Setenv("SHAKEDOWN_TEST", row.value)
		s := loaded(t, small+"agent: {endpoint: '"+row.endpoint+"'}\n", nil)
		for _, m := range s.Matrices(nil) {
			r, err := m.Run(t.Context(), nil)
			require.NoError(t, err, row.why)
			assert.Contains(t, r.Cells[0].Why, row.want, row.why)
			assert.NotContains(t, r.Cells[0].Why, "plain-words", row.why)
		}
	}
}
