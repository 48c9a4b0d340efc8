package trace_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

func newRuns(t testing.TB, o *trace.RunsOptions) *trace.Runs {
	t.Helper()
	s, err := trace.NewRuns(o)
	require.NoError(t, err)
	return s
}

func someRun(t testing.TB) *timeline.Run {
	r, err := timeline.NewRun(nil)
	require.NoError(t, err)
	require.NoError(t, r.Add(timeline.Sample{Target: "a", End: 10 * sec}))
	return r
}

func TestTheListOfRuns(t *testing.T) {
	s := newRuns(t, nil)
	assert.Equal(t, []trace.Entry{}, s.List(), "never nil: it is [] in JSON")
	noon := time.Date(2026, 5, 4, 14, 0, 0, 0, time.FixedZone("", 7200))
	_, err := s.Add(trace.Entry{ID: "monday", Label: "before the change", CreatedAt: noon, Metadata: map[string]string{"build": "7"}, Seed: 5, Timeline: someRun(t)})
	require.NoError(t, err)
	id, err := s.Add(trace.Entry{Kind: trace.KindScenario, CreatedAt: noon, Timeline: someRun(t)})
	require.NoError(t, err)
	assert.Equal(t, "run-1", id)
	text, err := json.Marshal(s.List())
	require.NoError(t, err)
	assert.JSONEq(t, `[
		{"id":"monday","label":"before the change","createdAt":"2026-05-04T12:00:00Z","kind":"baseline","metadata":{"build":"7"}},
		{"id":"run-1","label":"","createdAt":"2026-05-04T12:00:00Z","kind":"scenario"}]`, string(text))

	e, ok := s.Get("monday")
	require.True(t, ok)
	assert.Equal(t, uint64(5), e.Seed)
	e.Metadata["build"] = "changed"
	e, _ = s.Get("monday")
	assert.Equal(t, "7", e.Metadata["build"], "what is given out is a copy")
	_, ok = s.Get("tuesday")
	assert.False(t, ok)
}

func TestRunsAreBounded(t *testing.T) {
	s := newRuns(t, &trace.RunsOptions{MaxRuns: 3})
	for i := range 5 {
		_, err := s.Add(trace.Entry{Label: fmt.Sprint(i), Timeline: someRun(t)})
		require.NoError(t, err)
	}
	var ids []string
	for _, e := range s.List() {
		ids = append(ids, e.ID)
		assert.WithinDuration(t, time.Now(), e.CreatedAt, time.Hour)
		assert.Equal(t, time.UTC, e.CreatedAt.Location())
	}
	assert.Equal(t, []string{"run-3", "run-4", "run-5"}, ids, "the newest")
	assert.Equal(t, 2, s.Dropped())
}

func TestRunsThatAreRefused(t *testing.T) {
	s := newRuns(t, nil)
	_, err := s.Add(trace.Entry{ID: "taken", Timeline: someRun(t)})
	require.NoError(t, err)
	_, err = s.Add(trace.Entry{ID: "run-1", Timeline: someRun(t)})
	require.NoError(t, err)
	id, err := s.Add(trace.Entry{Timeline: someRun(t)})
	require.NoError(t, err)
	assert.Equal(t, "run-2", id, "an id that is free")

	for _, tt := range []struct {
		why   string
		entry trace.Entry
		want  string
	}{
		{"an id twice", trace.Entry{ID: "taken", Timeline: someRun(t)}, `trace: id is "taken"; allowed: an id of its own: another run has it`},
		{"no run", trace.Entry{}, "trace: timeline is missing; allowed: a run"},
		{"another kind", trace.Entry{Kind: "rehearsal", Timeline: someRun(t)}, `trace: kind is "rehearsal"; allowed: baseline or scenario`},
		{"a long label", trace.Entry{Label: strings.Repeat("l", 1025), Timeline: someRun(t)}, "allowed: at most 1024 bytes"},
		{"two problems", trace.Entry{Kind: "rehearsal"}, "trace: timeline is missing; allowed: a run\ntrace: kind"},
	} {
		_, err := s.Add(tt.entry)
		assert.ErrorContains(t, err, tt.want, tt.why)
	}
	assert.Len(t, s.List(), 3, "a refused run is not there")
}

func TestWrongOptionsOfAStore(t *testing.T) {
	_, err := trace.NewRuns(&trace.RunsOptions{MaxRuns: -1, Workload: &trace.Workload{}, Recorder: trace.Options{Run: timeline.RunOptions{BinSize: -1}}})
	for _, want := range []string{
		"trace: maxRuns is -1; allowed: 2 to 65536 runs, or 0 for 100",
		"trace: workload.run is missing; allowed: a function",
		"timeline: binSize is -1ns",
	} {
		assert.ErrorContains(t, err, want)
	}
	_, err = trace.NewRuns(&trace.RunsOptions{MaxRuns: 1})
	assert.ErrorContains(t, err, "maxRuns is 1", "a scenario needs its baseline")
}

func TestAStoreUsedConcurrently(t *testing.T) {
	s := newRuns(t, &trace.RunsOptions{MaxRuns: 10})
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for range 50 {
				id, err := s.Add(trace.Entry{Timeline: someRun(t), Metadata: map[string]string{"a": "b"}})
				assert.NoError(t, err)
				s.Get(id)
				s.List()
			}
		})
	}
	workers.Wait()
	assert.Len(t, s.List(), 10)
	assert.Equal(t, 390, s.Dropped())
}
