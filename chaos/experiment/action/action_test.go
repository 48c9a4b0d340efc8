package action_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/chaos/experiment/action"
	"github.com/shakedown-go/shakedown/chaos/experiment/probe"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// childMode makes this test binary a process that echoes lines until its input ends.
const childMode = "SHAKEDOWN_TEST_ECHO"

func TestMain(m *testing.M) {
	if os.Getenv(childMode) == "1" {
		_, _ = io.Copy(os.Stdout, os.Stdin)
		return
	}
	os.Exit(m.Run())
}

// child is a process that answers each line with the same line.
type child struct {
	cmd   *exec.Cmd
	lines *bufio.Reader
	in    io.Writer
}

func startChild(t *testing.T) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"=1")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &child{cmd: cmd, in: in, lines: bufio.NewReader(out)}
}

func (c *child) process() *os.Process { return c.cmd.Process }

func (c *child) ask(t *testing.T, line string) {
	t.Helper()
	_, err := fmt.Fprintln(c.in, line)
	require.NoError(t, err)
}

func (c *child) answer() (string, error) { return c.lines.ReadString('\n') }

// run runs a method on its own.
func run(t *testing.T, method ...experiment.Activity) *experiment.Journal {
	t.Helper()
	j, err := experiment.Run(t.Context(), &experiment.Experiment{Name: "e", Method: method}, nil)
	require.NoError(t, err)
	return j
}

// look is an activity that observes the system while the ones before it are in effect.
func look(fn func(ctx context.Context)) experiment.Activity {
	return experiment.Activity{Name: "look", Kind: experiment.Probe, Run: func(ctx context.Context) (any, error) { fn(ctx); return nil, nil }}
}

func TestArmedRulesInjectUntilTheyAreRolledBack(t *testing.T) {
	in := chaos.NewInjector(1, nil)
	ctx := chaos.NewContext(t.Context(), in)
	j := run(t,
		experiment.Activity{Name: "arm", Start: action.Arm(in, 0, chaos.Rule{Target: "db.*", Fault: fault.Fail(fault.ErrUnavailable)})},
		look(func(context.Context) { assert.ErrorIs(t, chaos.Point(ctx, "db.query"), fault.ErrUnavailable) }),
	)
	assert.JSONEq(t, `{"rules":["db.*:error"]}`, string(j.Run[0].Output))
	assert.Equal(t, "undo arm", j.Rollbacks[0].Activity.Name)
	assert.NoError(t, chaos.Point(ctx, "db.query"))
	assert.Empty(t, in.Rules())
}

// The rollback ends the waits of its rules, and does not remove rules that have
// replaced them.
func TestTheRollbackOfArmedRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := chaos.NewInjector(1, nil)
		_, undo, err := action.Arm(in, 0, chaos.Rule{Name: "slow", Target: "db", Fault: fault.Hang()}, chaos.Rule{Name: "taken", Target: "db.x", Fault: fault.Hang()})(t.Context())
		require.NoError(t, err)
		go func() {
			time.Sleep(time.Minute)
			assert.NoError(t, in.Register(chaos.Rule{Name: "taken", Target: "never", Fault: fault.Hang()}))
			assert.NoError(t, undo(t.Context()))
		}()
		began := time.Now()
		_, err = chaos.WrapWith("db", func(context.Context, int) (int, error) { return 0, nil }, &chaos.WrapOptions[int]{Injector: in})(t.Context(), 1)
		assert.NoError(t, err)
		assert.Equal(t, time.Minute, time.Since(began))
		require.Len(t, in.Rules(), 1)
		assert.Equal(t, "never", in.Rules()[0].Target)
	})
}

func TestArmedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := chaos.NewInjector(1, nil)
		ctx := chaos.NewContext(t.Context(), in)
		var failed []int
		j := run(t,
			experiment.Activity{Name: "arm", Background: true, Start: action.Arm(in, 3*time.Second, chaos.Rule{Target: "db", Fault: fault.Fail(fault.ErrUnavailable)})},
			look(func(context.Context) {
				for second := range 5 {
					time.Sleep(time.Second)
					synctest.Wait()
					if chaos.Point(ctx, "db") != nil {
						failed = append(failed, second+1)
					}
				}
			}))
		assert.Equal(t, []int{1, 2}, failed)
		assert.Equal(t, experiment.ActivitySucceeded, j.Run[0].Status)
	})
}

