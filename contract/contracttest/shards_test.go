package contracttest_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/contract/contracttest"
)

func TestChildShard(t *testing.T) {
	onlyInChild(t)
	m := lying(t)
	m.Scenarios, m.Trials = m.Scenarios[:1], 4
	contracttest.AssertPassed(t, contracttest.Run(t, m, nil))
}

// A shard is its cells whatever go test does besides, and other runners' variables make none.
func TestShardsUnderGoTest(t *testing.T) {
	for _, row := range []struct {
		why, run string
		flags    []string
		env      map[string]string
		times    int
		said     string
		failed   bool
	}{
		{why: "a shard", env: map[string]string{"SHAKEDOWN_SHARD": "2/4"}, times: 1, said: "PARTIAL: nothing broke in 2 of 8 cells\n"},
		{why: "twice", env: map[string]string{"SHAKEDOWN_SHARD": "2/4"}, flags: []string{"-test.count=2"}, times: 2,
			said: "PARTIAL: nothing broke in 2 of 8 cells\n"},
		{why: "in another order", env: map[string]string{"SHAKEDOWN_SHARD": "4/4"}, flags: []string{"-test.shuffle=7"}, times: 1,
			said: "PARTIAL: nothing broke in 2 of 8 cells\n"},
		{why: "until something fails", env: map[string]string{"SHAKEDOWN_SHARD": "1/2"}, flags: []string{"-test.failfast"}, times: 1,
			said: "PARTIAL: nothing broke in 4 of 8 cells\n"},
		{why: "a filter of a shard", run: "//^answers$", env: map[string]string{"SHAKEDOWN_SHARD": "1/2"}, times: 1,
			said: "PARTIAL: nothing broke in 2 of 8 cells\n"},
		{why: "a filter that leaves nothing of it", run: "//^nothing$", env: map[string]string{"SHAKEDOWN_SHARD": "1/2"}, times: 1,
			said: "no cell of the matrix was selected", failed: true},
		{why: "more shards than units", env: map[string]string{"SHAKEDOWN_SHARD": "9/9"}, times: 1, said: "PARTIAL: none of the 8 cells ran"},
		{why: "Bazel's shards", env: map[string]string{"TEST_TOTAL_SHARDS": "4", "TEST_SHARD_INDEX": "1"}, times: 1,
			said: "TEST_TOTAL_SHARDS: not read"},
		{why: "no shard", env: map[string]string{"SHAKEDOWN_SHARD": "a/b"}, times: 1, said: `SHAKEDOWN_SHARD is "a/b"`, failed: true},
		{why: "no file", env: map[string]string{"SHAKEDOWN_RESUME": filepath.Join(t.TempDir(), "none")}, times: 1,
			said: "RunOptions.Resume", failed: true},
	} {
		t.Run(row.why, func(t *testing.T) {
			for name, value := range row.env {
				t.Setenv(name, value)
			}
			out, failed := child(t, "^TestChildShard$"+row.run, row.flags...)
			assert.Equal(t, row.failed, failed, out)
			assert.GreaterOrEqual(t, strings.Count(out, row.said), row.times, out)
		})
	}
}

// A test goes on from the file of its shard: what is known is not run again, and its cells are subtests too.
func TestATestGoesOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.run.jsonl")
	t.Setenv("SHAKEDOWN_FILE", file)
	t.Setenv("SHAKEDOWN_SHARD", "1/2")
	t.Setenv("SHAKEDOWN_RESUME", "")
	out, failed := child(t, "^TestChildShard$")
	assert.False(t, failed, out)
	t.Setenv("SHAKEDOWN_SHARD", "")
	t.Setenv("SHAKEDOWN_RESUME", filepath.Join(filepath.Dir(file), "a.1of2.run.jsonl"))
	out, failed = child(t, "^TestChildShard$")
	assert.False(t, failed, out)
	assert.Equal(t, 8, strings.Count(out, "--- PASS: TestChildShard/calm/"), out)
	t.Setenv("SHAKEDOWN_RESUME", file)
	out, failed = child(t, "^TestChildShard$")
	assert.False(t, failed, out)
	assert.Contains(t, out, "PASS no critical invariant broke; 8 of 8 decided cells held")
}
