package replay_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/replay"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

// inWords is a rule as its description says it: target, trigger, fault.
func inWords(t *testing.T, r chaos.Rule) string {
	t.Helper()
	say := func(part any) string {
		d := part.(chaos.Described).Describe()
		return strings.TrimSpace(d.Kind + " " + string(d.Params))
	}
	return r.Target + ": " + say(r.When) + ": " + say(r.Fault)
}

func faultsOf(t *testing.T, o *replay.FaultOptions, calls ...findings.Call) (rules []string, err error) {
	t.Helper()
	made, err := (&replay.Session{Calls: calls}).Faults(o)
	for _, r := range made {
		rules = append(rules, inWords(t, r))
	}
	throughJSON(t, made)
	return rules, err
}

func failed(text string) *findings.CallError { return &findings.CallError{Text: text} }

// Each example of the page's table ends as the rule of its row.
func TestTheTableOfFailures(t *testing.T) {
	all, err := os.ReadFile("../../docs/recordings.md")
	require.NoError(t, err)
	_, page, found := strings.Cut(string(all), "\n## Failures as rules\n")
	require.True(t, found)
	kinds := map[string]string{} // of rules, by the Go function
	for _, r := range planjson.Rows() {
		for _, call := range strings.Split(r.Go, ", ") {
			if name, _, _ := strings.Cut(call, "("); kinds[name] == "" { // rows with As come later
				kinds[name] = r.Kind
			}
		}
	}
	quoted := regexp.MustCompile("`([^`]+)`")
	rows, examples := 0, 0
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 || !strings.Contains(cells[2], "`") {
			continue
		}
		rows++
		function, _, _ := strings.Cut(quoted.FindStringSubmatch(cells[2])[1], "(")
		require.Contains(t, kinds, function, line)
		for _, example := range strings.Split(cells[1], ", ") {
			if example = strings.TrimSpace(example); example == "" {
				continue
			}
			examples++
			call := exampleCall(t, example)
			o := &replay.FaultOptions{Suspected: strings.Contains(cells[0], "`Suspected`")}
			if o.Suspected { // such an example is what the call returned
				call = findings.Call{Tool: "pay", Result: json.RawMessage(strconv.Quote(call.Error.Text))}
				judged := []findings.Call{call}
				findings.Judge(judged)
				call = judged[0]
			}
			made, err := (&replay.Session{Calls: []findings.Call{call}}).Faults(o)
			require.NoError(t, err, example)
			require.Len(t, made, 1, example)
			assert.Equal(t, kinds[function], made[0].Fault.(chaos.Described).Describe().Kind, example)
		}
	}
	assert.Equal(t, 14, rows)
	assert.Greater(t, examples, 20)
}

// exampleCall is a call of the table's second column.
func exampleCall(t *testing.T, example string) findings.Call {
	t.Helper()
	var code int
	var of string
	if _, err := fmt.Sscanf(example, "status %d of `%s", &code, &of); err == nil {
		return findings.Call{Type: findings.Model, Tool: strings.TrimSuffix(of, "`"), Error: &findings.CallError{Status: code}}
	}
	if code, err := strconv.Atoi(strings.TrimPrefix(example, "status ")); err == nil {
		return findings.Call{Tool: "pay", Error: &findings.CallError{Status: code}}
	}
	if reason, found := strings.CutPrefix(example, "finish reason "); found {
		return findings.Call{Type: findings.Model, Tool: "gpt-5.2",
			Result: json.RawMessage(fmt.Sprintf(`{"choices":[{"finish_reason":%q}]}`, strings.Trim(reason, "`")))}
	}
	return findings.Call{Tool: "pay", Error: failed(strings.Trim(example, "`"))}
}

