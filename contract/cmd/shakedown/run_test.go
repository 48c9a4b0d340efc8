package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/report"
)

// The exit status is the verdict of all matrices, of an agent that answers so or otherwise.
func TestRun(t *testing.T) {
	d, dir := newDesk(t), t.TempDir()
	for _, row := range []struct {
		reason, answer, flags string
		change                []string
		want                  int
		says                  string
	}{
		{"the agent keeps the contract", "Order 1042 is on its way.", "", nil, 0, "PASS no critical invariant broke"},
		{"a critical invariant broke", "1042 " + crash, "", nil, 1, "FAIL critical invariant"},
		{"so does one that is not", "On its way.", "", nil, 1, "PASS no critical invariant broke"},
		{"but for what is less severe", "On its way.", "--fail-on=medium", nil, 0, "broken"},
		{"nothing was decided", "Order 1042", "", []string{"type: excludes_pattern, patterns: [traceback]", "type: refusal_check",
			"{id: names-it, type: contains, value: \"1042\", severity: low}", "{type: backs_off, least: 1s}"}, 2, "INCONCLUSIVE"},
		{"mutations are a matrix of their own", "Order 1042", "", []string{"trials: 8", "trials: 1\nmutations: {types: [noise]}"}, 0,
			"\nPASS: all matrices passed"},
		{"and the status is the worse one", "Order 1042", "", []string{"trials: 8",
			"trials: 1\nmutations: {types: [noise]}", `patterns: [traceback], severity: critical}`,
			`patterns: [order 1042], severity: low, scenarios: ["typo*"]}`}, 1, "MUTATION"},
		{"a chosen cell alone", "1042 " + crash, "--cell calm/names-it/3", nil, 0, "1 decided, 31 not run"},
		{"a chosen cell that broke", "1042 " + crash, "--cell calm/no-traces/3", nil, 1, "--cell calm/no-traces/3"},
	} {
		d.says(row.answer)
		d.suiteAt(t, filepath.Join(dir, "c.yaml"), row.change...)
		status, out, problems := typed(t, dir, "run {}/c.yaml "+row.flags)
		assert.Equal(t, row.want, status, "%s\n%s%s", row.reason, out, problems)
		assert.Contains(t, out, row.says, row.reason)
		assert.Empty(t, problems, row.reason)
	}
}

// Each matrix has files of its own; the run file has what is known after the run.
func TestFilesOfARun(t *testing.T) {
	d, dir := newDesk(t), t.TempDir()
	d.suiteAt(t, filepath.Join(dir, "c.yaml"), "trials: 8", "trials: 1\nmutations: {types: [noise]}")
	status, out, problems := typed(t, dir, "run --junit {}/j.xml {}/c.yaml --html={}/p.html --markdown {}/m --file {}/a.run.jsonl")
	require.Zero(t, status, out+problems)
	for file, has := range map[string]string{"j.xml": "<testsuites", "j.mutation.xml": "<testsuites", "p.html": "<html", "p.mutation.html": "<html",
		"m": "**", "m.mutation": "**", "a.run.jsonl": `"overall":`, "a.mutation.run.jsonl": `{"shakedown":"run"`} {
		assert.Contains(t, read(t, filepath.Join(dir, file)), has, file)
	}
	f, err := os.Open(filepath.Join(dir, "a.run.jsonl"))
	require.NoError(t, err)
	defer f.Close()
	r, err := report.Read(f, nil)
	require.NoError(t, err)
	assert.NotNil(t, r.Overall)
	head := strings.SplitN(read(t, f.Name()), "\n", 2)[0]
	assert.Contains(t, head, `"run":"`, "it is still the file of that run")
	_, out, _ = typed(t, dir, "show {}/a.run.jsonl")
	assert.Contains(t, out, "overall   PASS, 100.00 of 100")
}

