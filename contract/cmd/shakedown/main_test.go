package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/internal/golden"
)

// The help of the command and of each verb, as they are printed.
func TestHelp(t *testing.T) {
	status, all, _ := typed(t, "", "help")
	assert.Zero(t, status)
	for _, again := range []string{"--help", "-h"} {
		_, out, _ := typed(t, "", again)
		assert.Equal(t, all, out)
	}
	for _, v := range verbs() {
		status, out, problems := typed(t, "", v.name+" --help")
		assert.Zero(t, status, v.name)
		assert.Empty(t, problems)
		assert.Contains(t, out, "\n  "+v.example+"\n", "an example")
		_, again, _ := typed(t, "", "help "+v.name)
		assert.Equal(t, out, again)
		all += "\n" + strings.Repeat("─", 40) + "\n" + out
	}
	golden.Equal(t, "help.txt", []byte(all))
}

// What was typed wrongly, and files that are not what they should be: the status is 3, and each problem a line in the
// words of who typed.
func TestWrongUse(t *testing.T) {
	d, dir := newDesk(t), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	d.suiteAt(t, at("c.yaml"), "trials: 8", "trials: 1")
	_, _, problems := typed(t, dir, "run {}/c.yaml --file {}/a.run.jsonl")
	require.Empty(t, problems)
	run := read(t, at("a.run.jsonl"))
	write(t, at("tape.json"), `{"format": "shakedown/cassette", "version": 1, "exchanges": []}`)
	write(t, at("empty"), " \n")
	write(t, at("broken.yaml"), "contract:\n  name: [\n")
	write(t, at("binary"), "\x00\x01\xff\xfe")
	write(t, at("deep.json"), strings.Repeat("[", 100_000))
	write(t, at("changed.run.jsonl"), strings.Replace(run, `"states":"h`, `"states":"b`, 1))
	write(t, at("later.run.jsonl"), `{"shakedown":"run","version":9}`+"\n")
	write(t, at("cutfirst.run.jsonl"), run[:40])
	write(t, at("old.run.jsonl"), `{"cells": []}`)
	d.suiteAt(t, at("noagent.yaml"), `agent: {endpoint: "`+d.URL+`/agent", response_path: $.output, reset_endpoint: "`+d.URL+`/reset"}`, "points: [x]")
	d.suiteAt(t, at("faulty.yaml"), "{name: calm}", `{name: calm, tool_faults: [{tool: "*", mode: error}]}`)
	d.suiteAt(t, at("effects.yaml"), "type: contains, value", "type: at_most_once, effects: refunds, value")
	asked := d.asked.Load()
	for _, row := range []struct {
		line string
		want []string // what the lines have
	}{
		{"", nil},
		{"runn c", []string{`verb is "runn"; allowed: one of run, lint, show, merge, compare, verify, explain, import, tape, help; did you mean run?`}},
		{"-v", []string{`verb is "-v"`}},
		{"run", []string{"number of operands is 0; allowed: shakedown run SUITE"}},
		{"run a b", []string{"number of operands is 2"}},
		{"compare {}/a.run.jsonl", []string{"number of operands is 1; allowed: shakedown compare OLD NEW"}},
		{"run {}/c.yaml --jnuit x", []string{`flag is "--jnuit"; allowed: one of --baseline, --cell`, "number of operands"}},
		{"run {}/c.yaml --junit", []string{"value of --junit is missing; allowed: FILE behind it"}},
		{"run {}/c.yaml --junit --html x", []string{"value of --junit is missing"}},
		{"run {}/c.yaml --fail-on hgh", []string{`--fail-on is "hgh"; allowed: the least SEVERITY whose broken cells fail the run: low, medium, high or critical`}},
		{"run {}/c.yaml --update=maybe --baseline x", []string{`--update is "maybe"`}},
		{"run {}/c.yaml --update", []string{"--update is without --baseline; allowed: --baseline FILE beside it"}},
		{"run {}/c.yaml --junit {}/no/j.xml --html {}", []string{"no/j.xml is in no folder", " is a folder; allowed: a file to write"}},
		{"run {}/c.yaml --junit {}/x --html {}/./x", []string{"x is named twice; allowed: a file for each result, and none that is read"}},
		{"run {}/c.yaml --file {}/c.yaml", []string{"c.yaml is named twice"}},
		{"run {}/c.yaml --baseline {}/a.run.jsonl --file {}/a.run.jsonl", []string{"a.run.jsonl is named twice"}},
		{"run {}/c.yaml --update --baseline {}/b.run.jsonl --file {}/b.run.jsonl", []string{"b.run.jsonl is named twice"}},
		{"run {}/c.yaml --junit " + os.DevNull, []string{os.DevNull + " is a link, a device or a pipe; allowed: a file to write"}},
		{"run {}/c.yaml --cell calm/no-trace/1", []string{"--cell is \"calm/no-trace/1\"; allowed: one of the 4 cells of", "did you mean calm/no-traces/1?"}},
		{"run {}/c.yaml --baseline {}/tape.json", []string{"tape.json:1:1 is "}},
		{"run -- --junit", []string{"--junit: no such file or directory; allowed: a suite"}},
		{"run {}/none.yaml", []string{"none.yaml: no such file or directory; allowed: a suite"}},
		{"run {}", []string{": is a directory; allowed: a suite"}},
		{"run {}/empty", []string{"empty is empty; allowed: a suite"}},
		{"run {}/a.run.jsonl", []string{"a.run.jsonl"}},
		{"lint {}/broken.yaml", []string{"broken.yaml:2:1: syntax, here or before"}},
		{"lint {}/binary", []string{"binary:1:1: "}},
		{"lint {}/deep.json", []string{"deep.json"}},
		{"run {}/noagent.yaml", []string{"noagent.yaml: agent is missing; allowed: one behind HTTP: agent: {endpoint: URL}"}},
		{"lint {}/faulty.yaml", []string{"faulty.yaml:11:34: contract/chaos_matrix/0/tool_faults/0: this fault cannot reach the agent"}},
		{"lint {}/effects.yaml", []string{"names of functions of a test in Go, and here is none"}},
		{"show {}/c.yaml", []string{"c.yaml:1:1 is ", "; allowed: the head of a run file"}},
		{"show {}/binary", []string{`binary:1:1 is "\x00\x01\xff\xfe"; allowed: the head of a run file`}},
		{"show {}/old.run.jsonl", []string{"old.run.jsonl:1:1 is "}},
		{"show {}/later.run.jsonl", []string{"later.run.jsonl:1:1: sum is another or none"}},
		{"show {}/cutfirst.run.jsonl", []string{"cutfirst.run.jsonl:1:1: sum is another or none"}},
		{"show {}/changed.run.jsonl", []string{"changed.run.jsonl:2:1: sum is another or none; allowed: that of the line, which was changed or cut"}},
		{"show {}/a.run.jsonl calm/no-trace/1", []string{`CELL is "calm/no-trace/1"; allowed: SCENARIO/INVARIANT/TRIAL, one of the 4 cells in `}},
		{"show {}/a.run.jsonl --html --json", []string{"--html is one form too many"}},
		{"show {}/a.run.jsonl calm/no-traces/1 --html", []string{"--html is one form too many; allowed: one form; of a cell, text or --json"}},
		{"compare {}/none {}/tape.json", []string{"none: no such file", "tape.json:1:1 is "}},
		{"show {}/a.run.jsonl --since {}/a.run.jsonl", []string{"--since is without --html; allowed: --html beside it, and no cell"}},
		{"show {}/a.run.jsonl --html --since {}/none", []string{"none: no such file or directory; allowed: a run file"}},
		{"merge", []string{"number of operands is 0; allowed: shakedown merge PART..."}},
		{"merge {}/none {}/tape.json {} {}/empty", []string{"none: no such file or directory; allowed: a run file", "tape.json:1:1 is ", " is a folder", "empty:1:1 is "}},
		{"merge {}/a.run.jsonl {}/a.run.jsonl", []string{"a.run.jsonl is given twice"}},
		{"merge {}/changed.run.jsonl", []string{"changed.run.jsonl:2:1: sum is another or none"}},
		{"merge {}/a.run.jsonl --file {}/a.run.jsonl", []string{"a.run.jsonl is named twice"}},
		{"merge {}/a.run.jsonl --update", []string{"--update is without --baseline"}},
		{"merge {}/a.run.jsonl --baseline {}/b.run.jsonl", []string{"b.run.jsonl: file does not exist; allowed: a run file; --update writes it"}},
		{"explain {}/c.yaml --from {}/c.yaml", []string{"c.yaml:1:1 is "}},
		{"explain {}/c.yaml --time soon", []string{`--time is "soon"; allowed: the longest time, a DURATION such as 90s`}},
		{"import {}/a.run.jsonl", []string{"a.run.jsonl"}},
		{"import {}/tape.json", []string{"tape.json"}},
		{"import {}/binary", []string{"binary"}},
		{"import {}/deep.json", []string{"deep.json"}},
		{"import {}/old.run.jsonl --dialect otpl", []string{`dialect is "otpl"; allowed: anthropic, `, "did you mean otlp?"}},
		{"import {}/old.run.jsonl --effect =x", []string{`--effect is "=x"; allowed: a tool whose calls change something, TOOL or TOOL=/KEY`}},
		{"import {}/old.run.jsonl --effect refund=key", []string{`--effect is "refund=key"`}},
		{"import {}/old.run.jsonl", []string{"old.run.jsonl: dialect is unknown: "}},
		{"tape {}/a.run.jsonl", []string{"a.run.jsonl cannot be read:"}},
		{"tape {}/old.run.jsonl", []string{"old.run.jsonl cannot be read:", "/format is missing", "/cells is unknown"}},
		{"tape {}/binary", []string{"binary cannot be read:", "the document is not UTF-8"}},
	} {
		status, out, problems := typed(t, dir, row.line)
		assert.Equal(t, 3, status, "%s\n%s", row.line, problems)
		assert.Empty(t, out, row.line)
		for _, part := range row.want {
			assert.Contains(t, problems, part, row.line)
		}
		for _, name := range []string{"Options.", "Matri", "func(", "goroutine"} {
			assert.NotContains(t, problems, name, "%s: the words of a programmer", row.line)
		}
	}
	assert.Equal(t, asked, d.asked.Load(), "the agent was not asked")
}

