package policy_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

func tokensFile(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const (
	hashOne = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
	hashTwo = "sha256:fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9"
)

func TestTokensAreReadStrictly(t *testing.T) {
	const entry = "version: 1\ntokens:\n  - {subject: ci, scopes: [], hash: \"" + hashOne + "\"}\n"
	for _, tc := range []struct{ text, want string }{
		{entry, ""},
		{"version: 1\ntokens:\n  - {subject: ci, scopes: [a, b], expires: 2030-01-31T00:00:00Z, hash: \"" + hashOne + "\"}\n  - {subject: me, scopes: [admin], hash: \"" + hashTwo + "\"}\n", ""},
		{"", "it does not have that form"},
		{"tokens: []\n", "version is 0; allowed: 1"},
		{"version: 2\ntokens:\n  - {subject: ci, scopes: [], hash: \"" + hashOne + "\"}\n", "version is 2"},
		{"version: 1\n", "tokens is missing"},
		{entry + "more: 1\n", "it does not have that form"},
		{entry + "---\n" + entry, "more than one document"},
		{"version: 1\ntokens:\n  - {subject: ci, scopes: [], token: plain-secret-of-mine}\n", "it does not have that form"},
		{"version: 1\ntokens:\n  - {subject: ci, hash: \"" + hashOne + "\"}\n", "tokens[0].scopes is missing"},
		{"version: 1\ntokens:\n  - {scopes: [], hash: \"" + hashOne + "\"}\n", "tokens[0].subject is missing"},
		{"version: 1\ntokens:\n  - {subject: ci, scopes: []}\n", "tokens[0].hash is missing"},
		{"version: 1\ntokens:\n  - {subject: ci, scopes: [], hash: plain-secret-of-mine}\n", "Tokens[0].Hash"},
		{"version: 1\ntokens:\n  - {subject: ci, scopes: [], hash: \"sha256:…\"}\n", "Tokens[0].Hash"}, // as docs/mcp.md shows it
		{"version: 1\ntokens:\n  - {subject: ci, scopes: [], hash: \"" + strings.ToUpper(hashOne) + "\"}\n", "Tokens[0].Hash"},
		{"version: 1\ntokens:\n  - {subject: ci, scopes: [], hash: \"" + hashOne[:70] + "\"}\n", "Tokens[0].Hash"},
		{"version: 1\ntokens:\n  - {subject: two words, scopes: [], hash: \"" + hashOne + "\"}\n", "Subject"},
		{"version: 1\ntokens:\n  - {subject: ci, scopes: [\"a b\"], hash: \"" + hashOne + "\"}\n", "Scopes"},
		{entry + "  - {subject: me, scopes: [], hash: \"" + hashOne + "\"}\n", "each token once"},
		{entry + "  - {subject: ci, scopes: [], hash: \"" + hashTwo + "\"}\n", "a subject of its own"},
		{"version: 1\ntokens:\n  - {subject: ci, scopes: [], hash: \"" + hashOne + "\", expires: soon}\n", "it does not have that form"},
	} {
		_, err := policy.New(&policy.Options{TokensFile: tokensFile(t, tc.text)})
		if tc.want == "" {
			require.NoError(t, err)
			continue
		}
		assert.ErrorContains(t, err, tc.want, tc.text)
		assert.NotContains(t, err.Error(), "plain-secret", "the file is not quoted")
	}
	for reason, path := range map[string]string{"no such file": filepath.Join(t.TempDir(), "none"), "a regular file": t.TempDir(),
		"at most 65536 bytes": tokensFile(t, entry+strings.Repeat("#", 70_000))} {
		_, err := policy.New(&policy.Options{TokensFile: path})
		assert.ErrorContains(t, err, "TokensFile is", reason)
		assert.ErrorContains(t, err, reason)
	}
	if runtime.GOOS == "windows" {
		return
	}
	path := tokensFile(t, entry)
	require.NoError(t, os.Chmod(path, 0o644))
	_, err := policy.New(&policy.Options{TokensFile: path})
	assert.NoError(t, err, "hashes may be read")
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(path, link))
	_, err = policy.New(&policy.Options{TokensFile: link})
	assert.NoError(t, err, "a volume of Kubernetes has links")
	require.NoError(t, os.Chmod(path, 0o664))
	_, err = policy.New(&policy.Options{TokensFile: path})
	assert.ErrorContains(t, err, "mode 0664", "and not be written by others")
}

