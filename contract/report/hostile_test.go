package report_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
)

// nasty are texts that have caused harm in some program.
var nasty = []string{
	"", " ", "\x00", "\xff\xfe", "\x1b]0;owned\x07\x1b[2J\x1b[1;1H", "\u202egnp.exe\u202c", "\u2028\u2029", "\r", "\r\n\r\n",
	"<script>alert(1)</script>", "</pre></details><script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "]]>", "<!--", "&lt;script&gt;",
	"`| @octocat |`", "```\n# head\n```", "[a](javascript:alert(1))", "![](https://example.com/x.png)", "https://example.com www.example.com", "https:m", "HTTP://m.example ftp://m.example", "#1",
	"$(rm -rf /)", "{{.}}", "\u0000\ufffe\uffff", "漢字かな交じり文", "e\u0301\u0301\u0301", "👩‍👩‍👧‍👦", "\ud7ff\ue000", "a\tb", "::warning file=x::y", "a\n::add-mask::b", "##[add-mask]a", "a ##vso[task.complete]", "</style><script>", "javascript:alert(1)", "' onmouseover='alert(1)",
}

// huge are texts of more than any format shows.
var huge = []string{strings.Repeat("long ", 2000), strings.Repeat("漢", 3000), strings.Repeat("\n", 9000), strings.Repeat("\x00", 9000)}

// infested is a report whose texts all come from draw. It is
// consistent, so that it can be read back.
func infested(t require.TestingT, draw func(label string) string) *contract.Report {
	r := &contract.Report{Name: draw("name"), Trials: 6, Warnings: []string{draw("warning")}, Dropped: 1}
	rules, severities, promised := map[string]bool{}, map[string]contract.Severity{}, map[[2]string]bool{}
	name := func(label string) string { return cmp.Or(strings.ToValidUTF8(draw(label), "?"), label) }
	for i, state := range []contract.CellState{contract.Broken, contract.Undelivered, contract.Inconclusive, contract.NotRun, contract.Held, contract.Broken} {
		c := contract.CellReport{
			Cell:  contract.Cell{Scenario: name("scenario"), Invariant: name("invariant"), Trial: i + 1},
			State: state, Why: draw("why"), Rerun: draw("rerun"), Delivered: 1,
			Violated: state == contract.Broken || state == contract.Undelivered,
		}
		if state == contract.Undelivered {
			c.Delivered = 0
		}
		c.Evidence = &contract.Observation{
			Cell: c.Cell, Prompt: draw("prompt"), Response: draw("answer"), Elapsed: time.Second, Baseline: draw("baseline"),
			Before: draw("before"), After: map[string]any{draw("key"): draw("after")},
			Events: []chaos.Event{{
				Target: draw("target"), Lane: draw("lane"), Caller: draw("caller"), Rule: "r" + draw("rule"), Fault: draw("fault"), Also: []string{draw("also")},
				Delivered: true, Outcome: chaos.Outcome(draw("outcome")), Effect: chaos.Effect(draw("effect")), Err: draw("err"), Note: draw("note"),
				Args: json.RawMessage(draw("args")), Result: json.RawMessage(draw("result")),
				Exchange: &chaos.Exchange{Request: draw("request"), RequestTruncated: true, Response: draw("response")},
				Changes:  []chaos.Change{{Path: draw("path"), Before: json.RawMessage(draw("old")), After: json.RawMessage(draw("new"))}},
			}},
		}
		c.Severity = cmp.Or(severities[c.Cell.Invariant], contract.Severity(i%4+1))
		severities[c.Cell.Invariant] = c.Severity
		if at := [2]string{c.Cell.Scenario, c.Cell.Invariant}; !promised[at] {
			promised[at] = true
			r.Fields = append(r.Fields, contract.Field{Scenario: at[0], Invariant: at[1], Severity: c.Severity, AtLeast: .9, Poor: .5})
		}
		if !slices.Contains(r.Scenarios, c.Cell.Scenario) {
			r.Scenarios = append(r.Scenarios, c.Cell.Scenario)
		}
		if !slices.Contains(r.Invariants, c.Cell.Invariant) {
			r.Invariants = append(r.Invariants, c.Cell.Invariant)
		}
		r.Cells = append(r.Cells, c)
		rules[c.Cell.Scenario] = true
	}
	r.Coverage = []contract.CoverCount{{Target: "t" + draw("target"), Fault: "f" + draw("fault"), Try: 1, Delivered: 1}, {Target: draw("tool")}}
	r.Goals = []contract.GoalCount{{Goal: draw("goal"), Scenarios: []string{r.Scenarios[0]}, Of: 1, Failed: draw("failed")}}
	r.Defects = []contract.Defect{{Sentence: draw("sentence"), Severity: contract.High, Facts: []string{draw("fact")}, Rerun: draw("rerun"), Difference: draw("difference"),
		Deliveries: []contract.Delivery{{Rule: draw("rule"), Fault: draw("fault"), Target: draw("target"), Lane: draw("lane"), Attempt: 1}},
		Breaks:     []contract.Break{{Invariant: r.Invariants[0], Severity: contract.Low, Why: draw("why"), At: []string{draw("target")}, Cells: []contract.Cell{r.Cells[0].Cell}}}}}
	r.SearchStopped, r.Difference = draw("stopped"), draw("difference")
	score(t, r, rules)
	r.Score.Why = draw("reason")
	return r
}

