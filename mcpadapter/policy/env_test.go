package policy_test

import (
	"testing"

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
