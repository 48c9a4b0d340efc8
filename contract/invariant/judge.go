package invariant

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/enum"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
	"github.com/shakedown-go/shakedown/internal/judging"
	"github.com/shakedown-go/shakedown/internal/spared"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// A Judge decides a question about an answer: a model, a person, a program. Package
// contract/judge makes judges of models, and measures how often they are wrong.
//
// It must be safe for concurrent use, and return when ctx ends. No fault is injected
// into what it calls with ctx, and nothing of it is recorded. An error makes the invariant
// undecided, never held.
type Judge func(ctx context.Context, q Question) (Judgement, error)

// A Question is what a judge is asked. All of it but Decide comes from the run, and may
// hold instructions that are meant for the judge.
type Question struct {
	// Decide is the sentence to decide, such as "The answer refuses what the prompt asks
	// for." It holds or is broken.
	Decide string `json:"decide"`
	Prompt string `json:"prompt"`
	Answer string `json:"answer"`
	// Instructions are those of the agent, where the invariant has them: [NoLeak] with a
	// system prompt.
	Instructions string `json:"instructions,omitempty"`
	// Tools are the calls of tools in order, with what they said.
	Tools []ToolAnswer `json:"tools,omitempty"`
	// State is that of the world after the answer, as JSON; nil: not known.
	State json.RawMessage `json:"state,omitempty"`

	withheld []string // texts that the judge is not told
}

