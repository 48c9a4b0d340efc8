package browser

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/scoring"
)

// A tab is a page in a browser, with what went wrong in it.
type tab struct {
	context.Context
	t    testing.TB
	file string // its address

	mu       sync.Mutex
	problems []string
}

// browser is the path of a browser that starts here, or why there is none.
var browser = sync.OnceValues(func() (path, why string) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		found, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if said, err := exec.CommandContext(ctx, found, "--headless", "--no-sandbox", "--dump-dom", "about:blank").CombinedOutput(); err != nil {
			return "", fmt.Sprintf("%s does not start: %v: %s", name, err, said)
		}
		return found, ""
	}
	return "", "no browser"
})

// open writes the page of a report to a file, and opens it; hash is where.
func open(t testing.TB, r, before *contract.Report, hash string, first ...chromedp.Action[chromedp.Void]) *tab {
	t.Helper()
	path, why := browser()
	if why != "" {
		t.Skip("skipped, " + why)
	}
	var html bytes.Buffer
	require.NoError(t, report.HTMLSince(&html, r, before, "in old.run.jsonl"))
	own := &tab{t: t, file: "file://" + filepath.ToSlash(filepath.Join(t.TempDir(), "report.html"))}
	require.NoError(t, os.WriteFile(strings.TrimPrefix(own.file, "file://"), html.Bytes(), 0o600))
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1280, 1000))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	own.Context, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	require.NoError(t, chromedp.Listen(own, own.heard))
	_, err := chromedp.Call(own, log.Enable, cdp.Empty{})
	require.NoError(t, err)
	_, err = chromedp.Call(own, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	own.do(append(first, chromedp.Navigate(own.file+hash))...)
	return own
}

// heard notes what a page must not do.
func (p *tab) heard(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	say := func(format string, args ...any) { p.problems = append(p.problems, fmt.Sprintf(format, args...)) }
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		say("exception: %v", e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		say("console: %v", e.Type)
	case *log.EventEntryAdded: // violations of the content security policy too
		say("log: %v: %v", e.Entry.Level, e.Entry.Text)
	case *page.EventJavascriptDialogOpening:
		say("dialog: %v", e.Message)
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, p.file) {
			say("request: %v", e.Request.URL)
		}
	}
}

func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	require.NoError(p.t, chromedp.Do(p, actions...))
}

// quiet checks that nothing went wrong.
func (p *tab) quiet() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	assert.Empty(p.t, p.problems)
}

// value evaluates an expression.
func value[T any](p *tab, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p, chromedp.Evaluate[T](expression))
	require.NoError(p.t, err)
	return v
}

// after waits until an expression is true, as the script sees it.
func (p *tab) after(expression string) {
	p.t.Helper()
	p.do(chromedp.Poll[chromedp.Void](expression))
}

const (
	visible = `Array.from(document.querySelectorAll('[data-state]')).filter(e => !e.hidden)`
	rows    = `Array.from(document.querySelectorAll('.matrix tbody tr')).filter(e => !e.hidden).map(e => e.firstElementChild.textContent)`
)

var ms = time.Millisecond

// call is an event of a run.
func call(target string, start, end time.Duration, change func(*chaos.Event)) chaos.Event {
	e := chaos.Event{Target: target, Start: start, End: end, Attempt: 1, Outcome: chaos.OutcomeOK, Effect: chaos.EffectNone}
	if change != nil {
		change(&e)
	}
	return e
}

// lost is a refund that was made while its reply was lost, and asked for again.
func lost() []chaos.Event {
	return []chaos.Event{
		call("orders.get", 0, ms, nil),
		call("refund", ms, 51*ms, func(e *chaos.Event) {
			e.Rule, e.Fault, e.Delivered, e.Effect = "refund:lost_reply", "lost_reply", true, chaos.EffectDone
			e.Err, e.Outcome, e.Spent = "timeout", chaos.OutcomeInjected, 49*ms
		}),
		call("refund", 51*ms, 53*ms, func(e *chaos.Event) { e.Attempt, e.Ordinal, e.Effect = 2, 1, chaos.EffectDone }),
		call("mail.send", 53*ms, 54*ms, func(e *chaos.Event) { e.Effect = chaos.EffectDone }),
	}
}

