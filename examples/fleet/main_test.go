package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
)

// The test binary is also the program, and so are the workers that it starts.
const asProgram = "FLEET_EXAMPLE"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

func program(t *testing.T, args ...string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	cmd, stderr = exec.CommandContext(t.Context(), os.Args[0], args...), new(bytes.Buffer)
	cmd.Env, cmd.Stderr = append(os.Environ(), asProgram+"=1"), stderr
	return cmd, stderr
}

func TestWhatIsKilledChangesNothing(t *testing.T) {
	t.Parallel()
	cmd, stderr := program(t, "-trials", "2")
	out, err := cmd.Output()
	require.NoError(t, err, "%s%s", out, stderr)
	assert.Contains(t, string(out), ": 160 cells, 8 workers\n")
	assert.Contains(t, string(out), "\nworker 3 killed after 15 of 20 units\n")
	assert.Regexp(t, `\ncalm +16 of 16 +16 of 16\n`, string(out))
	assert.Regexp(t, `\nverdict +FAIL +FAIL\n`, string(out))
	assert.Regexp(t, `\nequal: two run files of \d{5,} bytes, `, string(out))
	assert.Empty(t, stderr.String(), "and no bar where nobody sees it")
}

// A worker ends with the process that started it, also if it has found no run.
func TestAWorkerThatIsLeftAlone(t *testing.T) {
	cmd, stderr := program(t, "-nats", "nats://127.0.0.1:1", "-work", "none")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	require.NoError(t, in.Close())
	assert.Error(t, cmd.Wait())
	assert.Equal(t, exitError, cmd.ProcessState.ExitCode())
	assert.Contains(t, stderr.String(), "context canceled")
}

func TestWhatItRefuses(t *testing.T) {
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"-trials", "-1"}, "Trials is -1"},
		{[]string{"-work", "desk-1"}, "-work without -nats"},
		{[]string{"-nats", "nats://127.0.0.1:1"}, "-nats without -work"},
		{[]string{"-work", "a run", "-nats", "nats://127.0.0.1:1"}, "Options.ID"},
	} {
		cmd, stderr := program(t, row.args...)
		assert.Error(t, cmd.Run())
		assert.Equal(t, exitError, cmd.ProcessState.ExitCode())
		assert.Contains(t, stderr.String(), row.want)
	}
}

func TestADifference(t *testing.T) {
	m := (&desk{trials: 1}).matrix()
	m.Scenarios = m.Scenarios[:1]
	one, err := m.Run(t.Context(), nil)
	require.NoError(t, err)
	m.Invariants[0].Check = func(context.Context, *contract.Observation) error { return errors.New("no") }
	other, err := m.Run(t.Context(), nil)
	require.NoError(t, err)
	var out bytes.Buffer
	status, err := difference(&out, other, one)
	require.NoError(t, err)
	assert.Equal(t, exitDiffer, status)
	assert.Equal(t, "\ndifferent\n", out.String())
}
