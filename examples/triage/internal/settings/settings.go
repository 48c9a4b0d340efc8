// Package settings reads the settings of the triage program from its environment.
package settings

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

// A Secret is a text that is not printed: not by fmt, not by a logger, not as
// JSON. Its value is string(s).
type Secret string

// String hides the value.
func (s Secret) String() string {
	if s == "" {
		return "(not set)"
	}
	return "(hidden)"
}

// GoString hides the value.
func (s Secret) GoString() string { return s.String() }

// LogValue hides the value.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the value.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Settings are the settings of a runner program, see [Load].
type Settings struct {
	Endpoint         string            // K8S_CLUSTER_MCP_ENDPOINT, required
	Token            Secret            // MCP_TOKEN
	WorkspaceRoot    string            // WORKSPACE_ROOT
	Mode             string            // SUBSCRIBE_MODE
	MinSeverity      incident.Severity // MIN_SEVERITY
	ScriptPath       string            // AGENT_SCRIPT_PATH
	SystemPromptFile string            // AGENT_SYSTEM_PROMPT_FILE
	AllowedTools     string            // AGENT_ALLOWED_TOOLS
	Model            string            // AGENT_MODEL
	Timeout          time.Duration     // AGENT_TIMEOUT, in seconds
	CLI              string            // AGENT_CLI
	AnthropicKey     Secret            // ANTHROPIC_API_KEY, required for claude
	OpenAIKey        Secret            // OPENAI_API_KEY, required for codex
	SlackWebhook     Secret            // SLACK_WEBHOOK_URL
	StorageURL       string            // STORAGE_URL
	LogLevel         slog.Level        // LOG_LEVEL
	Shutdown         time.Duration     // SHUTDOWN_TIMEOUT, in seconds
	HealthAddress    string            // HEALTH_ADDRESS; "": not served
}

// An Error is one wrong setting. The value of a secret is not kept.
type Error struct {
	Name    string // of the variable
	Value   string // "": none was given
	Allowed string
}

// Error names the setting, its value and what is allowed.
func (e *Error) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("triage: %s is missing; allowed: %s", e.Name, e.Allowed)
	}
	return fmt.Sprintf("triage: %s is %q; allowed: %s", e.Name, e.Value, e.Allowed)
}

// setting is one row of the table of settings.
type setting struct {
	name, otherwise, usage string
	secret                 bool
	set                    func(s *Settings, value string) (allowed string)
}

// AgentCLIs are the agents that AGENT_CLI may name.
func AgentCLIs() []string { return []string{"claude", "codex", "goose", "gemini", "offline"} }

func table() []setting {
	return []setting{
		{"K8S_CLUSTER_MCP_ENDPOINT", "", "URL of the MCP server whose faults are investigated", false,
			httpURL(func(s *Settings) *string { return &s.Endpoint })},
		{"MCP_TOKEN", "", "bearer token for that server", true, hidden(func(s *Settings) *Secret { return &s.Token })},
		{"WORKSPACE_ROOT", "./incidents", "directory of the incidents", false,
			filled(func(s *Settings) *string { return &s.WorkspaceRoot })},
		{"SUBSCRIBE_MODE", incident.ModeFaults, "which events to subscribe to", false,
			oneOf(func(s *Settings) *string { return &s.Mode }, incident.ModeFaults, incident.ModeResourceFaults)},
		{"MIN_SEVERITY", "WARNING", "least severity of an incident", false, setSeverity},
		{"AGENT_SCRIPT_PATH", "./agent-container/run-agent.sh", "script that runs the agent", false,
			filled(func(s *Settings) *string { return &s.ScriptPath })},
		{"AGENT_SYSTEM_PROMPT_FILE", "./configs/triage-system-prompt.md", "its system prompt", false,
			anyText(func(s *Settings) *string { return &s.SystemPromptFile })},
		{"AGENT_ALLOWED_TOOLS", "Read,Write,Grep,Glob,Bash,Skill", "tools that it may use", false,
			anyText(func(s *Settings) *string { return &s.AllowedTools })},
		{"AGENT_MODEL", "sonnet", "model that it uses", false, filled(func(s *Settings) *string { return &s.Model })},
		{"AGENT_TIMEOUT", "300", "seconds that it may take", false,
			seconds(func(s *Settings) *time.Duration { return &s.Timeout })},
		{"AGENT_CLI", "claude", "the agent: " + strings.Join(AgentCLIs(), ", "), false,
			oneOf(func(s *Settings) *string { return &s.CLI }, AgentCLIs()...)},
		{"ANTHROPIC_API_KEY", "", "required for claude", true,
			hidden(func(s *Settings) *Secret { return &s.AnthropicKey })},
		{"OPENAI_API_KEY", "", "required for codex", true, hidden(func(s *Settings) *Secret { return &s.OpenAIKey })},
		{"SLACK_WEBHOOK_URL", "", "where incidents are announced", true,
			hidden(func(s *Settings) *Secret { return &s.SlackWebhook })},
		{"STORAGE_URL", "", "object store for records and reports, besides the workspaces", false,
			anyText(func(s *Settings) *string { return &s.StorageURL })},
		{"SHUTDOWN_TIMEOUT", "20", "seconds from SIGTERM to the end, of which agents have three quarters", false,
			seconds(func(s *Settings) *time.Duration { return &s.Shutdown })},
		{"HEALTH_ADDRESS", "", "host:port that answers /healthz and /metrics, to anyone; empty: none", false,
			address(func(s *Settings) *string { return &s.HealthAddress })},
		{"LOG_LEVEL", "info", "debug, info, warn or error", false, setLevel},
	}
}

