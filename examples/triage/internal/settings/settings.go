// Package settings reads the settings of the triage program from its environment.
package settings

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
	"github.com/shakedown-go/shakedown/scoring"
)

// Settings are the settings of a runner program, see [Load].
type Settings struct {
	Endpoint         string            // K8S_CLUSTER_MCP_ENDPOINT, required
	Token            string            // MCP_TOKEN, a secret
	WorkspaceRoot    string            // WORKSPACE_ROOT
	Mode             string            // SUBSCRIBE_MODE
	MinSeverity      incident.Severity // MIN_SEVERITY
	ScriptPath       string            // AGENT_SCRIPT_PATH
	SystemPromptFile string            // AGENT_SYSTEM_PROMPT_FILE
	AllowedTools     string            // AGENT_ALLOWED_TOOLS
	Model            string            // AGENT_MODEL
	Timeout          time.Duration     // AGENT_TIMEOUT, in seconds
	CLI              string            // AGENT_CLI
	AnthropicKey     string            // ANTHROPIC_API_KEY, a secret, required for claude
	OpenAIKey        string            // OPENAI_API_KEY, a secret, required for codex
	SlackWebhook     string            // SLACK_WEBHOOK_URL, a secret
	StorageURL       string            // STORAGE_URL
	LogLevel         slog.Level        // LOG_LEVEL
	Shutdown         time.Duration     // SHUTDOWN_TIMEOUT, in seconds
}

// wrong is one wrong setting. The value of a secret is not kept.
func wrong(name, value, allowed string) error {
	e := &scoring.FieldError{Package: "triage", Field: name, Allowed: allowed}
	if value != "" {
		e.Value = value
	}
	return e
}

// setting is one row of the table of settings. set puts a text in its place, or says what is
// allowed instead.
type setting struct {
	name, otherwise, usage string
	set                    func(value string) (allowed string)
	secret                 bool
}

func (s *Settings) table() []setting {
	agents := []string{"claude", "codex", "goose", "gemini", "offline"}
	return []setting{
		{"K8S_CLUSTER_MCP_ENDPOINT", "", "URL of the MCP server whose faults are investigated", httpURL(&s.Endpoint), false},
		{"MCP_TOKEN", "", "bearer token for that server", anyText(&s.Token), true},
		{"WORKSPACE_ROOT", "./incidents", "directory of the incidents", filled(&s.WorkspaceRoot), false},
		{"SUBSCRIBE_MODE", incident.ModeFaults, "which events to subscribe to",
			oneOf(&s.Mode, incident.ModeFaults, incident.ModeResourceFaults), false},
		{"MIN_SEVERITY", "WARNING", "least severity of an incident", s.setSeverity, false},
		{"AGENT_SCRIPT_PATH", "./agent-container/run-agent.sh", "script that runs the agent", filled(&s.ScriptPath), false},
		{"AGENT_SYSTEM_PROMPT_FILE", "./configs/triage-system-prompt.md", "its system prompt",
			anyText(&s.SystemPromptFile), false},
		{"AGENT_ALLOWED_TOOLS", "Read,Write,Grep,Glob,Bash,Skill", "tools that it may use",
			anyText(&s.AllowedTools), false},
		{"AGENT_MODEL", "sonnet", "model that it uses", filled(&s.Model), false},
		{"AGENT_TIMEOUT", "300", "seconds that it may take", seconds(&s.Timeout), false},
		{"AGENT_CLI", "claude", "the agent: " + strings.Join(agents, ", "), oneOf(&s.CLI, agents...), false},
		{"ANTHROPIC_API_KEY", "", "required for claude", anyText(&s.AnthropicKey), true},
		{"OPENAI_API_KEY", "", "required for codex", anyText(&s.OpenAIKey), true},
		{"SLACK_WEBHOOK_URL", "", "where incidents are announced", anyText(&s.SlackWebhook), true},
		{"STORAGE_URL", "", "object store for records and reports, besides the workspaces", anyText(&s.StorageURL), false},
		{"SHUTDOWN_TIMEOUT", "20", "seconds from SIGTERM to the end, of which agents have three quarters",
			seconds(&s.Shutdown), false},
		{"LOG_LEVEL", "info", "debug, info, warn or error", s.setLevel, false},
	}
}

