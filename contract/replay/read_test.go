package replay_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/replay"
)

// paidTwice is a refund whose reply was lost and that was then paid twice. Every member
// of the format occurs in it.
const paidTwice = `{
  "format": "shakedown/session",
  "version": 1,
  "name": "refund-1042",
  "contract": "refunds",
  "source": {"dialect": "otlp", "id": "4bf9", "capturedAt": "2026-05-04T03:02:01Z"},
  "prompts": ["Refund order 1042"],
  "answer": "Refunded.",
  "expectedFailure": "paid twice",
  "tools": [{"name": "refund", "description": "Pays back.", "effect": "done", "idempotencyKey": "/key"}],
  "calls": [
    {"type": "model", "tool": "gpt-5.2", "missing": ["args", "result", "end"], "suspected": true},
    {
      "tool": "refund",
      "args": {"order": 1042},
      "error": {"text": "503 Service Unavailable", "status": 503, "retryAfter": "2s"},
      "effect": "done",
      "at": "1.2s",
      "took": "30s"
    },
    {"tool": "refund", "args": {"order": 1042}, "result": {"id": "R-2"}, "effect": "done", "at": "31s", "took": "12ms"},
    {"tool": "audit", "lane": "b", "parent": 3, "argsHash": "9f86d081884c7d65", "truncated": true}
  ],
  "faults": {"seed": "1", "rules": [{"target": "refund", "fault": {"kind": "http_hang_up"}, "coolDown": "1s"}]}
}
`

func read(t *testing.T, text string) *replay.Session {
	t.Helper()
	s, err := replay.Read([]byte(text))
	require.NoError(t, err)
	return s
}

func TestReadUnderstandsEveryMember(t *testing.T) {
	s := read(t, paidTwice)
	assert.Equal(t, "refund-1042", s.Name)
	assert.Equal(t, "refunds", s.Contract)
	assert.Equal(t, "otlp", s.Source.Dialect)
	assert.Equal(t, "4bf9", s.Source.ID)
	assert.True(t, s.Source.CapturedAt.Equal(time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)))
	assert.Equal(t, []string{"Refund order 1042"}, s.Prompts)
	assert.Equal(t, "Refunded.", s.Answer)
	assert.Equal(t, "paid twice", s.ExpectedFailure)
	assert.Equal(t, []chaos.Tool{{Name: "refund", Description: "Pays back.", Effect: chaos.EffectDone, IdempotencyKey: "/key"}}, s.Tools)
	require.Len(t, s.Calls, 4)
	model, failed, done, nested := s.Calls[0], s.Calls[1], s.Calls[2], s.Calls[3]
	assert.Equal(t, findings.Model, model.Type)
	assert.Equal(t, []findings.Part{findings.Args, findings.Result, findings.End}, model.Missing)
	assert.True(t, model.Suspected)
	assert.JSONEq(t, `{"order":1042}`, string(failed.Args))
	assert.Equal(t, findings.CallError{Text: "503 Service Unavailable", Status: 503, RetryAfter: 2 * time.Second}, *failed.Error)
	assert.Equal(t, findings.Done, failed.Effect)
	assert.Equal(t, 1200*time.Millisecond, failed.At)
	assert.Equal(t, 30*time.Second, failed.Took)
	assert.JSONEq(t, `{"id":"R-2"}`, string(done.Result))
	assert.Equal(t, "b", nested.Lane)
	assert.Equal(t, 3, nested.Parent)
	assert.Equal(t, "9f86d081884c7d65", nested.ArgsHash)
	assert.True(t, nested.Truncated)
	require.NotNil(t, s.Plan)
	plan, err := s.Plan.Build(nil)
	require.NoError(t, err)
	assert.Equal(t, time.Second, plan.Rules()[0].CoolDown)
}

// What was written is read, and written again it is the same bytes.
func TestReadAndWrittenIsTheSameBytes(t *testing.T) {
	for name, text := range map[string]string{
		"every member": paidTwice,
		"the least":    "{\n  \"format\": \"shakedown/session\",\n  \"version\": 1,\n  \"name\": \"a\",\n  \"calls\": []\n}\n",
		"numbers keep their spelling, members their order": strings.Replace(paidTwice, `{"id": "R-2"}`, `{"b": 1.0}`, 1),
	} {
		got, err := read(t, text).Encode()
		require.NoError(t, err, name)
		assert.Equal(t, text, string(got), name)
	}
}

