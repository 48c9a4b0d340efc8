package suite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/suite"
)

// fixture is a valid file, copied with the session that it names into a folder of its own.
func fixture(t testing.TB, name string, change func(text string) string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata")))
	path := filepath.Join(dir, name)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	text := change(string(data))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// refused is what Load says about the fixture with one text replaced, without its path, and the text of the file.
func refused(t testing.TB, old, now string) (problems []string, changed string) {
	t.Helper()
	path := fixture(t, "refunds.yaml", func(text string) string {
		require.Contains(t, text, old)
		changed = strings.Replace(text, old, now, 1)
		return changed
	})
	s, err := suite.Load(path, options())
	require.Error(t, err)
	require.Nil(t, s)
	return strings.Split(strings.ReplaceAll(err.Error(), filepath.Dir(path)+string(filepath.Separator), ""),
		"\n"), changed
}

// placed replaces each @text@ of a message by the line and the column of the last such text.
func placed(want, file string) string {
	return regexp.MustCompile(`@([^@]+)@`).ReplaceAllStringFunc(want, func(at string) string {
		i := strings.LastIndex(file, strings.Trim(at, "@"))
		before := file[:i]
		return fmt.Sprintf("%d:%d", strings.Count(before, "\n")+1, i-strings.LastIndex(before, "\n"))
	})
}

// Every problem has its place, what is allowed, and the nearest name.
func TestLoadRefuses(t *testing.T) {
	for _, row := range []struct{ why, old, now, want string }{
		{"a value that is not known", "tool_faults_active", "tool_fault_active",
			`refunds.yaml:@tool_fault_active@: contract/invariants/1/when is "tool_fault_active"; ` +
				`allowed: one of always, tool_faults_active, llm_faults_active, any_chaos_active, no_chaos; did you mean tool_faults_active?`},
		{"a name twice", "id: no-figures", "id: one-refund",
			`refunds.yaml:10:12: contract/invariants/1/id: "one-refund" is there twice, first in line 9`},
		{"a key that is not known, at its own place", "trials:", "trails:",
			`refunds.yaml:@trails@: trails is unknown; allowed: one of version, `},
		{"a type that is not known", "at_most_once", "at_most_one",
			`@at_most_one@: contract/invariants/0/type is "at_most_one"; allowed: did you mean at_most_once? One of at_most_once, `},
		{"effects without a function", "effects: refunds", "effects: refund",
			`contract/invariants/0/effects is "refund"; allowed: one of refunds; did you mean refunds?`},
		{"a key of another type", "effects: refunds", "pattern: refunds",
			"@pattern: refunds@: contract/invariants/0/pattern is unknown"},
		{"what is negated", "type: completes", "type: completes, negate: true",
			"11:33: contract/invariants/2/negate: a field without a meaning for the type completes"},
		{"an invariant that is never asked", "when: no_chaos", "when: llm_faults_active",
			"@llm_faults_active@: contract/invariants/2/when: an invariant that is asked in no scenario"},
		{"a mode that is not known", "mode: slow", "mode: slower",
			`@slower@: contract/chaos_matrix/2/tool_faults/0/mode is "slower"; allowed: one of error, malformed, malicious_response, slow, timeout; did you mean slow?`},
		{"a key that does nothing in the mode", "mode: slow", "mode: slow, error_code: 503",
			"chaos_matrix/2/tool_faults/0/error_code is unknown"},
		{"a fault without a tool", "tool: refund, mode: slow", "mode: slow",
			"chaos_matrix/2/tool_faults/0/tool is missing"},
		{"a fault of a model without its place", "tool_faults: [{tool: refund, mode: slow}]",
			"llm_faults: [{mode: empty}]", "@{mode: empty@: contract/chaos_matrix/2/llm_faults/0/point is missing"},
		{"a style that is not known", "tool_faults: [{tool: refund, mode: slow}]",
			"llm_faults: [{mode: response_drift, point: x, api: openai, drift_type: tone}]",
			`contract/chaos_matrix/2/llm_faults/0/drift_type is "tone"; allowed: one of json_field_rename, `},
		{"a session of another form", "{file: replays/shop-7.json}", "{id: shop}",
			"replays/sessions/1/file is missing; allowed: the file of a session"},
		{"a rule's kind, by the pointer of planjson", "kind: lost_reply", "kind: lost_replies",
			`@lost_replies@: contract/chaos_matrix/3/rules/0/fault/kind is "lost_replies"`},
		{"a rule's parameter", "duration: 2s", "duration: 2",
			"@2}}}@: contract/chaos_matrix/3/rules/0/fault/params/duration is a number"},
		{"a parameter that planjson refuses", "kind: lost_reply, params: {duration: 2s}", "kind: http_status, params: {code: 99}",
			"@99}}}@: contract/chaos_matrix/3/rules/0/fault/params/code is 99; allowed: a status code from 400 to 599"},
		{"a kind of mutation", "[noise, prompt", "[noisy, prompt", `@noisy@: mutations/types/0 is "noisy"`},
		{"weights that do not sum to 1, with the sum", "replay: 0.1", "replay: 0.3",
			"@{mutation: 0.2@: scoring: weights that sum to 1.2; allowed: weights that sum to 1"},
		{"a file that is not there", "refund-1042.json", "refund-1043.json",
			"@replays/refund-1043@: replays/sessions/0/file is "},
		{"a file outside of the folder", "replays/refund-1042.json", "../refund-1042.json",
			"replays/sessions/0/file is "},
		{"what another tool has, and we do not", "sessions:\n", "sources: []\n  sessions:\n",
			"@sources@: replays/sources is unknown; allowed: one of sessions"},
		{"an older version", `version: "2.0"`, `version: "1.0"`, `1:10: version is "1.0"; allowed: one of 2.0`},
		{"an agent at an address with a password", "trials: 2", "agent: {endpoint: 'ftp://ann:hunter2@host/a'}",
			`agent/endpoint is "ftp://[redacted]@host/a"; allowed: an absolute http or https URL`},
		{"an address that is none, with a password", "trials: 2", "agent: {endpoint: 'http://ann:hunt er2@host:x/a'}",
			`agent/endpoint is "http://[redacted]@host:x/a"; allowed: an absolute http or https URL`},
		{"an address that resets, with a token", "trials: 2",
			"agent: {endpoint: 'http://a/b', reset_endpoint: 'ws://tok@host'}",
			`agent/reset_endpoint is "ws://[redacted]@host"`},
		{"an agent that is not behind HTTP", "trials: 2", "agent: {type: python, endpoint: 'http://a/b'}",
			`agent/type is "python"; allowed: one of http`},
		{"a template without the prompt", "trials: 2", "agent: {endpoint: 'http://a/b', request_template: '{}'}",
			"agent/request_template is "},
		{"a path that is none", "trials: 2", "agent: {endpoint: 'http://a/b', response_path: '$.['}",
			"agent/response_path is "},
		{"an attack that is not known", "type: memory_poisoning", "type: overflow",
			`contract/chaos_matrix/4/context_attacks/0/type is "overflow"; allowed: one of memory_poisoning`},
		{"mutations of which nothing is asked", "severity: critical,", "severity: critical, when: no_chaos,", "@{types: [noise@: mutations: no invariant of mutations"},
		{"a wait beyond what a duration can be", "mode: slow", "mode: slow, delay_ms: 99999999999999999",
			"tool_faults/0/delay_ms is 99999999999999999"},
		{"a header that is there twice", "trials: 2", "agent: {endpoint: 'http://a/b', headers: {x-a: '1', X-A: '2'}}",
			"agent/headers/x-a: a repeated header: x-a"},
		{"a header that would not be sent", "trials: 2", "agent: {endpoint: 'http://a/b', headers: {host: x}}",
			"agent/headers/host: a header that the client of HTTP sets itself: host"},
		{"faults that may be undelivered where there are none", "- name: no-chaos", "- {name: no-chaos, allow_undelivered: true}",
			"allow_undelivered: a field without a meaning in a scenario without faults"},
		{"a probe without text", "type: completes", "type: completes, probes: ['']", "invariants/2/probes/0 is "},
	} {
		t.Run(row.why, func(t *testing.T) {
			problems, file := refused(t, row.old, row.now)
			assert.Contains(t, strings.Join(problems, "\n"), placed(row.want, file))
		})
	}
}

// YAML has more than JSON. What a reviewer would not see is an error.
func TestYAMLIsReadAsJSONWouldBe(t *testing.T) {
	for _, row := range []struct{ why, old, now, want string }{
		{"a second document", "advanced: {seed: 42}\n", "---\nversion: \"2.0\"\n",
			":28:1: a second document"},
		{"an alias of itself", "trials: 2", "trials: &a [*a]", "trials/0: an alias *a; allowed: the value, written out"},
		{"a key that is an alias", "trials: 2", "version: &v '2.0'\n*v : 2", "a key that is no text"},
		{"levels", "trials: 2", "trials: " + strings.Repeat("[", 100) + strings.Repeat("]", 100), "too deep; allowed: at most 64 levels"},
		{"a merge key", "{name: slow, ", "{<<: {name: slow}, ", "@<<@: contract/chaos_matrix/2: a merge key <<"},
		{"a tag", "trials: 2", `trials: !!int "2"`, "trials: a tag !!int"},
		{"a tag of a key", "trials: 2", "!!str trials: 2", "a tag !!str"},
		{"a key twice", "trials: 2", "trials: 2\ntrials: 3", ":4:1: a repeated key trials"},
		{"a key that is no text", "trials: 2", "1: 2", ":3:1: a key that is no text: 1; allowed: texts as keys"},
		{"a key with parts", "trials: 2", "? [a]\n: 2", "a key that is no text"},
		{"octal", "trials: 2", "trials: 02", "a number written as 02"},
		{"octal of 1.2", "trials: 2", "trials: 0o2", "a number written as 0o2"},
		{"underscores", "seed: 42", "seed: 4_2", "a number written as 4_2"},
		{"a sign", "trials: 2", "trials: +2", "a number written as +2"},
		{"a point", "trials: 2", "trials: 2.0", "trials is 2.0; allowed: an integer"},
		{"an exponent", "trials: 2", "trials: 2e0", "trials is 2e0"},
		{"a fraction without a digit", "mutation: 0.2,", "mutation: .2,", "a number written as .2"},
		{"infinity", "mutation: 0.2,", "mutation: .inf,", "a number written as .inf"},
		{"yes", "negate: true", "negate: yes", "negate is a string; allowed: true or false"},
		{"on", "negate: true", "negate: on", "negate is a string"},
		{"nothing", "trials: 2", "trials:", "trials is null"},
		{"a number as a text", `version: "2.0"`, "version: 2.0",
			`:1:10: version is a number; allowed: a string`},
		{"no mapping", "version", "- version", "syntax"},
	} {
		t.Run(row.why, func(t *testing.T) {
			problems, file := refused(t, row.old, row.now)
			assert.Contains(t, strings.Join(problems, "\n"), placed(row.want, file))
		})
	}
}

// A date, a version and a time are texts.
func TestYAMLThatIsRead(t *testing.T) {
	s := loaded(t, contractOf(
		`{id: a, type: contains_any, values: &texts [2026-01-02, 1:30, refunded, "é"]}`, `{name: calm}`), nil)
	for name, m := range s.Matrices(world(1)) {
		assert.Equal(t, "contract", name)
		assert.Len(t, m.Invariants, 1)
	}
}

// JSON goes to the reader of JSON: that of YAML refuses pairs of surrogates.
func TestJSON(t *testing.T) {
	text := `{"version": "2.0", "golden_prompts": ["\ud83d\ude00"], "contract": {"name": "x",
 "invariants": [{"type": "completes"}], "chaos_matrix": [{"name": "calm"}]}}`
	for _, name := range []string{"a.json", "a.yaml"} {
		s, err := suite.Load(written(t, name, text), nil)
		require.NoError(t, err)
		for _, m := range s.Matrices(world(1)) {
			assert.Equal(t, []string{"😀"}, m.Prompts)
		}
	}
	_, err := suite.Load(written(t, "a.json", "version: 2.0"), nil)
	require.ErrorContains(t, err, "a.json:1:1: the text is not JSON")
	_, err = suite.Load(written(t, "a.json", strings.Replace(text, `"name": "x"`, `"name": "x", "name": "y"`, 1)), nil)
	require.ErrorContains(t, err, "contract/name is there twice")
	_, err = suite.Load(written(t, "a.yaml", "\xff"), nil)
	require.ErrorContains(t, err, "a.yaml:1:1: syntax, here or before")
	require.ErrorContains(t, err, "not UTF-8")
	_, err = suite.Load(written(t, "a.yaml", "# nothing\n"), nil)
	require.ErrorContains(t, err, "there is no document")
	_, err = suite.Load(written(t, "a.yaml", "a: 'b\n"), nil)
	require.ErrorContains(t, err, "syntax")
	_, err = suite.Load(filepath.Join(t.TempDir(), "none.yaml"), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A link within the folder must not lead out of it.
func TestALinkThatLeavesTheFolder(t *testing.T) {
	path := fixture(t, "refunds.yaml", func(text string) string { return text })
	session := filepath.Join(filepath.Dir(path), "replays", "refund-1042.json")
	outside := written(t, "elsewhere.json", "{}")
	require.NoError(t, os.Remove(session))
	require.NoError(t, os.Symlink(outside, session))
	_, err := suite.Load(path, options())
	require.ErrorContains(t, err, "replays/sessions/0/file is ")
}

// Problems of a session in a file of its own have the place in that file.
func TestProblemsOfASessionsFile(t *testing.T) {
	path := fixture(t, "refunds.yaml", func(text string) string { return text })
	session := filepath.Join(filepath.Dir(path), "replays", "refund-1042.json")
	data, err := os.ReadFile(session)
	require.NoError(t, err)
	require.NoError(t,
		os.WriteFile(session, []byte(strings.Replace(string(data), `"effect": "none"`, `"effect": "nine"`, 1)), 0o600))
	_, err = suite.Load(path, options())
	require.ErrorContains(t, err, session+":5:")
	require.ErrorContains(t, err, "/calls/0/effect is ")
}
