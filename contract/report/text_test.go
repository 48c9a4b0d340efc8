package report_test

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/scoring"
)

func text(t *testing.T, r *contract.Report, o *report.TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, report.Text(&b, r, o))
	return b.String()
}

func TestTextKeepsWithinItsWidth(t *testing.T) {
	for name, r := range reports(t) {
		for width := 48; width < 200; width += 9 {
			for line := range strings.Lines(text(t, r, &report.TextOptions{Width: width})) {
				if !strings.HasPrefix(line, "  rerun ") {
					assert.LessOrEqual(t, utf8.RuneCountInString(line)-1, width, "%s at %d: %q", name, width, line)
				}
				assert.Equal(t, strings.TrimRight(line, " \n")+"\n", line, "no space at the end of a line")
			}
		}
	}
}

func TestTextBoundsWhatItShowsAndSaysSo(t *testing.T) {
	outcomes := make(map[string]outcome)
	for _, w := range deskScenarios[1:] {
		for _, p := range deskInvariants[:5] {
			outcomes[w.name+"/"+p.id] = broken("broken in "+w.name, "No.")
		}
	}
	r := build(t, "all broken", 2, deskScenarios, deskInvariants, outcomes)
	out := text(t, r, nil)
	assert.Equal(t, 20, strings.Count(out, "\n  why "))
	assert.Contains(t, out, "… and 5 more")
}

func TestTextGroupsTrialsThatBrokeAlike(t *testing.T) {
	r := build(t, "", 4, deskScenarios[1:2], deskInvariants[:1], map[string]outcome{
		"refund-reply-lost/one-refund/1": broken("2 refunds", "Done."),
		"refund-reply-lost/one-refund/2": broken("3 refunds", "Done."),
		"refund-reply-lost/one-refund/4": broken("2 refunds", "Done!"),
	})
	out := text(t, r, nil)
	assert.Contains(t, out, "broken in 3 of 4 trials (1, 2, 4)\n  why       2 refunds\n")
	assert.Contains(t, out, "-cell refund-reply-lost/one-refund/1", "the line that repeats the first of them")
}

func TestTextShowsTheMostSevereFirst(t *testing.T) {
	r := build(t, "", 1, deskScenarios[1:2], []madeInvariant{{id: "small", severity: contract.Low}, {id: "great", severity: contract.Critical}},
		map[string]outcome{"refund-reply-lost/small": broken("s", ""), "refund-reply-lost/great": broken("g", "")})
	out := text(t, r, nil)
	assert.Less(t, strings.Index(out, "/ great"), strings.Index(out, "/ small"))
}

func TestTextSaysWhyThereAreNoFaultsToSee(t *testing.T) {
	out := text(t, build(t, "", 1, deskScenarios[:1], deskInvariants[:1], map[string]outcome{"calm/one-refund": broken("why", "answer")}), nil)
	assert.Contains(t, out, "faults    none was delivered", "in the calm scenario")
	r := build(t, "", 1, deskScenarios[:3], deskInvariants[:1], map[string]outcome{
		"refund-reply-lost/one-refund": broken("another", "answer"),
		"shipping-down/one-refund": func(c *contract.CellReport) {
			broken("a third", "answer", lostReply(1))(c)
			c.Evidence = nil
			c.Delivered = 7
		},
	})
	out = text(t, r, nil)
	assert.Contains(t, out, "faults    none in this answer; 1 call of the cell saw a fault", "the evidence is one prompt of several")
	assert.Contains(t, out, "faults    7 calls saw a fault; the evidence was not kept")
}

func TestTextFoldsNamesBeforeItSplitsTheTable(t *testing.T) {
	out := text(t, desk(t), nil)
	assert.Equal(t, 1, strings.Count(out, "───\n"), "one table of six invariants")
	out = text(t, desk(t), &report.TextOptions{Width: 200})
	assert.Contains(t, out, "at-most-12-calls", "names stay whole where there is room")
	out = text(t, wide(t), nil)
	assert.Equal(t, 4, strings.Count(out, "───\n"), "24 invariants")
	assert.Equal(t, 4, strings.Count(out, "\nscenario "), "each with the scenarios beside")
}

// Cells that a check left undecided are counted in words.
func TestTextCountsWhatIsUndecided(t *testing.T) {
	outcomes := map[string]outcome{
		"orders-lie/answers-in-time": func(c *contract.CellReport) {
			inconclusive("contract: undecided: a judge would decide it")(c)
			c.Undecided = true
		},
		"orders-lie/names-the-order": inconclusive("resetting the world: refused"),
	}
	r := build(t, "", 2, deskScenarios, deskInvariants, outcomes)
	assert.NotContains(t, text(t, r, nil), "undecided by the check", "a report that does not count them does not tell")
	r.Undecided = 2
	out := text(t, r, &report.TextOptions{Width: 200})
	assert.Contains(t, out, "4 inconclusive (2 undecided by the check)")
	assert.Contains(t, out, "? orders-lie: 2 cells inconclusive: contract: undecided: a judge would decide it")
}

// The first reason that left cells undecided is shown with all its lines, the others with their beginnings.
func TestTextShowsTheFirstUndecidedReasonWhole(t *testing.T) {
	reason := "no answer\n" + strings.Repeat("a line\n", 15)
	r := build(t, "", 1, deskScenarios, deskInvariants, map[string]outcome{
		"orders-lie/answers-in-time": inconclusive(reason + "the end of the second"),
		"orders-lie/names-the-order": inconclusive(reason + "the end of the first"),
	})
	out := text(t, r, nil)
	assert.Contains(t, out, "the end of the first")
	assert.NotContains(t, out, "the end of the second")
	assert.Equal(t, 2, strings.Count(out, "? orders-lie: 1 cell inconclusive: no answer"))
}

