package findings_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/findings"
)

// recordedRuns are files of recorded runs of real models beside the repository; a checkout
// may be nested one folder deeper. A proxy stood between a model's agent loop and a
// file-system server, and let every write_file time out. Only hashes of arguments were kept.
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

// proxied reads the calls of one file.
func proxied(t *testing.T, file string) (calls []findings.Call) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	open := map[int]int{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var p struct {
			T      float64 `json:"t"`
			Kind   string  `json:"kind"`
			Tool   string  `json:"tool"`
			Detail struct {
				ID       int    `json:"id"`
				ArgsHash string `json:"args_hash"`
				OK       bool   `json:"ok"`
				Type     string `json:"type"`
			} `json:"detail"`
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &p))
		at := time.Duration(p.T * float64(time.Second)).Round(ms)
		switch p.Kind {
		case "tool_call":
			open[p.Detail.ID] = len(calls)
			calls = append(calls, findings.Call{Tool: p.Tool, ArgsHash: p.Detail.ArgsHash, At: at,
				Missing: []findings.Part{findings.Args, findings.Result}})
		case "tool_result", "fault":
			i, began := open[p.Detail.ID]
			require.True(t, began, "%s: an answer to no call", file)
			delete(open, p.Detail.ID)
			if calls[i].Took = at - calls[i].At; !p.Detail.OK {
				calls[i].Error = &findings.CallError{Text: p.Detail.Type}
			}
		}
	}
	assert.Empty(t, open, "%s: every call was answered", file)
	return calls
}

// The retries of write_file were counted from the lines by another program.
func TestVerdictsOfRecordedRuns(t *testing.T) {
	files := recordedRuns(t)
	want := map[string]struct {
		retries int
		verdict findings.Verdict
	}{
		"anthropic-claude-haiku-4.5":    {3, findings.Runaway},
		"anthropic-claude-sonnet-5":     {4, findings.Runaway},
		"deepseek-deepseek-v4-flash":    {4, findings.Runaway},
		"google-gemini-3-flash-preview": {3, findings.Runaway},
		"meta-llama-llama-4-maverick":   {0, findings.Stopped},
		"mistralai-mistral-large-2512":  {1, findings.Retried},
		"moonshotai-kimi-k2.6":          {5, findings.Runaway},
		"openai-gpt-5-mini":             {3, findings.Runaway},
		"openai-gpt-5.1":                {1, findings.Retried},
		"qwen-qwen3-235b-a22b-2507":     {1, findings.Retried},
		"x-ai-grok-4.3":                 {1, findings.Retried},
		"z-ai-glm-5":                    {3, findings.Runaway},
	}
	require.Len(t, files, len(want))
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "model\tcalls\twrite_file\tretries\tverdict\tstorms\tloops")
	for _, file := range files {
		model := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		calls := proxied(t, file)
		r, err := findings.Find(calls, nil)
		require.NoError(t, err)
		require.NotNil(t, r.Verdict, "every call was answered")
		for _, o := range r.Operations {
			if o.Tool != "write_file" {
				continue
			}
			assert.Equal(t, o.Calls, o.Failures, "%s: every call timed out", model)
			assert.Equal(t, want[model].retries, *o.Retries, model)
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%d\t%d\n", model, len(calls), o.Calls, *o.Retries, *r.Verdict,
				*r.Counts[findings.Storm], *r.Counts[findings.Loop])
		}
		assert.Equal(t, want[model].verdict, *r.Verdict, model)
		assert.Nil(t, r.Counts[findings.Abandoned], "%s: the tools declare nothing", model)
		assert.Nil(t, r.Counts[findings.Fabricated], "%s: neither answer nor results were kept", model)
	}
	require.NoError(t, w.Flush())
	t.Log("\n" + table.String())
}