func TestFaults(t *testing.T) {
	args := func(doc string) json.RawMessage { return json.RawMessage(doc) }
	const s = time.Second
	for _, tt := range []struct {
		why   string
		o     *replay.FaultOptions
		calls []findings.Call
		want  []string
	}{
		{"nothing failed", nil, []findings.Call{{Tool: "pay"}}, nil},
		{"calls that failed alike share a rule", nil,
			[]findings.Call{{Tool: "pay", Error: failed("no")}, {Tool: "pay"}, {Tool: "ask"}, {Tool: "pay", Error: failed("no")}},
			[]string{`pay: nth {"n":[1,3]}: error {"message":"no"}`}},
		{"a lane has its own numbers", nil,
			[]findings.Call{{Tool: "pay"}, {Tool: "pay", Lane: "b", Error: failed("no")}},
			[]string{`pay: all {"parts":[{"kind":"lane","params":{"lanes":["b"]}},{"kind":"nth","params":{"n":[1]}}]}: error {"message":"no"}`}},
		{"the time of a time-out is that of the call", nil,
			[]findings.Call{{Tool: "pay", Took: 30 * s, Error: failed("i/o timeout")}},
			[]string{`pay: nth {"n":[1]}: timeout {"duration":"30s"}`}},
		{"the other reading of a time-out", &replay.FaultOptions{AfterWork: true},
			[]findings.Call{{Tool: "pay", Took: 30 * s, Error: failed("i/o timeout")}},
			[]string{`pay: nth {"n":[1]}: lost_reply {"duration":"30s"}`}},
		{"a known effect decides", &replay.FaultOptions{AfterWork: true},
			[]findings.Call{{Tool: "pay", Error: failed("i/o timeout"), Effect: findings.NotDone}},
			[]string{`pay: nth {"n":[1]}: timeout {"duration":"0s"}`}},
		{"also to have been done", nil,
			[]findings.Call{{Tool: "pay", Error: failed("i/o timeout"), Effect: findings.Done}},
			[]string{`pay: nth {"n":[1]}: lost_reply {"duration":"0s"}`}},
		{"a Retry-After", nil,
			[]findings.Call{{Tool: "pay", Error: &findings.CallError{Status: 429, RetryAfter: 7 * s}}},
			[]string{`pay: nth {"n":[1]}: http_status {"code":429,"retryAfter":"7s"}`}},
		{"a provider's own error", nil,
			[]findings.Call{{Type: findings.Model, Tool: "gpt-5.2", Error: &findings.CallError{Status: 429, Text: "You exceeded your current quota"}}},
			[]string{`*#gpt-5.2*: nth {"n":[1]}: api_error {"api":"openai","error":"quota"}`}},
		{"a status that the provider does not use", nil,
			[]findings.Call{{Type: findings.Model, Tool: "gpt-5.2", Error: &findings.CallError{Status: 418}}},
			[]string{`*#gpt-5.2*: nth {"n":[1]}: http_status {"code":418}`}},
		{"an unknown provider", nil,
			[]findings.Call{{Type: findings.Model, Tool: "llama", Error: &findings.CallError{Status: 429}}},
			[]string{`*#llama*: nth {"n":[1]}: http_status {"code":429}`}},
		{"a model that is named by its point", nil,
			[]findings.Call{{Type: findings.Model, Tool: "POST api.openai.com/v1/chat/completions#gpt-5.2", Error: &findings.CallError{Status: 429}}},
			[]string{`POST api.openai.com/v1/chat/completions#gpt-5.2: nth {"n":[1]}: api_error {"api":"openai","error":"rate_limit"}`}},
		{"a model whose name begins the name of another", nil,
			[]findings.Call{{Type: findings.Model, Tool: "gpt-5.2", Error: failed("no")}, {Type: findings.Model, Tool: "gpt-5.2-mini"}},
			[]string{`*#gpt-5.2: nth {"n":[1]}: error {"message":"no"}`}},
		{"a cut completion keeps its characters", nil,
			[]findings.Call{{Type: findings.Model, Tool: "m", Result: args(`{"choices":[{"finish_reason":"length","message":{"content":"größer"}}]}`)}},
			[]string{`*#m*: nth {"n":[1]}: cut_completion {"keep":6}`}},
		{"arguments of a tool count, and do not speak for the ending", nil,
			[]findings.Call{{Type: findings.Model, Tool: "m", Result: args(`{"content":[{"type":"tool_use","input":{"finish_reason":"length"}}],"stop_reason":"refusal"}`)}},
			[]string{`*#m*: nth {"n":[1]}: filtered_completion {"keep":26}`}},
		{"calls that overlapped are told by their arguments", nil,
			[]findings.Call{{Tool: "pay", Args: args(`{"id":1}`), Took: s}, {Tool: "pay", Args: args(`{"id":1}`), At: 1, Error: failed("no")}},
			[]string{fmt.Sprintf(`pay: exactly {"calls":[{"target":"pay","key":"%d","occurrence":"1"}]}: error {"message":"no"}`, jsonhash.Sum([]byte(`{"id":1}`)))}},
		{"one that ended when the next began did not overlap it", nil,
			[]findings.Call{{Tool: "pay", Took: s}, {Tool: "pay", At: s, Error: failed("no")}},
			[]string{`pay: nth {"n":[2]}: error {"message":"no"}`}},
		{"a call overlaps the one that it is within, and has its number all the same", nil,
			[]findings.Call{{Tool: "ask", Took: s}, {Tool: "ask", Parent: 1, Error: failed("no")}},
			[]string{`ask: nth {"n":[2]}: error {"message":"no"}`}},
		{"the failure within is the cause", nil,
			[]findings.Call{{Tool: "ask", Took: s, Error: failed("the tool failed")}, {Tool: "pay", Parent: 1, Error: failed("no")}},
			[]string{`pay: nth {"n":[1]}: error {"message":"no"}`}},
		{"what made calls was reached, and the time within is theirs", nil,
			[]findings.Call{{Tool: "ask", Took: 5 * s, Error: failed("timed out")}, {Tool: "pay", Parent: 1, Took: 2 * s}},
			[]string{`ask: nth {"n":[1]}: lost_reply {"duration":"3s"}`}},
		{"failed in words: as if the record said so", nil,
			[]findings.Call{{Tool: "pay", Result: args(`"Error: no"`), Suspected: true}, {Tool: "ask", Result: args(`{"error":"i/o timeout"}`), Suspected: true, Took: s}},
			[]string{`pay: nth {"n":[1]}: error {"message":"Error: no"}`, `ask: nth {"n":[1]}: timeout {"duration":"1s"}`}},
		{"in doubt, beside a failure", nil, []findings.Call{doubted(`"no error"`), {Tool: "ask", Error: failed("no")}},
			[]string{`ask: nth {"n":[1]}: error {"message":"no"}`}},
		{"in doubt, and asked for", &replay.FaultOptions{Suspected: true}, []findings.Call{doubted(`"no error"`), doubted(``)},
			[]string{`pay: nth {"n":[1]}: replace {"value":"no error"}`}},
		{"slow, and not asked for", nil, []findings.Call{{Tool: "pay", Took: time.Hour}}, nil},
		{"slower than, but for the time within and that of a time-out", &replay.FaultOptions{SlowerThan: s},
			[]findings.Call{{Tool: "ask", Took: 4 * s}, {Tool: "pay", Parent: 1, Took: 3 * s}, {Tool: "a", At: 9 * s, Took: s},
				{Tool: "b", At: 9 * s, Took: 2 * s, Error: failed("no")}, {Tool: "c", At: 9 * s, Took: 2 * s, Error: failed("timed out")}},
			[]string{`pay: nth {"n":[1]}: latency {"distribution":"fixed","duration":"3s"}`,
				`b: nth {"n":[1]}: latency {"distribution":"fixed","duration":"2s"}`, `b: nth {"n":[1]}: error {"message":"no"}`,
				`c: nth {"n":[1]}: timeout {"duration":"2s"}`}},
		{"an error without words", nil, []findings.Call{{Tool: "pay", Error: failed("")}},
			[]string{`pay: nth {"n":[1]}: error {"message":"unknown error"}`}},
	} {
		rules, err := faultsOf(t, tt.o, tt.calls...)
		require.NoError(t, err, tt.why)
		assert.Equal(t, tt.want, rules, tt.why)
	}
}

