package audit

import (
	"cmp"
	"fmt"
	"io"
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

// signs are those of the verdicts, in the order of a sum.
var signs = [...]struct {
	verdict Verdict
	sign    document.Sign
}{
	{Doubles, document.Sign{Text: "✗", Class: "broken"}}, {PartlyDone, document.Sign{Text: "✗", Class: "broken"}},
	{Wedged, document.Sign{Text: "✗", Class: "broken"}}, {Unknown, document.Sign{Text: "?", Class: "inconclusive"}},
	{NotTried, document.Sign{Text: "-", Class: "notrun"}}, {SafeWithKey, document.Sign{Text: "✓", Class: "held"}},
	{Safe, document.Sign{Text: "✓", Class: "held"}},
}

// HTML writes the result as one self-contained page: the tools, and all calls and states of each treatment. It loads
// nothing.
func (r *Result) HTML(w io.Writer) error {
	v := &document.Verdict{Name: r.Verdict().String()}
	v.Sign.Class = map[scoring.Verdict]string{scoring.Fail: "broken", scoring.Pass: "held"}[r.Verdict()]
	v.Sign.Class = cmp.Or(v.Sign.Class, "inconclusive")
	var sums []string
	for _, s := range signs {
		n := 0
		for i := range r.Tools {
			if r.Tools[i].Verdict == s.verdict {
				n++
			}
		}
		if n > 0 {
			sums = append(sums, fmt.Sprintf("%d %s", n, s.verdict))
		}
	}
	v.Why = "of " + text.Plural(len(r.Tools), "tool") + ": " + strings.Join(sums, ", ")
	treatments := &document.Section{Name: "treatments", Head: "TREATMENTS", Folded: true}
	for i := range r.Tools {
		for k := range r.Tools[i].Evidence {
			treatments.Items = append(treatments.Items, r.Tools[i].Evidence[k].item())
		}
	}
	worstFirst(treatments.Items)
	page := &document.Document{Title: "Is a tool safe to call twice?", Verdict: v,
		Sections: []*document.Section{r.section(), treatments}}
	data, err := page.HTML()
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

// itemOf is an item about a tool, or a treatment of it.
func itemOf(v Verdict, names ...string) document.Item {
	for i := range signs {
		if s := &signs[i]; s.verdict == v {
			return document.Item{Sign: &s.sign, Names: names, Text: ": " + string(v), Tags: document.Tags{State: s.sign.Class, Scenario: names[0]}}
		}
	}
	return document.Item{Names: names, Text: ": " + string(v)}
}

// worstFirst sorts items of [itemOf] by the order of the signs.
func worstFirst(items []document.Item) {
	rank := func(i document.Item) int {
		for k := range signs {
			if i.Sign == &signs[k].sign {
				return k
			}
		}
		return len(signs)
	}
	slices.SortStableFunc(items, func(a, b document.Item) int { return rank(a) - rank(b) })
}

// item is a treatment with all calls and states.
func (e *Evidence) item() document.Item {
	item := itemOf(e.Verdict, e.Tool, e.Treatment)
	item.ID = e.Tool + "." + e.Treatment
	calls := document.Detail{Label: "calls"}
	for _, c := range e.Calls {
		calls.List = append(calls.List, fmt.Sprintf("%s, from %v to %v: %s → %s", c.Of, c.Start.Round(time.Microsecond),
			c.End.Round(time.Microsecond), c.Args, cmp.Or(c.Err, string(c.Result))))
	}
	states := document.Detail{Label: "states"}
	for _, s := range e.States {
		states.List = append(states.List, fmt.Sprintf("%s: %s", s.When, s.Value))
	}
	item.Details = []document.Detail{{Label: "why", Text: e.Why}, calls, states}
	return item
}
