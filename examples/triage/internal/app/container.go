package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/examples/triage/internal/settings"
	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

// Variables that the script of the agents reads.
const (
	envEngine = "CONTAINER_ENGINE"
	envImage  = "AGENT_CONTAINER_IMAGE"
)

// noEngine, as CONTAINER_ENGINE, has agents run without a container.
const noEngine = "none"

const (
	answerTime = 10 * time.Second // of an engine that is asked something
	buildTime  = 15 * time.Minute // of an image
)

// contain runs agents that have a language model in containers, if there is an
// engine for them. Otherwise it logs why it does not. The error reports that a
// requested engine or image is not available.
func (p *Program) contain(ctx context.Context, s *settings.Settings, c *incident.Command, log *slog.Logger) error {
	if s.CLI == "offline" {
		log.Info("agents run without a container", "why",
			"the offline agent is this program, and runs nothing that a model says")
		return nil
	}
	engine, why, err := p.engine(ctx)
	if err != nil {
		return err
	}
	image := p.Getenv(envImage)
	switch own := filepath.Join(filepath.Dir(c.Path[1]), "Dockerfile"); {
	case engine == "" && image != "":
		return fmt.Errorf("triage: %s is %q, and there is no container engine: %s; allowed: empty, or with docker or podman",
			envImage, image, why)
	case engine != "" && image == "" && !exists(own):
		engine, why = "", "there is no Dockerfile beside AGENT_SCRIPT_PATH, and "+envImage+" is not set"
	case engine != "" && image == "":
		image = "triage-agent-" + s.CLI
		err = build(ctx, engine, image, filepath.Dir(own), s.CLI, log)
	}
	if engine == "" {
		log.Warn("agents run without a container: what they run, they run as this user", "why", why)
		return nil
	}
	if err != nil {
		return err
	}
	c.Env[envEngine], c.Env[envImage] = engine, image
	log.Info("agents run in containers", "engine", engine, "image", image)
	return nil
}

// engine finds what runs containers: the one that is named, or the first of
// docker and podman that answers. None: why says what was tried.
func (p *Program) engine(ctx context.Context) (name, why string, err error) {
	named := p.Getenv(envEngine)
	if named == noEngine {
		return "", envEngine + " is " + noEngine, nil
	}
	candidates := []string{"docker", "podman"}
	if named != "" {
		candidates = []string{named}
	}
	var tried []string
	for _, name := range candidates {
		if _, err := exec.LookPath(name); err != nil {
			tried = append(tried, name+" is not installed")
		} else if err := ask(ctx, answerTime, name, "version"); err != nil {
			tried = append(tried, name+" does not answer: "+err.Error())
		} else {
			return name, "", nil
		}
	}
	why = strings.Join(tried, "; ")
	if named != "" {
		return "", why, fmt.Errorf("triage: %s is %q; allowed: an engine that answers, or %s: %s", envEngine, named,
			noEngine, why)
	}
	return "", why, nil
}

// build makes our image, unless it is there: an engine that does not have it
// would look for one of that name elsewhere.
func build(ctx context.Context, engine, image, dir, cli string, log *slog.Logger) error {
	if ask(ctx, answerTime, engine, "image", "inspect", image) == nil {
		return nil
	}
	log.Info("building the image of the agent, which takes minutes", "engine", engine, "image", image)
	if err := ask(ctx, buildTime, engine, "build", "--build-arg", "AGENT_CLI="+cli, "--tag", image, dir); err != nil {
		return fmt.Errorf("triage: image %s: %w; to run agents without containers set %s=%s", image, err, envEngine,
			noEngine)
	}
	return nil
}

// ask runs a command of the engine. The error has the end of its output.
func ask(ctx context.Context, most time.Duration, engine string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	cmd := exec.CommandContext(ctx, engine, args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	said := strings.Join(strings.Fields(string(out)), " ")
	if len(said) > 300 {
		said = "…" + strings.ToValidUTF8(said[len(said)-300:], "")
	}
	return errors.Join(fmt.Errorf("%s %s: %w: %s", engine, args[0], err, said), context.Cause(ctx))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