// Usage lists the settings, a line each.
func Usage() string {
	var b strings.Builder
	for _, r := range new(Settings).table() {
		otherwise := ""
		if r.otherwise != "" {
			otherwise = ", default " + r.otherwise
		}
		fmt.Fprintf(&b, "  %-26s%s%s\n", r.name, r.usage, otherwise)
	}
	return b.String()
}

// Load reads the settings; empty values count as not given. All problems are returned, joined.
func Load(getenv func(string) string) (*Settings, error) {
	var problems []error
	s := new(Settings)
	for _, r := range s.table() {
		value := cmp.Or(getenv(r.name), r.otherwise)
		allowed := r.set(value)
		if allowed == "" {
			continue
		}
		if r.secret && value != "" {
			value = "(hidden)"
		}
		problems = append(problems, wrong(r.name, WithoutUser(value), allowed))
	}
	if err := errors.Join(append(problems, s.keys()...)...); err != nil {
		return nil, err
	}
	return s, nil
}

// WithoutUser takes the name and the password out of what may be a URL.
func WithoutUser(value string) string {
	if at := strings.LastIndexByte(value, '@'); at >= 0 && strings.Contains(value, "://") {
		return "(hidden)" + value[at:]
	}
	return value
}

// keys are the secrets that some agents cannot do without.
func (s *Settings) keys() (problems []error) {
	if s.CLI == "claude" && s.AnthropicKey == "" {
		problems = append(problems, wrong("ANTHROPIC_API_KEY", "", "a key, when AGENT_CLI is claude"))
	}
	if s.CLI == "codex" && s.OpenAIKey == "" {
		problems = append(problems, wrong("OPENAI_API_KEY", "", "a key, when AGENT_CLI is codex"))
	}
	return problems
}

func anyText(to *string) func(string) string {
	return func(value string) string { *to = value; return "" }
}

// checked takes any text, and says what is allowed unless it is ok.
func checked(to *string, ok func(string) bool, allowed string) func(string) string {
	return func(value string) string {
		if *to = value; ok(value) {
			return ""
		}
		return allowed
	}
}

func filled(to *string) func(string) string {
	return checked(to, func(value string) bool { return strings.TrimSpace(value) != "" }, "a text")
}

func httpURL(to *string) func(string) string {
	return checked(to, func(value string) bool {
		u, err := url.Parse(value)
		return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
	}, "an http or https URL")
}

func oneOf(to *string, allowed ...string) func(string) string {
	return func(value string) string {
		if *to = strings.ToLower(strings.TrimSpace(value)); slices.Contains(allowed, *to) {
			return ""
		}
		return strings.Join(allowed, "|")
	}
}

// longest is a week: a longer wait is a slip.
const longest = 7 * 24 * 3600

func seconds(to *time.Duration) func(string) string {
	return func(value string) string {
		n, err := strconv.Atoi(value)
		if *to = time.Duration(n) * time.Second; err != nil || n < 1 || n > longest {
			return fmt.Sprintf("seconds, a whole number from 1 to %d", longest)
		}
		return ""
	}
}

func (s *Settings) setSeverity(value string) (allowed string) {
	severity, err := incident.ParseSeverity(value)
	if s.MinSeverity = severity; err != nil {
		return "info|warning|error|critical"
	}
	return ""
}

func (s *Settings) setLevel(value string) (allowed string) {
	if s.LogLevel.UnmarshalText([]byte(value)) != nil {
		return "debug|info|warn|error"
	}
	return ""
}
