package replay_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/replay"
)

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	s := read(t, paidTwice)
	require.NoError(t, s.WriteFile(path))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, paidTwice, string(text))
	again, err := replay.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, s, again)
	assert.ErrorIs(t, s.WriteFile(filepath.Join(t.TempDir(), "none", "a.json")), os.ErrNotExist)
}

func TestWhatCannotBeWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	for _, row := range []struct {
		reason string
		change func(*replay.Session)
		want   string
	}{
		{"no name", func(s *replay.Session) { s.Name = "" }, `replay: name is ""; allowed: letters`},
		{"no JSON", func(s *replay.Session) { s.Calls[1].Args = json.RawMessage(`{`) }, `replay: calls[1].args is "{"; allowed: JSON`},
		{"too deep", func(s *replay.Session) {
			s.Calls[1].Args = json.RawMessage(strings.Repeat("[", 70) + strings.Repeat("]", 70))
		}, `at most 64 levels`},
		{"a member twice", func(s *replay.Session) { s.Calls[1].Args = json.RawMessage(`{"a":1,"a":2}`) },
			`/calls/1/args/a is there twice`},
		{"a year without RFC 3339", func(s *replay.Session) { s.Source.CapturedAt = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) },
			`replay: source.capturedAt is "10000-01-01`},
		{"parameters that are no JSON", func(s *replay.Session) { s.Plan.Rules[0].Fault.Params = json.RawMessage(`{`) }, `replay: session refund-1042: `},
		{"a name that is a secret", func(s *replay.Session) { s.Name = "ghp_0123456789abcdef0123" }, `/name is "[redacted]"`},
	} {
		s := read(t, paidTwice)
		row.change(s)
		err := s.WriteFile(path)
		assert.ErrorContains(t, err, row.want, row.reason)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, "old", string(text), row.reason)
	}
}

// Secrets in any place reach no file: well-known forms of keys by themselves, others by
// being named.
func TestSecretsReachNoFile(t *testing.T) {
	const key, own = "sk-proj-0123456789abcdefghijklmnop", `my "own" secret/1`
	for _, secret := range []string{key, own} {
		quoted, err := json.Marshal(secret)
		require.NoError(t, err)
		doc := json.RawMessage(fmt.Sprintf(`{"note":%s,%s:1,"in":["curl -H 'Authorization: Bearer %s' x"],"b64":"%s"}`, quoted, quoted,
			strings.ReplaceAll(secret, `"`, `\"`), base64.StdEncoding.EncodeToString([]byte("user:"+own))))
		s := &replay.Session{
			Name: "secrets", Contract: secret, Prompts: []string{"use " + secret}, Answer: "I used " + secret,
			ExpectedFailure: secret, Source: replay.Origin{ID: secret},
			Tools: []chaos.Tool{{Name: "a", Description: "key " + secret, InputSchema: json.RawMessage(`{"properties":{"token":{"type":"string"}},"x":` + string(quoted) + `}`)}},
			Calls: []findings.Call{{Tool: "a", Args: doc, Result: doc}, {Tool: "a", Lane: secret, Args: doc, Error: &findings.CallError{Text: "bad key " + secret}},
				call("a", `{"password":"hunter2","pin":{"passcode":1234},"page":"p-7"}`, `{"set-cookie":["c=1"]}`)},
			Plan: &planjson.Plan{Rules: []planjson.Rule{{Target: "a", Fault: planjson.Part{Kind: "replace", Params: doc}}}},
		}
		clean, err := s.Redact(own)
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "a.json")
		require.NoError(t, clean.WriteFile(path))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, secret := range []string{key, own, `my \"own\" secret`, "my own", "hunter2", "1234", "c=1", base64.StdEncoding.EncodeToString([]byte("user:" + own))} {
			assert.NotContains(t, string(text), secret)
		}
		assert.Contains(t, string(text), `{"token": {"type": "string"}}`, "a schema has names, not values")
		assert.Contains(t, string(text), `"page": "p-7"`)

		bytes, err := s.Encode()
		require.NoError(t, err)
		assert.NotContains(t, string(bytes), key, "without being asked")

		p, err := clean.Player(&replay.PlayOptions{Secrets: []string{own}})
		require.NoError(t, err)
		_, err = p.CallTool(t.Context(), "a", s.Calls[0].Args)
		require.NoError(t, err, "the agent's own call, with its secrets, is the recorded one")
		_, err = p.CallTool(t.Context(), "a", s.Calls[2].Args)
		require.NoError(t, err)
		_, err = p.CallTool(t.Context(), "a", json.RawMessage(`{"password":"hunter2","other":`+string(quoted)+`}`))
		require.Error(t, err)
		assert.NotContains(t, err.Error(), secret)
		assert.NotContains(t, err.Error(), "hunter2")
	}
}

// In lists of headers, parameters and flags another text has the name of the secret.
func TestSecretsThatAnotherTextNames(t *testing.T) {
	const secret = `"Qx7planted9Kp"`
	for _, row := range []struct{ args, want string }{
		{`{"headers":[{"name":"X-Api-Key","value":` + secret + `},{"name":"Accept","value":"text/html"}]}`,
			`{"headers":[{"name":"X-Api-Key","value":"[redacted]"},{"name":"Accept","value":"text/html"}]}`},
		{`{"env":[{"Value":[` + secret + `],"Key":"CLIENT_SECRET"}]}`, `{"env":[{"Value":["[redacted]"],"Key":"CLIENT_SECRET"}]}`},
		{`{"headers":[["Cookie",` + secret + `],["Accept","text/html"]]}`, `{"headers":[["Cookie","[redacted]"],["Accept","text/html"]]}`},
		{`{"argv":["run","--api-key",` + secret + `,"-token",` + secret + `,"--password","-v","x"]}`,
			`{"argv":["run","--api-key","[redacted]","-token","[redacted]","--password","-v","x"]}`},
		{`{"fields":["password","username"],"name":"token","type":"string"}`, `{"fields":["password","username"],"name":"token","type":"string"}`},
	} {
		s := &replay.Session{Name: "secrets", Calls: []findings.Call{call("a", row.args, `1`)}}
		data, err := s.Encode()
		require.NoError(t, err)
		clean, err := replay.Read(data)
		require.NoError(t, err)
		assert.JSONEq(t, row.want, string(clean.Calls[0].Args))
		again, err := clean.Encode()
		require.NoError(t, err)
		assert.Equal(t, string(data), string(again))
		assert.Equal(t, "1", ask(t, player(t, nil, clean.Calls...), "", "a "+row.args), "the agent's own call is the recorded one")
	}
}
