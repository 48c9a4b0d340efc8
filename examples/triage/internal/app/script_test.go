package app

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

// TestTheScript runs agent-container/run-agent.sh with agents that only write
// down how they were called.
func TestTheScript(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("there is no bash here")
	}
	script, err := filepath.Abs("../../agent-container/run-agent.sh")
	require.NoError(t, err)
	out, err := exec.Command(bash, "-n", script).CombinedOutput()
	require.NoError(t, err, string(out))
	for cli, want := range map[string][]string{
		"claude": {"-p\n", "--model\nsonnet\n", "--allowedTools\nRead,Write,mcp__cluster\n", "--append-system-prompt\nBe brief.\n", "--mcp-config\n"},
		"codex":  {"exec\n", "--model\nsonnet\n"},
		"gemini": {"--model\nsonnet\n", "--prompt\n"},
		"goose":  {"run\n", "--recipe\n"},
	} {
		t.Run(cli, func(t *testing.T) {
			bin, dir := t.TempDir(), t.TempDir()
			fake := "#!" + bash + `
printf '%s\n' "$@" >args
for file in "$@" "${GEMINI_CLI_SYSTEM_SETTINGS_PATH:-}"; do if [ -f "$file" ]; then cat "$file" >settings; fi; done
mkdir -p output
echo found >output/investigation.md
`
			require.NoError(t, os.WriteFile(filepath.Join(bin, cli), []byte(fake), 0o700))
			prompt := filepath.Join(bin, "prompt.md")
			require.NoError(t, os.WriteFile(prompt, []byte("Be brief.\nSay \"no\", not \\no, and\tstop.\n"), 0o600))
			c := &incident.Command{Path: []string{bash, script}, Model: "sonnet", AllowedTools: "Read,Write", SystemPromptFile: prompt, Prompt: "Look; into $(it)",
				Env: map[string]string{"PATH": bin + string(os.PathListSeparator) + os.Getenv("PATH"), "AGENT_CLI": cli, "HOME": dir,
					envEndpoint: "http://127.0.0.1:1/mcp", envToken: "tok", "ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}}
			r := c.Investigate(t.Context(), incident.Job{Incident: incident.Incident{IncidentID: "1f"}, Dir: dir, Timeout: time.Minute})
			require.NoError(t, r.Err)
			require.Zero(t, r.ExitCode, string(r.Output))
			args, err := os.ReadFile(filepath.Join(dir, "args"))
			require.NoError(t, err)
			settings := []byte(`{"of codex":"http://127.0.0.1:1/mcp"}`)
			if cli != "codex" { // it gets the server on the command line, and the token from the environment
				settings, err = os.ReadFile(filepath.Join(dir, "settings"))
				require.NoError(t, err)
				assert.Contains(t, string(settings), `"Authorization":"Bearer tok"`)
			}
			assert.True(t, json.Valid(settings), "%s", settings)
			assert.Contains(t, string(args)+string(settings), "http://127.0.0.1:1/mcp")
			for _, w := range append(want, "Look; into $(it)") {
				assert.Contains(t, string(args)+string(settings), w)
			}
			assert.NotContains(t, string(args), "tok\n", "others on this machine can read arguments")
			assert.FileExists(t, filepath.Join(dir, incident.ReportFile))

			require.NoError(t, os.WriteFile(filepath.Join(bin, cli), []byte("#!"+bash+"\nexit 3\n"), 0o700))
			r = c.Investigate(t.Context(), incident.Job{Dir: dir, Timeout: time.Minute})
			assert.Equal(t, 3, r.ExitCode, "as the agent does")
		})
	}
	for _, tc := range []struct {
		cli  string
		args []string
		want string
	}{
		{"claude", []string{"--workspace", t.TempDir(), "x"}, "claude is not installed"},
		{"hal", []string{"--workspace", t.TempDir(), "x"}, `AGENT_CLI is "hal"; allowed: claude, codex, goose, gemini`},
		{"claude", []string{"--workspace", "/no/such/dir", "x"}, "--workspace"},
		{"claude", []string{"--nope"}, "--nope"},
		{"claude", nil, "prompt is missing"},
	} {
		cmd := exec.Command(bash, append([]string{script}, tc.args...)...)
		cmd.Env = []string{"PATH=/usr/bin:/bin", "AGENT_CLI=" + tc.cli}
		out, err := cmd.CombinedOutput()
		assert.Error(t, err, tc.want)
		assert.Contains(t, strings.ReplaceAll(string(out), "\n", " "), tc.want)
	}
}
