//go:build unix

package report_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
)

// asked is a matrix of 40 units that says of each run of the agent which unit it is of.
func asked(of func(unit string)) *contract.Matrix {
	world := func(context.Context) (*contract.World, error) {
		return &contract.World{Agent: func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
			c, _ := contract.CellOf(ctx)
			of(fmt.Sprint(c.Scenario, "/", c.Trial))
			return fmt.Sprint("noon ", c.Trial), nil
		}}, nil
	}
	return &contract.Matrix{NewWorld: world, Prompts: []string{"When?"}, Trials: 20, Scenarios: []contract.Scenario{contract.Calm(), contract.Under("again")},
		Invariants: []contract.Invariant{{Name: "noon", Severity: contract.Critical, AtLeast: .95,
			Check: func(_ context.Context, o *contract.Observation) error {
				if o.Cell.Trial == 7 {
					return errors.New("late")
				}
				return nil
			}}}}
}

// unitsIn are the units whose lines are whole, but for the line break.
func unitsIn(t *testing.T, file string) (units []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if !errors.Is(err, os.ErrNotExist) {
		require.NoError(t, err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, `{"unit":`) && strings.Contains(line, `,"sum":"`) && strings.HasSuffix(strings.TrimSuffix(line, "\n"), `"}`) {
			units = append(units, unitOf(line))
		}
	}
	return units
}

// limited runs with files of so many bytes at most, as on a disk that is full.
func limited(t *testing.T, bytes int, run func()) {
	var old syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old))
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	own := old
	own.Cur = uint64(bytes)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &own))
	defer func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old)) }()
	run()
}

// fullEnv is set in the process whose disk is full: the limit is that of all files of a process.
const fullEnv = "REPORT_TEST_FULL"

// On a disk that is full at any byte, a run returns an error that names the run file. What the file had stays, and when
// there is room again the rest is run.
func TestAFullDisk(t *testing.T) {
	t.Setenv(fullEnv, "yes")
	out, err := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChildFullDisk$", "-test.v").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestChildFullDisk")
}

func TestChildFullDisk(t *testing.T) {
	if os.Getenv(fullEnv) == "" {
		t.Skip("it is a child of TestAFullDisk")
	}
	var ran []string
	m := asked(func(unit string) { ran = append(ran, unit) })
	file := filepath.Join(t.TempDir(), "a.run.jsonl")
	o := &contract.RunOptions{File: file, Resume: file, Workers: 1, Build: "one"}
	whole, err := m.Run(t.Context(), &contract.RunOptions{File: file, Workers: 1, Build: "one"})
	require.NoError(t, err)
	want, text := fileOf(t, whole, stable), readFile(t, file)
	head := strings.Index(text, "\n") + 1
	for _, had := range []int{head, head + 3*(len(text)-head)/5, len(text)} {
		for room := 1; room < len(text)+200; room += 331 {
			require.NoError(t, os.WriteFile(file, []byte(text[:had]), 0o600))
			before := unitsIn(t, file)
			limited(t, room, func() { _, err = m.Run(t.Context(), o) })
			if room < len(text) {
				require.ErrorContains(t, err, "contract: run file: ", "%d of room", room)
				require.ErrorIs(t, err, syscall.EFBIG)
			}
			for _, unit := range before {
				require.Contains(t, unitsIn(t, file), unit, "%d of room: nothing is lost", room)
			}
			before, ran = unitsIn(t, file), nil
			r, err := m.Run(t.Context(), o)
			require.NoError(t, err, "%d of room", room)
			require.Equal(t, want, fileOf(t, r, stable), "%d of room", room)
			require.Len(t, ran, 40-len(before), "%d of room: nothing is run twice", room)
		}
	}
	dir := filepath.Dir(file)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "no file is left behind")

	spread := &contract.RunOptions{File: file, Build: "one"}
	limited(t, len(text)/2, func() {
		u, err := m.Units(t.Context(), spread)
		require.NoError(t, err)
		defer u.Close()
		for _, unit := range u.Names() {
			line, problem := u.Run(t.Context(), unit)
			require.NoError(t, problem)
			if err = u.Add(unit, line); err != nil {
				break
			}
		}
		require.ErrorContains(t, err, "contract: run file: ", "a fleet says so")
		require.ErrorIs(t, err, syscall.EFBIG)
	})
	spread.Resume = file
	u, err := m.Units(t.Context(), spread)
	require.NoError(t, err)
	require.Len(t, u.Missing(), 40-len(unitsIn(t, file)))
	u.Close()

	var failed error
	limited(t, len(text)/2, func() {
		w, err := os.Create(filepath.Join(dir, "merged"))
		require.NoError(t, err)
		_, err = report.Merge(w, file)
		failed = errors.Join(err, w.Close())
	})
	require.ErrorIs(t, failed, syscall.EFBIG, "a merge says so too")
}

