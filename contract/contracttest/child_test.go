package contracttest_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
)

// Tests that must fail run in a process of their own: this binary again, with
// this variable set. The tests named TestChild are theirs, and skip elsewhere.
const childVariable = "CONTRACTTEST_CHILD"

func onlyInChild(t *testing.T) {
	t.Helper()
	if os.Getenv(childVariable) == "" {
		t.Skip("runs in a child process")
	}
}

// child runs the tests of this binary that match, and returns their output.
func child(t *testing.T, run string, flags ...string) (output string, failed bool) {
	t.Helper()
	args := append([]string{"-test.run", run, "-test.v", "-test.timeout", "60s"}, flags...)
	return finish(t, exec.CommandContext(t.Context(), os.Args[0], args...))
}

func finish(t *testing.T, cmd *exec.Cmd) (output string, failed bool) {
	t.Helper()
	// they fail on purpose: nothing is searched and kept, unless the test asks for it
	cmd.Env = append([]string{"SHAKEDOWN_EXPLAIN=0s"}, append(os.Environ(), childVariable+"=1")...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return string(out), err != nil
}

type fails struct{}

func (fails) Fail(chaos.Call) error { return errors.New("the clock is down") }
func (fails) Inject(context.Context, chaos.Call, any, chaos.Next) (any, error) {
	return nil, errors.New("the clock is down")
}

// changeWorld changes each world that the matrix makes.
func changeWorld(m *contract.Matrix, change func(w *contract.World)) {
	made := m.NewWorld
	m.NewWorld = func(ctx context.Context) (*contract.World, error) {
		w, err := made(ctx)
		if err == nil {
			change(w)
		}
		return w, err
	}
}

// lying is an agent that hides a failure of its clock.
func lying(t testing.TB) *contract.Matrix {
	return &contract.Matrix{
		NewWorld: func(ctx context.Context) (*contract.World, error) {
			w, err := clock(ctx)
			honest := w.Agent
			w.Agent = func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
				if answer, err := honest(ctx, prompt, tools); err == nil {
					return answer, nil
				}
				return "it is midnight", nil
			}
			return w, err
		},
		Prompts: []string{"What time is it?"},
		Invariants: []contract.Invariant{
			{Name: "says.noon", Severity: contract.High, Check: saysNoon},
			{Name: "answers", Severity: contract.Critical, Check: func(context.Context, *contract.Observation) error { return nil }},
		},
		Scenarios: []contract.Scenario{contract.Calm(), {Name: "clock-down", Rules: []chaos.Rule{{Name: "down", Target: "clock", Fault: fails{}}}}},
		Trials:    2,
	}
}

func TestChildBroken(t *testing.T) {
	onlyInChild(t)
	r := contracttest.Run(t, lying(t), nil)
	t.Logf("filtered %t, ran %d", r.Filtered, r.Score.Total-r.Score.NotRun)
}

func TestFailingCellPrintsItsEvidence(t *testing.T) {
	out, failed := child(t, "^TestChildBroken$")
	assert.True(t, failed)
	assert.Contains(t, out, "--- PASS: TestChildBroken/calm/says.noon/1")
	assert.Contains(t, out, "--- PASS: TestChildBroken/clock-down/answers/1")
	assert.Contains(t, out, "--- FAIL: TestChildBroken/clock-down/says.noon/2")
	for _, want := range []string{
		"✗ broken (high): no noon",
		"✗ clock-down / says.noon (high): broken in all 2 trials",
		"why       no noon",
		"prompt    What time is it?",
		"answer    it is midnight",
		"faults    clock, call 1: contracttest_test.fails (rule down), the caller got: the clock is",
		`rerun     go test -count=1 -run '^TestChildBroken$/^clock-down$/^says\.noon$/^1$' github.com/shakedown-go/shakedown/contract/contracttest`,
		"filtered false, ran 8",
	} {
		assert.Contains(t, out, want)
	}
}

