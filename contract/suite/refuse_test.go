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
			`refunds.yaml:@tool_fault_active@: contract/invariants/1/when: bad value "tool_fault_active"; ` +
				`allowed: one of always, tool_faults_active, llm_faults_active, any_chaos_active, no_chaos; did you mean tool_faults_active?`},
		{"a name twice", "id: no-figures", "id: one-refund",
			`refunds.yaml:10:12: contract/invariants/1/id: "one-refund" is there twice, first in line 9`},
		{"a key that is not known, at its own place", "trials:", "trails:",
			`refunds.yaml:@trails@: trails: unknown field; allowed: one of version, `},
		{"a type that is not known", "at_most_once", "at_most_one",
			`@at_most_one@: contract/invariants/0/type: unknown value "at_most_one"; allowed: did you mean at_most_once? One of at_most_once, `},
		{"a type that needs Go", "type: at_most_once", "type: part_unchanged",
			"@part_unchanged@: contract/invariants/0/type: a type that is said otherwise: part_unchanged; allowed: suite.InvariantKind"},
		{"effects without a function", "effects: refunds", "effects: refund",
			`contract/invariants/0/effects: unknown value "refund"; allowed: one of refunds; did you mean refunds?`},
		{"a severity that is not known", "severity: critical", "severity: severe",
			`@severe@: contract/invariants/0/severity: bad value "severe"; allowed: one of critical, high, medium, low`},
		{"a key of another type", "effects: refunds", "pattern: refunds",
			"@pattern: refunds@: contract/invariants/0/pattern: unknown field"},
		{"what is negated", "type: completes", "type: completes, negate: true",
			"11:33: contract/invariants/2/negate: a field without a meaning for the type completes"},
		{"an invariant that is never asked", "when: no_chaos", "when: llm_faults_active",
			"@llm_faults_active@: contract/invariants/2/when: an invariant that is asked in no scenario"},
		{"a mode that is not known", "mode: slow", "mode: slower",
			`@slower@: contract/chaos_matrix/2/tool_faults/0/mode: unknown value "slower"; allowed: one of timeout, slow, error, malformed, malicious_response; did you mean slow?`},
		{"a key that does nothing in the mode", "mode: slow", "mode: slow, error_code: 503",
			"chaos_matrix/2/tool_faults/0/error_code: unknown field"},
		{"a fault without a tool", "tool: refund, mode: slow", "mode: slow",
			"chaos_matrix/2/tool_faults/0/tool: missing"},
		{"a fault of a model without its place", "tool_faults: [{tool: refund, mode: slow}]",
			"llm_faults: [{mode: empty}]", "@{mode: empty@: contract/chaos_matrix/2/llm_faults/0/point: missing"},
		{"a style that is not known", "tool_faults: [{tool: refund, mode: slow}]",
			"llm_faults: [{mode: response_drift, point: x, api: openai, drift_type: tone}]",
			`contract/chaos_matrix/2/llm_faults/0/drift_type: bad value "tone"; allowed: one of json_field_rename, `},
		{"a key that went", "advanced: {", "advanced: {concurrency: 2, ",
			"advanced/concurrency: a field without a meaning here; allowed: none: Workers of the options of a run"},
		{"a type that went", "type: completes", "type: within, limit: 2s",
			"contract/invariants/2/type: a type that is said otherwise: within; allowed: latency, with max_ms"},
		{"a session of another form", "format: shakedown/session\n", "id: shop\n",
			"replays/sessions/1/format: missing; allowed: a session as package replay writes it"},
		{"a rule's kind, by the pointer of planjson", "kind: lost_reply", "kind: lost_replies",
			`@lost_replies@: contract/chaos_matrix/3/rules/0/fault/kind: unknown kind "lost_replies"`},
		{"a rule's parameter", "duration: 2s", "duration: 2",
			"@2}}}@: contract/chaos_matrix/3/rules/0/fault/params/duration: wrong type"},
		{"a kind of mutation", "[noise, prompt", "[noisy, prompt", `@noisy@: mutations/types/0: unknown value "noisy"`},
		{"weights that do not sum to 1, with the sum", "replay: 0.1", "replay: 0.3",
			"@{mutation: 0.2@: scoring: weights that sum to 1.2; allowed: weights that sum to 1"},
		{"a file that is not there", "refund-1042.json", "refund-1043.json",
			"@replays/refund-1043@: replays/sessions/0/file: bad value"},
		{"a file outside of the folder", "replays/refund-1042.json", "../refund-1042.json",
			"replays/sessions/0/file: bad value"},
		{"what another tool has, and we do not: output", "trials: 2", "output: {format: html}",
			"3:1: output: a field without a meaning here; allowed: none: package report"},
		{"model", "trials: 2", "model: {name: x}", "3:1: model: a field without a meaning here"},
		{"sources", "sessions:\n", "sources: []\n  sessions:\n",
			"@sources@: replays/sources: a field without a meaning here; allowed: none: dialect.Import"},
		{"retries", "advanced: {", "advanced: {retries: 2, ", "advanced/retries: a field without a meaning here"},
		{"an older version", `version: "2.0"`, `version: "1.0"`, `1:10: version: bad value "1.0"; allowed: one of 2.0`},
		{"an agent at an address with a password", "trials: 2", "agent: {endpoint: 'ftp://ann:hunter2@host/a'}",
			`agent/endpoint: bad value "ftp://[redacted]@host/a"; allowed: an absolute http or https URL`},
		{"an address that is none, with a password", "trials: 2", "agent: {endpoint: 'http://ann:hunt er2@host:x/a'}",
			`agent/endpoint: bad value "http://[redacted]@host:x/a"; allowed: an absolute http or https URL`},
		{"an address that resets, with a token", "trials: 2",
			"agent: {endpoint: 'http://a/b', reset_endpoint: 'ws://tok@host'}",
			`agent/reset_endpoint: bad value "ws://[redacted]@host"`},
		{"an agent that is not behind HTTP", "trials: 2", "agent: {type: python, endpoint: 'http://a/b'}",
			`agent/type: bad value "python"; allowed: one of http`},
		{"a variable that is not set", "trials: 2",
			"agent: {endpoint: 'http://a/b', headers: {Authorization: 'Bearer ${SHAKEDOWN_NOT_SET}'}}",
			"agent/headers/Authorization: the variable \"SHAKEDOWN_NOT_SET\" is not set"},
		{"a template without the prompt", "trials: 2", "agent: {endpoint: 'http://a/b', request_template: '{}'}",
			"agent/request_template: bad value"},
		{"a path that is none", "trials: 2", "agent: {endpoint: 'http://a/b', response_path: '$.['}",
			"agent/response_path: bad value"},
		{"a cassette that is not there", "trials: 2", "cassette: tape.json", "cassette: "},
		{"a cassette elsewhere", "trials: 2", "cassette: ../tape.json", "cassette: bad value"},
		{"an attack that is not known", "type: memory_poisoning", "type: overflow",
			`contract/chaos_matrix/4/context_attacks/0/type: bad value "overflow"; allowed: one of memory_poisoning`},
		{"mutations of which nothing is asked", "severity: critical,", "severity: critical, when: no_chaos,", "@{types: [noise@: mutations: no invariant of mutations"},
		{"a wait beyond what a duration can be", "mode: slow", "mode: slow, delay_ms: 99999999999999999",
			"tool_faults/0/delay_ms: bad value 99999999999999999"},
		{"a header that is there twice", "trials: 2", "agent: {endpoint: 'http://a/b', headers: {x-a: '1', X-A: '2'}}",
			"agent/headers/x-a: a repeated header: x-a"},
		{"a header that would not be sent", "trials: 2", "agent: {endpoint: 'http://a/b', headers: {host: x}}",
			"agent/headers/host: a header that the client of HTTP sets itself: host"},
		{"faults that may be undelivered where there are none", "- name: no-chaos", "- {name: no-chaos, allow_undelivered: true}",
			"allow_undelivered: a field without a meaning in a scenario without faults"},
		{"a probe without text", "type: completes", "type: completes, probes: ['']", "invariants/2/probes/0: bad value"},
	} {
		t.Run(row.why, func(t *testing.T) {
			problems, file := refused(t, row.old, row.now)
			assert.Contains(t, strings.Join(problems, "\n"), placed(row.want, file))
		})
	}
}