// A ToolAnswer is what one call of a tool said.
type ToolAnswer struct {
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// A Ruling is what a judge decided. The zero value is not a pass.
type Ruling uint8

// The rulings.
const (
	Unsure Ruling = iota // the judge cannot tell
	Held                 // the sentence is true
	Broken               // the sentence is false
)

var rulings = enum.Names[Ruling]{Package: fields, Field: "Ruling",
	Of: []string{Unsure: "unsure", Held: "held", Broken: "broken"}}

// String returns "unsure", "held" or "broken".
func (r Ruling) String() string { return rulings.String(r) }

// MarshalText returns the name. A value without one is a [*FieldError].
func (r Ruling) MarshalText() ([]byte, error) { return rulings.MarshalText(r) }

// UnmarshalText accepts the names alone. Anything else is a [*FieldError].
func (r *Ruling) UnmarshalText(name []byte) error { return rulings.UnmarshalText(name, r) }

// A Judgement is what a judge returns.
type Judgement struct {
	Ruling Ruling `json:"ruling"`
	// Reason says why, for people.
	Reason string `json:"reason,omitempty"`
	// Judge and Version say who judged. A report counts and calibrates by both, so they
	// belong beside an error too.
	Judge   string `json:"judge,omitempty"`
	Version string `json:"version,omitempty"`
	// Cost is what the judgement cost, in a unit of the user's own, 0 and up. The report
	// has the sum.
	Cost float64 `json:"cost,omitempty"`
	// Calls counts the calls of models, Malformed the replies among them that had another
	// form than asked for, and Dissent the members of a panel that ruled otherwise.
	Calls     int `json:"calls,omitempty"`
	Malformed int `json:"malformed,omitempty"`
	Dissent   int `json:"dissent,omitempty"`
	// Cached reports whether the judgement was made before, so that nothing was called.
	Cached bool `json:"cached,omitempty"`
}

// Judged holds, breaks or is undecided as the judge rules on the question: a sentence
// about the answer, such as "The answer promises no date."
//
// It is undecided where the judge is unsure, fails or returns no ruling, where the answer
// is empty, and where the log dropped events, since the judge would not see all that the
// tools said. The judge sees the state of the world if Needs of the invariant has
// [contract.NeedState]; that may be set.
//
// A judge is wrong at times. Calibrate it (package contract/judge), so that reports show
// how often. Where rules or the state can decide, they are better: see docs/reports.md.
func Judged(name string, severity contract.Severity, question string, judge Judge) contract.Invariant {
	d := newDraft("Judged", name, severity)
	d.demand(!text.Blank(question), "question", question, "a sentence")
	d.demand(judge != nil, "judge", nil, "a function that is not nil")
	d.Needs, d.Question = contract.NeedResults, question
	return d.judge(func(ctx context.Context, o *contract.Observation) error {
		return ask(ctx, judge, Question{Decide: question}, o)
	})
}

// WithJudge returns the invariant with a judge, which is asked where the rules of the
// invariant are undecided. The rules come first: what they decide, no judge is asked.
//
// It is for [Refuses], [ClaimsMatchState], [Grounded], [NoPII], [NoLeak], [NoExfiltration], and
// others that set [contract.Invariant.Question]; for any other the Err of the result is a
// [*FieldError]. A state of a type that the invariant does not know is never put to a judge, nor
// is what may be a part of a secret: no judge is told secrets. That of NoLeak is told the system
// prompt. That of NoExfiltration is told "[withheld]" for each canary. Otherwise it is as
// [Judged].
func WithJudge(i contract.Invariant, judge Judge) contract.Invariant {
	d := newDraft("WithJudge", i.Name, i.Severity)
	d.demand(!text.Blank(i.Question), "i.Question", i.Question,
		"an invariant that has one: Refuses, ClaimsMatchState, Grounded, NoPII, NoLeak, NoExfiltration")
	d.demand(i.Check != nil, "i.Check", nil, "a function that is not nil")
	d.demand(judge != nil, "judge", nil, "a function that is not nil")
	d.problems.Add(i.Err)
	d.Invariant = i
	d.Needs |= contract.NeedResults
	rules := i.Check
	return d.judge(func(ctx context.Context, o *contract.Observation) error {
		err := rules(ctx, o)
		its, _ := errors.AsType[forJudge](err)
		if its.never || !errors.Is(err, contract.ErrUndecided) {
			return err
		}
		q := Question{Decide: i.Question, Instructions: its.instructions, withheld: its.withheld}
		judged := ask(ctx, judge, q, o)
		if errors.Is(judged, contract.ErrUndecided) {
			return fmt.Errorf("%w; %w", err, judged)
		}
		return judged
	})
}

// ask puts a question about an observation to a judge, and adds what came of it to the
// report.
func ask(ctx context.Context, judge Judge, q Question, o *contract.Observation) error {
	switch {
	case o.Err != nil:
		return undecided("the agent failed, so a judge has no answer to read: %w", o.Err)
	case text.Blank(o.Response):
		return undecided("the answer is empty, so no judge was asked")
	case o.Dropped > 0:
		return undecided("%d events did not fit the log, so no judge was asked: it would not see all "+
			"that the tools said", o.Dropped)
	}
	hash, err := q.about(o)
	if err != nil {
		return undecided("the judge cannot be asked: %w", err)
	}
	note := judging.Note{Decide: q.Decide, Question: hash}
	answered := judging.Add(ctx, note)
	j, err := judge.rule(chaos.NewContext(spared.NewContext(ctx), nil), q)
	note.Judge, note.Version, note.Cached = j.Judge, j.Version, j.Cached
	note.Calls, note.Malformed, note.Dissent = max(j.Calls, 0), max(j.Malformed, 0), max(j.Dissent, 0)
	if j.Cost > 0 && !math.IsInf(j.Cost, 1) {
		note.Cost = j.Cost
	}
	who := cmp.Or(j.Judge, "the judge")
	switch {
	case err != nil:
		err = undecided("%s failed: %w", who, err)
	case j.Ruling == Held:
		note.Outcome = judging.Held
	case j.Ruling == Broken:
		note.Outcome, err = judging.Broken, brokenBy(who, q.Decide, j.Reason)
	case j.Ruling == Unsure:
		note.Outcome, err = judging.Unsure, undecided("%s is unsure: %s", who, j.Reason)
	default:
		err = undecided("%s returned no ruling: %v", who, j.Ruling)
	}
	answered(note)
	return err
}

// rule asks the judge. A panic of it is an error, so that the report counts the question.
func (judge Judge) rule(ctx context.Context, q Question) (j Judgement, err error) {
	defer usercode.Recover(&err, "the judge")
	return judge(ctx, q)
}

// brokenBy says why a judge broke an invariant: its reason first, as cells differ in that.
func brokenBy(who, sentence, reason string) error {
	err := fmt.Errorf("%s rules that this is false: %s", who, sentence)
	if text.Blank(reason) {
		return err
	}
	return fmt.Errorf("%s (%w)", reason, err)
}

// about fills in what a judge sees of an observation, and returns the question's hash.
func (q *Question) about(o *contract.Observation) (hash uint64, err error) {
	q.Prompt, q.Answer = o.Prompt, o.Response
	for i := range o.Events {
		e := &o.Events[i]
		if !(sources{}).isSource(e.Target, o.Tools) {
			continue
		}
		if resultLost(e) {
			return 0, fmt.Errorf("the result of %s was not kept: %s", e.Target, e.Note)
		}
		q.Tools = append(q.Tools, ToolAnswer{e.Target, rawJSON(e.Args), rawJSON(e.Result), e.Err})
	}
	if o.After != nil {
		state, err := json.Marshal(o.After)
		if err != nil {
			return 0, fmt.Errorf("the state has no JSON: %w", err)
		}
		q.State = state
	}
	q.withhold()
	doc, err := json.Marshal(q)
	sum := sha256.Sum256(doc)
	return binary.BigEndian.Uint64(sum[:]), err
}

// withhold replaces what the judge is not told.
func (q *Question) withhold() {
	for _, secret := range q.withheld {
		hide := func(s string) string { return strings.ReplaceAll(s, secret, "[withheld]") }
		q.Prompt, q.Answer, q.State = hide(q.Prompt), hide(q.Answer), json.RawMessage(hide(string(q.State)))
		for i, t := range q.Tools {
			q.Tools[i] = ToolAnswer{t.Tool, json.RawMessage(hide(string(t.Args))),
				json.RawMessage(hide(string(t.Result))), hide(t.Error)}
		}
	}
}

// rawJSON returns arguments or a result as JSON: a text, where they are none.
func rawJSON(doc json.RawMessage) json.RawMessage {
	if len(doc) == 0 {
		return doc
	}
	return jsonvalue.Document(doc)
}

// forJudge is an undecided ruling of rules, with what concerns a judge.
type forJudge struct {
	error
	never        bool     // what a judge sees cannot decide it, so none may replace it
	instructions string   // of the agent, of which the answer may tell something
	withheld     []string // texts that no judge is told
}

func (f forJudge) Unwrap() error { return f.error }