// TestRerunLineRunsThatCell runs the line that a failing cell printed, by a shell, with this
// binary in place of what go test would build.
func TestRerunLineRunsThatCell(t *testing.T) {
	out, _ := child(t, "^TestChildBroken$/^clock-down$/^says.noon$/^2$")
	line := regexp.MustCompile(`go test -count=1 .*`).FindString(out)
	require.NotEmpty(t, line, out)
	t.Setenv("BINARY", os.Args[0])
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("needs a shell")
	}
	// the arguments of the line: test -count=1 -run PATTERN PACKAGE
	out, failed := finish(t, exec.CommandContext(t.Context(), shell, "-c", `go() { "$BINARY" -test.v -test.run "$4"; }; `+line))
	assert.True(t, failed, "it fails again")
	assert.Equal(t, 1, strings.Count(out, "✗ clock-down / says.noon (high): broken\n"), out)
	assert.Contains(t, out, "--- FAIL: TestChildBroken/clock-down/says.noon/2")
	assert.Contains(t, out, "filtered true, ran 1")
	assert.Contains(t, out, line, "with the same line")
}

func TestRunFiltersCells(t *testing.T) {
	for _, tc := range []struct {
		reason, run string
		flags       []string
		ran         string
		failed      bool
	}{
		{"one cell", "^TestChildBroken$/^calm$/^answers$/^1$", nil, "filtered true, ran 1", false},
		{"a scenario", "^TestChildBroken$/^calm$", nil, "filtered true, ran 4", false},
		{"an invariant", "^TestChildBroken$//^answers$", nil, "filtered true, ran 4", false},
		{"all but an invariant", "^TestChildBroken$", []string{"-test.skip", "TestChildBroken//says.noon"}, "filtered true, ran 4", false},
		{"none: nothing was tested", "^TestChildBroken$/^nothing$", nil, "no cell of the matrix was selected (-run, -skip); nothing was tested", true},
	} {
		out, failed := child(t, tc.run, tc.flags...)
		assert.Contains(t, out, tc.ran, tc.reason)
		assert.Equal(t, tc.failed, failed, "%s: %s", tc.reason, out)
	}
}

func TestChildFailOn(t *testing.T) {
	onlyInChild(t)
	contracttest.Run(t, lying(t), &contracttest.Options{FailOn: contract.Critical})
}

func TestFailOn(t *testing.T) {
	out, failed := child(t, "^TestChildFailOn$")
	assert.False(t, failed, "what broke is high, and only critical fails")
	assert.Contains(t, out, "✗ clock-down / says.noon (high): broken in all 2 trials\n", "but it is logged")
}

// untouched is an agent that calls nothing.
func untouched(ctx context.Context) (*contract.World, error) {
	w, err := clock(ctx)
	w.Agent = func(context.Context, string, chaos.ToolRegistry) (string, error) { return "noon, surely", nil }
	return w, err
}

func TestChildUndelivered(t *testing.T) {
	onlyInChild(t)
	m := lying(t)
	m.NewWorld = untouched
	contracttest.Run(t, m, nil)
}

func TestChildUndeliveredAllowed(t *testing.T) {
	onlyInChild(t)
	m := lying(t)
	m.NewWorld = untouched
	m.Scenarios[1].AllowUndelivered = true
	contracttest.AssertPassed(t, contracttest.Run(t, m, nil))
}

func TestUndeliveredCellsAreSkipped(t *testing.T) {
	out, failed := child(t, "^TestChildUndelivered$")
	assert.True(t, failed)
	assert.Contains(t, out, "--- SKIP: TestChildUndelivered/clock-down/answers/1")
	assert.Contains(t, out, "undelivered: no fault was delivered: the agent made no call")
	assert.Contains(t, out, `contracttest: the verdict is INCONCLUSIVE: no fault was delivered in scenario "clock-down"`)

	out, failed = child(t, "^TestChildUndeliveredAllowed$")
	assert.False(t, failed, out)
	assert.Contains(t, out, "--- SKIP: TestChildUndeliveredAllowed/clock-down/answers/1")
}

func TestChildInconclusive(t *testing.T) {
	onlyInChild(t)
	m := lying(t)
	m.Invariants[0].Check = func(context.Context, *contract.Observation) error { return contract.ErrUndecided }
	m.AllowInconclusive = 3
	contracttest.Run(t, m, nil)
}

