package audit

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/internal/document"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
)

// Verdict returns the outcome of all tools that were called. It is Fail if one doubles its work, leaves a part of it,
// is wedged or contradicts a claim. Else it is Inconclusive if one is unknown, or if none was called.
func (r *Result) Verdict() scoring.Verdict {
	called, decided := false, true
	for i := range r.Tools {
		t := &r.Tools[i]
		broke := t.Verdict == Doubles || t.Verdict == PartlyDone || t.Verdict == Wedged
		if broke || slices.Contains([]Standing{t.ReadOnly, t.Idempotent, t.Destructive}, Contradicted) {
			return scoring.Fail
		}
		called = called || t.Refused == ""
		decided = decided && (t.Refused != "" || t.Verdict != Unknown)
	}
	if called && decided {
		return scoring.Pass
	}
	return scoring.Inconclusive
}

// worstFirst are the verdicts, in the order of what is shown.
var worstFirst = [...]Verdict{Doubles, PartlyDone, Wedged, Unknown, NotTried, SafeWithKey, Safe}

// rank is the place of a verdict among worstFirst; -1: it is none.
func (v Verdict) rank() int { return slices.Index(worstFirst[:], v) }

// Text writes the result for a terminal, in lines of at most 100 columns: a table of the tools, then the reasons.
func (r *Result) Text(w io.Writer) error {
	const columns = 100
	tools, _, _ := r.sections()
	return document.Text(w, []*document.Section{tools}, columns)
}

// Markdown returns the result as a comment of at most so many bytes, in GitHub's dialect.
func (r *Result) Markdown(most int) []byte {
	tools, _, _ := r.sections()
	return (&document.Document{Sections: []*document.Section{tools}}).Markdown(most)
}

// HTML writes the result as one self-contained page: the tools, and all calls and states of each treatment. It loads
// nothing.
func (r *Result) HTML(w io.Writer) error {
	tools, treatments, sums := r.sections()
	sign := signOf(map[scoring.Verdict]Verdict{scoring.Fail: Doubles, scoring.Pass: Safe}[r.Verdict()])
	page := &document.Document{Title: "Is a tool safe to call twice?", Sections: []*document.Section{tools, treatments},
		Verdict: &document.Verdict{Sign: sign, Name: r.Verdict().String(), Why: sums}}
	data, err := page.HTML()
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

// sections are the tools and the treatments, with the worst first, and how many tools have which verdict.
func (r *Result) sections() (tools, treatments *document.Section, sums string) {
	tools = &document.Section{Name: "tools", Head: "AUDIT", Intro: r.StateNote, Table: &document.Table{Corner: "tool"}}
	treatments = &document.Section{Name: "treatments", Head: "TREATMENTS", Folded: true}
	for _, name := range []string{"called again", "readOnlyHint", "idempotentHint", "destructiveHint"} {
		tools.Table.Heads = append(tools.Table.Heads, document.Head{Name: name})
	}
	refused := map[string][]string{} // tools by reason
	for i := range r.Tools {
		t := &r.Tools[i]
		if t.Refused != "" {
			refused[t.Refused] = append(refused[t.Refused], t.Tool)
			continue
		}
		row := document.Row{Name: t.Tool}
		for _, standing := range []Standing{Standing(t.Verdict), t.ReadOnly, t.Idempotent, t.Destructive} {
			row.Cells = append(row.Cells, document.Cell{Text: string(standing)})
		}
		tools.Table.Rows = append(tools.Table.Rows, row)
	}
	for _, why := range slices.Sorted(maps.Keys(refused)) {
		tools.Table.Hints = append(tools.Table.Hints, "not called, since "+why+": "+strings.Join(refused[why], ", "))
	}
	var counts []string
	for _, v := range worstFirst {
		n := 0
		for i := range r.Tools {
			t := &r.Tools[i]
			if t.Verdict == v && t.Refused == "" {
				n++
				tools.Items = append(tools.Items, t.item())
			}
			for k := range t.Evidence {
				if e := &t.Evidence[k]; e.Verdict == v {
					treatments.Items = append(treatments.Items, e.item())
				}
			}
		}
		if n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, v))
		}
	}
	counts = append(counts, fmt.Sprintf("%d not called", len(r.Tools)-len(tools.Items)))
	return tools, treatments, "of " + text.Plural(len(r.Tools), "tool") + ": " + strings.Join(counts, ", ")
}

func signOf(v Verdict) document.Sign {
	switch v {
	case Doubles, PartlyDone, Wedged:
		return document.Sign{Text: "✗", Class: "broken"}
	case Safe, SafeWithKey:
		return document.Sign{Text: "✓", Class: "held"}
	case NotTried:
		return document.Sign{Text: "-", Class: "notrun"}
	}
	return document.Sign{Text: "?", Class: "inconclusive"}
}

// itemOf is an item about a tool, or a treatment of it.
func itemOf(v Verdict, names ...string) document.Item {
	sign := signOf(v)
	return document.Item{Sign: &sign, Names: names, Text: ": " + string(v),
		Tags: document.Tags{State: sign.Class, Scenario: names[0]}}
}

// item is a tool with the reason of its verdict.
func (t *ToolResult) item() document.Item {
	var tried, not []string
	for _, e := range t.Evidence {
		tried = append(tried, fmt.Sprintf("%s: %s (%s)", e.Treatment, e.Verdict, text.Plural(len(e.Calls), "call")))
	}
	for _, name := range slices.Sorted(maps.Keys(t.NotTried)) {
		not = append(not, name+": "+t.NotTried[name])
	}
	made := map[bool]string{true: " (made from its input schema)"}[t.Made]
	item := itemOf(t.Verdict, t.Tool)
	item.Details = []document.Detail{
		{Label: "why", Text: t.Why}, {Label: "mend", Text: t.Mend},
		{Label: "arguments", Kind: document.OneLine, Text: string(t.Args) + made},
		{Label: "tried", Text: strings.Join(tried, ", ")}, {Label: "not tried", List: not}}
	return item
}

// item is a treatment with all calls and states.
func (e *Evidence) item() document.Item {
	item := itemOf(e.Verdict, e.Tool, e.Treatment)
	item.ID = e.Tool + "." + e.Treatment
	calls, states := document.Detail{Label: "calls"}, document.Detail{Label: "states"}
	for _, c := range e.Calls {
		calls.List = append(calls.List, fmt.Sprintf("%s, from %v to %v: %s → %s", c.Of, c.Start.Round(time.Microsecond),
			c.End.Round(time.Microsecond), c.Args, cmp.Or(c.Err, string(c.Result))))
	}
	for _, s := range e.States {
		states.List = append(states.List, fmt.Sprintf("%s: %s", s.When, s.Value))
	}
	item.Details = []document.Detail{{Label: "why", Text: e.Why}, calls, states}
	return item
}
