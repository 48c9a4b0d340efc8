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
	mostOnPage = 200     // broken cells in detail
	maxCalls   = 100     // calls of a broken cell
	maxValue   = 300     // columns of a call's arguments, result or error
	maxSaid    = 4 << 10 // bytes of a side of what a model was asked and said
)

// HTML writes the report as one self-contained page. It has no script and loads
// nothing, and a content security policy forbids both. It follows the light or dark
// setting of the reader's system. Every broken field of the table links to its evidence, with
// all calls of the answer and the faults injected into each. 200 broken cells are shown in detail;
// trials that broke for the same reason count once.
func HTML(w io.Writer, r *contract.Report) error {
	return write(w, r, func() ([]byte, error) {
		v := newView(r, mostOnPage)
		v.page = true
		return v.document().HTML()
	})
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