func TestAnyTextStaysText(t *testing.T) {
	text := rapid.OneOf(rapid.SampledFrom(nasty), rapid.String(),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 50), func(b []byte) string { return string(b) }))
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom(append(formats(), runFile)).Draw(t, "format")
		checkHarmless(t, f, infested(t, func(label string) string { return text.Draw(t, label) }))
	})
}

func TestHugeTextIsCut(t *testing.T) {
	for _, text := range huge {
		r := infested(t, func(label string) string {
			if label == "answer" || label == "why" || label == "scenario" {
				return text
			}
			return label
		})
		for _, f := range append(formats(), runFile) {
			checkHarmless(t, f, r)
		}
	}
}

func FuzzHostileText(f *testing.F) {
	for _, text := range nasty {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, f := range append(formats(), runFile) {
			checkHarmless(t, f, infested(t, func(string) string { return text }))
		}
	})
}

// checkHarmless renders a report and checks that the result is well formed and
// that nothing in it has an effect.
func checkHarmless(t require.TestingT, f format, r *contract.Report) {
	var b bytes.Buffer
	require.NoError(t, f.write(&b, r), f.ending)
	out := b.String()
	require.True(t, utf8.ValidString(out), "%s is UTF-8", f.ending)
	switch f.ending {
	case "run.jsonl":
		_, err := report.Read(&b, nil)
		require.NoError(t, err, "what Write wrote can be read")
	case "xml":
		require.NoError(t, wellFormed(out))
	case "html":
		out = withoutScript(t, out)
		require.NoError(t, tagsMatch(out))
		out = names.ReplaceAllString(out, "")
		require.NotContains(t, strings.ToLower(out), "<script")
		require.NotRegexp(t, `<[^>]* on\w+=`, out)
		require.NotRegexp(t, `<img|<[^<>]*(href|src)="?[^"#]`, out)
	case "md":
		require.NotContains(t, strings.ToLower(out), "<script")
		require.NotContains(t, out, "octocat |`")
		require.NotRegexp(t, linked, verbatim.ReplaceAllString(out, ""))
		require.LessOrEqual(t, len(out), 65536)
		require.Equal(t, strings.Count(out, "<details>"), strings.Count(out, "</details>"))
		require.Equal(t, strings.Count(out, "<pre>"), strings.Count(out, "</pre>"))
	default:
		acts := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
		require.Equal(t, -1, strings.IndexFunc(out, acts), "%s holds what acts on a terminal", f.ending)
		require.NotRegexp(t, `(?m)^\s*::|##[a-z]*\[`, out, "no command to the CI system that reads the log")
	}
}

// names are attributes whose values are texts, in quotes that no text ends, and links within the page.
var names = regexp.MustCompile(` (?:id|title|aria-label|data-[a-z]+)="[^"<>]*"| href="#[^"<>]*"`)

// withoutScript takes the script out of a page, which must be there, whole and once.
func withoutScript(t require.TestingT, page string) string {
	script, err := os.ReadFile("../../internal/document/page.js")
	require.NoError(t, err)
	before, after, found := strings.Cut(page, "<script>"+string(script)+"</script>")
	require.True(t, found, "the script as it is reviewed")
	return before + after
}

// linked is what GitHub makes a link or a mention of, wherever in a text it stands (GitHub Flavored Markdown, section 6.9).
// A scheme without slashes, such as "https:m", is none.
var linked = regexp.MustCompile(`@\w|\]\(|<img|(?i:https?|ftp)://|www\.`)

// verbatim is what Markdown does not look into.
var verbatim = regexp.MustCompile("(?s)<pre>.*?</pre>|<code>.*?</code>|`[^`\n]*`")

// wellFormed reads XML to its end, with the characters XML 1.0 allows and no others.
func wellFormed(s string) error {
	d := xml.NewDecoder(strings.NewReader(s))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

var tags = regexp.MustCompile(`<(/?)([a-zA-Z0-9]+)[^<>]*>|<`)

// tagsMatch reports whether every element of a page that has no script and no
// comment is closed in order, and every '<' begins a tag.
func tagsMatch(page string) error {
	void := map[string]bool{"meta": true, "input": true}
	var open []string
	for _, m := range tags.FindAllStringSubmatch(strings.TrimPrefix(page, "<!DOCTYPE html>"), -1) {
		name := m[2]
		switch {
		case name == "":
			return errors.New("a < that begins no tag")
		case m[1] == "" && !void[name]:
			open = append(open, name)
		case m[1] == "/" && (len(open) == 0 || open[len(open)-1] != name):
			return fmt.Errorf("</%s> closes %v", name, open)
		case m[1] == "/":
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("not closed: %v", open)
	}
	return nil
}
