package settings_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/shakedown-go/shakedown/examples/triage/internal/settings"
	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

func load(args []string, env map[string]string) (*settings.Settings, error) {
	return settings.Load(flag.NewFlagSet("triage", flag.ContinueOnError), args, func(name string) string { return env[name] })
}

func TestDefaults(t *testing.T) {
	s, err := load(nil, map[string]string{"K8S_CLUSTER_MCP_ENDPOINT": "http://localhost:8080/mcp", "ANTHROPIC_API_KEY": "sk-ant-1"})
	require.NoError(t, err)
	assert.Equal(t, &settings.Settings{
		Endpoint: "http://localhost:8080/mcp", WorkspaceRoot: "./incidents", Mode: "faults", MinSeverity: incident.Warning,
		DedupeWindow: 300 * time.Second, MaxAgents: 5, QueueSize: 1000, ScriptPath: "./agent-container/run-agent.sh",
		SystemPromptFile: "./configs/triage-system-prompt.md", AllowedTools: "Read,Write,Grep,Glob,Bash,Skill", Model: "sonnet",
		Timeout: 300 * time.Second, CLI: "claude", AnthropicKey: "sk-ant-1", LogLevel: slog.LevelInfo,
		Shutdown: 20 * time.Second,
	}, s)
}

func TestFlagsOverEnvironmentOverFileOverDefaults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "triage.yaml")
	require.NoError(t, os.WriteFile(file, []byte("K8S_CLUSTER_MCP_ENDPOINT: http://file/mcp\nAGENT_MODEL: file\nAGENT_TIMEOUT: 10\n"+
		"MAX_AGENTS: 2\nAGENT_CLI: offline\nSLACK_WEBHOOK_URL: https://hooks/x\n"), 0o600))
	s, err := load([]string{"-config", file, "-agent-model", "flag"},
		map[string]string{"AGENT_MODEL": "environment", "AGENT_TIMEOUT": "20", "MAX_AGENTS": ""})
	require.NoError(t, err)
	assert.Equal(t, "flag", s.Model)
	assert.Equal(t, 20*time.Second, s.Timeout)
	assert.Equal(t, 2, s.MaxAgents, "an empty variable is none")
	assert.Equal(t, "http://file/mcp", s.Endpoint)
	assert.Equal(t, "./incidents", s.WorkspaceRoot)
	assert.EqualValues(t, "https://hooks/x", s.SlackWebhook)
}

func TestAllProblemsAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "triage.yaml")
	require.NoError(t, os.WriteFile(file, []byte("ANTROPIC_API_KEY: sk-ant-oops\nMIN_SEVERITY: fatal\nMAX_AGENTS: [1]\n"), 0o600))
	_, err := load([]string{"-config", file, "-agent-timeout", "soon"}, map[string]string{
		"SUBSCRIBE_MODE": "all", "AGENT_CLI": "codex", "LOG_LEVEL": "loud", "QUEUE_SIZE": "0", "OPENAI_API_KEY": "",
		"SHUTDOWN_TIMEOUT": "0", "RETENTION_AGE": "-1", "HEALTH_ADDRESS": "9090",
	})
	var wrong *settings.Error
	require.ErrorAs(t, err, &wrong)
	assert.EqualError(t, err, `triage: ANTROPIC_API_KEY (from the file) is "(hidden)"; allowed: no such setting
triage: MAX_AGENTS (from the file) is "a list or mapping"; allowed: a text or number
triage: K8S_CLUSTER_MCP_ENDPOINT is missing; allowed: an http or https URL
triage: SUBSCRIBE_MODE (from the environment) is "all"; allowed: faults|resource-faults
triage: MIN_SEVERITY (from the file) is "fatal"; allowed: info|warning|error|critical
triage: QUEUE_SIZE (from the environment) is "0"; allowed: a whole number from 1 to 1048576
triage: AGENT_TIMEOUT (from the flag) is "soon"; allowed: seconds, a whole number from 1 to 604800
triage: SHUTDOWN_TIMEOUT (from the environment) is "0"; allowed: seconds, a whole number from 1 to 604800
triage: RETENTION_AGE (from the environment) is "-1"; allowed: seconds, a whole number from 0 to 315360000
triage: HEALTH_ADDRESS (from the environment) is "9090"; allowed: host:port, such as 127.0.0.1:9090
triage: LOG_LEVEL (from the environment) is "loud"; allowed: debug|info|warn|error
triage: OPENAI_API_KEY is missing; allowed: a key, when AGENT_CLI is codex`)
	assert.NotContains(t, err.Error(), "oops", "a misspelt secret stays one")
}

