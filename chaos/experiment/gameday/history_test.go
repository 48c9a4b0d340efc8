package gameday_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/chaos/experiment/gameday"
)

func result(name string, success bool) experiment.Result {
	text := "Action failed: a \"quoted\" reason,\non two lines"
	r := experiment.Result{Name: name, Success: success, Duration: 1.5, StartedAt: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)}
	if !success {
		r.Error = &text
	}
	return r
}

func open(t testing.TB, path string, max int) *gameday.History {
	t.Helper()
	h, err := gameday.OpenHistory(path, max)
	require.NoError(t, err)
	return h
}

func TestHistoryIsBoundedAndCounts(t *testing.T) {
	h := gameday.NewHistory(3)
	assert.Equal(t, []experiment.Result{}, h.Results(""))
	runs, rate := h.SuccessRate("")
	assert.Zero(t, runs)
	assert.Zero(t, rate)
	assert.Nil(t, h.Score(), "no run is no part of a score")
	for i := range 5 {
		require.NoError(t, h.Add(result(fmt.Sprint("e", i%2), i%2 == 0)))
	}
	assert.Equal(t, []experiment.Result{result("e0", true), result("e1", false), result("e0", true)}, h.Results(""))
	assert.Equal(t, []experiment.Result{result("e1", false)}, h.Results("e1"))
	assert.Equal(t, []experiment.Result{}, h.Results("unknown"))
	assert.EqualValues(t, 2, h.Dropped())
	runs, rate = h.SuccessRate("")
	assert.Equal(t, 5, runs, "also those that are not kept")
	assert.InDelta(t, 60, *h.Score(), 1e-9)
	assert.InDelta(t, 3.0/5, rate, 1e-12)
	runs, rate = h.SuccessRate("e1")
	assert.Equal(t, 2, runs)
	assert.Zero(t, rate)
	require.NoError(t, h.Close())
}

// A crash may leave the file at any length. What was written whole is read, the
// rest is cut off, and the history goes on from there.
func TestHistorySurvivesACrashAtEveryByte(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	h := open(t, path, 10)
	for i := range 4 {
		require.NoError(t, h.Add(result(fmt.Sprint("e", i), i%2 == 0)))
	}
	require.NoError(t, h.Close())
	all, err := os.ReadFile(path)
	require.NoError(t, err)
	const parts = 8 // side by side: nearly all of the time is the disk's
	for part := range parts {
		t.Run(fmt.Sprint("part ", part), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "history.jsonl")
			for cut := part; cut <= len(all); cut += parts {
				for _, garbage := range []string{"", "\x00\x00\x00\x00", "0000 12 {"} { // what a disk may show of a write that did not come through
					if cut == len(all) && garbage == "" || cut < len(all) && garbage != "" && cut%7 != 0 {
						continue
					}
					survives(t, path, all, cut, garbage)
				}
			}
		})
	}
}

// survives opens a history that was cut off, with garbage behind it, and adds to it.
func survives(t *testing.T, path string, all []byte, cut int, garbage string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, append(bytes.Clone(all[:cut]), garbage...), 0o600))
	h := open(t, path, 10)
	whole := bytes.Count(all[:cut], []byte("\n"))
	require.Len(t, h.Results(""), whole, "cut at %d", cut)
	require.NoError(t, h.Add(result("next", true)))
	require.NoError(t, h.Close())
	h = open(t, path, 10)
	results := h.Results("")
	require.Len(t, results, whole+1, "cut at %d", cut)
	assert.Equal(t, result("next", true), results[whole])
	for i := range whole {
		assert.Equal(t, result(fmt.Sprint("e", i), i%2 == 0), results[i])
	}
	assert.Zero(t, h.Dropped())
	require.NoError(t, h.Close())
}