// desk is a report of three scenarios and two invariants, of which some cells broke; say is what the agent says.
func desk(t testing.TB, say func(string) string, broke ...string) *contract.Report {
	r := &contract.Report{Name: say("order desk"), Trials: 2, Scenarios: []string{"calm", "reply-lost", "slow"},
		Invariants: []string{"one-refund", "polite"}, Seed: 1}
	for _, scenario := range r.Scenarios {
		for trial := 1; trial <= r.Trials; trial++ {
			for k, invariant := range r.Invariants {
				c := contract.CellReport{Cell: contract.Cell{Scenario: scenario, Invariant: invariant, Trial: trial},
					Severity: []contract.Severity{contract.Critical, contract.Low}[k], State: contract.Held, Delivered: 1}
				o := &contract.Observation{Cell: c.Cell, Prompt: say("Refund order 1042."), Response: say("Refunded 1042 twice."), Elapsed: 55 * ms, Events: lost()}
				for i := range o.Events {
					o.Events[i].Target = say(o.Events[i].Target)
				}
				if scenario == "calm" {
					c.Delivered = 0
				}
				if scenario == "calm" && trial == 1 {
					c.Calm = []*contract.Observation{{Cell: c.Cell, Prompt: o.Prompt, Response: say("Refunded 1042."), Elapsed: 3 * ms,
						Events: []chaos.Event{call(say("refund"), 0, ms, func(e *chaos.Event) { e.Effect = chaos.EffectDone })}}}
				}
				for _, at := range broke {
					if strings.HasPrefix(c.Cell.String(), at) {
						c.State, c.Violated, c.Why, c.Evidence = contract.Broken, true, say(fmt.Sprintf("it says %q, in %s", "twice", c.Cell)), o
					}
				}
				r.Cells = append(r.Cells, c)
			}
		}
	}
	return judged(t, r)
}

// judged is a report with the score of its cells.
func judged(t testing.TB, r *contract.Report) *contract.Report {
	r.Counts, r.Fields = nil, nil
	for _, c := range r.Cells {
		r.Counts = append(r.Counts, scoring.Cell{Scenario: c.Cell.Scenario, Invariant: c.Cell.Invariant, Severity: c.Severity,
			State: c.State, Violated: c.Violated, Delivered: c.Delivered, HasRules: c.Delivered > 0, Count: 1})
	}
	require.NoError(t, r.Judge())
	return r
}

// bare turns scripts off.
func bare() chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	})
}

func plain(s string) string { return s }

func TestFilters(t *testing.T) {
	was := desk(t, plain, "slow/polite")
	p := open(t, desk(t, plain, "reply-lost/one-refund", "slow/polite/1"), was, "")
	all := value[int](p, visible+".length")
	require.Equal(t, 5, all, "two lines of what changed, two kinds of broken cells and a kept one")
	for _, row := range []struct {
		why, control, text string
		shown              int
		rows               []string // of the table
	}{
		{"a state", "state", "broken", 5, []string{"reply-lost", "slow"}},
		{"a scenario", "scenario", "slow", 2, []string{"slow"}},
		{"a scenario without evidence", "scenario", "calm", 0, []string{"calm"}},
		{"a severity", "severity", "critical", 3, []string{"calm", "reply-lost", "slow"}},
		{"since when", "since", "newly broken", 3, []string{"calm", "reply-lost", "slow"}},
		{"a text, in any letters", "text", "REPLY-LOST/ONE", 2, []string{}},
		{"a text that nothing has", "text", "no such text", 0, []string{}},
	} {
		p.do(chromedp.Click(`button[type=reset]`), chromedp.Poll[chromedp.Void](visible+".length === 5"))
		p.do(chromedp.SendKeys("[name="+row.control+"]", row.text))
		p.after(fmt.Sprintf("%s.length === %d && %s.join() === %q", visible, row.shown, rows, strings.Join(row.rows, ",")))
		assert.Equal(t, fmt.Sprintf("%d of 5 entries", row.shown), value[string](p, `document.querySelector('output').value`), row.why)
	}
	p.quiet()
}

func TestALinkOpensItsCell(t *testing.T) {
	const cell = "reply-lost/one-refund/2"
	find := fmt.Sprintf("document.getElementById(%q)", cell)
	r := desk(t, plain, "reply-lost/one-refund", "slow/polite/1")
	p := open(t, r, nil, "#"+cell)
	p.after("document.activeElement === " + find)
	assert.True(t, value[bool](p, find+".checkVisibility()"), "its folded part is open")
	p.after(fmt.Sprintf("(top => top > 0 && innerHeight > top)(%s.getBoundingClientRect().top)", find))
	p.do(chromedp.SendKeys("[name=scenario]", "slow"))
	p.after("!" + find + ".checkVisibility()")
	p.do(chromedp.Evaluate[chromedp.Void](`location.hash = ''`), chromedp.Evaluate[chromedp.Void](fmt.Sprintf("location.hash = %q", cell)))
	p.after(find + ".checkVisibility()")
	p.do(chromedp.Evaluate[chromedp.Void](`location.hash = '%zz'`))
	p.quiet()

	still := open(t, r, nil, "#"+cell, bare())
	assert.True(t, value[bool](still, find+".checkVisibility()"), "also without scripts")
	still.quiet()
}

