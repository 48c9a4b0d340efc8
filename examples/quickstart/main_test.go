package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/scoring"
)

// try runs the program.
func try(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), args, &out, &errs)
	return status, out.String(), errs.String()
}

func TestTheRobustAgentPasses(t *testing.T) {
	status, out, errs := try(t, "-trials", "1")
	assert.Equal(t, exitPass, status)
	assert.Empty(t, errs, "no progress where there is no terminal")
	assert.NotContains(t, out, "\x1b", "and no colours")
	assert.Contains(t, out, "\nPASS ")
	assert.Contains(t, out, "held      90 of 90 decided cells, 100.0 % (95 % interval ")
	assert.NotContains(t, out, "BROKEN")
	assert.Contains(t, out, "\noverall   PASS, 93.09 of 100: mutation ")
	last := out[strings.LastIndex(strings.TrimSpace(out), "\n")+1:]
	assert.Equal(t, "The same agent without its good habits:  go run ./examples/quickstart -agent fragile\n", last)
}

func TestTheFragileAgentFails(t *testing.T) {
	status, out, errs := try(t, "-agent", "fragile", "-trials", "1")
	assert.Equal(t, exitFail, status)
	assert.Empty(t, errs)
	for _, want := range []string{
		"\nFAIL critical invariant ",
		"\nDEFECTS  ",
		"critical  payments.refund does its work and its reply is lost\n",
		`an effect happened more than once: "1042" is there 2`,
		"when it only fails, or times out before the work, it holds",
		"go run ./examples/quickstart -agent fragile -fewest -cell 'refund-reply-lost/one-refund/1'",
		`at shipping.ship: the answer claims "Order 2003 `,
	} {
		assert.Contains(t, out, want)
	}
	// One defect or one at two places: that depends on whether backs-off breaks in the same
	// runs, and it looks at real time, in which a machine may stall for as long as a pause.
	assert.Regexp(t, "critical  shipping.ship( or mail.send)? fails twice in a row\n", out)
}

// Each broken cell says how to run it again, and breaks again.
func TestRerunLinesRepeatTheirCells(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.run.jsonl")
	try(t, "-agent", "fragile", "-seed", "7", "-trials", "1", "-json", file)
	broken := 0
	r := readReport(t, file)
	require.NotEmpty(t, r.Defects)
	for _, d := range r.Defects {
		assert.Contains(t, d.Rerun, "go run ./examples/quickstart -agent fragile -seed 7 -fewest -cell '")
	}
	for _, c := range r.Cells {
		if !c.Violated || slices.Contains([]string{"backs-off", "answers-in-time"}, c.Cell.Invariant) {
			continue // those two look at real time, in which a machine may stall
		}
		broken++
		command, found := strings.CutPrefix(c.Rerun, "go run ./examples/quickstart ")
		require.True(t, found, c.Rerun)
		args := strings.Fields(strings.ReplaceAll(command, "'", ""))
		status, out, errs := try(t, args...)
		assert.Equal(t, exitFail, status, "%s\n%s%s", c.Rerun, out, errs)
	}
	assert.Greater(t, broken, 10)
}

func readReport(t *testing.T, file string) *contract.Report {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	r, err := report.Read(f, nil)
	require.NoError(t, err)
	return r
}

func TestStatus(t *testing.T) {
	assert.Equal(t, 0, statusOf(scoring.Pass))
	assert.Equal(t, 1, statusOf(scoring.Fail))
	assert.Equal(t, 2, statusOf(scoring.Inconclusive))
}

func TestOneCell(t *testing.T) {
	status, out, _ := try(t, "-agent", "fragile", "-cell", "refund-reply-lost/one-refund/1")
	assert.Equal(t, exitFail, status)
	assert.Contains(t, out, "refund-reply-lost/one-refund/1: broken (critical, agent fragile, seed 1)\n")
	assert.Contains(t, out, "prompt  Refund one teapot of order 1042, it arrived damaged.\n")
	assert.Contains(t, out, "answer  Order 1042: refunded 24.50 (R-2). Ada Marsh has been told by mail.\n")
	assert.Contains(t, out, `why     an effect happened more than once: "1042" is there 2 times (0 before)`)
	inOrder(t, out, "orders.get", "customers.get",
		"payments.refund  try 1  i/o timeout  <- lost_reply, after the work was done", "payments.refund  try 2  ok", "mail.send")

	status, out, _ = try(t, "-cell", "refund-reply-lost/one-refund/9")
	assert.Equal(t, exitPass, status, "there are as many trials as the cell asks for")
	assert.Contains(t, out, "refund-reply-lost/one-refund/9: held")
}

