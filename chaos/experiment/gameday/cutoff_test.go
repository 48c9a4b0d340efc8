package gameday_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/chaos/experiment/gameday"
)

func cutNames(h *gameday.History) (names []string) {
	for _, c := range h.CutOff() {
		names = append(names, c.Name)
	}
	return names
}

// The file is copied while an experiment runs, as a killed process leaves it.
func TestAnExperimentThatWasCutOffIsNamedAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "history.jsonl")
		left := path + ".left"
		h := open(t, path, 10)
		var rolledBack atomic.Bool
		e := play("slow database", time.Hour, true, nil)
		e.Rollbacks[0].Run = func(context.Context) (any, error) { rolledBack.Store(true); return nil, nil }
		lab := newLab(t, &gameday.LabOptions{History: h}, e, play("good", 0, true, nil))
		_, err := lab.Run(t.Context(), "good", false)
		require.NoError(t, err)
		_, err = lab.Run(t.Context(), "slow database", true)
		require.NoError(t, err)
		began := time.Now().UTC()
		go func() {
			time.Sleep(time.Minute)
			assert.False(t, rolledBack.Load())
			assert.Empty(t, h.CutOff(), "it is under way")
			data, err := os.ReadFile(path)
			assert.NoError(t, err)
			assert.NoError(t, os.WriteFile(left, data, 0o600))
		}()
		_, err = lab.Run(t.Context(), "slow database", false)
		require.NoError(t, err)
		require.NoError(t, h.Close())
		h = open(t, path, 10)
		assert.Empty(t, h.CutOff(), "this process ended it")
		require.NoError(t, h.Close())

		h = open(t, left, 10)
		assert.Equal(t, []gameday.CutOff{{Name: "slow database", StartedAt: began}}, h.CutOff())
		lab = newLab(t, &gameday.LabOptions{History: h}, e)
		assert.Equal(t, h.CutOff(), lab.Status(gameday.Query{}).CutOff)
		_, err = lab.Run(t.Context(), "slow database", false)
		require.NoError(t, err)
		assert.Len(t, h.CutOff(), 1, "another run is no proof that the first was undone")
		n, err := h.Settle("good")
		require.NoError(t, err)
		assert.Zero(t, n)
		n, err = h.Settle("slow database")
		require.NoError(t, err)
		assert.Equal(t, 1, n)
		require.NoError(t, h.Close())
		h = open(t, left, 10)
		assert.Empty(t, h.CutOff(), "settled for good")
		require.NoError(t, h.Close())
	})
}

// Whatever a crash has torn off, the runs that are cut off are those whose
// beginning is whole in the file and whose end is not.
func TestACrashAtEveryByteBetweenBeginAndEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	h := open(t, path, 10)
	endA, err := h.Begin("a")
	require.NoError(t, err)
	endB, err := h.Begin("b")
	require.NoError(t, err)
	r := result("a", true)
	require.NoError(t, endA(&r))
	endC, err := h.Begin("c")
	require.NoError(t, err)
	require.NoError(t, endC(nil), "it was not run")
	r = result("b", false)
	require.NoError(t, endB(&r))
	require.NoError(t, h.Close())
	all, err := os.ReadFile(path)
	require.NoError(t, err)
	want := [][]string{nil, {"a"}, {"a", "b"}, {"b"}, {"b", "c"}, {"b"}, nil} // by whole lines
	for cut := range len(all) + 1 {
		require.NoError(t, os.WriteFile(path, all[:cut], 0o600))
		h := open(t, path, 10)
		assert.Equal(t, want[bytes.Count(all[:cut], []byte("\n"))], cutNames(h), "cut at %d", cut)
		require.NoError(t, h.Close())
	}
}

// Neither what began nor the counts are lost when the file is written anew.
func TestABoundedFileKeepsCountsAndBeginnings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	h := open(t, path, 5)
	_, err := h.Begin("cut off")
	require.NoError(t, err)
	for i := range 100 {
		end, err := h.Begin(fmt.Sprint("e", i%2))
		require.NoError(t, err)
		r := result(fmt.Sprint("e", i%2), i%4 == 0)
		require.NoError(t, end(&r))
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.LessOrEqual(t, bytes.Count(data, []byte("\n")), 10)
	}
	for range 2 {
		require.NoError(t, h.Close())
		h = open(t, path, 5)
		for name, want := range map[string]struct {
			runs int
			rate float64
		}{"": {100, 0.25}, "e0": {50, 0.5}, "e1": {50, 0}, "unknown": {0, 0}} {
			runs, rate := h.SuccessRate(name)
			assert.Equal(t, want.runs, runs, name)
			assert.InDelta(t, want.rate, rate, 1e-12, name)
		}
		assert.Equal(t, []string{"cut off"}, cutNames(h))
		assert.Len(t, h.Results(""), 5)
		assert.EqualValues(t, 95, h.Dropped())
	}
	require.NoError(t, h.Close())
}

// Of the runs that are cut off the latest are kept, as many as results.
func TestRunsThatAreCutOffAreBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	for i := range 7 {
		h := open(t, path, 3)
		_, err := h.Begin(fmt.Sprint("e", i))
		require.NoError(t, err)
		require.NoError(t, h.Close())
	}
	h := open(t, path, 3)
	assert.Equal(t, []string{"e4", "e5", "e6"}, cutNames(h))
	require.NoError(t, h.Close())
}

func TestAnInvalidRunIsNotRemembered(t *testing.T) {
	h := gameday.NewHistory(0)
	e := play("spoilt", 0, true, nil)
	lab := newLab(t, &gameday.LabOptions{History: h}, e)
	e.Hypothesis = nil // after it was registered
	_, err := lab.Run(t.Context(), "spoilt", false)
	var wrong *experiment.FieldError
	assert.ErrorAs(t, err, &wrong)
	assert.Empty(t, h.Results(""))
}
