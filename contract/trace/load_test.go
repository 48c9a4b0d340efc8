package trace_test

import (
	"bytes"
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

func TestLoadedRunsAreThoseThatWereWritten(t *testing.T) {
	epoch := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	list := trace.SampleList{Epoch: epoch, Samples: []timeline.Sample{{Caller: "agent", Target: "orders.get", End: time.Second, Failed: true}}}
	var b bytes.Buffer
	require.NoError(t, list.WriteLines(&b))
	files := fstest.MapFS{
		"2026/monday.jsonl":  {Data: b.Bytes()},
		"2026/tuesday.jsonl": {Data: b.Bytes()},
		"2026/broken.jsonl":  {Data: []byte("{}\n")},
		"2026/otlp.json":     {Data: []byte("[")},
	}
	runs, err := trace.NewRuns(nil)
	require.NoError(t, err)
	_, err = runs.Load(nil, files, "2026/monday.jsonl", "2026/broken.jsonl", "2026/otlp.json", "missing.jsonl", "monday.csv")
	for _, name := range []string{"2026/broken.jsonl: ", "2026/otlp.json: ", "missing.jsonl: ", `monday.csv: trace: name is "monday.csv"`} {
		assert.ErrorContains(t, err, "trace: "+name)
	}
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.Empty(t, runs.List(), "none is added where one cannot be read")

	ids, err := runs.Load(&timeline.RunOptions{BinSize: time.Minute}, files, "2026/monday.jsonl", "2026/tuesday.jsonl")
	require.NoError(t, err)
	assert.Equal(t, []string{"monday", "tuesday"}, ids)
	e, found := runs.Get("monday")
	require.True(t, found)
	assert.Equal(t, []any{"monday", epoch, trace.KindBaseline, time.Minute}, []any{e.Label, e.CreatedAt, e.Kind, e.Timeline.BinSize()})
	attempts, failures := e.Timeline.Graph(timeline.GraphQuery{}).Calls()
	assert.Equal(t, []int64{1, 1}, []int64{attempts, failures})

	page, all := runs.Page("", 1, 5)
	require.Len(t, page, 1)
	assert.Equal(t, []any{"monday", 2}, []any{page[0].ID, all}, "the newest first")
	page, all = runs.Page(trace.KindScenario, 0, 5)
	assert.Equal(t, []trace.Entry{}, page)
	assert.Zero(t, all)
	page, all = runs.Page(trace.KindBaseline, 0, 1)
	assert.Equal(t, []any{1, 2}, []any{len(page), all})

	ids, err = runs.Load(nil, fstest.MapFS{"monday.jsonl": {Data: b.Bytes()}, "w.jsonl": {Data: b.Bytes()}}, "monday.jsonl", "w.jsonl")
	var wrong *trace.FieldError
	assert.ErrorAs(t, err, &wrong, "the id is taken")
	assert.Equal(t, []string{"w"}, ids)
}
