package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/document"
	"github.com/shakedown-go/shakedown/internal/text"
)

// calmAnswers are the answers without faults that a report has kept, by their prompts.
type calmAnswers map[string][]*contract.Observation

func calmOf(r *contract.Report) calmAnswers {
	all := calmAnswers{}
	for i := range r.Cells {
		for _, o := range r.Cells[i].Calm {
			all[o.Prompt] = append(all[o.Prompt], o)
		}
	}
	return all
}

// of is the answer without faults to the prompt that a cell kept; nil: there is none. One that was made
// for the same invariant comes first.
func (all calmAnswers) of(c *contract.CellReport) *contract.Observation {
	prompt := c.Evidence.Prompt
	if c.Evidence.Original != nil {
		prompt = *c.Evidence.Original
	}
	kept := all[prompt]
	if len(kept) == 0 {
		return c.Evidence.Calm
	}
	own := func(o *contract.Observation) bool { return o.Cell.Invariant == c.Cell.Invariant }
	return kept[max(0, slices.IndexFunc(kept, own))]
}

// shown adds the picture of a cell's run to its item, and the answer beside the calm one. A page has
// the answer once.
func (all calmAnswers) shown(item *document.Item, c *contract.CellReport, most int, page bool) {
	o := c.Evidence
	if o == nil {
		return
	}
	calm := all.of(c)
	item.Picture = pictureOf(c, calm, most)
	var other *string
	if calm != nil {
		other = &calm.Response
	} else if o.Baseline != "" {
		other = &o.Baseline
	}
	parts := document.Differ(other, cmp.Or(o.Response, noAnswer), c.Why)
	at := slices.IndexFunc(item.Details, func(d document.Detail) bool { return d.Label == "answer" })
	if page {
		item.Details[at].Text, item.Details[at].Parts = "", parts
	} else if other != nil {
		item.Details = slices.Insert(item.Details, at+1, document.Detail{Label: "beside", Parts: parts})
	}
}

// noAnswer stands for an answer without a letter.
const noAnswer = "(none)"

// pictureOf shows the run of a cell beside the calm one, with so many calls at most.
func pictureOf(c *contract.CellReport, calm *contract.Observation, most int) *document.Picture {
	o := c.Evidence
	is := runOf(o, most)
	is.Head, is.Sign = "this run", markOf(c).sign()
	if c.Violated {
		is.Head += " broke " + c.Cell.Invariant
	}
	p := &document.Picture{Caption: fmt.Sprintf("The run of %v: %s in %v", c.Cell, text.Plural(len(o.Events), "call"), o.Elapsed)}
	if o.Dropped > 0 {
		p.Note = text.Plural(o.Dropped, "event") + " did not fit the log. "
	}
	if calm == nil {
		p.Runs, p.Note = []document.Run{is}, p.Note+"No calm run is kept."
		return p
	}
	if strings.TrimSpace(calm.Response) == strings.TrimSpace(o.Response) {
		is.End += ", the calm answer"
	} else if strings.TrimSpace(o.Response) != "" {
		is.End += ", another answer than in calm"
	}
	was := runOf(calm, most)
	was.Head, was.Sign = "calm run", document.Sign{Text: "•", Class: "notrun"}
	p.Runs = []document.Run{is, was}
	return p
}

func runOf(o *contract.Observation, most int) document.Run {
	run := document.Run{}
	first, last := time.Duration(0), o.Elapsed
	for i := range o.Events {
		e := &o.Events[i]
		if i == 0 || e.Start < first {
			first = e.Start
		}
		last = max(last, e.End)
		if i < most {
			run.Calls = append(run.Calls, callOf(e))
		}
	}
	// Events count from when the rules came into force, which may be prompts ago.
	asked := min(first, last-o.Elapsed)
	run.Answer = document.Call{Target: "agent", Start: asked, End: asked + o.Elapsed, Attempt: 1}
	run.End = "answered after " + o.Elapsed.Round(time.Microsecond).String()
	if strings.TrimSpace(o.Response) == "" {
		run.End = "no answer after " + o.Elapsed.Round(time.Microsecond).String()
	}
	if more := len(o.Events) - len(run.Calls); more > 0 {
		run.End += fmt.Sprintf("; %s not drawn", text.Plural(more, "later call"))
	}
	return run
}

func callOf(e *chaos.Event) document.Call {
	c := document.Call{Target: e.Target, Lane: e.Lane, Start: e.Start, End: e.End, Wait: e.Spent,
		Attempt: e.Attempt, Failed: e.Err != "" || e.Outcome == chaos.OutcomeInjected || e.Outcome == chaos.OutcomeFailed ||
			e.Outcome == chaos.OutcomePanicked, Open: e.Outcome == chaos.OutcomeOpen, Effect: cmp.Or(string(e.Effect), "unknown")}
	if e.Rule != "" {
		c.Fault, c.Idle = cmp.Or(e.Fault, e.Rule), !e.Delivered
	}
	try := fmt.Sprint("try ", e.Attempt)
	if e.Habit != "" {
		try += " by " + e.Habit
	}
	c.Words = fmt.Sprintf("%s, %s, %v to %v: %s, effect %s; %s", e.Target, try, e.Start, e.End,
		cmp.Or(e.Err, string(e.Outcome)), c.Effect, cmp.Or(rulesText(e), "no fault"))
	return c
}
