// Program audits plays the API of an MCP server, so that the server can be audited without an account:
//
//	go run . razorpay
//
// It builds the server of that folder, and prints the commands that audit its tools. The tests make the same audits.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const address = "127.0.0.1:9130" // of the backend, so that commands can be repeated

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	i := slices.IndexFunc(servers, func(s server) bool { return len(args) == 1 && s.folder == args[0] })
	if i < 0 {
		return errors.New("usage: go run . razorpay|github|grafana|filesystem")
	}
	dir, err := os.MkdirTemp("", "audits")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := servers[i]
	command, err := s.build(ctx, dir)
	if err != nil {
		return err
	}
	b := s.backend(dir)
	f, err := openFront(b, b.mux, address, dir)
	if err != nil {
		return err
	}
	defer f.close()
	fmt.Fprint(out, s.commands(f, command))
	<-ctx.Done()
	return nil
}

// commands are shell commands, one a call of the table.
func (s *server) commands(f *front, command []string) string {
	var b strings.Builder
	args, env := s.run(f)
	fmt.Fprintf(&b, "# %s. Its API is played at %s until you press ^C. In another terminal:\n", s.name, f.url)
	fmt.Fprintf(&b, "audit() { shakedown-mcp audit --state-url %s/state --reset 'curl -s -X POST %[1]s/reset' \\\n", f.url)
	fmt.Fprintf(&b, "  --allow \"$1\" --example \"$1=$2\" -- env %s %s; }\n", strings.Join(env, " "), strings.Join(append(command, args...), " "))
	for _, c := range s.calls {
		fmt.Fprintf(&b, "audit %s '%s'\n", c.tool, c.args)
	}
	return b.String()
}

// build returns the command of the server: of the release that its folder requires, with the build list of that release.
func (s *server) build(ctx context.Context, dir string) (command []string, err error) {
	if s.folder == "filesystem" {
		script, err := npm(ctx, dir, s.folder)
		return []string{"node", script}, err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(dir, "server"), "tool")
	cmd.Dir, cmd.Env = s.folder, append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s cannot be built: %w\n%s", s.name, err, out)
	}
	return []string{filepath.Join(dir, "server")}, nil
}

// errNotHere reports that what builds a server is not on this machine.
var errNotHere = errors.New("not tried")

// npm installs what the package.json of a folder requires, and returns its script.
func npm(ctx context.Context, dir, folder string) (script string, err error) {
	if _, err := exec.LookPath("npm"); err != nil {
		return "", fmt.Errorf("%w: there is no npm", errNotHere)
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		doc, err := os.ReadFile(filepath.Join(folder, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), doc, 0o644)
		}
		if err != nil {
			return "", err
		}
	}
	install := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: npm ci: %w\n%s", errNotHere, err, out)
	}
	return filepath.Join(dir, "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"), nil
}
