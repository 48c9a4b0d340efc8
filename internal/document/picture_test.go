package document

import (
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

const second = time.Second

// drawnText is a picture of a run of calls, without its legend.
func drawnText(runs ...[]Call) string {
	p := &Picture{Caption: "c"}
	for i, calls := range runs {
		end := time.Duration(0)
		for k := range calls {
			calls[k].Attempt = max(1, calls[k].Attempt)
			end = max(end, calls[k].End)
		}
		p.Runs = append(p.Runs, Run{Head: []string{"this run", "calm run"}[i], Sign: Sign{Text: "x"}, End: "answered", Answer: Call{End: end}, Calls: calls})
	}
	lines := p.text()
	return strings.Join(lines[1:len(lines)-1-len(runs)], "\n")
}

func TestPictureAsText(t *testing.T) {
	for _, row := range []struct {
		why  string
		runs [][]Call
		want string
	}{
		{"calls that take no time stand in their order", [][]Call{{{Target: "a", Effect: "none"}, {Target: "b", Effect: "done"}, {Target: "a", Effect: "none"}}},
			"agent  ───────────────────────────x\n" +
				"a        █████○           ████○\n" +
				"b                █████●"},
		{"a wait is in its call, and a try is joined with the one before it", [][]Call{{
			{Target: "pay", End: 8 * second, Wait: 6 * second, Failed: true, Fault: "lost_reply", Effect: "done"},
			{Target: "pay", Start: 8 * second, End: 10 * second, Attempt: 2, Effect: "done"}}},
			"agent  ────────────────────────────x\n" +
				"pay     ▒▒▒▒░░░░░░░░░░░░↯●┄2█████●      ↯ lost_reply"},
		{"kinds of faults stand behind, each once, before what the run did otherwise than the calm one", [][]Call{
			{{Target: "pay", End: second, Fault: "late", Effect: "done"}, {Target: "pay", Start: second, End: second, Fault: "late", Effect: "done"},
				{Target: "pay", Start: second, End: second, Fault: "null"}, {Target: "pay", Start: second, End: second, Fault: "idle", Idle: true}},
			{{Target: "pay", Effect: "done"}}},
			"agent  ─────────────────────────────x   ────x\n" +
				"pay     ███████████████↯● █↯● █↯ █-      █●                              ↯ late, null; done 2×, calm 1×"},
		{"calls at one time are on lines of their own", [][]Call{{{Target: "a", End: 2 * second}, {Target: "a", Start: second, End: 3 * second}, {Target: "a", Start: 3 * second, End: 4 * second}}},
			"agent  ────────────────────────────x\n" +
				"a       ████████████        ██████\n" +
				"              ████████████"},
		{"lanes have rows of their own, and a fault without effect is none", [][]Call{{{Target: "a", Lane: "1", End: second, Fault: "late", Idle: true}, {Target: "a", Lane: "2", End: second, Open: true}}},
			"agent  ────────────────────────────x\n" +
				"a (1)   ██████████████████████-\n" +
				"a (2)       ▷▷▷▷▷▷▷▷▷▷▷▷▷▷▷▷▷▷▷▷▷"},
		{"the calm run has its rows beside, and the first one says what it did otherwise", [][]Call{
			{{Target: "pay", End: second, Effect: "done"}, {Target: "pay", Start: second, End: 2 * second, Effect: "done"}, {Target: "get", Start: 2 * second, End: 3 * second}},
			{{Target: "pay", End: second, Effect: "done"}, {Target: "mail", Start: second, End: second}, {Target: "get", Start: second, End: second}}},
			"agent  ────────────────────────────x    ───────────────x\n" +
				"pay     ███████● ████████●               ███████●                        done 2×, calm 1×\n" +
				"get                        ███████                   █\n" +
				"mail                                              ██                     called 0×, calm 1×"},
	} {
		assert.Equal(t, row.want, drawnText(row.runs...), row.why)
	}
}

// More calls than have room make the picture wider; none is lost.
func TestPictureLosesNoCall(t *testing.T) {
	var calls []Call
	for range 60 {
		calls = append(calls, Call{Target: "a", Fault: "late", Effect: "done"})
	}
	got := drawnText(calls)
	assert.Equal(t, 60, strings.Count(got, markFault+markDone))
	p := &Picture{Runs: []Run{{Calls: calls}}}
	assert.Equal(t, 60, strings.Count(string(p.svg()), "<rect"))
}

// A file may have been made by hand.
func TestPictureOfAnyTimes(t *testing.T) {
	const least, most = math.MinInt64, math.MaxInt64
	var calls []Call
	for _, at := range [][3]time.Duration{{most, least, most}, {least, most, least}, {0, 0, most}, {least, least, -1}, {most, most, 1}} {
		calls = append(calls, Call{Target: "a", Start: at[0], End: at[1], Wait: at[2], Attempt: -1, Fault: "x", Effect: "?"})
	}
	p := &Picture{Runs: []Run{{Answer: Call{Start: most, End: least}, Calls: calls}, {Calls: calls[2:]}}}
	assert.NotPanics(t, func() {
		for _, line := range p.text() {
			assert.Less(t, len(line), 2000)
		}
		assert.NotRegexp(t, `NaN|Inf|e\+`, string(p.svg()))
	})
}

// Both forms of a picture show the same calls; texts are escaped in the drawn one.
func TestPictureIsDrawn(t *testing.T) {
	p := &Picture{Caption: `"><script>`, Runs: []Run{{Head: "<b>", End: "</svg>", Sign: Sign{Text: "✗", Class: "broken"}, Answer: Call{End: second},
		Calls: []Call{{Target: "<a \x1b>", End: second, Wait: second / 2, Attempt: 2, Failed: true, Fault: "<late>", Effect: "done", Words: "</title>\u202e"}}}}}
	got := string(p.svg())
	assert.NotRegexp(t, `<script|<b>|<a|<late|\x1b|\x{202e}`, got)
	assert.Equal(t, 1, strings.Count(got, "</svg>"))
	assert.Contains(t, got, `>&lt;a \x1b&gt;</text>`)
	assert.Contains(t, got, "try 2 ↯ &lt;late&gt;")
	assert.Contains(t, got, `<rect class="call failed"`)
	assert.Contains(t, got, `<line class="wait"`)
	assert.NotRegexp(t, regexp.MustCompile(` style=|url\(|href`), got, "which the page's policy forbids")
}

func TestLegendHasWhatOccurs(t *testing.T) {
	p := &Picture{Note: "No calm run is kept.", Runs: []Run{{Calls: []Call{{Target: "a", Attempt: 1, Effect: "unknown"}}}}}
	assert.Equal(t, "█ a call   ◐ perhaps done   No calm run is kept.", p.under())
	p.Runs[0].Calls = append(p.Runs[0].Calls, Call{Target: "a", Attempt: 2, Failed: true, Wait: 1, Fault: "x", Effect: "none"})
	assert.Equal(t, "filled: a call · red: its caller got an error · hatched: held by a fault · ↯ a fault · ┄ the next try, with its number · "+
		"◐ perhaps done · ○ not done, or nothing to do · No calm run is kept.", drawn.Replace(p.under()))
}
