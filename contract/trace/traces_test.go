package trace_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/replay/dialect"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

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

// samplesOf reads one file, and counts its faults: a proxy stood between a model's agent loop and a file-system server,
// and let every write_file time out.
func samplesOf(t *testing.T, file string) (epoch time.Time, samples []timeline.Sample, faults int) {
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	sessions, err := dialect.Import(f, nil)
	require.NoError(t, err)
	require.Len(t, sessions, 1)
	for _, c := range sessions[0].Calls {
		s := timeline.Sample{Target: c.Tool, Type: timeline.NodeTool, Start: c.At, End: c.At + c.Took, Failed: c.Error != nil}
		s.Key, err = strconv.ParseUint(c.ArgsHash, 16, 64)
		require.NoError(t, err)
		if s.Failed && c.Error.Text != "" {
			faults++
		}
		samples = append(samples, s)
	}
	return sessions[0].Source.CapturedAt, samples, faults
}

// Each of the twelve runs has one fault. It is found as an outage of the tool into
// which it was injected, whatever else the model did.
func TestRecordedRunsOfRealModels(t *testing.T) {
	files := recordedRuns(t)
	assert.Len(t, files, 12)
	first := time.Date(2026, 7, 4, 0, 0, 0, 0, time.UTC)
	all, err := timeline.NewRun(&timeline.RunOptions{Epoch: first, MaxBins: 4096})
	require.NoError(t, err)
	total := 0
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			epoch, samples, faults := samplesOf(t, file)
			total += faults
			for _, s := range samples {
				s.Start, s.End = s.Start+epoch.Sub(first), s.End+epoch.Sub(first)
				require.NoError(t, all.Add(s))
			}

			// The models think for seconds between calls: in bins as short as those
			// pauses, most bins have no arrivals and say nothing.
			run, err := timeline.NewRun(&timeline.RunOptions{BinSize: 10 * time.Second})
			require.NoError(t, err)
			require.NoError(t, run.AddAll(samples))
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
