package invariant

import (
	"context"
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/prose"
	"github.com/shakedown-go/shakedown/internal/text"
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
}

// Grounded holds when each fact of the answer is in a result or an error of a tool, or in the
// prompt, and there is at least one. It breaks on a fact that is not there. Facts are
//
//   - amounts: numbers with more than three digits, a fraction, a currency or a percent sign,
//     in the notations of English, German, French and Spanish: "1,234.50" and "1.234,50" are
//     1234.5. Signs, units and currencies are not compared;
//   - dates, and times of day to the minute, in the four languages and ISO 8601;
//   - identifiers: words with a digit in them, e-mail addresses, web addresses;
//   - quotations: text in double quotation marks or guillemets.
//
// Case is not compared. A long identifier may be cut. A number is found as a whole: 59.90 does not
// ground 90.
//
// A fact that is not found is undecided if it is
//
//   - a number that two numbers of the sources make, or the total of a column with one: a sum, a
//     difference, a product, a share;
//   - a time that may be of another time zone;
//   - a small number, a short identifier, a quotation of one word;
//   - in a sentence that is not plain, as [ClaimsMatchState] has it.
//
// Also undecided are weekdays on which no date of the sources falls, long sentences without a
// fact, and an answer without facts. Names of persons and places are not looked up. If not all
// results were kept, every fact that is not found is undecided.
//
// It finds what was made up, not what was mixed up: the total of another order is grounded. Twin
// runs decide more: change one value in the world, and check that the answer changes with it.
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
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		return ruled(prose.JudgeFacts(from.gather(o), o.Response))
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
		also = ", in " + text.JoinItems(text.QuoteAll(s.also))
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
	e := prose.Evidence{Prompt: o.Prompt, Texts: slices.Clone(s.also), Whole: o.Dropped == 0}
	for _, tool := range o.Tools {
		e.Texts = append(e.Texts, tool.Name)
	}
	for i := range o.Events {
		event := &o.Events[i]
		if s.isSource(event.Target, o.Tools) {
			e.Whole = e.Whole && !resultLost(event)
			e.Texts, e.Results = append(e.Texts, event.Err), append(e.Results, event.Result)
		}
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