func TestBaseline(t *testing.T) {
	d, dir := newDesk(t), t.TempDir()
	d.suiteAt(t, filepath.Join(dir, "c.yaml"))
	status, _, problems := typed(t, dir, "run {}/c.yaml --baseline {}/main.run.jsonl")
	assert.Equal(t, 3, status, "there is none")
	assert.Contains(t, problems, "main.run.jsonl: file does not exist; allowed: a run file; --update writes it")
	assert.Zero(t, d.asked.Load(), "and the agent was not asked in vain")

	status, _, problems = typed(t, dir, "run {}/c.yaml --baseline {}/main.run.jsonl --update --file {}/old.run.jsonl")
	require.Zero(t, status, problems)
	assert.NotContains(t, read(t, filepath.Join(dir, "main.run.jsonl")), "on its way", "without evidence")
	status, out, _ := typed(t, dir, "run {}/c.yaml --baseline {}/main.run.jsonl")
	assert.Zero(t, status)
	assert.Contains(t, out, "fields compared, 0 worse")

	// some answers got worse in what is not severe enough to fail by itself
	d.answer.Store(func(prompt string) string {
		if d.asked.Load()%2 == 0 {
			return "On its way."
		}
		return "1042"
	})
	d.asked.Store(0)
	status, out, _ = typed(t, dir, "run {}/c.yaml --fail-on high --baseline {}/main.run.jsonl --file {}/new.run.jsonl --html {}/page.html")
	assert.Equal(t, 1, status, out)
	assert.Contains(t, out, "worse")
	assert.Contains(t, read(t, filepath.Join(dir, "page.html")), "newly broken: ", "the page has the comparison too")
	_, out, _ = typed(t, dir, "show {}/new.run.jsonl --html --since {}/old.run.jsonl")
	assert.Contains(t, out, "newly broken: ")
	_, out, _ = typed(t, dir, "show {}/new.run.jsonl --html")
	assert.NotContains(t, out, "newly broken: ")

	// the same two runs, by their files
	status, again, _ := typed(t, dir, "compare {}/old.run.jsonl {}/new.run.jsonl")
	assert.Equal(t, 1, status, again)
	status, _, _ = typed(t, dir, "compare {}/new.run.jsonl {}/old.run.jsonl")
	assert.Zero(t, status, "better is not worse")

	d.suiteAt(t, filepath.Join(dir, "c.yaml"), "{name: calm}", "{name: quiet}", "name: manager", "name: director")
	status, out, _ = typed(t, dir, "run {}/c.yaml --fail-on critical --baseline {}/main.run.jsonl")
	assert.Equal(t, 2, status, out)
	assert.Contains(t, out, "nothing could be compared")
}

// What ends a run leaves what there is: on the screen, and in the file.
func TestACancelledRun(t *testing.T) {
	d, dir := newDesk(t), t.TempDir()
	d.suiteAt(t, filepath.Join(dir, "c.yaml"), "trials: 8", "trials: 8\nmutations: {types: [noise]}")
	ctx, cancel := context.WithCancel(t.Context())
	d.answer.Store(func(string) string {
		if d.asked.Load() == 7 {
			cancel()
		}
		return "Order 1042"
	})
	var out, problems strings.Builder
	file := filepath.Join(dir, "a.run.jsonl")
	status := run(ctx, []string{"run", filepath.Join(dir, "c.yaml"), "--file", file, "--junit", filepath.Join(dir, "j.xml")}, &out, &problems)
	assert.Equal(t, 2, status, out.String()+problems.String())
	assert.Contains(t, out.String(), "INCONCLUSIVE the run was cancelled")
	assert.Equal(t, "shakedown: mutation did not run\n", problems.String())
	assert.FileExists(t, filepath.Join(dir, "j.xml"))
	_, out2, _ := typed(t, dir, "show {}/a.run.jsonl")
	assert.Contains(t, out2, "the run was cancelled")
	status, out2, _ = typed(t, dir, "compare {}/a.run.jsonl {}/a.run.jsonl")
	assert.Equal(t, 2, status, "nothing is worse in what there is of it")
	assert.Contains(t, out2, "a.run.jsonl is of a run that was ended: what it lacks may be worse")
	_, _, p := typed(t, dir, "run {}/c.yaml --baseline {}/a.run.jsonl")
	assert.Contains(t, p, "a.run.jsonl is a part of a run; allowed: a run of all cells")
}

