package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
)

// program is the program as a process of its own. Its services inherit its
// standard error, a pipe, which ends when the last of them has ended: after its
// end there are no orphans.
type program struct {
	cmd    *exec.Cmd
	out    *bufio.Scanner
	seen   []string
	errors *os.File
}

func startProgram(t *testing.T, args ...string) *program {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	p := &program{cmd: exec.CommandContext(ctx, os.Args[0], args...)}
	p.cmd.Env = append(os.Environ(), asProgram+"=1")
	stdout, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	errors, stderr, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = errors.Close() })
	p.errors, p.cmd.Stderr = errors, stderr
	require.NoError(t, p.cmd.Start())
	require.NoError(t, stderr.Close())
	p.out = bufio.NewScanner(stdout)
	return p
}

// until reads lines up to one with the text.
func (p *program) until(t *testing.T, text string) {
	t.Helper()
	for p.out.Scan() {
		p.seen = append(p.seen, p.out.Text())
		if strings.Contains(p.out.Text(), text) {
			return
		}
	}
	require.Fail(t, "it ended too soon", "without %q:\n%s", text, strings.Join(p.seen, "\n"))
}

// wait reads the rest and waits for the end of all processes.
func (p *program) wait(t *testing.T) (status int, stdout, stderr string) {
	t.Helper()
	for p.out.Scan() {
		p.seen = append(p.seen, p.out.Text())
	}
	_ = p.cmd.Wait() // its status tells
	require.NoError(t, p.errors.SetReadDeadline(time.Now().Add(20*time.Second)))
	text, err := io.ReadAll(p.errors)
	assert.NoError(t, err, "there are orphans")
	return p.cmd.ProcessState.ExitCode(), strings.Join(p.seen, "\n"), string(text)
}

// service is the address that the program printed for a service.
func (p *program) service(t *testing.T, name string) (addr string) {
	t.Helper()
	found := regexp.MustCompile(name + ` +process \d+ at (\S+)`).FindStringSubmatch(strings.Join(p.seen, "\n"))
	require.NotNil(t, found)
	return found[1]
}

// eventually polls until something is so.
func eventually(t *testing.T, so func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			require.Fail(t, "it never was so")
		}
	}
}

func refuses(addr string) bool {
	c, err := net.Dial("tcp", addr)
	if err == nil {
		_ = c.Close()
	}
	return err != nil
}

func TestAKilledDayLeavesNoProcess(t *testing.T) {
	p := startProgram(t, "-fault", "1s", "-only", killStock)
	p.until(t, killStock+": ")
	require.NoError(t, p.cmd.Process.Kill())
	p.wait(t)
}

func TestCtrlCRollsBackAndEndsAllProcesses(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a program cannot send Ctrl-C there")
	}
	p := startProgram(t, "-fault", "5s")
	p.until(t, killStock+": ")
	addr := p.service(t, stock)
	eventually(t, func() bool { return refuses(addr) })
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	status, out, errs := p.wait(t)
	assert.Equal(t, exitError, status)
	assert.Contains(t, out, "  interrupted; 1 rollbacks")
	assert.NotContains(t, out, slowGateway)
	assert.Equal(t, "gameday: interrupted after 0 finished experiments\n", errs)
}

func TestAServiceEndsWithItsInput(t *testing.T) {
	in, peers := io.Pipe()
	out, stdout := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serve(orders, in, stdout) }()
	lines := json.NewDecoder(out)
	var h hello
	require.NoError(t, lines.Decode(&h))
	go func() { _, _ = io.Copy(io.Discard, io.MultiReader(lines.Buffered(), out)) }()

	get := func(path string) int {
		resp, err := http.Get("http://" + h.Addr + path)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	assert.Equal(t, http.StatusOK, get("/status"))
	assert.Equal(t, http.StatusBadGateway, get("/place"), "it has not been told of the stock service")
	assert.Equal(t, http.StatusNotFound, get("/reserve"), "that is another service's")

	require.NoError(t, peers.Close())
	assert.NoError(t, <-ended)
	assert.True(t, refuses(h.Addr))
}

func TestAServiceThatIsToldNonsense(t *testing.T) {
	assert.ErrorContains(t, serve(stock, strings.NewReader("nonsense"), io.Discard), "gameday: peers: ")
}

func TestALaunchThatIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	deaf := func(time.Time) func(context.Context, chaos.Event) { return func(context.Context, chaos.Event) {} }
	_, err := launch(ctx, stock, deaf)
	assert.ErrorContains(t, err, "gameday: stock did not start: ")
}
