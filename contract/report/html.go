package report

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/document"
)

const (
	mostOnPage = 200 // broken cells in detail
	maxCalls   = 100 // calls of a broken cell
	maxValue   = 300 // columns of a call's arguments, result or error
	maxTalks   = 20  // calls of a broken cell with what they said
	maxSaid    = 4 << 10
)

// HTML writes the report as one self-contained page. It has no script and loads
// nothing, and a content security policy forbids both. It follows the light or dark
// setting of the reader's system. Every broken field of the table links to its evidence, with
// all calls of the answer and the faults injected into each. 200 broken cells are shown in detail;
// trials that broke for the same reason count once.
//
// Errors: [*FieldError] for a nil report, before anything is written; and those of the writer.
func HTML(w io.Writer, r *contract.Report) error {
	if err := check(r); err != nil {
		return err
	}
	v := newView(r, mostOnPage)
	v.page = true
	d := document.Document{Title: title(r), Verdict: verdictOf(r)}
	d.Sections = append(d.Sections, &document.Section{Facts: facts(r)}, v.notes(withCalm(r, notes(r))), v.defects(),
		v.matrix("Scenarios and invariants"), v.rates())
	d.Sections = append(d.Sections, v.broken(false, v.groups)...)
	d.Sections = append(d.Sections, v.undecided(), v.coverage())
	page, err := d.HTML()
	if err == nil {
		_, err = w.Write(page)
	}
	return written(err)
}

// callTables are the calls of an answer, and what those of models said; none without evidence.
func callTables(o *contract.Observation) (tables []*document.Table) {
	if o == nil || len(o.Events) == 0 {
		return nil
	}
	n := min(maxCalls, len(o.Events))
	calls := &document.Table{Corner: "target", Wide: 6,
		Caption: fmt.Sprintf("The calls of this answer (%d), which took %v", len(o.Events), o.Elapsed),
		Heads:   heads("call", "start", "took", "outcome", "effect", "fault", "arguments", "result or error")}
	if more := len(o.Events) - n; more > 0 {
		calls.Hints = []string{fmt.Sprintf("… and %d more calls.", more)}
	}
	talks := &document.Table{Corner: "target", Heads: heads("call", "request", "answer"), Wide: 2}
	left := 0
	for i := range o.Events {
		e := &o.Events[i]
		if i < n {
			calls.Rows = append(calls.Rows, callRow(e))
		}
		switch x := e.Exchange; {
		case x == nil:
		case len(talks.Rows) == maxTalks:
			left++
		default:
			talks.Rows = append(talks.Rows, document.Row{Name: e.Target, Cells: cellsOf(numberOf(e),
				saidText(x.Request, x.RequestTruncated), saidText(x.Response, x.ResponseTruncated))})
		}
	}
	if len(talks.Rows) == 0 {
		return []*document.Table{calls}
	}
	talks.Caption = fmt.Sprintf("What the calls of models said (%d)", len(talks.Rows))
	if left > 0 {
		talks.Hints = []string{fmt.Sprintf("… and %d more are not shown.", left)}
	}
	return []*document.Table{calls, talks}
}

func heads(names ...string) (all []document.Head) {
	for _, name := range names {
		all = append(all, document.Head{Name: name})
	}
	return all
}

func cellsOf(texts ...string) (all []document.Cell) {
	for _, s := range texts {
		all = append(all, document.Cell{Text: s})
	}
	return all
}

// saidText is one side of what a call of a model said.
func saidText(s string, truncated bool) string {
	s = cmp.Or(document.Block(s, maxSaid), "(nothing)")
	if truncated {
		s += " … (its end was not kept)"
	}
	return s
}

func callRow(e *chaos.Event) document.Row {
	value := func(s string) string { return document.Clip(s, maxValue) }
	row := document.Row{Name: e.Target, Cells: cellsOf(numberOf(e), e.Start.String(), (e.End - e.Start).String(),
		string(e.Outcome), string(e.Effect), value(rulesText(e)), value(string(e.Args)),
		value(cmp.Or(e.Err, string(e.Result))))}
	if e.Rule != "" && e.Delivered {
		row.Class = "delivered"
	}
	return row
}

func numberOf(e *chaos.Event) string {
	s := strconv.FormatUint(e.Ordinal+1, 10)
	if e.Lane != "" {
		s += " (" + document.Clip(e.Lane, 60) + ")"
	}
	return s
}
