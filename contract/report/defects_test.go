package report_test

import (
	"bytes"
	"html"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
)

// withDefect is a report of two broken cells, of which a defect explains the first.
func withDefect(t *testing.T) *contract.Report {
	r := build(t, "two", 1, []madeScenario{{name: "down"}}, []madeInvariant{{id: "one-refund", severity: contract.Critical}, {id: "honest", severity: contract.High}},
		map[string]outcome{
			"down/one-refund": broken("2 refunds, want 1", "Done.", lostReply(1)),
			"down/honest":     broken("it claims too much", "Done.", lostReply(1)),
		})
	r.Defects = []contract.Defect{{
		Sentence: "refund does its work and its reply is lost", Severity: contract.Critical,
		Deliveries: []contract.Delivery{{Rule: "refund:lose-reply", Fault: "lost_reply", Target: "refund", Attempt: 1}},
		Breaks: []contract.Break{{Invariant: "one-refund", Severity: contract.Critical, Why: "2 refunds, want 1",
			Cells: []contract.Cell{{Scenario: "down", Invariant: "one-refund", Trial: 1}}}},
		Facts: []string{"when it only fails, it holds"}, Rerun: "again",
	}}
	r.SearchRuns = 12
	return r
}

func TestDefectsInEveryFormat(t *testing.T) {
	r := withDefect(t)
	var text, log, page, junit, markdown bytes.Buffer
	require.NoError(t, report.Text(&text, r, nil))
	require.NoError(t, report.Text(&log, r, &report.TextOptions{TableLast: true}))
	require.NoError(t, report.HTML(&page, r))
	require.NoError(t, report.JUnit(&junit, r, nil))
	require.NoError(t, report.Markdown(&markdown, r))

	for name, got := range map[string]string{"text": text.String(), "log": log.String(), "page": page.String(), "markdown": markdown.String()} {
		assert.Contains(t, got, "1 broken cell, 1 of them critical, is 1 defect (12 further runs)", name)
		assert.Contains(t, got, "refund does its work and its reply is lost", name)
		assert.Contains(t, got, "when it only fails, it holds", name)
	}
	assert.NotContains(t, text.String(), "✗ down / one-refund", "the defect stands for the cell")
	assert.Contains(t, text.String(), "The defects above explain 1 kind of broken cells, which is not listed again.")
	assert.Contains(t, text.String(), "✗ down / honest", "no defect explains it")
	assert.Less(t, strings.Index(text.String(), "DEFECTS"), strings.Index(text.String(), "✗ down / honest"))
	assert.Less(t, strings.Index(log.String(), "✗ down / one-refund"), strings.Index(log.String(), "DEFECTS"), "a log shows every failure first")
	for name, got := range map[string]string{"log": log.String(), "page": page.String(), "markdown": markdown.String()} {
		assert.Contains(t, html.UnescapeString(got), "1: refund does its work", name)
	}
	assert.Contains(t, junit.String(), `message="defect 1: refund does its work and its reply is lost: 2 refunds, want 1"`)
	assert.Contains(t, junit.String(), `message="it claims too much"`)
}

func TestADefectThatExplainsNothingHidesNothing(t *testing.T) {
	r := withDefect(t)
	r.Defects[0].Deliveries, r.Defects[0].Difference = nil, "call 2: ship, then refund"
	var text bytes.Buffer
	require.NoError(t, report.Text(&text, r, nil))
	assert.Contains(t, text.String(), "✗ down / one-refund")
	assert.Contains(t, text.String(), "two runs under the same faults differ first at call 2: ship, then refund")
	assert.Contains(t, text.String(), "is 0 defects and 1 entry that no faults explain")
}
