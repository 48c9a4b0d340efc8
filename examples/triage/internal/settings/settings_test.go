package settings_test

import (
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/examples/triage/internal/settings"
	"github.com/shakedown-go/shakedown/mcpadapter/incident"
	"github.com/shakedown-go/shakedown/scoring"
)

func load(env map[string]string) (*settings.Settings, error) {
	return settings.Load(func(name string) string { return env[name] })
}

func TestDefaults(t *testing.T) {
	s, err := load(map[string]string{"K8S_CLUSTER_MCP_ENDPOINT": "http://localhost:8080/mcp", "ANTHROPIC_API_KEY": "sk-ant-1", "AGENT_MODEL": ""})
	require.NoError(t, err)
	assert.Equal(t, &settings.Settings{
		Endpoint: "http://localhost:8080/mcp", WorkspaceRoot: "./incidents", Mode: "faults", MinSeverity: incident.Warning,
		ScriptPath:       "./agent-container/run-agent.sh",
		SystemPromptFile: "./configs/triage-system-prompt.md", AllowedTools: "Read,Write,Grep,Glob,Bash,Skill", Model: "sonnet",
		Timeout: 300 * time.Second, CLI: "claude", AnthropicKey: "sk-ant-1", LogLevel: slog.LevelInfo,
		Shutdown: 20 * time.Second,
	}, s)
}

func TestAllProblemsAtOnce(t *testing.T) {
	_, err := load(map[string]string{
		"SUBSCRIBE_MODE": "all", "MIN_SEVERITY": "fatal", "AGENT_CLI": "codex", "LOG_LEVEL": "loud", "OPENAI_API_KEY": "",
		"AGENT_TIMEOUT": "soon", "SHUTDOWN_TIMEOUT": "0",
	})
	var wrong *scoring.FieldError
	require.ErrorAs(t, err, &wrong)
	assert.EqualError(t, err, `triage: K8S_CLUSTER_MCP_ENDPOINT is missing; allowed: an http or https URL
triage: SUBSCRIBE_MODE is "all"; allowed: faults|resource-faults
triage: MIN_SEVERITY is "fatal"; allowed: info|warning|error|critical
triage: AGENT_TIMEOUT is "soon"; allowed: seconds, a whole number from 1 to 604800
triage: SHUTDOWN_TIMEOUT is "0"; allowed: seconds, a whole number from 1 to 604800
triage: LOG_LEVEL is "loud"; allowed: debug|info|warn|error
triage: OPENAI_API_KEY is missing; allowed: a key, when AGENT_CLI is codex`)
}

// TestAPasswordInAURL is as secret as a token.
func TestAPasswordInAURL(t *testing.T) {
	for _, endpoint := range []string{"ftp://me:pass-1@host/mcp", "http://me:pass-1%zz@host/mcp"} {
		_, err := load(map[string]string{"K8S_CLUSTER_MCP_ENDPOINT": endpoint, "AGENT_CLI": "offline"})
		assert.ErrorContains(t, err, `K8S_CLUSTER_MCP_ENDPOINT is "(hidden)@host/mcp"`)
	}
	assert.Equal(t, "me@example.com", settings.WithoutUser("me@example.com"), "no URL, no password")
}

// The Deployment of docs/live.md has what its volume asks for, and
// all settings that have no default.
func TestTheDeploymentOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/live.md")
	require.NoError(t, err)
	_, block, found := strings.Cut(string(page), "```yaml\napiVersion: apps/v1\n")
	require.True(t, found)
	block, _, _ = strings.Cut(block, "```")
	env := map[string]string{}
	for _, v := range regexp.MustCompile(`- \{ name: ([A-Z0-9_]+), value(?:: "?([^" }]+)|From)`).FindAllStringSubmatch(block, -1) {
		env[v[1]] = v[2]
		if v[2] == "" {
			env[v[1]] = "from-a-secret"
		}
	}
	s, err := load(env)
	require.NoError(t, err)
	for _, want := range []string{
		"name: incidents, mountPath: " + s.WorkspaceRoot, "name: incidents, persistentVolumeClaim",
		"terminationGracePeriodSeconds: 30 ",
	} {
		assert.Contains(t, block, want)
	}
	assert.Less(t, s.Shutdown, 30*time.Second)
}
