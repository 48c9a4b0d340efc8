package report_test

import (
	"bytes"
	"html"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
)

// beside is a report with a broken cell, and answers without faults as change leaves them.
func beside(t testing.TB, change func(calm *contract.CellReport, broke *contract.Observation)) (*contract.Report, *contract.CellReport) {
	r := build(t, "beside", 1, deskScenarios[:2], deskInvariants[:2], map[string]outcome{
		"refund-reply-lost/no-false-claim": broken(`it says "twice"`, "Refunded twice.", plain("orders.get"), lostReply(1), again()),
	})
	c := &r.Cells[3]
	require.NotNil(t, c.Evidence)
	for i, said := range []string{"Refunded.", "Refunded once."} {
		o := seen(&r.Cells[i], said, plain("orders.get"), chaos.Event{Target: "refund", Attempt: 1, Outcome: chaos.OutcomeOK, Effect: chaos.EffectDone})
		r.Cells[i].Calm = []*contract.Observation{o}
	}
	if change != nil {
		change(&r.Cells[1], c.Evidence)
	}
	return r, c
}

// again is the refund that is asked for again.
func again() chaos.Event {
	return chaos.Event{Target: "refund", Attempt: 2, Ordinal: 1, Start: 53 * time.Millisecond, End: 54 * time.Millisecond,
		Outcome: chaos.OutcomeOK, Effect: chaos.EffectDone}
}

func TestACellIsShownBesideTheCalmRun(t *testing.T) {
	original := "Refund order 1042 and tell the customer."
	for _, row := range []struct {
		why           string
		change        func(calm *contract.CellReport, broke *contract.Observation)
		want, without []string
	}{
		{"the calm answer of its invariant comes first", nil,
			[]string{"beside    Refunded [-once-]{+>>twice<<+}.", "done 2×, calm 1×", "calm run: • answered after 1.25s", "another answer than in calm"}, []string{"No calm run"}},
		{"else that of another one", func(calm *contract.CellReport, _ *contract.Observation) { calm.Calm = nil }, []string{"beside    Refunded{+ +}{+>>twice<<+}."}, nil},
		{"a rewritten prompt was another before", func(_ *contract.CellReport, broke *contract.Observation) {
			broke.Prompt, broke.Original = "REFUND!", &original
		}, []string{"calm run: •"}, nil},
		{"no calm run of this prompt", func(_ *contract.CellReport, broke *contract.Observation) { broke.Prompt = "Another." },
			[]string{"No calm run is kept."}, []string{"beside", "calm run: •"}},
		{"the known answer without a run", func(_ *contract.CellReport, broke *contract.Observation) {
			broke.Prompt, broke.Baseline = "Another.", "Refunded."
		},
			[]string{"No calm run is kept.", "beside    Refunded{+ +}{+>>twice<<+}."}, nil},
		{"an answer like the calm one", func(_ *contract.CellReport, broke *contract.Observation) { broke.Response = "Refunded once." },
			[]string{", the calm answer"}, nil},
		{"no answer", func(_ *contract.CellReport, broke *contract.Observation) { broke.Response = " " },
			[]string{"this run broke no-false-claim: ✗ no answer after 1.25s"}, []string{"another answer"}},
	} {
		r, c := beside(t, row.change)
		var b bytes.Buffer
		require.NoError(t, report.CellOf(&b, r, c))
		for _, want := range row.want {
			assert.Contains(t, b.String(), want, row.why)
		}
		for _, not := range row.without {
			assert.NotContains(t, b.String(), not, row.why)
		}
	}
	_, c := beside(t, nil)
	var b bytes.Buffer
	require.NoError(t, report.CellOf(&b, nil, c))
	assert.Contains(t, b.String(), "No calm run is kept.", "a cell alone")
}

func TestThePageSaysSinceWhen(t *testing.T) {
	was := build(t, "desk", 2, deskScenarios[:3], deskInvariants[:2], map[string]outcome{
		"refund-reply-lost/no-false-claim": broken("b", "B."), "shipping-down/one-refund": broken("c", "C.")})
	r := build(t, "desk", 2, deskScenarios[:3], deskInvariants[:2], map[string]outcome{
		"refund-reply-lost/one-refund": broken("a", "A.", lostReply(1)), "refund-reply-lost/no-false-claim": broken("b", "B.")})
	var b bytes.Buffer
	require.NoError(t, report.HTMLSince(&b, r, was, "in old.run.jsonl"))
	page := html.UnescapeString(withoutScript(t, b.String()))
	require.NoError(t, tagsMatch(withoutScript(t, b.String())))
	for _, want := range []string{"1 newly broken, 1 still broken, 1 mended", `<a href="#refund-reply-lost/one-refund/1">refund-reply-lost / one-refund (critical): newly broken: 2 of 2 in old.run.jsonl, 0 of 2 now`,
		"shipping-down / one-refund (critical): mended: 0 of 2 in old.run.jsonl, 2 of 2 now", `data-since="still broken"`, "fields compared", `<span class="badge">newly broken</span>`} {
		assert.Contains(t, page, want)
	}
	assert.NotContains(t, html.UnescapeString(string(render(t, format{"html", report.HTML}, r))), "Since the earlier run")

	was.Cells = nil
	assert.ErrorContains(t, report.HTMLSince(&b, r, was, ""), "before", "an earlier report without its cells")
}

// Kept cells that stand for others and those that do not have each their place, once.
func TestThePageHasEachKeptCellOnce(t *testing.T) {
	r := desk(t)
	out := string(render(t, format{"html", report.HTML}, r))
	kept := 0
	for i := range r.Cells {
		n := strings.Count(out, `id="`+r.Cells[i].Cell.String()+`"`)
		if r.Cells[i].Evidence == nil {
			assert.Zero(t, n, r.Cells[i].Cell)
			continue
		}
		assert.Equal(t, 1, n, r.Cells[i].Cell)
		kept++
	}
	assert.Equal(t, kept, strings.Count(out, "<svg "), "each with its picture")
}