func TestShow(t *testing.T) {
	d, dir := newDesk(t), t.TempDir()
	d.says("1042 " + crash)
	d.suiteAt(t, filepath.Join(dir, "c.yaml"))
	_, _, problems := typed(t, dir, "run {}/c.yaml --file {}/a.run.jsonl")
	require.Empty(t, problems)
	for _, row := range []struct {
		reason, line string
		want         []string
	}{
		{"text", "show {}/a.run.jsonl", []string{"scenario  crit", "FAIL critical", "BROKEN"}},
		{"a cell", "show {}/a.run.jsonl manager/no-traces/2", []string{"✗ manager / no-traces / 2 (critical): broken", "prompt    Where is order 1042?"}},
		{"one that held", "show {}/a.run.jsonl manager/names-it/2", []string{"✓ manager / names-it / 2 (low): held"}},
		{"a cell as JSON", "show {}/a.run.jsonl manager/no-traces/2 --json", []string{`"state": "broken"`, `"evidence": {`}},
		{"head and end", "show --json {}/a.run.jsonl", []string{`"head": {`, `"end": {`, `"verdict": "fail"`}},
		{"a page", "show --html {}/a.run.jsonl", []string{"<!DOCTYPE html>"}},
		{"a comment", "show {}/a.run.jsonl --markdown", []string{"FAIL", "<details>"}},
		{"JUnit", "show {}/a.run.jsonl -junit", []string{"<testsuites", "<failure"}},
	} {
		status, out, problems := typed(t, dir, row.line)
		assert.Zero(t, status, "%s: it is shown\n%s", row.reason, problems)
		for _, part := range row.want {
			assert.Contains(t, out, part, row.reason)
		}
	}
	_, out, _ := typed(t, dir, "show {}/a.run.jsonl --json")
	assert.True(t, json.Valid([]byte(out)))
}

func TestExplain(t *testing.T) {
	d, dir := newDesk(t), t.TempDir()
	d.answer.Store(func(prompt string) string {
		if strings.Contains(prompt, "manager") {
			return "1042 " + crash
		}
		return "1042"
	})
	d.suiteAt(t, filepath.Join(dir, "c.yaml"), "trials: 8", "trials: 1")
	status, out, problems := typed(t, dir, "run {}/c.yaml --file {}/a.run.jsonl")
	require.Equal(t, 1, status, problems)
	assert.NotContains(t, out, "DEFECTS")
	before := d.asked.Load()
	status, out, problems = typed(t, dir, "explain --from {}/a.run.jsonl {}/c.yaml --file {}/b.run.jsonl")
	assert.Equal(t, 1, status, problems)
	assert.Contains(t, out, "DEFECTS  1 broken cell, 1 of them critical, is 1 defect")
	assert.Contains(t, problems, "nothing shows that "+dir+"/a.run.jsonl is of the agent that runs now")
	assert.Greater(t, d.asked.Load(), before, "the agent was asked again")
	_, out, _ = typed(t, dir, "show {}/b.run.jsonl")
	assert.Contains(t, out, "DEFECTS", "the new file has them")

	status, out, _ = typed(t, dir, "explain {}/c.yaml")
	assert.Equal(t, 1, status)
	assert.Contains(t, out, "DEFECTS", "without a file it runs the suite first")
	d.suiteAt(t, filepath.Join(dir, "other.yaml"), "1042?", "1043?", "trials: 8", "trials: 1")
	d.suiteAt(t, filepath.Join(dir, "seeded.yaml"), "trials: 8", "trials: 1\nadvanced: {seed: 7}")
	d.suiteAt(t, filepath.Join(dir, "keeps.yaml"), `, reset_endpoint: "`+d.URL+`/reset"`, "")
	for line, says := range map[string]string{
		"explain {}/other.yaml --from {}/a.run.jsonl":  "a.run.jsonl: report.fingerprint is ",
		"explain {}/seeded.yaml --from {}/a.run.jsonl": "a.run.jsonl: report.seed is 0; allowed: 7, that of the suite",
		"explain {}/keeps.yaml":                        "keeps.yaml: agent/reset_endpoint is missing; allowed: an address that makes the agent forget",
		"explain {}/c.yaml --runs 0 --time=-1s":        "--runs is 0; allowed: 1 and more",
	} {
		status, _, problems := typed(t, dir, line)
		assert.Equal(t, 3, status, line)
		assert.Contains(t, problems, says)
	}
	t.Setenv("SHAKEDOWN_BUILD", "one")
	typed(t, dir, "run {}/c.yaml --file {}/built.run.jsonl")
	_, _, problems = typed(t, dir, "explain --from {}/built.run.jsonl {}/c.yaml")
	assert.NotContains(t, problems, "nothing shows")
	t.Setenv("SHAKEDOWN_BUILD", "two")
	before = d.asked.Load()
	status, _, problems = typed(t, dir, "explain --from {}/built.run.jsonl {}/c.yaml")
	assert.Equal(t, 3, status)
	assert.Contains(t, problems, `built.run.jsonl: report.build is "one"; allowed: two, which is running; SHAKEDOWN_BUILD of both runs may name it`)
	assert.Equal(t, before, d.asked.Load(), "the agent is not asked")
}