// A broken cell runs again under the fewest faults that break it.
func TestOneCellUnderItsFewestFaults(t *testing.T) {
	status, out, errs := try(t, "-agent", "fragile", "-fewest", "-cell", "lookup-garbled/one-refund/1")
	assert.Equal(t, exitFail, status, errs)
	inOrder(t, out, "fewest faults: orders.get ", "lookup-garbled/one-refund/1: broken", "try 1  ", "<- ", "<- ", "why     ", "facts   ")
	status, _, errs = try(t, "-fewest")
	assert.Equal(t, exitError, status)
	assert.Contains(t, errs, "quickstart: -fewest without -cell; allowed: beside -cell")
}

// inOrder asserts that the parts occur one after the other.
func inOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		if !assert.True(t, found, "%q is not there, or not in its place, in\n%s", part, text) {
			return
		}
		rest = after
	}
}

func TestACellWithoutItsFaultIsInconclusive(t *testing.T) {
	for seed := range 100 {
		status, out, _ := try(t, "-seed", strconv.Itoa(seed), "-cell", "lookup-flaky/no-prompt-leak/1")
		if strings.Contains(out, ": undelivered (") {
			assert.Equal(t, exitInconclusive, status)
			assert.Contains(t, out, "why     no fault was delivered: ")
			return
		}
		assert.Equal(t, exitPass, status)
	}
	t.Error("among a hundred seeds there is one that leaves all lookups alone: one in four does")
}

func TestTheForms(t *testing.T) {
	dir := t.TempDir()
	page, file := filepath.Join(dir, "page.html"), filepath.Join(dir, "run.jsonl")
	status, out, errs := try(t, "-trials", "1", "-json", file, "-html", page)
	assert.Equal(t, exitPass, status)
	assert.Contains(t, out, "\nPASS ")
	assert.Empty(t, errs)
	assert.Len(t, readReport(t, file).Cells, 90)
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(text), "<!DOCTYPE html>")
	status, _, errs = try(t, "-html", filepath.Join(dir, "none", "a"), "-json", dir, "-trials", "1")
	assert.Equal(t, exitError, status)
	assert.Contains(t, errs, "quickstart: -html: ")
	assert.Contains(t, errs, "quickstart: -json: ", "all that failed")
}

// A page shows the calls with their arguments and results, whatever the invariants need.
func TestThePageShowsValues(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.html")
	try(t, "-agent", "fragile", "-trials", "1", "-html", file)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	_, article, found := strings.Cut(string(text), "refund-reply-lost / one-refund ")
	require.True(t, found)
	article, _, _ = strings.Cut(article, "</article>")
	inOrder(t, article, "payments.refund", `<td class="wide"><code>{&#34;`, `&#34;1042&#34;`, `<td class="wide"><code>{&#34;`)
}

func TestAllBadFlagsAtOnce(t *testing.T) {
	status, out, errs := try(t, "-agent", "timid", "-trials", "0", "-sed", "-seed", "-3", "now", "-cell", "calm/one-refund")
	assert.Equal(t, exitError, status)
	assert.Empty(t, out)
	assert.Equal(t, `quickstart: invalid value "timid" for flag -agent: allowed: robust, fragile
quickstart: invalid value "0" for flag -trials: allowed: a number of 1 or more
quickstart: flag provided but not defined: -sed
quickstart: invalid value "-3" for flag -seed: allowed: 0 to 18446744073709551615
quickstart: unexpected argument "now"; allowed: flags
quickstart: invalid value "calm/one-refund" for flag -cell: allowed: scenario/invariant/trial, as in calm/one-refund/1
quickstart: -help lists the flags
`, errs)
}

func TestOtherErrors(t *testing.T) {
	for _, row := range []struct {
		reason string
		args   []string
		want   string
	}{
		{"a cell is no report", []string{"-cell", "calm/one-refund/1", "-json", "a"}, "-json with -cell"},
		{"nor a page", []string{"-cell", "calm/one-refund/1", "-html", "a"}, "-html with -cell"},
		{"a cell that is not in the matrix", []string{"-cell", "storm/one-refund/1"}, `"storm/one-refund/1"`},
		{"a flag without its value", []string{"-agent"}, "flag needs an argument: -agent"},
	} {
		status, _, errs := try(t, row.args...)
		assert.Equal(t, exitError, status, row.reason)
		assert.Contains(t, errs, row.want, row.reason)
	}
}

func TestHelp(t *testing.T) {
	status, out, errs := try(t, "-help")
	assert.Equal(t, exitPass, status)
	assert.Empty(t, errs)
	for _, flag := range []string{"-agent name", "-seed number", "-trials times", "-cell scenario/invariant/trial", "-json file", "-html file"} {
		assert.Contains(t, out, "  "+flag)
	}
}

func TestCtrlC(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	assert.Equal(t, exitError, run(ctx, nil, &out, &errs))
	assert.Empty(t, out.String())
	assert.Equal(t, "quickstart: interrupted after 0 of 450 cells\n", errs.String())
}