func TestWhatReadRefuses(t *testing.T) {
	for _, row := range []struct {
		reason, old, new string
		want             string
	}{
		{"no JSON", `"version": 1,`, `"version": 1`, "replay: line 4, column 3: the text is not JSON: invalid character '\"' after object key:value pair"},
		{"something behind", "}]}\n}", "}]}\n} {}", "replay: line 25, column 3: the text is not JSON: invalid character '{' after top-level value"},
		{"another format", `shakedown/session`, `shakedown/cassette`, `replay: line 2, column 13: /format is "shakedown/cassette"; allowed: one of shakedown/session`},
		{"a later version, of which nothing else is said", `"version": 1,`, `"version": 2, "new": 1,`, `replay: line 3, column 14: /version is 2; allowed: 1, the version that this release reads`},
		{"an unknown member", `"contract"`, `"contrakt"`, "replay: line 5, column 15: /contrakt is unknown; allowed: one of format, version, name, contract"},
		{"a member twice", `"answer": "Refunded."`, `"answer": "a", "answer": "b"`, "replay: line 8, column 18: /answer is there twice; allowed: each member of an object once"},
		{"no name", `  "name": "refund-1042",`, ``, "replay: line 1, column 1: /name is missing; allowed: a string"},
		{"a name that leaves the folder", `"refund-1042"`, `"../a"`, `replay: line 4, column 11: /name is "../a"; allowed: letters, digits, '.', '_' and '-', at most 200, the first no '.'`},
		{"a hidden name", `"refund-1042"`, `".a"`, `/name is ".a"; allowed: letters`},
		{"no time", `2026-05-04T03:02:01Z`, `yesterday`, `/source/capturedAt is "yesterday"; allowed: a time such as "2026-05-04T03:02:01Z" (RFC 3339)`},
		{"no duration", `"30s"`, `30`, `/calls/1/took is a number; allowed: a duration such as "1.5s"`},
		{"a time before the beginning", `"took": "30s"`, `"took": "-1s"`, `/calls/1/took is -1s; allowed: 0 or more`},
		{"a call of nothing", `"tool": "audit"`, `"tool": ""`, `/calls/3/tool is ""; allowed: the name of the tool or model`},
		{"an unknown type", `"type": "model"`, `"type": "agent"`, `/calls/0/type is "agent"; allowed: one of tool, model`},
		{"an unknown effect", `"effect": "done", "at": "31s"`, `"effect": "maybe", "at": "31s"`, `/calls/2/effect is "maybe"; allowed: one of done, none, unknown`},
		{"an unknown part", `["args",`, `["arms",`, `/calls/0/missing/0 is "arms"; allowed: one of args, result, end`},
		{"a part twice", `["args", "result"`, `["args", "args"`, `/calls/0/missing/1 is "args"; allowed: each part once`},
		{"missing and there", `"argsHash": "9f86d081884c7d65"`, `"missing": ["args"], "args": 1`, `/calls/3/args is 1; allowed: nothing: it is listed as missing`},
		{"both result and error", `"result": {"id": "R-2"}`, `"result": 1, "error": {"text": "down"}`, `/calls/2/result is 1; allowed: no result: the call has an error`},
		{"an error without its text", `"text": "503 Service Unavailable", `, ``, `/calls/1/error/text is missing; allowed: a string`},
		{"a wait before now", `"2s"`, `"-2s"`, `/calls/1/error/retryAfter is -2s; allowed: 0 or more`},
		{"a parent that began later", `"parent": 3`, `"parent": 4`, `/calls/3/parent is 4; allowed: the number of an earlier call, 1 to 3, or 0 for none`},
		{"a tool twice", `"tools": [`, `"tools": [{"name": "refund"}, `, `/tools/1/name is "refund"; allowed: a name of its own: tools[0] has this one`},
		{"a pointer that is none", `"/key"`, `"key"`, `/tools/0/idempotencyKey is "key"; allowed: a JSON pointer`},
		{"a schema that is none", `"description": "Pays back."`, `"inputSchema": 5`, `/tools/0/inputSchema is 5; allowed: a JSON object`},
		{"a tool's unknown effect", `"effect": "done", "idempotencyKey"`, `"effect": "some", "idempotencyKey"`, `/tools/0/effect is "some"; allowed: none, done, unknown, or empty`},
		{"a plan without rules", `"rules": [{"target": "refund", "fault": {"kind": "http_hang_up"}, "coolDown": "1s"}]`, `"rule": []`, `/faults/rules is missing`},
		{"a fault without kind", `{"kind": "http_hang_up"}`, `{}`, `/faults/rules/0/fault/kind is missing; allowed: a string`},
		{"a cool-down that is none", `"1s"`, `1`, `/faults/rules/0/coolDown is a number; allowed: a duration`},
		{"null", `"Refunded."`, `null`, `/answer is null; allowed: a string`},
	} {
		text := strings.Replace(paidTwice, row.old, row.new, 1)
		require.NotEqual(t, paidTwice, text, row.reason)
		_, err := replay.Read([]byte(text))
		assert.ErrorContains(t, err, row.want, row.reason)
	}
	for _, text := range []string{``, `null`, `[]`, `5`, "{\xff}", strings.Repeat("[", 100_000)} {
		_, err := replay.Read([]byte(text))
		assert.Error(t, err, "%.20q", text)
	}
}