// brokenCalm is a run of an agent that breaks one invariant without faults too.
func brokenCalm(t *testing.T) *contract.Report {
	return build(t, "", 2, deskScenarios[:4], deskInvariants[:3], map[string]outcome{
		"calm/names-the-order/2":         broken("no order", "Done."),
		"shipping-down/names-the-order":  broken("no order", "Down.", down()),
		"orders-flaky/names-the-order/1": broken("another order", "1043", down()),
		"refund-reply-lost/one-refund":   broken("2 refunds", "Done.", lostReply(1)),
	})
}

// Every format says so in its notes, and shows it first.
func TestWhatBreaksWithoutFaultsIsFirst(t *testing.T) {
	const note = "The agent breaks names-the-order without any fault, and faults say little about that: mend that first."
	for _, f := range formats() {
		out := strings.Join(strings.Fields(string(render(t, f, brokenCalm(t)))), " ")
		assert.Contains(t, out, note, f.ending)
		if f.ending != "xml" {
			assert.Less(t, strings.Index(out, "no order"), strings.Index(out, "2 refunds"), f.ending)
		}
		assert.NotContains(t, string(render(t, f, desk(t))), "without any fault", f.ending)
	}
	_, out, _ := strings.Cut(text(t, brokenCalm(t), nil), "\nBROKEN\n")
	assert.Contains(t, out, "\n  also      shipping-down in all 2 trials: ship, call 1: fail (rule ship:fail), the caller got: 503…\n")
}

// The parts are the same in the other order.
func TestTextWithTheTableLast(t *testing.T) {
	for name, r := range reports(t) {
		first := strings.Split(text(t, r, nil), "\n")
		last := text(t, r, &report.TextOptions{TableLast: true})
		lines := strings.Split(last, "\n")
		assert.ElementsMatch(t, slices.DeleteFunc(first, isEmpty), slices.DeleteFunc(slices.Clone(lines), isEmpty), name)
		assert.Regexp(t, `^(run|faults|coverage|goals| {9}) `, lines[len(lines)-2], name)
		assert.NotEmpty(t, lines[0], "%s begins with text", name)
		assert.NotContains(t, last, "\n\n\n", name)
		head := "\n" + cmp.Or(r.Name, "contract") + "\n"
		assert.Equal(t, 1, strings.Count("\n"+last, head), name)
		assert.Less(t, strings.LastIndex(last, "  rerun "), strings.Index("\n"+last, head), name)
	}
}

func isEmpty(line string) bool { return line == "" }

// A rerun of one cell is not a table of cells that were not run.
func TestTextLeavesOutWhatAFilterLeftOut(t *testing.T) {
	outcomes := map[string]outcome{}
	for _, w := range deskScenarios {
		for _, p := range deskInvariants {
			outcomes[w.name+"/"+p.id] = notRun
		}
	}
	r := build(t, "", 2, deskScenarios, deskInvariants, outcomes)
	assert.Contains(t, text(t, r, nil), "\nnotify-slow ", "all of them, if none ran")
	delete(outcomes, "shipping-down/one-refund")
	outcomes["shipping-down/one-refund/2"] = notRun
	r = build(t, "", 2, deskScenarios, deskInvariants, outcomes)
	assert.Contains(t, text(t, r, nil), `
scenario       crit        delivered
────────────────────────────────────
shipping-down  1✓ 1-       1/1

✓ held   - not run
numbers count trials, a sign alone stands for all of them; delivered: the cells in which a fault
reached something the agent uses, of those that ran
not in the table, because no cell of theirs ran: 5 scenarios and 5 invariants

PASS of 1 cell; 61 were not run: no critical invariant broke; 1 of 1 decided cell held
`)
}

// A pass of a part is said to be one, wherever the verdict is written for people.
func TestAPassOfAPartSaysOfWhat(t *testing.T) {
	r := build(t, "", 20_000, deskScenarios[:1], deskInvariants[:1], nil)
	for i := range r.Cells[2500:] {
		notRun(&r.Cells[2500+i])
	}
	score(t, r, nil)
	for _, f := range formats() {
		assert.Contains(t, string(render(t, f, r)), "of 2,500 cells; 17,500 were not run: ", f.ending)
	}
	assert.Contains(t, text(t, r, nil), "\nPASS of 2,500 cells; 17,500 were not run: ")
}

// With KeepCounts a report has no cells, and the same table.
func TestTheTableOfCounts(t *testing.T) {
	r := desk(t)
	want, _, _ := strings.Cut(text(t, r, nil), "\n* ")
	r.Counts = nil
	for i := range r.Cells {
		c := &r.Cells[i]
		r.Counts = append(r.Counts, scoring.Cell{Scenario: c.Cell.Scenario, Invariant: c.Cell.Invariant, Severity: c.Severity,
			State: c.State, Violated: c.Violated, Delivered: min(1, c.Delivered), HasRules: c.Cell.Scenario != "calm"})
	}
	r.Cells = nil
	got, _, _ := strings.Cut(text(t, r, nil), "\n* ")
	assert.Equal(t, want, got)
}