func TestHistoryOnDiskIsBoundedToo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	h := open(t, path, 5)
	for i := range 100 {
		require.NoError(t, h.Add(result(fmt.Sprint("e", i), true)))
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.LessOrEqual(t, bytes.Count(data, []byte("\n")), 10)
		assert.NoFileExists(t, path+".tmp")
	}
	require.NoError(t, h.Close())
	// A crash while the file is replaced leaves a part of the new one beside it.
	require.NoError(t, os.WriteFile(path+".tmp", []byte("half"), 0o600))
	h = open(t, path, 5)
	results := h.Results("")
	require.Len(t, results, 5)
	assert.Equal(t, []string{"e95", "e99"}, []string{results[0].Name, results[4].Name})
	assert.EqualValues(t, 95, h.Dropped(), "counted across restarts")
	assert.NoFileExists(t, path+".tmp")
	require.NoError(t, h.Close())
	h = open(t, path, 2)
	assert.Len(t, h.Results(""), 2, "a smaller bound holds at once")
	assert.EqualValues(t, 98, h.Dropped())
	require.NoError(t, h.Close())
}

func TestDamageBeforeTheEndIsNoCrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	h := open(t, path, 10)
	for range 3 {
		require.NoError(t, h.Add(result("e", true)))
	}
	require.NoError(t, h.Close())
	all, err := os.ReadFile(path)
	require.NoError(t, err)
	line := len(all) / 3
	for at := range len(all) {
		damaged := bytes.Clone(all)
		damaged[at] ^= 1
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		h, err := gameday.OpenHistory(path, 10)
		if at < 2*line {
			assert.ErrorContains(t, err, "is damaged, and whole ones follow", "byte %d", at)
			kept, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, damaged, kept, "nothing is touched")
			continue
		}
		require.NoError(t, err, "byte %d of the last line", at)
		assert.Len(t, h.Results(""), 2)
		require.NoError(t, h.Close())
	}
}

func TestHistoryThatCannotBeWritten(t *testing.T) {
	_, err := gameday.OpenHistory(t.TempDir(), 0)
	assert.ErrorContains(t, err, "gameday: history: ")
	h := open(t, filepath.Join(t.TempDir(), "history.jsonl"), 0)
	require.NoError(t, h.Close())
	require.NoError(t, h.Close(), "closing twice does nothing")
	assert.EqualError(t, h.Add(result("e", true)), "gameday: history: it is closed")
	assert.Len(t, h.Results(""), 1, "what is over is remembered all the same")
}

func TestHistoryIsSafeForConcurrentUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	h := open(t, path, 30)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for range 10 {
				assert.NoError(t, h.Add(result("e", true)))
				_ = h.Results("e")
				_, _ = h.SuccessRate("")
				_ = h.Dropped()
			}
		})
	}
	workers.Wait()
	require.NoError(t, h.Close())
	h = open(t, path, 30)
	assert.Len(t, h.Results(""), 30)
	assert.EqualValues(t, 10, h.Dropped())
	require.NoError(t, h.Close())
}

// Whatever is in the file, opening it does not panic, and what it gives is there
// the next time.
func FuzzOpenHistory(f *testing.F) {
	path := filepath.Join(f.TempDir(), "seed")
	h := open(f, path, 10)
	require.NoError(f, h.Add(result("e", true)))
	require.NoError(f, h.Add(result("e", false)))
	require.NoError(f, h.Close())
	seed, err := os.ReadFile(path)
	require.NoError(f, err)
	end, err := open(f, path, 10).Begin("cut off")
	require.NoError(f, err)
	require.NoError(f, end(nil))
	begun, err := os.ReadFile(path)
	require.NoError(f, err)
	f.Add(begun)
	f.Add(seed)
	f.Add(seed[:len(seed)-3])
	f.Add([]byte("00000000 2 {}\n"))
	f.Add([]byte(strings.Repeat("\n", 5)))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "history")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		h, err := gameday.OpenHistory(path, 10)
		if err != nil {
			return
		}
		before, cut := h.Results(""), h.CutOff()
		require.NoError(t, h.Close())
		h = open(t, path, 10)
		assert.Equal(t, before, h.Results(""))
		assert.Equal(t, cut, h.CutOff())
		require.NoError(t, h.Close())
	})
}
