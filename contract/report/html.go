package report

import (
	"bytes"
	"cmp"
	_ "embed" // for the page
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/scoring"
)

//go:embed page.html
var page string

const (
	defaultPage = 200
	maxCalls    = 100 // calls of a broken cell
	maxValue    = 300 // columns of a call's arguments, result or error
	maxTalks    = 20  // calls of a broken cell with what they said
	maxSaid     = 4 << 10
)

// HTMLOptions are the settings of [HTML]; nil and the zero value work.
type HTMLOptions struct {
	_ struct{}
	// MaxBroken bounds the broken cells that are shown in detail; 0: 200, negative:
	// no bound. Trials that broke for the same reason count once. The page says how
	// many were left out.
	MaxBroken int
}

// HTML writes the report as one self-contained page. It has no script and loads
// nothing, and a content security policy forbids both. It follows the light or dark
// setting of the reader's system. Every broken field of the table links to its evidence, with
// all calls of the answer and the faults injected into each.
//
// Errors: [*FieldError] for a nil report and for values without a meaning, before
// anything is written; and those of the writer.
func HTML(w io.Writer, r *contract.Report, o *HTMLOptions) error {
	if err := check(r); err != nil {
		return err
	}
	o = cmp.Or(o, new(HTMLOptions))
	t, err := template.New("page").Parse(page)
	if err != nil {
		return fmt.Errorf("report: the page: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, newPage(r, limit(o.MaxBroken, defaultPage))); err != nil {
		return fmt.Errorf("report: the page: %w", err)
	}
	_, err = w.Write(b.Bytes())
	return written(err)
}

// A htmlPage is the content of the page, in its order.
type htmlPage struct {
	Title, Verdict, Class, Why string
	Score                      string // "" where there is none
	Bars                       []htmlBar
	Facts                      []fact
	Notes                      []string
	Invariants                 []htmlHead
	Rows                       []htmlRow
	DefectsHead, SearchStopped string
	Defects                    []htmlDefect
	Legend                     []htmlSign
	LegendText                 string
	Rates                      []htmlUndecided
	MoreRates                  int
	Broken                     []htmlGroup
	More                       int
	Undecided                  []htmlUndecided
	Coverage                   htmlCoverage
}

func (f fact) Label() string { return f.label }
func (f fact) Text() string  { return f.text }

// A htmlBar is a share with its interval, in percent for the style sheet.
type htmlBar struct {
	Label, Text      string
	Share, Low, Span float64
	Interval         bool
}

type htmlHead struct{ Name, Severity string }

type htmlRow struct {
	Name      string
	Fields    []htmlField
	Delivered string
}

// A htmlField is one field of the table; without cells its Class is empty.
type htmlField struct{ Class, Signs, Words, Link string }

type htmlSign struct{ Class, Sign, Meaning string }

type htmlGroup struct {
	ID, Class, Sign, Scenario, Invariant, Severity, Outcome string
	Defect                                                  string // its number; "": it has none
	Why                                                     string
	Evidence                                                bool
	Prompt, Answer, Elapsed                                 string
	Faults, Also                                            []string
	Rerun                                                   string
	Calls                                                   []htmlCall
	AllCalls, MoreCalls                                     int
	Talks                                                   []htmlTalk
	MoreTalks                                               int
}

type htmlCall struct {
	Class                             string
	Target, Call, Start, Took         string
	Outcome, Effect, Fault, Arguments string
	Result                            string
}

// A htmlTalk is what a call of a model said.
type htmlTalk struct {
	Call              string
	Request, Response string
}

type htmlUndecided struct{ Class, Sign, Text, Invariants string }

func newPage(r *contract.Report, most int) *htmlPage {
	g := newGrid(r)
	groups := broken(r, g, most)
	p := &htmlPage{
		Title: title(r), Verdict: r.Score.Verdict.String(), Class: verdictClass(r.Score.Verdict),
		Why:   clean(r.Score.Why),
		Facts: counts(r), Notes: withCalm(r, notes(r)), Bars: htmlBars(r),
		LegendText: legendText(g), More: max(0, len(groups)-most), Coverage: newHTMLCoverage(r),
	}
	if r.Score.Decided > 0 {
		p.Score = strconv.FormatFloat(r.Score.Value, 'f', 2, 64)
	}
	if len(r.Defects) > 0 {
		p.DefectsHead, p.SearchStopped, p.Defects = defectsHead(r), clean(r.SearchStopped), htmlDefects(r)
	}
	numbers := explained(r)
	links := make(map[place]string)
	for i, b := range groups[:min(most, len(groups))] {
		shown := htmlGroupOf(b, "broken-"+strconv.Itoa(i+1))
		if n := numbers[b.cell.Cell]; n > 0 {
			shown.Defect = strconv.Itoa(n)
		}
		p.Broken = append(p.Broken, shown)
		for _, p := range b.places {
			at := place{p.scenario, b.cell.Cell.Invariant}
			if links[at] == "" {
				links[at] = "#" + shown.ID
			}
		}
	}
	p.table(g, links)
	rates := told(r)
	for _, f := range rates[:min(most, len(rates))] {
		l := markOfField(r, f).look()
		p.Rates = append(p.Rates,
			htmlUndecided{l.class, l.sign, placeText(f) + ": " + clip(standsText(r, f), 1000), ""})
	}
	p.MoreRates = len(rates) - len(p.Rates)
	for _, u := range undecided(r, unlimited) {
		l := u.mark.look()
		text := u.outcome(clean) + ": " + clip(u.reason(), 1000)
		p.Undecided = append(p.Undecided,
			htmlUndecided{l.class, l.sign, text, clip(strings.Join(u.invariants, ", "), 1000)})
	}
	return p
}

func verdictClass(v scoring.Verdict) string {
	switch v {
	case scoring.Pass:
		return markHeld.look().class
	case scoring.Fail:
		return markBroken.look().class
	}
	return markInconclusive.look().class
}

func (p *htmlPage) table(g *grid, links map[place]string) {
	for _, name := range g.invariants {
		severity := ""
		if s, ok := g.severity[name]; ok {
			severity = s.String()
		}
		p.Invariants = append(p.Invariants, htmlHead{clean(name), severity})
	}
	for _, scenario := range g.scenarios {
		row := htmlRow{Name: clean(scenario), Delivered: g.delivered(scenario)}
		for _, name := range g.invariants {
			shown := htmlField{Signs: empty, Words: "does not apply"}
			if f := g.at(scenario, name); f != nil {
				shown = htmlField{
					Class: f.worst().look().class,
					Signs: f.signs(func(m mark) string { return m.look().sign }),
					Words: f.words(),
					Link:  links[place{scenario, name}],
				}
			}
			row.Fields = append(row.Fields, shown)
		}
		p.Rows = append(p.Rows, row)
	}
	for m := range marks {
		if l := m.look(); g.used.count[m] > 0 {
			p.Legend = append(p.Legend, htmlSign{l.class, l.sign, l.meaning})
		}
	}
}

func htmlBars(r *contract.Report) []htmlBar {
	var bars []htmlBar
	add := func(label, text string, s share) {
		b := htmlBar{Label: label, Text: text}
		if s.decided > 0 {
			b.Share = round(float64(s.passed) / float64(s.decided))
		}
		if in := s.interval; in.Level > 0 {
			b.Interval, b.Low, b.Span = true, round(in.Low), round(in.High-in.Low)
		}
		bars = append(bars, b)
	}
	whole, severities := shares(r)
	add("held", whole.String(), whole)
	for i, v := range r.Score.Severities {
		add(v.Severity.String(), severityText(v, severities[i]), severities[i])
	}
	return bars
}

// round converts a share to percent with one decimal, within the bar.
func round(share float64) float64 {
	return float64(int(1000*min(1, max(0, share))+0.5)) / 10
}

func htmlGroupOf(b *group, id string) htmlGroup {
	c, l := b.cell, b.mark.look()
	g := htmlGroup{
		ID: id, Class: l.class, Sign: l.sign,
		Scenario: clean(c.Cell.Scenario), Invariant: clean(c.Cell.Invariant),
		Severity: c.Severity.String(), Outcome: b.outcome(),
		Why: block(b.why(), maxText), Rerun: clean(c.Rerun),
	}
	g.Faults, g.Also = clipped(b.faults(maxCalls), 4*maxValue), clipped(b.also(), maxValue)
	o := c.Evidence
	if o == nil {
		return g
	}
	g.Evidence = true
	g.Prompt, g.Answer, g.Elapsed = block(o.Prompt, maxText), cmp.Or(block(o.Response, maxText), "(none)"),
		o.Elapsed.String()
	for i := range o.Events[:min(maxCalls, len(o.Events))] {
		g.Calls = append(g.Calls, htmlCallOf(&o.Events[i]))
	}
	g.AllCalls, g.MoreCalls = len(o.Events), len(o.Events)-len(g.Calls)
	for i := range o.Events {
		switch e := &o.Events[i]; {
		case e.Exchange == nil:
		case len(g.Talks) == maxTalks:
			g.MoreTalks++
		default:
			c, x := htmlCallOf(e), e.Exchange
			g.Talks = append(g.Talks,
				htmlTalk{c.Target + ", call " + c.Call, saidText(x.Request, x.RequestTruncated),
					saidText(x.Response, x.ResponseTruncated)})
		}
	}
	return g
}

// saidText is one side of what a call of a model said.
func saidText(s string, truncated bool) string {
	s = cmp.Or(block(s, maxSaid), "(nothing)")
	if truncated {
		s += " … (its end was not kept)"
	}
	return s
}

func htmlCallOf(e *chaos.Event) htmlCall {
	c := htmlCall{
		Target: clip(e.Target, maxValue), Call: strconv.FormatUint(e.Ordinal+1, 10),
		Start: e.Start.String(), Took: (e.End - e.Start).String(),
		Outcome: clip(string(e.Outcome), maxValue), Effect: clip(string(e.Effect), maxValue),
		Arguments: clip(string(e.Args), maxValue), Result: clip(cmp.Or(e.Err, string(e.Result)), maxValue),
	}
	if e.Lane != "" {
		c.Call += " (" + clip(e.Lane, 60) + ")"
	}
	c.Fault = clip(rulesText(e), maxValue)
	if e.Rule != "" && e.Delivered {
		c.Class = "delivered"
	}
	return c
}