// An importer gives calls that overlap lanes of their own, which the agent does not have.
func TestLanesOfAnImport(t *testing.T) {
	s := replay.Session{Source: replay.Origin{Dialect: "otlp"}, Calls: []findings.Call{
		{Tool: "ask", Lane: "2"}, {Tool: "pay", Took: 3}, {Tool: "pay", Lane: "2", At: 1, Error: failed("no")},
		{Tool: "ask", At: 9, Error: failed("no")}}}
	rules, err := s.Faults(nil)
	require.NoError(t, err)
	require.Len(t, rules, 2)
	assert.Equal(t, fmt.Sprintf(`pay: exactly {"calls":[{"target":"pay","key":"%d","occurrence":"1"}]}: error {"message":"no"}`,
		jsonhash.Sum(nil)), inWords(t, rules[0]))
	assert.Equal(t, `ask: nth {"n":[2]}: error {"message":"no"}`, inWords(t, rules[1]))
}

// A transcript has no times: by the lanes of its calls they were asked for at once, and an
// agent may make them in any order.
func TestCallsAtOnceOfATranscript(t *testing.T) {
	s := replay.Session{Source: replay.Origin{Dialect: "anthropic"}, Calls: []findings.Call{
		{Tool: "pay"}, {Tool: "pay", Lane: "2", Error: failed("no")}, {Tool: "ask", Lane: "3"}, {Tool: "ask", Lane: "3", Error: failed("no")}}}
	rules, err := s.Faults(nil)
	require.NoError(t, err)
	require.Len(t, rules, 2)
	assert.Equal(t, fmt.Sprintf(`pay: exactly {"calls":[{"target":"pay","key":"%d","occurrence":"1"}]}: error {"message":"no"}`,
		jsonhash.Sum(nil)), inWords(t, rules[0]))
	assert.Equal(t, `ask: nth {"n":[2]}: error {"message":"no"}`, inWords(t, rules[1]), "one after the other")
}

