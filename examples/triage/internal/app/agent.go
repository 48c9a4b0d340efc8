package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/shakedown-go/shakedown/examples/triage/internal/offline"
	"github.com/shakedown-go/shakedown/examples/triage/internal/settings"
	"github.com/shakedown-go/shakedown/mcpadapter/incident"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// Variables by which an agent learns where to look.
const (
	envEndpoint = "K8S_CLUSTER_MCP_ENDPOINT"
	envToken    = "MCP_TOKEN"
	envImage    = "AGENT_CONTAINER_IMAGE" // which the script runs an agent in
)

// commandOf is the agent that the settings ask for. Agents run in their
// workspaces, so paths are made absolute. The error names every file that is missing.
func commandOf(s *settings.Settings) (*incident.Command, error) {
	secrets := []string{s.Token, s.AnthropicKey, s.OpenAIKey, s.SlackWebhook}
	for _, name := range inheritedKeys() {
		secrets = append(secrets, os.Getenv(name))
	}
	c := &incident.Command{
		Model: s.Model, AllowedTools: s.AllowedTools, Redact: func(text string) string { return policy.Redact(text, secrets...) },
		Env: map[string]string{envEndpoint: s.Endpoint, envToken: s.Token, "AGENT_CLI": s.CLI},
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("triage: %w", err)
	}
	if s.CLI == "offline" {
		c.Path = []string{self, offlineAgent}
		return c, nil
	}
	script, scriptWrong := file("AGENT_SCRIPT_PATH", s.ScriptPath)
	prompt, promptWrong := file("AGENT_SYSTEM_PROMPT_FILE", s.SystemPromptFile)
	c.Path, c.SystemPromptFile = []string{"bash", script}, prompt
	switch s.CLI {
	case "claude":
		c.Env["ANTHROPIC_API_KEY"] = s.AnthropicKey
	case "codex":
		c.Env["OPENAI_API_KEY"] = s.OpenAIKey
	case "gemini":
		c.Pass = inheritedKeys()
	case "goose": // it takes whichever key its provider needs
		c.Pass = append(inheritedKeys(), "GOOSE_PROVIDER", "GOOSE_MODEL")
		for name, key := range map[string]string{"ANTHROPIC_API_KEY": s.AnthropicKey, "OPENAI_API_KEY": s.OpenAIKey} {
			if key != "" {
				c.Env[name] = key
			}
		}
	}
	c.Pass = append(c.Pass, envImage, "CONTAINER_ENGINE", "DOCKER_HOST", "XDG_RUNTIME_DIR")
	return c, errors.Join(scriptWrong, promptWrong)
}

// inheritedKeys are secrets of agents that are not settings of this program.
func inheritedKeys() []string { return []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"} }

// file makes the path of a setting absolute and looks whether there is a file.
func file(name, path string) (string, error) {
	if path == "" {
		return "", nil
	}
	abs, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(abs)
	}
	if err != nil {
		return "", fmt.Errorf("triage: %s is %q; allowed: a file: %w", name, path, err)
	}
	return abs, nil
}

// investigate is the offline agent, by the command protocol of incident.Command.
func (p *Program) investigate(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet(offlineAgent, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	workspace := fs.String("workspace", "", "")
	timeout := fs.Int("timeout", 300, "")
	for _, ignored := range []string{"model", "allowed-tools", "agent", "system-prompt-file"} {
		fs.String(ignored, "", "for agents with a language model")
	}
	err := fs.Parse(args)
	if err == nil && *workspace == "" {
		err = errors.New("--workspace is missing; allowed: a directory")
	}
	if err == nil && *timeout < 1 {
		err = fmt.Errorf("--timeout is %d; allowed: at least 1", *timeout)
	}
	if err != nil {
		return &usageError{fmt.Errorf("triage: %s: %w", offlineAgent, err)}
	}
	within := time.Duration(*timeout) * time.Second
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	e, err := offline.ReadEvent(*workspace)
	if err != nil {
		return err
	}
	server := offline.Server{Endpoint: p.Getenv(envEndpoint), Token: p.Getenv(envToken)}
	found, err := offline.Investigate(ctx, server, e, within*2/3) // a third of the time is left for what may be slow
	if found == nil {
		return err
	}
	return found.Write(*workspace)
}