func TestBadFilesAndFlags(t *testing.T) {
	_, err := load([]string{"-config", "no-such-file.yaml"}, nil)
	assert.ErrorIs(t, err, os.ErrNotExist)
	file := filepath.Join(t.TempDir(), "bad.yaml")
	require.NoError(t, os.WriteFile(file, []byte("a: b: c"), 0o600))
	_, err = load([]string{"-config", file}, nil)
	assert.ErrorContains(t, err, "triage: config: ")
	_, err = load([]string{"-openai-api-key", "sk"}, nil)
	assert.ErrorContains(t, err, "flag provided but not defined: -openai-api-key", "no secrets on the command line")
	_, err = load([]string{"-h"}, nil)
	assert.ErrorIs(t, err, flag.ErrHelp)
}

func TestSecretsAreNotPrinted(t *testing.T) {
	s := settings.Settings{Token: "tok-123", SlackWebhook: "https://hooks/secret"}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("settings", "settings", s, "token", s.Token)
	doc, err := json.Marshal(struct{ Token settings.Secret }{s.Token})
	require.NoError(t, err)
	for _, printed := range []string{fmt.Sprint(s), fmt.Sprintf("%+v %#v %s %q", s, s, s.Token, s.Token), log.String(), string(doc)} {
		assert.NotContains(t, printed, "tok-123")
		assert.NotContains(t, printed, "hooks/secret")
	}
	assert.Equal(t, "(not set)", settings.Secret("").String())
}

// TestAPasswordInAURL is as secret as a token.
func TestAPasswordInAURL(t *testing.T) {
	for _, endpoint := range []string{"ftp://me:pass-1@host/mcp", "http://me:pass-1%zz@host/mcp"} {
		_, err := load(nil, map[string]string{"K8S_CLUSTER_MCP_ENDPOINT": endpoint, "AGENT_CLI": "offline"})
		assert.ErrorContains(t, err, `K8S_CLUSTER_MCP_ENDPOINT (from the environment) is "(hidden)@host/mcp"`)
	}
	assert.Equal(t, "me@example.com", settings.WithoutUser("me@example.com"), "no URL, no password")
}

// The Deployment of docs/incidents.md has what its probes and its volume ask for, and
// all settings that have no default.
func TestTheDeploymentOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/incidents.md")
	require.NoError(t, err)
	_, block, found := strings.Cut(string(page), "```yaml\napiVersion: apps/v1\n")
	require.True(t, found)
	block, _, _ = strings.Cut(block, "```")
	var d struct {
		Spec struct {
			Template struct {
				Spec struct {
					TerminationGracePeriodSeconds int `yaml:"terminationGracePeriodSeconds"`
					Containers                    []struct {
						Env, Ports   []map[string]any
						VolumeMounts []map[string]string `yaml:"volumeMounts"`
						Readiness    struct {
							HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
						} `yaml:"readinessProbe"`
					}
					Volumes []map[string]any
				}
			}
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(block), &d))
	pod := d.Spec.Template.Spec
	require.Len(t, pod.Containers, 1)
	c, env := pod.Containers[0], map[string]string{}
	for _, v := range c.Env {
		value, plain := v["value"].(string)
		if !plain {
			value = "from-a-secret"
		}
		env[v["name"].(string)] = value
	}
	s, err := load(nil, env)
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprintf(":%v", c.Ports[0]["containerPort"]), s.HealthAddress)
	assert.Equal(t, []string{"/healthz", "health"}, []string{c.Readiness.HTTPGet.Path, c.Readiness.HTTPGet.Port})
	assert.Equal(t, "health", c.Ports[0]["name"])
	assert.Equal(t, s.WorkspaceRoot, c.VolumeMounts[0]["mountPath"])
	assert.Equal(t, pod.Volumes[0]["name"], c.VolumeMounts[0]["name"])
	assert.Greater(t, time.Duration(pod.TerminationGracePeriodSeconds)*time.Second, s.Shutdown)
}