// killedEnv has the file of the process that is killed; sequentialEnv is set if its run is sequential.
const killedEnv, sequentialEnv = "REPORT_TEST_KILLED", "REPORT_TEST_SEQUENTIAL"

func TestChildKilled(t *testing.T) {
	file := os.Getenv(killedEnv)
	if file == "" {
		t.Skip("it is a child of TestKilledAtAnyMoment")
	}
	_, err := asked(func(unit string) {
		fmt.Fprintln(os.Stderr, unit)
		_, _ = os.Stdin.Read(make([]byte, 1)) // until it may answer
	}).Run(t.Context(), goingOn(t, file))
	require.NoError(t, err)
}

// goingOn are the options of a run that goes on from its file, if that has a head.
func goingOn(t *testing.T, file string) *contract.RunOptions {
	o := &contract.RunOptions{File: file, Workers: 1, Sequential: os.Getenv(sequentialEnv) != ""}
	if text, err := os.ReadFile(file); err == nil && bytes.Contains(text, []byte("\n")) {
		o.Resume = file
	}
	return o
}

// A process is killed at random moments until one ends: no unit that was in the file is lost or run again, and the
// result is that of one run.
func TestKilledAtAnyMoment(t *testing.T) {
	for _, sequential := range []string{"", "yes"} {
		t.Setenv(sequentialEnv, sequential)
		file := filepath.Join(t.TempDir(), "a.run.jsonl")
		t.Setenv(killedEnv, file)
		whole, err := asked(func(string) {}).Run(t.Context(), &contract.RunOptions{Sequential: sequential != ""})
		require.NoError(t, err)
		draw, kills := rand.New(rand.NewPCG(31, uint64(len(sequential)))), 0
		for ended := false; !ended; {
			before := unitsIn(t, file)
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChildKilled$")
			stderr, err := cmd.StderrPipe()
			require.NoError(t, err)
			answers, err := cmd.StdinPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			may := draw.IntN(5)
			_, _ = answers.Write(make([]byte, may)) // it may have ended
			said, ran := bufio.NewReader(stderr), ""
			for range draw.IntN(may + 2) { // one more asks, and gets no answer
				line, _ := said.ReadString('\n')
				ran += line
			}
			killed := cmd.Process.Kill()
			rest, _ := io.ReadAll(said)
			ran += string(rest)
			if ended = cmd.Wait() == nil; !ended {
				kills++
			}
			require.True(t, ended || killed == nil && cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled(), "%s", ran)
			after := unitsIn(t, file)
			for _, unit := range before {
				require.Contains(t, after, unit, "nothing is lost")
				require.False(t, slices.Contains(strings.Split(ran, "\n"), unit), "%s was there, and is run again", unit)
			}
			require.Len(t, slices.Compact(slices.Sorted(slices.Values(after))), len(after), "nothing is there twice")
		}
		t.Logf("%d kills", kills)
		assert.Greater(t, kills, 5)
		r, err := asked(func(string) {}).Run(t.Context(), &contract.RunOptions{Resume: file, Build: "unknown", Sequential: sequential != ""})
		require.NoError(t, err)
		r.Warnings = nil // that a build is unknown
		assert.Equal(t, fileOf(t, whole, stable), fileOf(t, r, stable))
	}
}
