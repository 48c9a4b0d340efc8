package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Parts of a run are shown, written and compared as the run is. One that is missing is no pass.
func TestMerge(t *testing.T) {
	d, dir := newDesk(t), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	t.Setenv("SHAKEDOWN_BUILD", "v1")
	d.suiteAt(t, at("c.yaml"))
	status, whole, problems := typed(t, dir, "run {}/c.yaml --file {}/whole")
	require.Zero(t, status, problems)
	lines := strings.SplitAfter(read(t, at("whole")), "\n")
	units := lines[1 : len(lines)-2]
	write(t, at("a"), lines[0]+strings.Join(units[:5], ""))
	write(t, at("b"), lines[0]+strings.Join(units[5:], ""))

	status, out, problems := typed(t, dir, "merge {}/b {}/a --file {}/m.run.jsonl --junit {}/j.xml --html {}/p.html --markdown {}/m.md --baseline {}/main.run.jsonl --update")
	require.Zero(t, status, problems)
	assert.Contains(t, out, "PASS no critical invariant broke; 32 of 32 decided cells held")
	assert.Contains(t, whole, "PASS no critical invariant broke; 32 of 32 decided cells held")
	for file, has := range map[string]string{"j.xml": "<testsuites", "p.html": "<html", "m.md": "**", "m.run.jsonl": `"end":true`, "main.run.jsonl": `"facts":false`} {
		assert.Contains(t, read(t, at(file)), has, file)
	}
	status, out, problems = typed(t, dir, "merge {}/m.run.jsonl --baseline {}/main.run.jsonl")
	assert.Zero(t, status, problems)
	assert.NotContains(t, out, "nothing could be compared")

	require.NoError(t, os.Remove(at("main.run.jsonl")))
	status, out, problems = typed(t, dir, "merge {}/b --file {}/m.run.jsonl --baseline {}/main.run.jsonl --update")
	assert.Equal(t, inconclusive, status)
	assert.Contains(t, out, "INCONCLUSIVE The merged parts lack 5 of 16 units: calm/1, calm/2, calm/3, calm/4, calm/5")
	assert.Contains(t, problems, "main.run.jsonl is not written: not all cells ran")
	assert.NoFileExists(t, at("main.run.jsonl"))
	assert.Contains(t, read(t, at("m.run.jsonl")), `"part":true`)

	before := read(t, at("m.run.jsonl"))
	write(t, at("a"), strings.Replace(read(t, at("a")), `"states":"h`, `"states":"b`, 1))
	status, _, problems = typed(t, dir, "merge {}/a {}/b --file {}/m.run.jsonl")
	assert.Equal(t, wrongUse, status)
	assert.Contains(t, problems, "a:2:1: sum is another or none")
	assert.Equal(t, before, read(t, at("m.run.jsonl")), "the file stays as it was")

	d.says("1042 " + crash)
	status, _, _ = typed(t, dir, "run {}/c.yaml --file {}/broke")
	require.Equal(t, broke, status)
	status, out, _ = typed(t, dir, "merge {}/broke")
	assert.Equal(t, broke, status)
	assert.Contains(t, out, crash, "with its evidence")
}

// A run in shares is merged to the whole. A share that is none and a file of another run are wrong use, which calls no
// agent and touches no file.
func TestShares(t *testing.T) {
	d, dir := newDesk(t), t.TempDir()
	d.suiteAt(t, filepath.Join(dir, "c.yaml"))
	t.Setenv("SHAKEDOWN_BUILD", "v1")
	for _, shard := range []string{"1/2", "2/2"} {
		status, out, problems := typed(t, dir, "run {}/c.yaml --file {}/x.run.jsonl --shard "+shard)
		require.Zero(t, status, problems)
		assert.Contains(t, out, "PARTIAL nothing broke in 16 of 32 cells")
	}
	status, out, problems := typed(t, dir, "merge {}/x.1of2.run.jsonl {}/x.2of2.run.jsonl --file {}/x.run.jsonl")
	require.Zero(t, status, problems)
	assert.Contains(t, out, "PASS no critical invariant broke; 32 of 32 decided cells held")
	before, text := d.asked.Load(), read(t, filepath.Join(dir, "x.run.jsonl"))
	t.Setenv("SHAKEDOWN_BUILD", "v2")
	for flags, says := range map[string]string{
		"--shard 9/8":             "an index from 1 to the count, such as 2/8",
		"--resume {}/none":        "RunOptions.Resume: " + dir + "/none: no such file or directory; allowed: a run file",
		"--resume {}/x.run.jsonl": `/x.run.jsonl: resume.build is "v1"; allowed: v2`,
	} {
		status, _, problems := typed(t, dir, "run {}/c.yaml --file {}/x.run.jsonl "+flags)
		assert.Equal(t, wrongUse, status, flags)
		assert.Contains(t, problems, says, flags)
	}
	assert.Equal(t, []any{before, text}, []any{d.asked.Load(), read(t, filepath.Join(dir, "x.run.jsonl"))})
}