func TestLint(t *testing.T) {
	d, dir := newDesk(t), t.TempDir()
	d.suiteAt(t, filepath.Join(dir, "c.yaml"), "trials: 8", "trials: 8\npoints: [ledger]", "- {name: calm}",
		"- {name: calm}\n    - {name: told, rules: [{target: ledger, fault: {kind: error, params: {message: Injected fault}}}]}")
	status, out, problems := typed(t, dir, "lint {}/c.yaml")
	assert.Zero(t, status, problems)
	assert.Equal(t, `contract "desk": 48 cells of 2 invariants in 3 scenarios, seed 0
  scenario "told": rule "ledger:error": the text "Injected fault" contains "Injected", by which a model may know that this is a test
`, out)
	assert.Zero(t, d.asked.Load())
	d.suiteAt(t, filepath.Join(dir, "c.yaml"), "severity: low", "severty: low", "trials: 8", "trials: -1")
	status, _, problems = typed(t, dir, "lint {}/c.yaml")
	assert.Equal(t, 3, status)
	assert.Contains(t, problems, "severty is unknown")
	assert.Contains(t, problems, "trials is -1", "all problems at once")
	assert.Equal(t, 2, strings.Count(problems, "c.yaml:"))
}

func TestNobodyIsThere(t *testing.T) {
	d, dir := newDesk(t), t.TempDir()
	d.suiteAt(t, filepath.Join(dir, "c.yaml"))
	d.Close()
	status, out, _ := typed(t, dir, "run {}/c.yaml")
	assert.Equal(t, 2, status, "an agent that cannot be reset is not judged")
	assert.Contains(t, out, "connection refused")
	d.suiteAt(t, filepath.Join(dir, "c.yaml"), `, reset_endpoint: "`+d.URL+`/reset"`, "")
	status, out, _ = typed(t, dir, "run {}/c.yaml")
	assert.Equal(t, 1, status, "one that does not answer breaks its contract")
	assert.Contains(t, out, "connection refused")
	assert.Equal(t, 3, run(t.Context(), nil, io.Discard, io.Discard), "no verb")
}

// The file of examples/suite, of an agent that keeps it and of one that does not.
func TestTheExample(t *testing.T) {
	d, dir := newDesk(t), t.TempDir()
	text := strings.ReplaceAll(read(t, "../../../examples/suite/contract.yaml"), "http://localhost:8080", d.URL)
	write(t, filepath.Join(dir, "contract.yaml"), text)
	status, out, problems := typed(t, dir, "run {}/contract.yaml")
	assert.Zero(t, status, problems)
	for _, part := range []string{"\nmutation  1.000 of 1, weighted by kind: Σ w·h ÷ Σ w = 4.7 ÷ 4.7; held 7 of 7,",
		"mutation 100.00 × 0.3636 + contract 100.00 × 0.6364; the contract\n          passed; did not run: chaos, replay; weights were scaled up"} {
		assert.Contains(t, out, part, "the parts that there are, and those that there are not")
	}
	d.says(crash)
	status, out, _ = typed(t, dir, "run {}/contract.yaml")
	assert.Equal(t, 1, status)
	assert.Contains(t, out, "\nFAIL: contract: critical invariant")
	write(t, filepath.Join(dir, "contract.yaml"), strings.ReplaceAll(text, `type: excludes_pattern
      patterns: [traceback, "panic:"]`, "type: refusal_check"))
	d.says("Order 1042")
	status, out, _ = typed(t, dir, "run {}/contract.yaml")
	assert.Equal(t, 2, status)
	assert.Contains(t, out, "no overall score: nothing was decided of mutation\nno overall score: nothing was decided of contract\n"+
		"INCONCLUSIVE: contract: ")
}