// What is behind -- is no flag, flags stand anywhere, and one dash is as good as two.
func TestParse(t *testing.T) {
	d, dir := newDesk(t), t.TempDir()
	d.suiteAt(t, filepath.Join(dir, "c.yaml"), "trials: 8", "trials: 1")
	for _, line := range []string{"run {}/c.yaml --junit {}/j.xml -fail-on=high", "run --junit={}/j.xml {}/c.yaml --fail-on high",
		"run -junit {}/j.xml --fail-on=high -- {}/c.yaml"} {
		status, _, problems := typed(t, dir, line)
		assert.Zero(t, status, "%s\n%s", line, problems)
		assert.NoError(t, os.Remove(filepath.Join(dir, "j.xml")), line)
	}
}

// The command as a process: its statuses, and what a signal leaves.
func TestProcess(t *testing.T) {
	d, dir := newDesk(t), t.TempDir()
	d.suiteAt(t, filepath.Join(dir, "c.yaml"))
	program := filepath.Join(dir, "shakedown.exe")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, string(out))

	passed := exec.CommandContext(t.Context(), program, "run", "c.yaml", "--file", "a.run.jsonl")
	passed.Dir = dir
	out, err = passed.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Contains(t, string(out), "PASS no critical invariant broke")
	assert.FileExists(t, filepath.Join(dir, "a.run.jsonl"))

	if runtime.GOOS == "windows" {
		t.Skip("no signal can be sent to a process")
	}
	asked := make(chan struct{})
	d.asked.Store(0)
	d.answer.Store(func(string) string {
		if d.asked.Load() == 5 {
			close(asked)
		}
		return "Order 1042"
	})
	ended := exec.CommandContext(t.Context(), program, "run", "c.yaml", "--file", "b.run.jsonl")
	ended.Dir = dir
	var said strings.Builder
	ended.Stdout, ended.Stderr = &said, &said
	d.suiteAt(t, filepath.Join(dir, "c.yaml"), "trials: 8", "trials: 5000")
	require.NoError(t, ended.Start())
	<-asked
	require.NoError(t, ended.Process.Signal(os.Interrupt))
	_ = ended.Wait()
	assert.Equal(t, 2, ended.ProcessState.ExitCode(), said.String())
	assert.Contains(t, said.String(), "INCONCLUSIVE the run was cancelled")
	f, err := os.Open(filepath.Join(dir, "b.run.jsonl"))
	require.NoError(t, err)
	defer f.Close()
	r, err := report.Read(f, nil)
	require.NoError(t, err)
	assert.True(t, r.Cancelled)
	assert.Positive(t, r.Score.Decided, "what ran before the signal is there")
}