// small makes the window as wide as that of a phone.
func small() chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 360, Height: 640, DeviceScaleFactor: 1})
		return err
	})
}

func TestASmallWindow(t *testing.T) {
	r := desk(t, plain, "reply-lost/one-refund", "slow/polite/1")
	p := open(t, r, nil, "#reply-lost/one-refund/1", small())
	// The filters do not cover what a link leads to: at the middle of its heading stands the heading.
	p.after(`(h => { const at = h && h.getBoundingClientRect();
		return h && h.contains(document.elementFromPoint(at.left + at.width / 2, at.top + at.height / 2)) })(document.activeElement.querySelector('h3'))`)
	p.quiet()

	long := strings.Repeat("very-long", 20)
	r = desk(t, plain)
	for i := range r.Scenarios {
		r.Scenarios[i] += long
	}
	for i := range r.Cells {
		r.Cells[i].Cell.Scenario += long
	}
	p = open(t, judged(t, r), nil, "", small())
	assert.Less(t, value[float64](p, `document.querySelector('.matrix th[scope=row]').offsetWidth`), 180., "a long name leaves room for the columns")
	assert.Zero(t, value[int](p, `document.documentElement.scrollWidth - document.documentElement.clientWidth`), "the page does not scroll sideways")
	p.quiet()
}

func TestKeysReachEverything(t *testing.T) {
	p := open(t, desk(t, plain, "reply-lost/one-refund", "slow/polite/1"), nil, "")
	var reached []string
	for range 20 {
		p.do(chromedp.KeyEvent(kb.Tab))
		reached = append(reached, value[string](p, `(e => e.name || e.getAttribute('href') || e.localName)(document.activeElement)`))
	}
	assert.Equal(t, []string{"state", "scenario", "severity", "text", "button"}, reached[:5], "filters first, without one for a comparison that was not made")
	assert.Contains(t, reached, "#reply-lost/one-refund/1", "the field's link")
	assert.Contains(t, reached, "summary")
	closed := value[int](p, `document.querySelectorAll('details[open]').length`)
	p.do(chromedp.Focus("summary"), chromedp.KeyEvent(kb.Enter))
	p.after(fmt.Sprintf(`document.querySelectorAll('details[open]').length === %d`, closed+1))
	p.do(chromedp.Focus("[name=text]"), chromedp.KeyEvent("slow"+kb.Enter))
	p.after(`document.querySelector('output').value.startsWith('1 of')`)
	p.do(chromedp.Focus("button[type=reset]"), chromedp.KeyEvent(kb.Enter))
	p.after(visible + ".length === 3")
	p.do(chromedp.Focus(`a[href="#reply-lost/one-refund/1"]`), chromedp.KeyEvent(kb.Enter))
	p.after(`document.activeElement.id === 'reply-lost/one-refund/1'`)
	p.quiet()
}

