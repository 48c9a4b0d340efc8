package report_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
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

func TestTextColoursWhatItSaysInWords(t *testing.T) {
	for name, r := range reports(t) {
		plain := text(t, r, nil)
		assert.NotContains(t, plain, "\x1b", name)
		colored := text(t, r, &report.TextOptions{Color: true})
		assert.NotEqual(t, plain, colored)
		assert.Equal(t, plain, colors.ReplaceAllString(colored, ""), name)
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
	for most, want := range map[int]int{0: 20, 3: 3, -1: 25, 100: 25} {
		out := text(t, r, &report.TextOptions{MaxBroken: most})
		assert.Equal(t, want, strings.Count(out, "\n  why "))
		assert.Equal(t, want < 25, strings.Contains(out, fmt.Sprintf("… and %d more", 25-want)))
	}
}

func TestTextGroupsTrialsThatBrokeAlike(t *testing.T) {
	r := build(t, "", 4, deskScenarios[1:2], deskInvariants[:1], map[string]outcome{
		"refund-reply-lost/one-refund/1": broken("2 refunds", "Done."),
		"refund-reply-lost/one-refund/2": broken("3 refunds", "Done."),
		"refund-reply-lost/one-refund/4": broken("2 refunds", "Done!"),
	})
	out := text(t, r, nil)
	assert.Contains(t, out, "broken in 2 of 4 trials (1, 4)\n  why       2 refunds")
	assert.Contains(t, out, "broken in 1 of 4 trials (2)\n  why       3 refunds")
	assert.Contains(t, out, "-cell refund-reply-lost/one-refund/1", "the line that repeats the first of them")
}

func TestTextShowsTheMostSevereFirst(t *testing.T) {
	r := build(t, "", 1, deskScenarios[1:2], []madeInvariant{{id: "small", severity: contract.Low}, {id: "great", severity: contract.Critical}},
		map[string]outcome{"refund-reply-lost/small": broken("s", ""), "refund-reply-lost/great": broken("g", "")})
	out := text(t, r, nil)
	assert.Less(t, strings.Index(out, "/ great"), strings.Index(out, "/ small"))
}

func TestTextSaysWhyThereAreNoFaultsToSee(t *testing.T) {
	r := build(t, "", 1, deskScenarios[:3], deskInvariants[:1], map[string]outcome{
		"calm/one-refund":              broken("why", "answer"),
		"refund-reply-lost/one-refund": broken("why", "answer"),
		"shipping-down/one-refund": func(c *contract.CellReport) {
			broken("why", "answer", lostReply(1))(c)
			c.Evidence = nil
			c.Delivered = 7
		},
	})
	out := text(t, r, nil)
	assert.Contains(t, out, "faults    none was delivered", "in the calm scenario")
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

// Cells that a check left undecided, and cells whose faults were absorbed, are
// counted in words.
func TestTextCountsWhatIsUndecidedAndAbsorbed(t *testing.T) {
	outcomes := map[string]outcome{
		"orders-lie/answers-in-time": func(c *contract.CellReport) {
			inconclusive("contract: undecided: a judge would decide it")(c)
			c.Undecided = true
		},
		"orders-lie/names-the-order": inconclusive("resetting the world: refused"),
		"orders-flaky/one-refund":    func(c *contract.CellReport) { c.Absorbed = true },
	}
	r := build(t, "", 2, deskScenarios, deskInvariants, outcomes)
	assert.NotContains(t, text(t, r, nil), "undecided by the check", "a report that does not count them does not tell")
	r.Undecided, r.Absorbed = 2, 2
	out := text(t, r, &report.TextOptions{Width: 200})
	assert.Contains(t, out, "4 inconclusive (2 undecided by the check)")
	assert.Contains(t, out, "? orders-lie: 2 cells inconclusive: contract: undecided: a judge would decide it")
	assert.Contains(t, out, "* In 2 cells no fault is known to have reached the agent itself: ")
}