func TestArmIsAllOrNothing(t *testing.T) {
	known := chaos.Rule{Name: "known", Target: "x", Fault: fault.Partition()}
	good := chaos.Rule{Name: "good", Target: "db", Fault: fault.Partition()}
	for name, tc := range map[string]struct {
		rules []chaos.Rule
		want  string
	}{
		"a wrong rule":             {[]chaos.Rule{good, {Target: "["}}, "Fault"},
		"two of the same name":     {[]chaos.Rule{good, good}, "share this one"},
		"the name of another rule": {[]chaos.Rule{good, known}, `rule "known" is registered already`},
		"a target that is nowhere": {[]chaos.Rule{good, {Target: "cache", Fault: fault.Partition()}}, "cache"},
	} {
		in := chaos.NewInjector(1, &chaos.InjectorOptions{Targets: []string{"db", "x"}})
		require.NoError(t, in.Register(known))
		j := run(t, experiment.Activity{Name: "arm", Start: action.Arm(in, 0, tc.rules...)})
		assert.Contains(t, j.Run[0].Exception, tc.want, name)
		require.Len(t, in.Rules(), 1, name)
		assert.Equal(t, "known", in.Rules()[0].Name, name)
	}
	j := run(t, experiment.Activity{Name: "arm", Start: action.Arm(nil, 0, good)})
	assert.Contains(t, j.Run[0].Exception, "the injector is nil")
}

func TestPartitionCutsAllTargetsAtOnce(t *testing.T) {
	in := chaos.NewInjector(1, nil)
	ctx := chaos.NewContext(t.Context(), in)
	run(t,
		experiment.Activity{Name: "cut", Start: action.Partition(in, 0, "db.*", "search")},
		look(func(context.Context) {
			assert.ErrorIs(t, chaos.Point(ctx, "db.read"), fault.ErrNetworkPartition)
			assert.ErrorIs(t, chaos.Point(ctx, "search"), fault.ErrNetworkPartition)
			assert.NoError(t, chaos.Point(ctx, "mail"))
			assert.Equal(t, in.Rules()[0].Group, in.Rules()[1].Group)
		}))
	assert.NoError(t, chaos.Point(ctx, "db.read"))
}

func TestAKilledProcessIsRestarted(t *testing.T) {
	c := startChild(t)
	old := c.process().Pid
	restart := func(context.Context) error { c = startChild(t); return nil }
	j := run(t,
		experiment.Activity{Name: "kill", Start: action.Kill(func() *os.Process { return c.process() }, restart)},
		look(func(ctx context.Context) {
			_ = c.cmd.Wait()
			alive, err := probe.Alive(c.process)(ctx)
			assert.NoError(t, err)
			assert.Equal(t, false, alive)
		}))
	assert.JSONEq(t, fmt.Sprintf(`{"pid":%d}`, old), string(j.Run[0].Output))
	assert.NotEqual(t, old, c.process().Pid)
	c.ask(t, "are you there?")
	answer, err := c.answer()
	require.NoError(t, err)
	assert.Equal(t, "are you there?\n", answer)
}

func TestAPausedProcessGoesOn(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no signal for it")
	}
	c := startChild(t)
	answers := make(chan string, 1)
	run(t,
		experiment.Activity{Name: "pause", Start: action.Pause(c.process, 0)},
		look(func(ctx context.Context) {
			alive, err := probe.Alive(c.process)(ctx)
			assert.NoError(t, err)
			assert.Equal(t, true, alive, "a paused process lives")
			c.ask(t, "hello")
			go func() {
				answer, _ := c.answer()
				answers <- answer
			}()
		}),
		look(func(context.Context) { assert.Empty(t, answers, "it is silent as long as it is paused") }))
	assert.Equal(t, "hello\n", <-answers)
}

func TestAPauseForAWhileHealsByItself(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no signal for it")
	}
	c := startChild(t)
	c.ask(t, "hello")
	j := run(t, experiment.Activity{Name: "pause", Start: action.Pause(c.process, time.Millisecond)})
	assert.Equal(t, experiment.ActivitySucceeded, j.Run[0].Status)
	answer, err := c.answer()
	require.NoError(t, err)
	assert.Equal(t, "hello\n", answer)
}

func TestProcessesThatAreNone(t *testing.T) {
	c := startChild(t)
	require.NoError(t, c.process().Kill())
	_ = c.cmd.Wait()
	for name, process := range map[string]func() *os.Process{
		"no function":      nil,
		"no process":       func() *os.Process { return nil },
		"one that is over": c.process,
	} {
		j := run(t, experiment.Activity{Name: "kill", Start: action.Kill(process, nil)}, experiment.Activity{Name: "pause", Start: action.Pause(process, 0)})
		assert.Contains(t, j.Run[0].Exception, "action: kill", name)
		assert.Contains(t, j.Run[1].Exception, "action: pause", name)
		assert.Empty(t, j.Rollbacks, name)
	}
}

func TestAnInterruptedActionHeals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := chaos.NewInjector(1, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, undo, err := action.Partition(in, time.Hour, "db")(ctx)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Empty(t, in.Rules())
		assert.NoError(t, errors.Join(undo(t.Context()), undo(t.Context())), "undoing what is undone does nothing")
	})
}
