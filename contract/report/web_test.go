package report_test

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
)

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
	require.NoError(t, tagsMatch(b.String()))
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
		`<td class="wide"><code>lose-reply by refund:lose-reply</code></td>`)
	assert.Contains(t, out, `<td class="wide"><code>null by refund:null, not delivered; without effect: refund:null; the result was null already</code></td>`)
	assert.Equal(t, 9, strings.Count(out, `<tr class="delivered">`), "and no others")
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
		out := page(t, r)
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
