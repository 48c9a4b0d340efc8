package app

import (
	"bytes"
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/examples/triage/internal/settings"
	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

// fakeEngine writes a container engine that keeps its images in a folder, notes
// what it was asked, and in place of a container runs an agent that writes its
// report into whatever is mounted as the workspace.
func fakeEngine(t *testing.T, bin, name string, answers bool) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("there is no bash here")
	}
	state := 0
	if !answers {
		state = 1
	}
	script := fmt.Sprintf(`#!%s
dir=%q
echo "$*" >>"$dir/%s.log"
case $1 in
  version) [[ %d == 0 ]] || { echo "Cannot connect to the daemon" >&2; exit 1; } ;;
  image) [[ -e $dir/image-$3 ]] ;;
  build) [[ ! -e $dir/broken ]] || { echo "no network" >&2; exit 5; }; touch "$dir/image-$5" ;;
  run)
    for a in "$@"; do case $a in type=bind,source=*,target=/workspace) workspace=${a#type=bind,source=}; workspace=${workspace%%%%,target=/workspace} ;; esac; done
    mkdir -p "$workspace/output"
    printf 'the engine was %s and the key %%s\n' "$ANTHROPIC_API_KEY" >"$workspace/output/investigation.md"
    ;;
esac
`, bash, bin, name, state, name)
	require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700))
}

func TestAgentsRunInContainersWhereThereIsAnEngine(t *testing.T) {
	script, err := filepath.Abs("../../agent-container/run-agent.sh")
	require.NoError(t, err)
	const where, why = "agents run in containers", "agents run without a container"
	for _, tt := range []struct {
		name           string
		docker, podman string // "": not installed; "deaf": does not answer
		env            map[string]string
		cli, script    string
		broken         bool // no image can be built
		says           []string
		fails          string
		engine, image  string // what runs the agent; "": nothing does
		built          bool
	}{
		{name: "docker", docker: "there", podman: "there", says: []string{where, "engine=docker", "building the image"}, engine: "docker", image: "triage-agent-claude", built: true},
		{name: "podman, where docker is not installed", podman: "there", says: []string{where}, engine: "podman", image: "triage-agent-claude", built: true},
		{name: "podman, where docker does not answer", docker: "deaf", podman: "there", says: []string{where}, engine: "podman", image: "triage-agent-claude", built: true},
		{name: "the one that is named", docker: "there", podman: "there", env: map[string]string{envEngine: "podman"}, says: []string{where}, engine: "podman", image: "triage-agent-claude", built: true},
		{name: "the image that is named", docker: "there", env: map[string]string{envImage: "registry.example/agent:1"}, says: []string{where, "registry.example/agent:1"}, engine: "docker", image: "registry.example/agent:1"},
		{name: "no engine", says: []string{why, "docker is not installed; podman is not installed"}},
		{name: "no engine that answers", docker: "deaf", says: []string{why, "docker does not answer", "Cannot connect to the daemon"}},
		{name: "none wanted", docker: "there", env: map[string]string{envEngine: noEngine}, says: []string{why, "CONTAINER_ENGINE is none"}},
		{name: "the offline agent", docker: "there", cli: "offline", says: []string{why, "runs nothing that a model says"}},
		{name: "a script of one's own", docker: "there", script: "own.sh", says: []string{why, "there is no Dockerfile beside AGENT_SCRIPT_PATH"}},
		{name: "the named one does not answer", docker: "there", podman: "deaf", env: map[string]string{envEngine: "podman"}, fails: `CONTAINER_ENGINE is "podman"; allowed: an engine that answers, or none`},
		{name: "an image without an engine", env: map[string]string{envImage: "agent:1"}, fails: `AGENT_CONTAINER_IMAGE is "agent:1", and there is no container engine`},
		{name: "an image that cannot be built", docker: "there", broken: true, fails: "exit status 5: no network; to run agents without containers set CONTAINER_ENGINE=none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bin, dir := t.TempDir(), t.TempDir()
			for name, state := range map[string]string{"docker": tt.docker, "podman": tt.podman} {
				if state != "" {
					fakeEngine(t, bin, name, state == "there")
				}
			}
			if tt.broken {
				require.NoError(t, os.WriteFile(filepath.Join(bin, "broken"), nil, 0o600))
			}
			for _, name := range []string{"bash", "id", "mkdir", "touch"} { // what the scripts need, and no engine
				if path, err := exec.LookPath(name); err == nil {
					require.NoError(t, os.Symlink(path, filepath.Join(bin, name)))
				}
			}
			t.Setenv("PATH", bin)
			path := script
			if tt.script != "" {
				path = filepath.Join(dir, tt.script)
				require.NoError(t, os.WriteFile(path, nil, 0o700))
			}
			s := &settings.Settings{CLI: cmp.Or(tt.cli, "claude"), ScriptPath: path, AnthropicKey: "key-5678", Model: "m"}
			c, err := commandOf(s)
			require.NoError(t, err)
			var log bytes.Buffer
			p := &Program{Getenv: func(name string) string { return tt.env[name] }}
			err = p.contain(t.Context(), s, c, slog.New(slog.NewTextHandler(&log, nil)))
			if tt.fails != "" {
				assert.ErrorContains(t, err, tt.fails)
				return
			}
			require.NoError(t, err)
			for _, text := range tt.says {
				assert.Contains(t, log.String(), text)
			}
			assert.Equal(t, tt.engine, c.Env[envEngine])
			assert.Equal(t, tt.image, c.Env[envImage])
			if tt.engine == "" {
				return
			}
			r := c.Investigate(t.Context(), incident.Job{Incident: incident.Incident{IncidentID: "1f"}, Dir: dir, Timeout: time.Minute})
			require.NoError(t, r.Err)
			require.Zero(t, r.ExitCode, string(r.Output))
			report, err := os.ReadFile(filepath.Join(dir, incident.ReportFile))
			require.NoError(t, err)
			assert.Equal(t, "the engine was "+tt.engine+" and the key key-5678\n", string(report))
			asked, err := os.ReadFile(filepath.Join(bin, tt.engine+".log"))
			require.NoError(t, err)
			assert.Equal(t, tt.built, strings.Contains(string(asked), "build --build-arg AGENT_CLI=claude --tag triage-agent-claude "+filepath.Dir(script)+"\n"))
			assert.Contains(t, string(asked), " "+tt.image+" --workspace /workspace --model m ")
			assert.Contains(t, string(asked), "--name triage-1f ")
			assert.NotContains(t, string(asked), "key-5678", "others on this machine can read arguments")

			require.NoError(t, p.contain(t.Context(), s, c, slog.New(slog.DiscardHandler)))
			again, err := os.ReadFile(filepath.Join(bin, tt.engine+".log"))
			require.NoError(t, err)
			assert.Equal(t, tt.built, strings.Count(string(again), "build ") == 1, "an image that is there is not built again")
		})
	}
}