// Calls that no rule can be made of are named, and the others have their rules.
func TestCallsWithoutARule(t *testing.T) {
	no, exact := failed("no"), &replay.FaultOptions{Exact: true}
	for _, tt := range []struct {
		why  string
		o    *replay.FaultOptions
		call findings.Call
		want string
	}{
		{"an unknown type", nil, findings.Call{Type: "human", Tool: "x", Error: no}, `calls[1].type is "human"; allowed: tool, model, or nothing`},
		{"no name", nil, findings.Call{Error: no}, `calls[1]: chaos: rule "/error/2": Target is ""`},
		{"arguments that were redacted", exact, findings.Call{Tool: "x", Args: json.RawMessage(`{"token":"[redacted]"}`), Error: no}, `calls[1]: calls[1].args is redacted`},
		{"arguments that were not recorded", exact, findings.Call{Tool: "x", Missing: []findings.Part{findings.Args}, Error: no}, `calls[1]: calls[1].args is missing`},
		{"a hash of arguments", exact, findings.Call{Tool: "x", ArgsHash: "3f", Error: no}, `calls[1]: calls[1].args is only a hash`},
		{"arguments that end early", exact, findings.Call{Tool: "x", Truncated: true, Error: no}, `calls[1]: calls[1].args is truncated`},
		{"a model, by its arguments", exact, findings.Call{Type: findings.Model, Tool: "x", Error: no}, `calls[1]: is of a model: no arguments`},
		{"a result in doubt that ends early", &replay.FaultOptions{Suspected: true}, changed(doubted(`"a"`), func(c *findings.Call) { c.Truncated = true }),
			`calls[1].result is truncated`},
		{"a result in doubt that is no JSON", &replay.FaultOptions{Suspected: true}, doubted(`{`), `calls[1].result is {`},
	} {
		rules, err := faultsOf(t, tt.o, findings.Call{Tool: "pay", Error: no}, tt.call)
		require.ErrorContains(t, err, "replay: "+tt.want, tt.why)
		var field *replay.FieldError
		assert.True(t, errors.As(err, &field), tt.why)
		require.Len(t, rules, 1, tt.why)
		assert.True(t, strings.HasPrefix(rules[0], "pay: "), tt.why)
	}

	rules, err := faultsOf(t, nil, findings.Call{Tool: "ask", Error: no}, findings.Call{Tool: "pay", Parent: 1})
	assert.Empty(t, rules)
	assert.ErrorContains(t, err, "replay: calls[0]: failed although the last call within it did not", "a rule would keep the other from being made")

	_, err = faultsOf(t, nil,
		findings.Call{Tool: "pay", Missing: []findings.Part{findings.Args}, Took: 2}, findings.Call{Tool: "pay", At: 1, Error: no})
	assert.ErrorContains(t, err, "replay: calls[1]: calls[0].args is missing", "it may have had equal arguments")

	_, err = faultsOf(t, &replay.FaultOptions{SlowerThan: 2}, findings.Call{Tool: "ask", Took: 2}, doubted(`"no error"`))
	assert.EqualError(t, err, "replay: calls[1]: nobody knows whether call 2 did its work; allowed: Suspected, which plays what it "+
		"returned; or its effect, done or none, in the session")
	_, err = faultsOf(t, nil, changed(doubted(`"no error"`), func(c *findings.Call) { c.Effect = findings.Done }))
	assert.NoError(t, err)

	_, err = faultsOf(t, &replay.FaultOptions{SlowerThan: -1})
	assert.ErrorContains(t, err, "replay: SlowerThan is -1ns; allowed: a duration of 0 or more")
}

// doubted is a call of which nobody knows whether it failed.
func doubted(result string) findings.Call {
	c := findings.Call{Tool: "pay", Missing: []findings.Part{findings.Outcome}}
	if result != "" {
		c.Result = json.RawMessage(result)
	}
	return c
}

func changed(c findings.Call, change func(*findings.Call)) findings.Call {
	change(&c)
	return c
}
