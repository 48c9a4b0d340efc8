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
)

// try runs the program.
func try(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), args, &out, &errs)
	return status, out.String(), errs.String()
}

// A shown is what a run of an agent printed and wrote. The two runs are the dearest of these tests, so they are made once.
type shown struct {
	status    int
	out, errs string
	file      string
}

func TestBothAgents(t *testing.T) {
	runs := map[string]shown{}
	for _, agent := range []string{robust, fragile} {
		dir := t.TempDir()
		s := shown{file: filepath.Join(dir, "run.jsonl")}
		s.status, s.out, s.errs = try(t, "-agent", agent, "-trials", "1", "-json", s.file)
		runs[agent] = s
	}
	t.Run("the robust agent passes", func(t *testing.T) { robustPasses(t, runs[robust]) })
	t.Run("the fragile agent fails", func(t *testing.T) { fragileFails(t, runs[fragile]) })
	t.Run("rerun lines repeat their cells", func(t *testing.T) { rerunLinesRepeat(t, readReport(t, runs[fragile].file)) })
}

func robustPasses(t *testing.T, s shown) {
	assert.Equal(t, exitPass, s.status)
	assert.Empty(t, s.errs)
	assert.NotContains(t, s.out, "\x1b", "and no colours")
	assert.Contains(t, s.out, "\nPASS ")
	assert.Contains(t, s.out, "held      90 of 90 decided cells, 100.0 % (95 % interval ")
	assert.NotContains(t, s.out, "BROKEN")
	assert.Contains(t, s.out, "\noverall   PASS, 93.09 of 100: mutation ")
	last := s.out[strings.LastIndex(strings.TrimSpace(s.out), "\n")+1:]
	assert.Equal(t, "The same agent without its good habits:  go run ./examples/quickstart -agent fragile\n", last)
	assert.Len(t, readReport(t, s.file).Cells, 90)
}

func fragileFails(t *testing.T, s shown) {
	assert.Equal(t, exitFail, s.status)
	assert.Empty(t, s.errs)
	for _, want := range []string{
		"\nFAIL critical invariant ",
		"\nDEFECTS  ",
		"critical  payments.refund does its work and its reply is lost\n",
		`an effect happened more than once: "1042" is there 2`,
		"when it only fails, or times out before the work, it holds",
		"go run ./examples/quickstart -agent fragile -fewest -cell 'refund-reply-lost/one-refund/1'",
		`at shipping.ship: the answer claims "Order 2003 `,
	} {
		assert.Contains(t, s.out, want)
	}
	// One defect or one at two places: that depends on whether backs-off breaks in the same
	// runs, and it looks at real time, in which a machine may stall for as long as a pause.
	assert.Regexp(t, "critical  shipping.ship( or mail.send)? fails twice in a row\n", s.out)
}

// Each broken cell says how to run it again, and breaks again.
func rerunLinesRepeat(t *testing.T, r *contract.Report) {
	broken := 0
	require.NotEmpty(t, r.Defects)
	for _, d := range r.Defects {
		assert.Contains(t, d.Rerun, "go run ./examples/quickstart -agent fragile -fewest -cell '")
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
	s, err := parse([]string{"-seed", "7"})
	require.NoError(t, err)
	assert.Contains(t, s.rerun(), " -seed 7 ", "another seed is in the line")
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

func TestAFileThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	status, _, errs := try(t, "-json", dir, "-trials", "1")
	assert.Equal(t, exitError, status)
	assert.Contains(t, errs, "quickstart: -json: ")
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
	for _, flag := range []string{"-agent name", "-seed number", "-trials times", "-cell scenario/invariant/trial", "-json file"} {
		assert.Contains(t, out, "  "+flag)
	}
}

func TestCtrlC(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	assert.Equal(t, exitError, run(ctx, nil, &out, &errs))
	assert.Empty(t, out.String())
	assert.Contains(t, errs.String(), "context canceled")
}