func TestReadReportsEveryProblem(t *testing.T) {
	_, err := replay.Read([]byte(`{"format": "shakedown/session", "version": 1, "name": "a b", "calls": [{"tool": ""}, {"tool": "x", "at": "-1s", "parent": 7}]}`))
	assert.EqualError(t, err, `replay: line 1, column 55: /name is "a b"; allowed: letters, digits, '.', '_' and '-', at most 200, the first no '.'
replay: line 1, column 81: /calls/0/tool is ""; allowed: the name of the tool or model
replay: line 1, column 123: /calls/1/parent is 7; allowed: the number of an earlier call, 1 to 1, or 0 for none
replay: line 1, column 106: /calls/1/at is -1s; allowed: 0 or more`)
	var field *replay.FieldError
	require.ErrorAs(t, err, &field)
	assert.Equal(t, "/name", field.Field)
	assert.Equal(t, 55, field.Column)
}

func TestLimits(t *testing.T) {
	_, err := replay.Read(make([]byte, 64<<20+1))
	assert.EqualError(t, err, "replay: the document is 67108865 bytes; allowed: at most 67108864")
	s := replay.Session{Name: "many", Calls: make([]findings.Call, 100_001)}
	assert.EqualError(t, s.Validate(), "replay: calls is 100001 calls; allowed: at most 100000")
	deep := fmt.Sprintf(`{"format": "shakedown/session", "version": 1, "name": "a", "calls": [{"tool": "x", "args": %s1%s}]}`,
		strings.Repeat("[", 70), strings.Repeat("]", 70))
	_, err = replay.Read([]byte(deep))
	assert.ErrorContains(t, err, "at most 64 levels")
}

func TestReadDir(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("b.json", paidTwice)
	write("a.json", strings.Replace(paidTwice, "refund-1042", "first", 1))
	write("bad.json", `{"format": "shakedown/session", "version": 1, "name": "", "calls": 1}`)
	write("worse.json", `{`)
	write("notes.txt", `not a session`)
	write(".a-temporary.json", `{`)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "c.json"), 0o700))
	outside := filepath.Join(t.TempDir(), "outside.json")
	require.NoError(t, os.WriteFile(outside, []byte(paidTwice), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link.json")))

	sessions, err := replay.ReadDir(dir)
	var names []string
	for _, s := range sessions {
		names = append(names, s.Name)
	}
	assert.Equal(t, []string{"first", "refund-1042"}, names, "sorted by file, and a bad file does not hide the good ones")
	require.Error(t, err)
	at := filepath.Join(dir, "bad.json")
	lines := strings.Split(err.Error(), "\n")
	assert.Contains(t, lines[0], "replay: "+at+": line 1, column 68: /calls is a number; allowed: a list")
	assert.ErrorContains(t, err, filepath.Join(dir, "link.json"))
	assert.ErrorContains(t, err, filepath.Join(dir, "worse.json")+": line 1, column 1: the text is not JSON: unexpected end of JSON input")
	assert.NotContains(t, err.Error(), "temporary")

	_, err = replay.ReadDir(filepath.Join(dir, "none"))
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = replay.ReadFile(filepath.Join(dir, "none.json"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(paidTwice))
	f.Add([]byte(`{"format":"shakedown/session","version":1,"name":"a","calls":[{"tool":"x","args":{"a":[1,{}],"token":"abc"},"result":null}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := replay.Read(data)
		if err != nil {
			if s != nil {
				t.Fatal("a session beside an error")
			}
			return
		}
		once, err := s.Encode()
		if err != nil {
			return // what was masked may be needed, such as the name of a tool
		}
		again, err := replay.Read(once)
		if err != nil {
			t.Fatalf("what was written is refused: %v\n%s", err, once)
		}
		twice, err := again.Encode()
		if err != nil || string(twice) != string(once) {
			t.Fatalf("written again it differs: %v\n%s\n%s", err, once, twice)
		}
		p, err := s.Player(&replay.PlayOptions{AllowHoles: true})
		if err != nil {
			t.Fatalf("a session that was read cannot be played: %v", err)
		}
		for _, c := range s.Calls {
			_, _ = p.CallTool(t.Context(), c.Tool, c.Args)
		}
		_, _, _ = p.Effects().Names(), p.Unplayed(), p.Err()
		_, _ = s.Player(&replay.PlayOptions{ByOrder: true})
	})
}
