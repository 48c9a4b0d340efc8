package trace_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// A proxyRecord is one line of the recorded runs: a proxy stood between a model's
// agent loop and a file-system server, and let every write_file time out.
//
//	t      seconds since the start of the session
//	kind   session_start; tools_list; then tool_call, and for each either
//	       tool_result or fault
//	detail started_at (session_start); id, args_hash (tool_call); id, ok (tool_result); id, type (fault)
type proxyRecord struct {
	T      float64 `json:"t"`
	Kind   string  `json:"kind"`
	Tool   string  `json:"tool"`
	Detail struct {
		StartedAt time.Time `json:"started_at"`
		ID        int       `json:"id"`
		ArgsHash  string    `json:"args_hash"`
		OK        bool      `json:"ok"`
		Type      string    `json:"type"`
	} `json:"detail"`
}

// recordedRuns are the files beside the repository; a checkout may be nested one
// folder deeper.
func recordedRuns(t *testing.T) []string {
	for _, up := range []string{"../..", "../../.."} {
		files, err := filepath.Glob(filepath.Join(up, "..", "shared", "data", "mcp-traces", "*.jsonl"))
		require.NoError(t, err)
		if len(files) > 0 {
			return files
		}
	}
	t.Skip("the recorded runs are not there: ../shared/data/mcp-traces beside the repository")
	return nil
}

// fromProxy converts one file, and counts its faults and its refusals.
func fromProxy(t *testing.T, file string) (r *trace.SampleList, faults int) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	r = &trace.SampleList{}
	open := map[int]timeline.Sample{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var p proxyRecord
		require.NoError(t, json.Unmarshal(lines.Bytes(), &p))
		at := time.Duration(p.T * float64(time.Second)).Round(time.Millisecond)
		switch p.Kind {
		case "session_start":
			r.Epoch = p.Detail.StartedAt
		case "tool_call":
			key, err := strconv.ParseUint(p.Detail.ArgsHash, 16, 64)
			require.NoError(t, err)
			open[p.Detail.ID] = timeline.Sample{Target: p.Tool, Type: timeline.NodeTool, Key: key, Start: at}
		case "tool_result", "fault":
			s, began := open[p.Detail.ID]
			require.True(t, began, "%s: an answer to no call", file)
			delete(open, p.Detail.ID)
			s.End, s.Failed = at, !p.Detail.OK
			if p.Kind == "fault" {
				faults++
			}
			r.Samples = append(r.Samples, s)
		}
	}
	assert.Empty(t, open, "%s: every call was answered", file)
	r.NumberAttempts()
	return r, faults
}

// Each of the twelve runs has one fault. It is found as an outage of the tool into
// which it was injected, whatever else the model did.
func TestRecordedRunsOfRealModels(t *testing.T) {
	files := recordedRuns(t)
	assert.Len(t, files, 12)
	all, err := timeline.NewRun(&timeline.RunOptions{Epoch: time.Date(2026, 7, 4, 0, 0, 0, 0, time.UTC), MaxBins: 4096})
	require.NoError(t, err)
	total := 0
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			r, faults := fromProxy(t, file)
			total += faults
			require.NoError(t, r.AddTo(all))

			// The models think for seconds between calls: in bins as short as those
			// pauses, most bins have no arrivals and say nothing.
			run, err := r.Run(&timeline.RunOptions{BinSize: 10 * time.Second})
			require.NoError(t, err)
			writes := timeline.Query{Nodes: []string{"write_file"}}
			incidents, err := run.DetectOutages(writes, timeline.OutageRule{})
			require.NoError(t, err)
			require.NotEmpty(t, incidents)
			bins := 0
			for _, i := range incidents {
				assert.Equal(t, timeline.Outage, i.Type, "nothing was served")
				assert.Equal(t, timeline.High, i.Severity)
				bins += i.Bins()
			}
			assert.LessOrEqual(t, bins, faults, "each bad bin saw a call")
			w, err := run.StateWindow(writes, timeline.Served)
			require.NoError(t, err)
			for _, served := range w.Series[0].Metrics[timeline.Served] {
				assert.Zero(t, served)
			}
		})
	}
	w, err := all.StateWindow(timeline.Query{Nodes: []string{"write_file"}, MaxBins: 4096}, timeline.Failures)
	require.NoError(t, err)
	assert.Equal(t, float64(total), w.Series[0].Totals().Failures, "all runs on one time axis")
}
