package report_test

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
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
	r := manyBroken(t, "No.")
	out := text(t, r, nil)
	assert.Equal(t, 20, strings.Count(out, "\n  why "))
	assert.Contains(t, out, "… and 5 more")
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
	r.Filtered = true
	assert.Contains(t, text(t, r, nil), `
scenario       crit        delivered
────────────────────────────────────
shipping-down  1✓ 1-       1/1

✓ held   - not run
numbers count trials, a sign alone stands for all of them; delivered: the cells in which a fault
reached something the agent uses, of those that ran
not in the table, because no cell of theirs ran: 5 scenarios and 5 invariants

PARTIAL nothing broke in 1 of 62 cells
`)
}

// A pass of a part is said to be one, wherever the verdict is written for people.
func TestAPassOfAPartSaysOfWhat(t *testing.T) {
	r := build(t, "", 20_000, deskScenarios[:1], deskInvariants[:1], nil)
	for i := range r.Cells[2500:] {
		notRun(&r.Cells[2500+i])
	}
	r.Filtered = true
	score(t, r, nil)
	for _, f := range formats() {
		assert.Contains(t, string(render(t, f, r)), "nothing broke in 2,500 of 20,000 cells", f.ending)
	}
	assert.Contains(t, text(t, r, nil), "\nPARTIAL nothing broke in 2,500 of 20,000 cells")
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

func markdown(t *testing.T, r *contract.Report) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, report.Markdown(&b, r))
	return b.String()
}

func page(t *testing.T, r *contract.Report) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, report.HTML(&b, r))
	require.NoError(t, tagsMatch(withoutScript(t, b.String())))
	return b.String()
}

// manyBroken is a report with more evidence than fits into a comment.
func manyBroken(t *testing.T, answer string) *contract.Report {
	t.Helper()
	outcomes := make(map[string]outcome)
	for _, w := range deskScenarios[1:] {
		for _, p := range deskInvariants[:5] {
			outcomes[w.name+"/"+p.id] = broken("broken in "+w.name, answer, lostReply(1))
		}
	}
	return build(t, "all broken", 2, deskScenarios, deskInvariants, outcomes)
}

func TestMarkdownFitsIntoAComment(t *testing.T) {
	more := regexp.MustCompile(`… and (\d+) more broken\.`)
	for _, row := range []struct {
		why    string
		answer string
		shown  int
	}{
		{"twenty", "No.", 20},
		{"fewer when every character takes five", strings.Repeat("`", 5000), 5},
	} {
		out := markdown(t, manyBroken(t, row.answer))
		assert.LessOrEqual(t, len(out), 65536, row.why)
		assert.Equal(t, row.shown, strings.Count(out, "<details>"), row.why)
		assert.True(t, more.MatchString(out), "what is left out is counted: %s", row.why)
		assert.Contains(t, out, "FAIL", row.why)
	}
}

func TestMarkdownSaysWhenTheTableDoesNotFit(t *testing.T) {
	out := markdown(t, wide(t))
	assert.NotContains(t, out, "does not fit", "this one does")
	r := wide(t)
	for i := range 1000 {
		own := r.Cells[0]
		own.Cell.Scenario = fmt.Sprint("scenario-", i)
		r.Scenarios, r.Cells = append(r.Scenarios, own.Cell.Scenario), append(r.Cells, own)
	}
	out = markdown(t, r)
	assert.Contains(t, out, "The table of scenarios and invariants does not fit here.")
	assert.Contains(t, out, "PASS")
}

func TestMarkdownAlwaysHasTheVerdictAndTheNumbers(t *testing.T) {
	r := desk(t)
	long := strings.Repeat("@", 70000)
	r.Name, r.Score.Why, r.Warnings = long, long, []string{long, long, long, long, long}
	out := markdown(t, r)
	assert.LessOrEqual(t, len(out), 65536)
	assert.Contains(t, out, "## ❌ FAIL")
	assert.Contains(t, out, "- **score** 93.33")
	assert.Contains(t, out, " more notes.\n")
}