// Usage lists the settings, a line each.
func Usage() string {
	var b strings.Builder
	for _, r := range table() {
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
	for _, r := range table() {
		value := cmp.Or(getenv(r.name), r.otherwise)
		allowed := r.set(s, value)
		if allowed == "" {
			continue
		}
		if r.secret && value != "" {
			value = "(hidden)"
		}
		problems = append(problems, &Error{r.name, WithoutUser(value), allowed})
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
		problems = append(problems, &Error{Name: "ANTHROPIC_API_KEY", Allowed: "a key, when AGENT_CLI is claude"})
	}
	if s.CLI == "codex" && s.OpenAIKey == "" {
		problems = append(problems, &Error{Name: "OPENAI_API_KEY", Allowed: "a key, when AGENT_CLI is codex"})
	}
	return problems
}

// The functions here make setters: they put a text in its place, or say what
// is allowed instead.

type setter = func(s *Settings, value string) (allowed string)

func anyText(at func(*Settings) *string) setter {
	return func(s *Settings, value string) string { *at(s) = value; return "" }
}

func hidden(at func(*Settings) *Secret) setter {
	return func(s *Settings, value string) string { *at(s) = Secret(value); return "" }
}

func filled(at func(*Settings) *string) setter {
	return func(s *Settings, value string) string {
		*at(s) = value
		if strings.TrimSpace(value) == "" {
			return "a text"
		}
		return ""
	}
}

func httpURL(at func(*Settings) *string) setter {
	return func(s *Settings, value string) string {
		*at(s) = value
		if u, err := url.Parse(value); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return "an http or https URL"
		}
		return ""
	}
}

func oneOf(at func(*Settings) *string, allowed ...string) setter {
	return func(s *Settings, value string) string {
		*at(s) = strings.ToLower(strings.TrimSpace(value))
		if !slices.Contains(allowed, *at(s)) {
			return strings.Join(allowed, "|")
		}
		return ""
	}
}

// longest is a week: a longer wait is a slip.
const longest = 7 * 24 * 3600

func seconds(at func(*Settings) *time.Duration) setter {
	return func(s *Settings, value string) string {
		n, err := strconv.Atoi(value)
		if *at(s) = time.Duration(n) * time.Second; err != nil || n < 1 || n > longest {
			return fmt.Sprintf("seconds, a whole number from 1 to %d", longest)
		}
		return ""
	}
}

func address(at func(*Settings) *string) setter {
	return func(s *Settings, value string) string {
		*at(s) = value
		if _, _, err := net.SplitHostPort(value); value != "" && err != nil {
			return "host:port, such as 127.0.0.1:9090"
		}
		return ""
	}
}

func setSeverity(s *Settings, value string) string {
	severity, err := incident.ParseSeverity(value)
	if s.MinSeverity = severity; err != nil {
		return "info|warning|error|critical"
	}
	return ""
}

func setLevel(s *Settings, value string) string {
	if s.LogLevel.UnmarshalText([]byte(value)) != nil {
		return "debug|info|warn|error"
	}
	return ""
}
