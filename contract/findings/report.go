package findings

import (
	"cmp"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
)

// Options are the settings of [Find]; nil and the zero value work. Find keeps none of it.
type Options struct {
	_ struct{}
	// Tools are what the tools declare: their effect, and their idempotency key. A tool
	// that is not listed declares nothing.
	Tools []chaos.Tool
	// NotImported is the number of calls that the record names and that are not in the list,
	// as a session has it. Then nothing is judged of which one of them could be a part.
	NotImported int
	// Prompts are what the agent was asked.
	Prompts []string
	// Answer is its last answer; empty: unknown.
	Answer string
	// Claims are what answers may claim; without any, false successes are not judged.
	Claims []Claim
	// Kinds are the kinds to look for; nil: all.
	Kinds []Kind
}

// A Claim is a statement of success that an answer may make, and the tool whose calls
// decide whether it is true.
type Claim struct {
	_ struct{}
	// Says is a regular expression that matches, in any case, a statement that makes the
	// claim. What its groups match names the call: `order (\d+) was refunded` is about
	// calls that have the number among their arguments. Required.
	Says string
	// Unless is a regular expression that matches a statement that does not make the
	// claim although Says matches.
	Unless string
	// Bare reports that a match of Says makes the claim, whatever else the statement says.
	Bare bool
	// Tool is a glob of the tools whose last call decides. Required.
	Tool string
}

// A Kind is a kind of finding.
type Kind string

// The kinds; docs/matrices.md has an example of each.
const (
	// Retry: one or two retries in a row. A retry is a call of an operation whose call
	// before failed, whatever its arguments.
	Retry Kind = "retry"
	// Storm: three retries in a row, or more.
	Storm Kind = "storm"
	// Loop: a sequence of up to 8 pairs of tool and arguments, three times in a row.
	Loop Kind = "loop"
	// DuplicateEffect: an effect was done twice for equal arguments; with a declared
	// idempotency key, for arguments that are equal but for the key.
	DuplicateEffect Kind = "duplicate-effect"
	// AfterFinal: a call with equal arguments after a permanent failure.
	AfterFinal Kind = "after-final"
	// Abandoned: an effect was left unknown, neither looked up nor repeated.
	Abandoned Kind = "abandoned"
	// FalseSuccess: the answer claims what the last call refutes.
	FalseSuccess Kind = "false-success"
	// Fabricated: the answer has a specific fact that no result and no prompt has, as
	// invariant.Grounded judges it.
	Fabricated Kind = "fabricated"
)

func allKinds() []Kind {
	return []Kind{Retry, Storm, Loop, DuplicateEffect, AfterFinal, Abandoned, FalseSuccess, Fabricated}
}

// A Verdict says how an agent dealt with failures.
type Verdict string

// The verdicts, by the retries of the worst operation.
const (
	Stopped Verdict = "stopped" // no retry
	Retried Verdict = "retried" // 1 or 2 retries
	Runaway Verdict = "runaway" // 3 retries or more
)

func verdictOf(retries int) Verdict {
	switch {
	case retries == 0:
		return Stopped
	case retries < stormRetries:
		return Retried
	}
	return Runaway
}

// A Report is what a list of calls shows. In JSON, a number that is not known is null,
// and lists are never null.
type Report struct {
	_ struct{}
	// Verdict is that of the worst operation; nil: calls whose end is unknown or that were not
	// imported could change it, there is no call of a tool, or retries were not looked for.
	Verdict *Verdict `json:"verdict"`
	// Operations are the tools in their lanes, in the order of their first calls.
	Operations []Operation `json:"operations"`
	// Findings are sorted by their first call, then by kind.
	Findings []Finding `json:"findings"`
	// Counts has the number of findings of each kind; nil: not all was judged. Findings
	// has those that were found all the same.
	Counts map[Kind]*int `json:"counts"`
	// Unjudged says in a sentence, of each kind without a count, why not all was judged.
	Unjudged map[Kind]string `json:"unjudged"`
	// Models is the number of calls of models. They are not judged.
	Models int `json:"models"`
}

// Of returns the findings of a kind, in their order.
func (r *Report) Of(kind Kind) []Finding {
	var list []Finding
	for _, f := range r.Findings {
		if f.Kind == kind {
			list = append(list, f)
		}
	}
	return list
}

// An Operation is a tool in a lane.
type Operation struct {
	_        struct{}
	Tool     string `json:"tool"`
	Lane     string `json:"lane,omitempty"`
	Calls    int    `json:"calls"`
	Failures int    `json:"failures"` // calls known to have failed
	// Retries is the number of retries; nil: how a call before another one ended is
	// unknown.
	Retries *int `json:"retries"`
}

// A Finding is something that the calls show.
type Finding struct {
	_    struct{}
	Kind Kind `json:"kind"`
	// Calls are the numbers of the calls that it rests on, in order; the first call of
	// the list is 1. A fabrication rests on no call: none has the fact.
	Calls []int `json:"calls"`
	// Text is the finding in one sentence, without the numbers.
	Text string `json:"text"`
}

// compareFindings orders findings by their calls, then by kind.
func compareFindings(a, b Finding) int {
	switch {
	case len(a.Calls) == 0 || len(b.Calls) == 0: // what rests on none comes last
		return len(b.Calls) - len(a.Calls)
	case a.Calls[0] != b.Calls[0]:
		return a.Calls[0] - b.Calls[0]
	}
	kinds := allKinds()
	return cmp.Or(slices.Index(kinds, a.Kind)-slices.Index(kinds, b.Kind), slices.Compare(a.Calls, b.Calls))
}