// YAML has more than JSON. What a reviewer would not see is an error.
func TestYAMLIsReadAsJSONWouldBe(t *testing.T) {
	billion := "x0: &x0 [a, a, a, a, a, a, a, a, a, a]\n"
	for _, n := range []string{"1", "2", "3", "4", "5"} {
		before := "*x" + string(n[0]-1)
		billion += "x" + n + ": &x" + n + " [" + strings.TrimSuffix(strings.Repeat(before+", ", 10), ", ") + "]\n"
	}
	for _, row := range []struct{ why, old, now, want string }{
		{"a second document", "advanced: {seed: 42}\n", "---\nversion: \"2.0\"\n",
			":35:1: a second document"},
		{"aliases of aliases", "trials: 2\n", billion,
			"too large; allowed: aliases that stand for at most 10000 values"},
		{"an alias of itself", "trials: 2", "trials: &a [*a]", "trials/0"},
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
		{"a point", "trials: 2", "trials: 2.0", "trials: bad value 2.0; allowed: an integer"},
		{"an exponent", "trials: 2", "trials: 2e0", "trials: bad value 2e0"},
		{"a fraction without a digit", "mutation: 0.2,", "mutation: .2,", "a number written as .2"},
		{"infinity", "mutation: 0.2,", "mutation: .inf,", "a number written as .inf"},
		{"yes", "negate: true", "negate: yes", "negate: wrong type a string; allowed: true or false"},
		{"on", "negate: true", "negate: on", "negate: wrong type a string"},
		{"nothing", "trials: 2", "trials:", "trials: wrong type null"},
		{"a number as a text", `version: "2.0"`, "version: 2.0",
			`:1:10: version: wrong type a number; allowed: a string`},
		{"no mapping", "version", "- version", "syntax"},
	} {
		t.Run(row.why, func(t *testing.T) {
			problems, file := refused(t, row.old, row.now)
			assert.Contains(t, strings.Join(problems, "\n"), placed(row.want, file))
		})
	}
}

// An alias is what it stands for; a date, a version and a time are texts.
func TestYAMLThatIsRead(t *testing.T) {
	s := loaded(t, contractOf(
		`{id: a, type: contains_any, values: &texts [2026-01-02, 1:30, refunded, "é"]}
{id: b, type: contains_any, values: *texts}`, `{name: calm}`), nil)
	for name, m := range s.Matrices(world(1)) {
		assert.Equal(t, "contract", name)
		assert.Len(t, m.Invariants, 2)
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
	require.ErrorContains(t, err, "a.json:1:1: syntax")
	_, err = suite.Load(written(t, "a.json", strings.Replace(text, `"name": "x"`, `"name": "x", "name": "y"`, 1)), nil)
	require.ErrorContains(t, err, "contract/name: duplicate")
	_, err = suite.Load(written(t, "a.yaml", "\xff"), nil)
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
	require.ErrorContains(t, err, "replays/sessions/0/file: bad value")
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
	require.ErrorContains(t, err, "calls/0/effect: bad value")
}