func FuzzTokensFile(f *testing.F) {
	f.Add("version: 1\ntokens:\n  - {subject: ci, scopes: [a], hash: \"" + hashOne + "\"}\n")
	f.Add("version: 1\ntokens: &a\n  - *a\n")
	f.Fuzz(func(t *testing.T, text string) {
		path := tokensFile(t, text)
		_, err := policy.New(&policy.Options{TokensFile: path})
		_, again := policy.New(&policy.Options{TokensFile: path})
		assert.Equal(t, err == nil, again == nil, text)
	})
}

func TestHashesOfTokens(t *testing.T) {
	value, hash := policy.NewToken()
	assert.Len(t, value, 26)
	for _, wrong := range []policy.Token{{Value: "a-value-and-a-hash", Hash: hash}, {Hash: "md5:abc"}, {Hash: hash[len("sha256:"):]}} {
		_, err := policy.New(&policy.Options{Tokens: []policy.Token{wrong}})
		assert.ErrorContains(t, err, "Tokens[0].Hash")
	}
}

// A token by its hash is accepted as one by its value is, until it expires.
func TestTokensExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		value, hash := policy.NewToken()
		j := new(journal)
		g, err := policy.New(&policy.Options{Audit: j, Tokens: []policy.Token{{Hash: hash, Subject: "ci", Scopes: []string{}, Expires: time.Now().Add(time.Hour)}}})
		require.NoError(t, err)
		open := make(chan struct{})
		h, err := g.HTTPHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			assert.NotContains(t, r.Header.Get("Authorization"), value, "what is behind the gate does not see the token")
			if r.URL.Path == "/stream" {
				close(open)
				<-r.Context().Done()
			}
		}), nil)
		require.NoError(t, err)
		get := func(path string) int {
			req := httptest.NewRequest(http.MethodGet, path, nil)
			req.RemoteAddr = "127.0.0.1:5000"
			req.Header.Set("Authorization", "Bearer "+value)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, req)
			return w.Code
		}
		assert.Equal(t, 200, get("/"))
		began := time.Now()
		assert.Equal(t, 200, get("/stream"), "it was valid")
		<-open
		assert.Equal(t, time.Hour, time.Since(began), "a stream ends with its token")
		assert.Equal(t, 401, get("/"))
		assert.Contains(t, j.only(t)["error_detail"], "the bearer token of ci has expired")
	})
}

func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestReadWriteNeedsTwoSwitches(t *testing.T) {
	const twice = "read-write mode requires SHAKEDOWN_MCP_ENABLE_WRITE=true"
	for _, tc := range []struct {
		mode, enable string
		want         policy.Mode
		err          string // exact
	}{
		{"", "", policy.ReadOnly, ""},
		{"", "true", policy.ReadOnly, ""},
		{"read-only", "true", policy.ReadOnly, ""},
		{" Read-Only\n", "", policy.ReadOnly, ""},
		{"read-write", "true", policy.ReadWrite, ""},
		{"\tREAD-WRITE ", " true ", policy.ReadWrite, ""},
		{"read-write", "", 0, twice},
		{"read-write", "false", 0, twice},
		{"read-write", "1", 0, twice},
		{"read-write", "TRUE", 0, twice},
		{"read-write", "yes", 0, twice},
		{"x", "true", 0, `invalid mode "x" (allowed: read-only|read-write)`},
		{"readwrite", "true", 0, `invalid mode "readwrite" (allowed: read-only|read-write)`},
		{"read_write", "true", 0, `invalid mode "read_write" (allowed: read-only|read-write)`},
		{"read-write,read-only", "true", 0, `invalid mode "read-write,read-only" (allowed: read-only|read-write)`},
	} {
		o, err := policy.Env(environment(map[string]string{"SHAKEDOWN_MCP_MODE": tc.mode, "SHAKEDOWN_MCP_ENABLE_WRITE": tc.enable}), nil)
		if tc.err != "" {
			assert.EqualError(t, err, tc.err)
			continue
		}
		require.NoError(t, err, "%q", tc.mode)
		assert.Equal(t, tc.want, o.Mode)
		g, err := policy.New(o)
		require.NoError(t, err)
		assert.Equal(t, tc.want, g.Mode())
	}
	_, err := policy.New(&policy.Options{Mode: policy.ReadWrite})
	assert.EqualError(t, err, twice, "nor from code")
}