// The browser makes its tree for assistive technology in steps, after it has drawn the page.
func TestEverythingHasAName(t *testing.T) {
	p := open(t, desk(t, plain, "reply-lost/one-refund", "slow/polite/1"), nil, "")
	assert.EventuallyWithT(t, func(t *assert.CollectT) {
		tree, err := chromedp.Call(p, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		require.NoError(t, err)
		seen := map[string]int{}
		for _, n := range tree.Nodes {
			if n.Ignored || n.Role == nil {
				continue
			}
			role := strings.Trim(string(n.Role.Value), `"`)
			switch role {
			case "combobox", "searchbox", "button", "image", "img", "link", "search", "region", "article", "heading":
				seen[role]++
				if role != "article" && assert.NotNil(t, n.Name, role) {
					assert.NotEqual(t, `""`, string(n.Name.Value), role)
				}
			}
		}
		for _, role := range []string{"combobox", "searchbox", "button", "image", "link", "search", "region", "article", "heading"} {
			assert.Positive(t, seen[role], role)
		}
	}, time.Minute, 100*time.Millisecond)
	p.quiet()
}

// Texts of agents do nothing, wherever they stand.
func TestHostileTextsAreInert(t *testing.T) {
	for _, text := range []string{`<script>window.owned = 1</script>`, `"><img src=x onerror="window.owned = 1">`, `' onmouseover='window.owned = 1' x='`,
		`</script></style></title></svg><script>window.owned = 1</script>`, `javascript:window.owned = 1`, `{{.}}<svg onload=window.owned=1>`,
		"\u202egnp\x00\x1b[2J", `<a href="https://example.invalid/">x</a><iframe src=https://example.invalid/></iframe>`} {
		r := desk(t, func(s string) string { return s + text }, "reply-lost/one-refund", "slow/polite/1")
		for i := range r.Cells {
			r.Cells[i].Cell.Scenario += text
		}
		for i := range r.Scenarios {
			r.Scenarios[i] += text
		}
		judged(t, r)
		p := open(t, r, nil, "")
		p.do(chromedp.SendKeys("[name=text]", "refund"))
		p.after(`document.querySelector('output').value !== '' && document.querySelector('form').hidden === false`)
		assert.Equal(t, 1, value[int](p, `document.querySelectorAll('script').length`), text)
		assert.Equal(t, 0, value[int](p, `document.querySelectorAll('img, iframe, object, embed, link, base').length`), text)
		assert.Equal(t, 0, value[int](p, `Array.from(document.querySelectorAll('a')).filter(a => !a.getAttribute('href').startsWith('#')).length`), text)
		assert.Equal(t, 0, value[int](p, `Array.from(document.querySelectorAll('*')).filter(e => e.getAttributeNames().some(n => n.startsWith('on'))).length`), text)
		assert.Equal(t, "undefined", value[string](p, `typeof window.owned`), text)
		assert.NotContains(t, value[string](p, `document.body.textContent`), "\u202e", "marks that turn the direction are visible")
		p.quiet()
	}
}

func TestWithoutScripts(t *testing.T) {
	p := open(t, desk(t, plain, "reply-lost/one-refund", "slow/polite/1"), nil, "", bare())
	assert.False(t, value[bool](p, `document.querySelector('form').checkVisibility()`), "no filters")
	assert.True(t, value[bool](p, `document.querySelector('article svg').checkVisibility()`))
	assert.Contains(t, value[string](p, `document.body.innerText`), "Refunded 1042 twice.")
	p.quiet()
}

// BenchmarkOpen opens pages of 100,000 cells: until everything is drawn and the filters work.
func BenchmarkOpen(b *testing.B) {
	for _, shape := range []struct{ scenarios, invariants, trials int }{{100, 20, 50}, {1000, 20, 5}, {5000, 20, 1}} {
		r := many(b, shape.scenarios, shape.invariants, shape.trials)
		b.Run(fmt.Sprintf("fields=%d", shape.scenarios*shape.invariants), func(b *testing.B) {
			for b.Loop() {
				p := open(b, r, nil, "")
				p.after(`document.readyState === 'complete'`) // as a frame is drawn
				took := value[float64](p, `performance.now()`)
				b.ReportMetric(took, "open-ms")
				begun := time.Now()
				p.do(chromedp.SendKeys("[name=text]", "scenario-77"))
				p.after(`document.querySelector('tbody tr').hidden`)
				b.ReportMetric(float64(time.Since(begun).Milliseconds()), "filter-ms")
				info, err := os.Stat(strings.TrimPrefix(p.file, "file://"))
				require.NoError(b, err)
				b.ReportMetric(float64(info.Size())/1e6, "MB")
				p.quiet()
			}
		})
	}
}

// many is a report of which one cell in ten broke, each kind for a reason of its own.
func many(t testing.TB, scenarios, invariants, trials int) *contract.Report {
	r := &contract.Report{Name: "many", Trials: trials, Seed: 1}
	for i := range invariants {
		r.Invariants = append(r.Invariants, fmt.Sprint("invariant-", i))
	}
	for s := range scenarios {
		r.Scenarios = append(r.Scenarios, fmt.Sprint("scenario-", s))
		for trial := 1; trial <= trials; trial++ {
			for k, invariant := range r.Invariants {
				c := contract.CellReport{Cell: contract.Cell{Scenario: r.Scenarios[s], Invariant: invariant, Trial: trial},
					Severity: contract.Severity(k%4 + 1), State: contract.Held, Delivered: 1}
				if (s*7+trial*3+k)%10 == 0 {
					c.State, c.Violated, c.Why = contract.Broken, true, "it broke in "+strings.Repeat("x", s%40+1)
					c.Evidence = &contract.Observation{Cell: c.Cell, Prompt: "Refund order 1042.", Response: "Refunded 1042 twice.", Elapsed: 55 * ms, Events: lost()}
				}
				r.Cells = append(r.Cells, c)
			}
		}
	}
	return judged(t, r)
}
