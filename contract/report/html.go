package report

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/compare"
	"github.com/shakedown-go/shakedown/internal/document"
)

const (
	mostOnPage = 200     // broken cells in detail
	mostKept   = 500     // other cells with their evidence
	maxCalls   = 100     // calls of a broken cell
	maxValue   = 300     // columns of a call's arguments, result or error
	maxSaid    = 4 << 10 // bytes of a side of what a model was asked and said
)

// HTML writes the report as one self-contained page. It loads nothing, and a content security
// policy forbids that. One script filters by state, scenario, severity and text; without it
// everything else is there. The page follows the light or dark setting of the reader's system.
//
// Every broken field of the table links to its evidence: a picture of the run beside one without faults
// ([contract.CellReport.Calm]), the answer with what differs and what the reason quotes, and all calls. 200 kinds of
// broken cells are shown so, and 500 other cells that have evidence, folded. The address of a cell is its name behind
// the #.
func HTML(w io.Writer, r *contract.Report) error { return HTMLSince(w, r, nil, "") }

// HTMLSince is [HTML] with what changed since an earlier report: which fields are newly broken,
// mended and still broken, as package contract/compare says. name is that of the earlier report in
// sentences, such as "in main.run.jsonl"; "": "before". A nil one leaves the comparison out. Errors
// are also those of [compare.Reports].
func HTMLSince(w io.Writer, r, before *contract.Report, name string) error {
	return write(w, r, func() ([]byte, error) {
		v := newView(r, mostOnPage)
		v.page, v.calm = true, calmOf(r)
		if before != nil {
			c, err := compare.Reports(before, r, &compare.Options{Before: name})
			if err != nil {
				return nil, err
			}
			v.since = sinceOf(c)
		}
		return v.document().HTML()
	})
}

// ofPage adds to the item of a cell what only a page shows.
func (v *view) ofPage(item *document.Item, c *contract.CellReport) {
	item.ID, item.Tags, item.Table = c.Cell.String(), v.tags(c), callTable(c.Evidence)
	v.calm.shown(item, c, maxCalls, true)
	_, line := v.since.standing(c)
	item.Details = append(item.Details, document.Detail{Label: "since", Text: line})
}

func (v *view) tags(c *contract.CellReport) document.Tags {
	word, _ := v.since.standing(c)
	return document.Tags{State: markOf(c).sign().Class, Scenario: c.Cell.Scenario, Severity: c.Severity.String(),
		Since: word}
}

// kept has the cells with evidence that are not shown above, on a page.
func (v *view) kept() *document.Section {
	s := &document.Section{Name: "kept cells", Head: "OTHER KEPT CELLS", Most: mostKept, Folded: true}
	if !v.page {
		return s
	}
	above := map[contract.Cell]bool{}
	for _, b := range v.groups[:min(v.most, len(v.groups))] {
		above[b.cell.Cell] = true
	}
	for i := range v.r.Cells {
		c := &v.r.Cells[i]
		if c.Evidence == nil || above[c.Cell] {
			continue
		}
		item := document.Item{}
		if len(s.Items) < mostKept {
			item = cellItem(c, maxCalls)
			v.ofPage(&item, c)
		}
		s.Items = append(s.Items, item)
	}
	return s
}

// callTable has the calls of an answer, those of models with what they said; nil without evidence.
func callTable(o *contract.Observation) *document.Table {
	if o == nil || len(o.Events) == 0 {
		return nil
	}
	calls := &document.Table{Corner: "target", Wide: 6,
		Caption: fmt.Sprintf("The calls of this answer (%d), which took %v", len(o.Events), o.Elapsed),
		Heads:   heads("call", "start", "took", "outcome", "effect", "fault", "arguments", "result or error")}
	for i := range o.Events[:min(maxCalls, len(o.Events))] {
		calls.Rows = append(calls.Rows, callRow(&o.Events[i]))
	}
	if more := len(o.Events) - len(calls.Rows); more > 0 {
		calls.Hints = []string{fmt.Sprintf("… and %d more calls.", more)}
	}
	return calls
}

func heads(names ...string) (all []document.Head) {
	for _, name := range names {
		all = append(all, document.Head{Name: name})
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
	args, result := value(string(e.Args)), value(cmp.Or(e.Err, string(e.Result)))
	if x := e.Exchange; x != nil {
		args, result = saidText(x.Request, x.RequestTruncated), saidText(x.Response, x.ResponseTruncated)
	}
	row := document.Row{Name: e.Target}
	for _, s := range []string{numberOf(e), e.Start.String(), (e.End - e.Start).String(), string(e.Outcome),
		string(e.Effect), value(rulesText(e)), args, result} {
		row.Cells = append(row.Cells, document.Cell{Text: s})
	}
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