func TestInconclusiveVerdictFails(t *testing.T) {
	out, failed := child(t, "^TestChildInconclusive$")
	assert.True(t, failed)
	assert.Contains(t, out, "--- SKIP: TestChildInconclusive/calm/says.noon/1")
	assert.Contains(t, out, "inconclusive: contract: undecided")
	assert.Contains(t, out, "contracttest: the verdict is INCONCLUSIVE: 4 cells inconclusive, allowed 3")
}

func TestChildInvalid(t *testing.T) {
	onlyInChild(t)
	contracttest.Run(t, &contract.Matrix{}, nil)
	t.Log("went on")
}

func TestChildNil(t *testing.T) {
	onlyInChild(t)
	contracttest.Run(t, nil, &contracttest.Options{})
	t.Log("went on")
}

func TestInvalidMatrixFails(t *testing.T) {
	for _, name := range []string{"^TestChildInvalid$", "^TestChildNil$"} {
		out, failed := child(t, name)
		assert.True(t, failed)
		assert.Contains(t, out, "contracttest: the matrix did not run: contract: ")
		assert.NotContains(t, out, "went on")
		assert.NotContains(t, out, "panic")
	}
}

// TestChildMisbehaving has one agent that hangs, two that leak, one that panics
// and one that ends its goroutine, among cells that hold.
func TestChildMisbehaving(t *testing.T) {
	onlyInChild(t)
	m := lying(t)
	m.Scenarios = []contract.Scenario{contract.Calm()}
	m.Trials = 1
	m.Invariants = nil
	for _, id := range []string{"hangs", "leaks", "listens", "panics", "fails-now", "fine"} {
		m.Invariants = append(m.Invariants, contract.Invariant{Name: id, Severity: contract.High, Probes: []string{id},
			Check: func(context.Context, *contract.Observation) error { return nil }})
	}
	m.NewWorld = func(ctx context.Context) (*contract.World, error) {
		w, err := clock(ctx)
		w.Agent = func(ctx context.Context, prompt string, _ chaos.ToolRegistry) (string, error) {
			switch prompt {
			case "hangs":
				select {}
			case "leaks":
				go leftBehind()
			case "listens":
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					return "", err
				}
				go leftListening(l)
				return "done", nil // a wait would be one for the listener
			case "panics":
				panic("boom")
			case "fails-now":
				t.FailNow() // of the test that made the matrix
			}
			time.Sleep(time.Hour)
			return "done", nil
		}
		return w, err
	}
	r := contracttest.Run(t, m, &contracttest.Options{Watchdog: 2 * time.Second}) // sooner than the leak would be found
	t.Logf("went on: %d of %d held", r.Score.Passed, r.Score.Total)
}

func leftBehind()                  { select {} }
func leftListening(l net.Listener) { _, _ = l.Accept() }

func TestMisbehavingAgentsAreTheirCellsResult(t *testing.T) {
	t.Parallel() // its child waits for watchdogs
	out, failed := child(t, "^TestChildMisbehaving$")
	assert.True(t, failed)
	for _, want := range []string{
		"--- FAIL: TestChildMisbehaving/calm/hangs/1", "contract: the agent hangs: no answer after 720h0m0s of virtual time",
		"--- FAIL: TestChildMisbehaving/calm/leaks/1", "/contracttest_test.leftBehind\n", "select (no cases)",
		"--- FAIL: TestChildMisbehaving/calm/listens/1", "/contracttest_test.leftListening\n", "IO wait",
		"--- FAIL: TestChildMisbehaving/calm/panics/1", "panic: boom",
		"--- FAIL: TestChildMisbehaving/calm/fails-now/1", "it ended its goroutine (t.FailNow or runtime.Goexit)",
		"--- PASS: TestChildMisbehaving/calm/fine/1",
		"went on: 1 of 6 held",
	} {
		assert.Contains(t, out, want)
	}
	assert.NotContains(t, out, "goroutine 1 [", "the process did not die")
}
