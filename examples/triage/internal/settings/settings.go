// Package settings reads the settings of the triage program: flags over
// environment over file over defaults.
package settings

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

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
	DedupeWindow     time.Duration     // DEDUPE_WINDOW, in seconds
	MaxAgents        int               // MAX_AGENTS
	QueueSize        int               // QUEUE_SIZE
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
	MaxAge           time.Duration     // RETENTION_AGE, in seconds; 0: no limit
	HealthAddress    string            // HEALTH_ADDRESS; "": not served
}

// An Error is one wrong setting. The value of a secret is not kept.
type Error struct {
	Name    string // as in the environment
	Source  string // "flag", "environment", "file" or "default"
	Value   any    // nil: none was given
	Allowed string
}

// Error names the setting, where it came from, its value and what is allowed.
func (e *Error) Error() string {
	if e.Value == nil {
		return fmt.Sprintf("triage: %s is missing; allowed: %s", e.Name, e.Allowed)
	}
	return fmt.Sprintf("triage: %s (from the %s) is %q; allowed: %s", e.Name, e.Source, e.Value, e.Allowed)
}

// setting is one row of the table of settings.
type setting struct {
	name, otherwise, usage string
	secret                 bool
	set                    func(s *Settings, value string) (allowed string)
}

func (r setting) flag() string { return strings.ReplaceAll(strings.ToLower(r.name), "_", "-") }

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
		{"DEDUPE_WINDOW", "300", "seconds within which like events are one", false,
			seconds(func(s *Settings) *time.Duration { return &s.DedupeWindow })},
		{"MAX_AGENTS", "5", "agents at once", false, number(func(s *Settings) *int { return &s.MaxAgents }, 1000)},
		{"QUEUE_SIZE", "1000", "events that wait for an agent", false,
			number(func(s *Settings) *int { return &s.QueueSize }, 1<<20)},
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
		{"RETENTION_AGE", "0", "seconds after which the workspace of an ended incident is removed; 0: never", false,
			secondsOrNone(func(s *Settings) *time.Duration { return &s.MaxAge })},
		{"HEALTH_ADDRESS", "", "host:port that answers /healthz and /metrics, to anyone; empty: none", false,
			address(func(s *Settings) *string { return &s.HealthAddress })},
		{"LOG_LEVEL", "info", "debug, info, warn or error", false, setLevel},
	}
}

// Load reads the settings from flags over environment over file over
// defaults; empty values count as not given. Flags are the names in lower case
// with hyphens, such as -agent-timeout; the file, named by -config, is YAML with
// the names of the environment as keys. Flags of the program's own can be put on
// fs before. All problems are returned, joined; flag.ErrHelp when help was asked for.
//
// Secrets are refused on the command line, where everyone on the machine can
// read them.
func Load(fs *flag.FlagSet, args []string, getenv func(string) string) (*Settings, error) {
	rows := table()
	given := make(map[string]*string)
	for _, r := range rows {
		if !r.secret {
			given[r.name] = fs.String(r.flag(), "", r.usage+" ("+r.name+")"+defaultText(r.otherwise))
		}
	}
	config := fs.String("config", "", "YAML file with settings")
	fs.SetOutput(io.Discard) // the error says it all; usage is the program's to print
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	file, err := readFile(*config, rows)
	problems := []error{err}
	s := new(Settings)
	for _, r := range rows {
		value, source := r.otherwise, "default"
		for _, from := range []struct{ source, value string }{
			{"flag", deref(given[r.name])}, {"environment", getenv(r.name)}, {"file", file[r.name]},
		} {
			if from.value != "" {
				value, source = from.value, from.source
				break
			}
		}
		if allowed := r.set(s, value); allowed != "" {
			problems = append(problems, r.problem(source, value, allowed))
		}
	}
	problems = append(problems, s.keys()...)
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return s, nil
}

func (r setting) problem(source, value, allowed string) error {
	e := &Error{Name: r.name, Source: source, Value: value, Allowed: allowed}
	switch {
	case value == "":
		e.Value = nil
	case r.secret:
		e.Value = "(hidden)"
	default:
		e.Value = WithoutUser(value)
	}
	return e
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

// readFile reads the file, and refuses what is no setting.
func readFile(path string, rows []setting) (map[string]string, error) {
	if path == "" {
		return nil, nil
	}
	doc, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("triage: config: %w", err)
	}
	var nodes map[string]yaml.Node
	if err := yaml.Unmarshal(doc, &nodes); err != nil {
		return nil, fmt.Errorf("triage: config: %s: %w", path, err)
	}
	found := make(map[string]string)
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		node := nodes[name]
		switch {
		case !slices.ContainsFunc(rows, func(r setting) bool { return r.name == name }):
			// The value may be that of a secret whose name was misspelt.
			problems = append(problems,
				&Error{Name: name, Source: "file", Value: "(hidden)", Allowed: "no such setting"})
		case node.Kind != yaml.ScalarNode:
			problems = append(problems,
				&Error{Name: name, Source: "file", Value: "a list or mapping", Allowed: "a text or number"})
		default:
			found[name] = node.Value
		}
	}
	return found, errors.Join(problems...)
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func defaultText(value string) string {
	if value == "" {
		return ""
	}
	return ", default " + value
}
