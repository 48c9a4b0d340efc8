package policy_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

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

func TestTokenFiles(t *testing.T) {
	file := func(text string, mode os.FileMode) string {
		path := filepath.Join(t.TempDir(), "token.yaml")
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
		require.NoError(t, os.Chmod(path, mode))
		return path
	}
	const good = "token: from-the-file\nsubject: ci\nscopes: [rooms:read]\n"
	read := func(path string, env map[string]string) (*policy.Options, error) {
		return policy.Env(environment(env), &policy.Options{TokenFile: path, AllowTokenFile: true})
	}

	o, err := read(file(good, 0o600), nil)
	require.NoError(t, err)
	assert.Equal(t, []policy.Token{{Value: "from-the-file", Subject: "ci", Scopes: []string{"rooms:read"}}}, o.Tokens)

	o, err = read(file(good, 0o600), map[string]string{"SHAKEDOWN_MCP_TOKEN": "from-the-environment"})
	require.NoError(t, err)
	assert.Equal(t, []policy.Token{{Value: "from-the-environment"}}, o.Tokens, "the environment comes first")

	_, err = policy.Env(environment(nil), &policy.Options{TokenFile: file(good, 0o600)})
	assert.ErrorContains(t, err, "AllowTokenFile", "a file is read only where that was allowed")

	for reason, path := range map[string]string{
		"no file":       filepath.Join(t.TempDir(), "none"),
		"a directory":   t.TempDir(),
		"no token":      file("subject: ci\n", 0o600),
		"misspelt":      file("tokn: from-the-file\n", 0o600),
		"two documents": file("token: from-the-file\n---\ntoken: other-token\n", 0o600),
		"not YAML":      file("from-the-file: {", 0o600),
		"a bare token":  file("from-the-file", 0o600),
		"too long":      file("token: from-the-file"+strings.Repeat("e", 70_000), 0o600),
	} {
		_, err := read(path, nil)
		var field *policy.FieldError
		require.ErrorAs(t, err, &field, reason)
		assert.Equal(t, "TokenFile", field.Field)
		assert.NotContains(t, err.Error(), "from-the-file", "%s: an error does not quote the file", reason)
	}
	if runtime.GOOS == "windows" {
		return // no permission bits
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o644, 0o666, 0o601} {
		_, err := read(file(good, mode), nil)
		assert.ErrorContains(t, err, "only its owner can read", "%o", mode)
	}
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(file(good, 0o600), link))
	_, err = read(link, nil)
	assert.ErrorContains(t, err, "not a link")
}

func TestNewNamesEveryProblem(t *testing.T) {
	_, err := policy.New(&policy.Options{
		Mode: 7,
		Tools: []policy.Tool{
			{Name: ""}, {Name: "a "}, {Name: "b", Capability: 9, Scopes: []string{"x y", ""}}, {Name: "b"},
			{Name: "c", Actions: []policy.Action{{}, {Field: "f", Values: []any{nil, 1.5, []int{1}}}}, Timeout: -1},
			{Name: "d", Limit: &policy.Limit{}, SessionLimit: &policy.Limit{PerSecond: -1, Burst: -1, Budget: -1}},
			{Name: "e", Limit: &policy.Limit{Burst: 3, Budget: 1}},
		},
		Confirm:        []policy.Confirm{{Tool: ""}, {Tool: "*.delete"}, {Tool: "b", Values: []any{"x"}}, {Tool: "b", Field: "f"}},
		Tokens:         []policy.Token{{Value: "short"}, {Value: "long enough, but two"}, {Value: "long-enough", Subject: "a b"}, {Value: "long-enough"}},
		Local:          &policy.Caller{},
		Timeout:        -time.Second,
		ConfirmTimeout: -time.Second,
	})
	require.Error(t, err)
	for _, field := range []string{"Mode is 7", "Tools[0].Name", "Tools[1].Name", "Tools[2].Capability", "Tools[2].Scopes", `Tools[3].Name is "b"; allowed: one row a tool`,
		"Tools[4].Actions[0].Field", "Tools[4].Actions[0].Values", "Tools[4].Actions[1].Values", "Tools[4].Timeout", "Tools[5].Limit.Budget", "Tools[5].SessionLimit.PerSecond",
		"Tools[5].SessionLimit.Burst", "Tools[5].SessionLimit.Budget", "Tools[6].Limit.Burst", "Confirm[0].Tool", "Confirm[1].Tool", "Confirm[2].Field", "Confirm[3].Values",
		"Tokens[0].Value", "Tokens[1].Value", "Tokens[2].Subject", "Tokens[1].Subject", "Tokens[3].Value", "Local.Subject", "Timeout", "ConfirmTimeout"} {
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
