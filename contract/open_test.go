package contract_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
)

// door counts what Matrix.Open did.
type door struct {
	open          atomic.Int32 // now
	opened        atomic.Int32
	fails, sticks error
	panics        bool
}

func (d *door) put(m *contract.Matrix) {
	m.Open = func(context.Context) (func() error, error) {
		if d.panics {
			panic("the door is stuck")
		}
		if d.fails != nil {
			return nil, d.fails
		}
		d.open.Add(1)
		d.opened.Add(1)
		return func() error { d.open.Add(-1); return d.sticks }, nil
	}
}

// What Open made is there for every call of the agent, and gone when the run has ended, however it
// ends.
func TestOpen(t *testing.T) {
	errStuck := errors.New("the door is stuck")
	shut := &door{}
	m := matrix(t, func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
		if shut.open.Load() != 1 {
			return "", errors.New("the door is not open")
		}
		return tellsTime(ctx, prompt, tools)
	}, shut.put)
	m.Invariants = []contract.Invariant{holds("answers", contract.High)}

	file := filepath.Join(t.TempDir(), "run.jsonl")
	shut.sticks = errStuck
	r := run(t, m, &contract.RunOptions{File: file})
	assert.Zero(t, shut.open.Load())
	assert.Contains(t, r.Warnings, "at the end of the run: the door is stuck")
	data, err := os.Open(file)
	require.NoError(t, err)
	defer data.Close()
	fromFile, err := report.Read(data, nil)
	require.NoError(t, err)
	assert.Equal(t, r.Warnings, fromFile.Warnings, "the run file has it too")

	c := contract.Cell{Scenario: m.Scenarios[0].Name, Invariant: "answers", Trial: 1}
	_, err = m.RunCell(t.Context(), c, nil)
	require.NoError(t, err)
	assert.EqualValues(t, 2, shut.opened.Load())
	assert.Zero(t, shut.open.Load())

	for why, broken := range map[string]*door{"the door is stuck": {fails: errStuck}, "panic": {panics: true}} {
		broken.put(m)
		_, err := m.Run(t.Context(), nil)
		require.ErrorContains(t, err, why)
		_, err = m.Runner(t.Context(), nil)
		require.ErrorContains(t, err, why)
		assert.Zero(t, broken.open.Load())
	}

	shut.put(m)
	m.NewWorld = func(context.Context) (*contract.World, error) { return nil, errStuck }
	_, err = m.Run(t.Context(), nil)
	require.ErrorIs(t, err, errStuck)
	_, err = m.Runner(t.Context(), nil)
	require.ErrorIs(t, err, errStuck)
	assert.Zero(t, shut.open.Load(), "no first world")
}

// A run that is under way when its Runner is closed ends before what Open made does.
func TestOpenOfARunner(t *testing.T) {
	d := &door{}
	asked, answer := make(chan struct{}), make(chan struct{})
	m := matrix(t, func(context.Context, string, chaos.ToolRegistry) (string, error) {
		close(asked)
		<-answer
		if d.open.Load() != 1 {
			return "", errors.New("the door is not open")
		}
		return "it is", nil
	}, d.put)
	m.Invariants = []contract.Invariant{holds("answers", contract.High)}
	runner, err := m.Runner(t.Context(), nil)
	require.NoError(t, err)
	ended := make(chan *contract.Result)
	go func() {
		result, err := runner.Run(t.Context(), contract.Cell{Scenario: "s", Invariant: "answers", Trial: 1}, nil)
		assert.NoError(t, err)
		ended <- result
	}()
	<-asked
	runner.Close()
	assert.EqualValues(t, 1, d.open.Load())
	close(answer)
	assert.Equal(t, contract.Held, (<-ended).Cells[0].State)
	runner.Close()
	assert.Zero(t, d.open.Load())
}
