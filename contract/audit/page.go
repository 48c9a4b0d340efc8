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

// worstFirst are the verdicts, in the order of what is shown.
var worstFirst = [...]Verdict{Doubles, PartlyDone, Wedged, Unknown, NotTried, SafeWithKey, Safe}

// HTML writes the result as one self-contained page: the tools, and all calls and states of each treatment. It loads
// nothing.
func (r *Result) HTML(w io.Writer) error {
	treatments := &document.Section{Name: "treatments", Head: "TREATMENTS", Folded: true}
	var sums []string
	called := 0
	for _, v := range worstFirst {
		n := 0
		for i := range r.Tools {
			if r.Tools[i].Verdict == v && r.Tools[i].Refused == "" {
				n++
			}
			for k := range r.Tools[i].Evidence {
				if e := &r.Tools[i].Evidence[k]; e.Verdict == v {
					treatments.Items = append(treatments.Items, e.item())
				}
			}
		}
		if called += n; n > 0 {
			sums = append(sums, fmt.Sprintf("%d %s", n, v))
		}
	}
	sums = append(sums, fmt.Sprintf("%d not called", len(r.Tools)-called))
	why := "of " + text.Plural(len(r.Tools), "tool") + ": " + strings.Join(sums, ", ")
	sign := signOf(map[scoring.Verdict]Verdict{scoring.Fail: Doubles, scoring.Pass: Safe}[r.Verdict()])
	page := &document.Document{Title: "Is a tool safe to call twice?", Sections: []*document.Section{r.section(), treatments},
		Verdict: &document.Verdict{Sign: sign, Name: r.Verdict().String(), Why: why}}
	data, err := page.HTML()
	if err == nil {
		_, err = w.Write(data)
	}
	return err
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
