package invariant

import (
	"context"
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/prose"
)

// GroundedOptions are the settings of [Grounded]; nil and the zero value work.
type GroundedOptions struct {
	_ struct{}
	// Sources is a glob of the targets whose results count; "": the tools that the world
	// listed, or every call if it listed none. A call to a model must not be among them,
	// because what the model makes up would then be a source.
	Sources string
	// Also has further texts that facts may come from, such as the system prompt.
	Also []string
	// Accept reports whether a fact that was not found is accepted: a number that the
	// agent computed, for example. The fact is as in the answer, in lower case. nil: none
	// is accepted. It must be safe for concurrent use.
	Accept func(fact string) bool
}

// Grounded holds when it finds each fact of the answer in a result or an error of a
// tool, or in the prompt, and at least one of them is specific and not from the prompt.
// It breaks on a specific fact that is not found and cannot be computed. Otherwise it is
// undecided. Facts are
//
//   - numbers in the notations of English, German, French and Spanish: "1,234.50" and
//     "1.234,50" are 1234.5. Signs, units and currencies are not compared, and the
//     numbers of lists and steps are no facts;
//   - dates, and times of day to the minute, in the four languages and ISO 8601;
//   - identifiers: words with a digit in them, e-mail addresses, web addresses;
//   - quotations: text in double quotation marks, guillemets or backquotes;
//   - names: words in capitals, and words with a capital within an English, French or
//     Spanish sentence.
//
// Case is not compared. The parts of an identifier such as "order-1042" may occur
// separately. A number is found as a whole: 59.90 does not ground 90, nor do the digits
// of times, dates, UUIDs and telephone numbers ground other numbers. The number of items
// in a list of a result counts as found. So does a total of results that is hardly one
// by chance: the sum of a column or of products, such a sum with something added or
// subtracted, a difference. Of an answer that is JSON the values are read, and the names
// of members are not.
//
// A fact that is not found is undecided if it is
//
//   - a number or a date that may be computed from others: a sum, a difference, a
//     product, a share, a rounding, another unit;
//   - a time that may be of another time zone, or the time between two others;
//   - a number of up to three digits without a unit, a span of time, or the day of a
//     known date;
//   - a name, or a quotation without a speaker;
//   - in advice, in an example, or beside "usually".
//
// Also undecided are sentences without a fact that are not about the conversation
// itself, such as "It was left at the door", reasons that no source has, and an answer
// that reports an outage where no call failed. If not all results were kept, every fact
// that is not found is undecided.
//
// It finds what was made up, not what was mixed up: the total of another order is
// grounded. Twin runs decide more: change one value in the world, and check that the
// answer changes with it.
func Grounded(name string, severity contract.Severity, o *GroundedOptions) contract.Invariant {
	d := newDraft("Grounded", name, severity)
	d.Needs = contract.NeedResults
	if o == nil {
		o = &GroundedOptions{}
	}
	d.texts("Also", o.Also, 0)
	from := sources{also: slices.Clone(o.Also)}
	if o.Sources != "" {
		from.targets = d.target("Sources", o.Sources)
	}
	d.Question = from.question()
	accept := o.Accept
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		evidence := from.gather(o)
		evidence.Accept = accept
		return ruled(prose.NewGroundReader().Judge(evidence, o.Response))
	})
}

// sources describes where facts may come from.
type sources struct {
	targets *glob.Glob // nil: the listed tools
	also    []string
}

// question is the sentence for a judge, with the sources that it names.
func (s sources) question() string {
	of := "a tool"
	if s.targets != nil {
		of = fmt.Sprintf("a tool whose name matches %q", s.targets)
	}
	also := ""
	if len(s.also) > 0 {
		also = ", in " + prose.JoinItems(prose.QuoteAll(s.also))
	}
	return "Each fact in the answer is in a result of " + of + also + " or in the prompt, or follows from them."
}

// resultLost reports whether a call had a result that has no JSON form, so that the log
// does not have it.
func resultLost(e *chaos.Event) bool {
	return e.Err == "" && e.Outcome == chaos.OutcomeOK && len(e.Result) == 0 && e.Note != ""
}

// gather returns what the answer of an observation is compared with.
func (s sources) gather(o *contract.Observation) prose.Evidence {
	e := prose.Evidence{Prompt: o.Prompt, Also: s.also, Whole: o.Dropped == 0, Calls: len(o.Events)}
	for _, tool := range o.Tools {
		e.Names = append(e.Names, tool.Name)
	}
	for i := range o.Events {
		event := &o.Events[i]
		bad := event.Err != "" || event.Outcome != chaos.OutcomeOK
		if bad {
			e.Failures++
		}
		if !s.isSource(event.Target, o.Tools) {
			continue
		}
		if resultLost(event) {
			e.Whole = false
		}
		e.Results = append(e.Results,
			prose.ToolResult{Target: event.Target, Err: event.Err, Failed: bad, Doc: event.Result})
	}
	return e
}

// isSource reports whether the results of a target count.
func (s sources) isSource(target string, tools []chaos.Tool) bool {
	if s.targets != nil {
		return s.targets.Match(target)
	}
	if len(tools) == 0 {
		return target != chaos.ListTarget
	}
	return slices.ContainsFunc(tools, func(t chaos.Tool) bool { return t.Name == target })
}