func TestEnvironmentGoesBeforeCode(t *testing.T) {
	in := &policy.Options{Mode: policy.ReadWrite, EnableWrite: true, Tokens: []policy.Token{{Value: "one-of-the-code", Subject: "code"}}}
	o, err := policy.Env(environment(map[string]string{"SHAKEDOWN_MCP_MODE": "read-only", "SHAKEDOWN_MCP_TOKEN": " one-of-the-environment\n"}), in)
	require.NoError(t, err)
	assert.Equal(t, policy.ReadOnly, o.Mode)
	assert.Equal(t, []policy.Token{{Value: "one-of-the-code", Subject: "code"}, {Value: "one-of-the-environment"}}, o.Tokens)
	assert.Len(t, in.Tokens, 1, "the options given are not changed")
	_, err = policy.Env(environment(map[string]string{"SHAKEDOWN_MCP_ENABLE_WRITE": "no"}), in)
	assert.Error(t, err, "the environment can switch off what code has switched on")
}

func TestNewNamesEveryProblem(t *testing.T) {
	_, err := policy.New(&policy.Options{
		Mode: 7,
		Tools: []policy.Tool{
			{Name: ""}, {Name: "a "}, {Name: "b", Capability: 9, Scopes: []string{"x y", ""}}, {Name: "b"},
			{Name: "c", Actions: []policy.Action{{}, {Field: "f", Values: []any{nil, 1.5, []int{1}}}}},
			{Name: "d", Limit: &policy.Limit{}, SessionLimit: &policy.Limit{PerSecond: -1, Burst: -1, Budget: -1}},
			{Name: "e", Limit: &policy.Limit{Burst: 3, Budget: 1}},
		},
		Confirm:     []policy.Confirm{{Tool: ""}, {Tool: "*.delete"}, {Tool: "b", Values: []any{"x"}}, {Tool: "b", Field: "f"}},
		Tokens:      []policy.Token{{Value: "short"}, {Value: "long enough, but two"}, {Value: "long-enough", Subject: "a b"}, {Value: "long-enough"}},
		Local:       &policy.Caller{},
		MaxSessions: -1, MaxCallerSessions: -1, MaxSubscriptions: -1, MaxCallerSubscriptions: -1,
	})
	require.Error(t, err)
	for _, field := range []string{"Mode is 7", "Tools[0].Name", "Tools[1].Name", "Tools[2].Capability", "Tools[2].Scopes", `Tools[3].Name is "b"; allowed: one row a tool`,
		"Tools[4].Actions[0].Field", "Tools[4].Actions[0].Values", "Tools[4].Actions[1].Values", "Tools[5].Limit.Budget", "Tools[5].SessionLimit.PerSecond",
		"Tools[5].SessionLimit.Burst", "Tools[5].SessionLimit.Budget", "Tools[6].Limit.Burst", "Confirm[0].Tool", "Confirm[1].Tool", "Confirm[2].Field", "Confirm[3].Values",
		"Tokens[0].Value", "Tokens[1].Value", "Tokens[2].Subject", "Tokens[1].Subject", "Tokens[3].Value", "Local.Subject", "MaxSessions", "MaxCallerSessions", "MaxSubscriptions", "MaxCallerSubscriptions"} {
		assert.ErrorContains(t, err, "policy: "+field)
	}
	assert.NotContains(t, err.Error(), "short", "a token is not quoted")
	assert.NotContains(t, err.Error(), "long-enough")
}

func TestTheZeroOptionsLetNothingThrough(t *testing.T) {
	g, err := policy.New(nil)
	require.NoError(t, err)
	assert.Equal(t, policy.ReadOnly, g.Mode())
	d := newDesk("look")
	d.behind(t, policy.Options{})
	list, err := d.connect(t, newEra, nil).ListTools(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, list.Tools)
	assert.NotNil(t, list.Tools, "an empty list, not null")
}
