package embedded_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/fleet"
	"github.com/shakedown-go/shakedown/contract/fleet/embedded"
)

// The test binary is also the program of the processes that the tests kill.
const (
	roleEnv   = "FLEET_TEST_ROLE" // worker or server
	urlEnv    = "FLEET_TEST_URL"
	idEnv     = "FLEET_TEST_ID"
	dirEnv    = "FLEET_TEST_DIR"
	poisonEnv = "FLEET_TEST_POISON" // the unit that kills its worker
)

func TestMain(m *testing.M) {
	role := os.Getenv(roleEnv)
	if role == "" {
		os.Exit(m.Run())
	}
	go func() { // the process ends with the test, also if that is killed
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	if err := play(role); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func play(role string) error {
	if role == "server" {
		port, _ := strconv.Atoi(os.Getenv(urlEnv))
		server, err := embedded.Start(&embedded.Options{Dir: os.Getenv(dirEnv), Port: port})
		if err != nil {
			return err
		}
		fmt.Println(server.URL())
		select {}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	nc, err := nats.Connect(os.Getenv(urlEnv), connecting...)
	if err != nil {
		return err
	}
	defer nc.Close()
	return fleet.Work(ctx, nc, desk(time.Millisecond, os.Getenv(poisonEnv)), &fleet.Options{ID: os.Getenv(idEnv), Run: &contract.RunOptions{Workers: 1}})
}

// connecting waits for a server that is away, and is soon there when it is back.
var connecting = []nats.Option{nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true), nats.ReconnectWait(50 * time.Millisecond),
	nats.ReconnectJitter(0, 0)}

func connect(t *testing.T, url string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url, connecting...)
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}

// desk is a matrix of 90 units in real time. Each answer takes a while, and one unit may kill its process.
func desk(answer time.Duration, poison string) *contract.Matrix {
	tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "clock"}, func(context.Context, struct{}) (string, error) { return "noon", nil }))
	if err != nil {
		panic(err)
	}
	agent := func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		time.Sleep(answer)
		if c, _ := contract.CellOf(ctx); poison != "" && fmt.Sprint(c.Scenario, "/", c.Trial) == poison {
			os.Exit(9)
		}
		said, err := tools.CallTool(ctx, "clock", []byte("{}"))
		if err != nil {
			return "", err
		}
		return "it is " + string(said), nil
	}
	return &contract.Matrix{Name: "clock", Seed: 11, Trials: 30, Prompts: []string{"What time is it?"},
		NewWorld: func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: agent, Tools: tools}, nil
		},
		Scenarios: []contract.Scenario{contract.Calm(),
			contract.Under("clock-down", chaos.Rule{Target: "clock", Fault: fault.Fail(fault.ErrUnavailable)}),
			contract.Under("clock-flaky", chaos.Rule{Target: "clock", Fault: fault.Fail(fault.ErrUnavailable), When: when.Prob(0.4)})},
		Invariants: []contract.Invariant{
			{Name: "says-noon", Severity: contract.High, Check: func(_ context.Context, o *contract.Observation) error {
				if !strings.Contains(o.Response, "noon") {
					return errors.New("no noon")
				}
				return nil
			}},
			{Name: "answers", Severity: contract.Low, JudgesErrors: true, Check: func(_ context.Context, o *contract.Observation) error { return nil }},
		}}
}

// stable is what a report's run file says without times.
func stable(t *testing.T, r *contract.Report) string {
	t.Helper()
	require.NotNil(t, r)
	var out bytes.Buffer
	require.NoError(t, r.WriteRun(&out, true, false))
	return out.String()
}

// ofOne is the stable run file of one process.
func ofOne(t *testing.T, o contract.RunOptions) string {
	t.Helper()
	r, err := desk(0, "").Run(t.Context(), &o)
	require.NoError(t, err)
	return stable(t, r)
}

// serve starts a server in this process.
func serve(t *testing.T) *embedded.Server {
	t.Helper()
	s, err := embedded.Start(&embedded.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// spawn starts a process of the test binary, and returns what it printed first.
func spawn(t *testing.T, role string, env ...string) (cmd *exec.Cmd, first string) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(env, roleEnv+"="+role)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe() // it is closed when this process ends
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if role == "server" {
		first, err = bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
	}
	return cmd, strings.TrimSpace(first)
}

// within bounds a test whose processes hang.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func options(t *testing.T, id string) *fleet.Options {
	return &fleet.Options{ID: id, AckWait: 2 * time.Second, Repeatable: true,
		Run: &contract.RunOptions{File: filepath.Join(t.TempDir(), id+".run.jsonl"), Workers: 2}}
}

// working starts workers in this process, and returns what waits for them. Each must end well.
func working(ctx context.Context, t *testing.T, url string, m *contract.Matrix, o *fleet.Options, n int) (wait func()) {
	t.Helper()
	ended := make(chan error, n)
	for range n {
		nc := connect(t, url)
		own := *o
		run := *o.Run
		own.Run, own.OnProgress, run.File, run.Resume = &run, nil, "", ""
		go func() { ended <- fleet.Work(ctx, nc, m, &own) }()
	}
	return func() {
		for range n {
			if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	}
}

// at calls a function once, when so many units are done.
func at(units int, do func()) func(fleet.Progress) {
	var done atomic.Bool
	return func(p fleet.Progress) {
		if p.Done >= units && !done.Swap(true) {
			do()
		}
	}
}