func TestMarkdownMentionsAndLinksNothing(t *testing.T) {
	r := passed(t)
	r.Name = "@octocat #1 https://example.com www.example.com [a](b) | `c` <b>"
	out := markdown(t, r)
	head, _, _ := strings.Cut(out, "\n")
	assert.Equal(t, "## ✅ PASS: &#64;&#8203;octocat &#35;&#8203;1 https&#58;&#8203;//example.com &#119;&#8203;ww.example.com "+
		"&#91;a&#93;(b) &#124; &#96;c&#96; &#60;b&#62;", head)
}

func TestEveryBrokenFieldOfThePageLinksToItsEvidence(t *testing.T) {
	link := regexp.MustCompile(`<a href="#([^"]+)"`)
	r := desk(t)
	out := page(t, r)
	links := link.FindAllStringSubmatch(out, -1)
	assert.Len(t, links, 4)
	for _, l := range links {
		assert.Equal(t, 1, strings.Count(out, `id="`+l[1]+`"`), l[1])
	}
}

func TestThePageMarksTheCallsWithDeliveredFaults(t *testing.T) {
	out := page(t, desk(t))
	assert.Contains(t, out, `<tr class="delivered"><th scope="row">refund</th><td>1</td><td>3ms</td><td>50ms</td><td>injected</td><td>done</td>`+
		`<td class="wide"><code>lost_reply by refund:lost_reply</code></td>`)
	assert.Contains(t, out, `<td class="wide"><code>null by refund:null, not delivered; without effect: refund:null; the result was null already</code></td>`)
	assert.Equal(t, 9+3, strings.Count(out, `<tr class="delivered">`), "and no others; of three trials of one kind too")
}

func TestThePageShowsWhatModelsSaid(t *testing.T) {
	asks := plain("POST api.example/v1/messages#m")
	asks.Exchange = &chaos.Exchange{Request: `{"messages":["<b>Refund</b>"]}`, Response: strings.Repeat("ja ", 4000), ResponseTruncated: true}
	shown := func(calls int) string {
		return page(t, build(t, "talk", 1, []madeScenario{{"calm", true}}, []madeInvariant{{id: "i", severity: contract.Low}},
			map[string]outcome{"calm/i": broken("why", "answer", append(slices.Repeat([]chaos.Event{asks}, calls), plain("refund"))...)}))
	}
	out := shown(1)
	assert.Contains(t, out, `<td class="wide"><code>{&#34;messages&#34;:[&#34;&lt;b&gt;Refund&lt;/b&gt;&#34;]}`)
	assert.Contains(t, out, "more bytes … (its end was not kept)")
	assert.NotContains(t, out, strings.Repeat("ja ", 1400), "bounded")
	assert.Contains(t, shown(123), "… and 24 more calls.")
}

func TestThePageStandsAlone(t *testing.T) {
	for name, r := range reports(t) {
		out := withoutScript(t, page(t, r))
		assert.NotRegexp(t, `(?i)<script|<link|<img|@import|url\(|https?://`, out, name)
		assert.Contains(t, out, "default-src 'none'", name)
		assert.Contains(t, out, "prefers-color-scheme: dark", name)
		assert.NotContains(t, out, "ZgotmplZ", "no value was taken for an attack: %s", name)
	}
}

func TestThePageIsReadWithoutSeeingIt(t *testing.T) {
	out := page(t, desk(t))
	assert.Equal(t, 1, strings.Count(out, "<h1>"))
	assert.Contains(t, out, `<html lang="en">`)
	assert.Contains(t, out, `<th scope="row">refund-reply-lost</th>`)
	assert.Contains(t, out, `<th scope="col">one-refund<small>crit</small></th>`)
	assert.Contains(t, out, `aria-label="4 broken, 1 held: the evidence">4✗ 1✓</a>`, "signs have words")
	assert.NotContains(t, out, "<th>", "every heading says of what")
}

// A cell whose invariant does not apply shared the run of others, and has its deliveries.
func TestDeliveriesAreOfCellsThatRan(t *testing.T) {
	r := desk(t)
	row := regexp.MustCompile(`(?m)^refund-reply-lost .* 25/25$`)
	require.Regexp(t, row, text(t, r, nil))
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Cell.Scenario == "refund-reply-lost" && c.Cell.Invariant == r.Invariants[0] {
			c.State, c.Violated, c.DoesNotApply = contract.NotRun, false, true
		}
	}
	assert.Regexp(t, strings.ReplaceAll(row.String(), "25/25", "20/20"), text(t, r, nil))
}
