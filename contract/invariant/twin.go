package invariant

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
	"github.com/shakedown-go/shakedown/internal/retryable"
	"github.com/shakedown-go/shakedown/internal/text"
)

// TwinOptions are the settings of the invariants that compare a run with its calm twin, the
// same prompts without faults; nil and the zero value work.
type TwinOptions struct {
	_ struct{}
	// Part returns the part of a state to compare, such as all but times and identifiers
	// that differ from run to run. It must be safe for concurrent use and must not change
	// the state. nil: the whole state.
	Part func(state any) any
	// Threshold is the least similarity of the answers that holds, itself included, in
	// [0,1]; nil: 0.75. With 0 everything holds. RetryChangesNothing and OrderChangesNothing
	// do not compare answers.
	Threshold *float64
	// Similarity is as in [BehaviorOptions]; nil: [WordSimilarity].
	Similarity func(ctx context.Context, baseline, answer string) (float64, error)
}

// RetryChangesNothing holds when transient failures left no trace: the end state is that of
// the calm run, and no effect came about twice. It asks this where each fault that was
// delivered was a failure that a retry can overcome, by the words of its error, and where
// the same request succeeded later in its lane: with equal arguments, but for a declared
// [chaos.Tool].IdempotencyKey. Elsewhere it does not apply, and says which call was not so.
//
// It is also undecided where the calls show an effect twice, and the state does not. Then
// declare the idempotency key, or show the effect in the state.
//
// A prompt for which no fault was delivered holds if it began and ended as in the calm run,
// and is undecided otherwise. So is one that did not begin as in the calm run: an earlier
// prompt changed the state. Both are so for all invariants of this kind.
func RetryChangesNothing(name string, severity contract.Severity, o *TwinOptions) contract.Invariant {
	d := newDraft("RetryChangesNothing", name, severity)
	return d.twin(o, false, retried, func(o *contract.Observation) error {
		if !workedTwice(o) { // reading the calls takes longer than all else
			return nil
		}
		t, err := traceOf(o, nil, findings.DuplicateEffect)
		if err != nil {
			return err
		}
		if found := t.report.Of(findings.DuplicateEffect); len(found) > 0 {
			return undecided("the calls show an effect twice, and the state is as in the calm run: %s", found[0].Text)
		}
		return nil
	})
}

// workedTwice reports whether a target did its work in two calls.
func workedTwice(o *contract.Observation) bool {
	var done []string
	for i := range o.Events {
		e := &o.Events[i]
		if e.Effect != chaos.EffectDone {
			continue
		}
		if slices.Contains(done, e.Target) {
			return true
		}
		done = append(done, e.Target)
	}
	return false
}

// DelayChangesNothing holds when an agent that had to wait did what it does in calm: the
// answer is similar to that of the calm run, as in [BehaviorUnchanged], and the end state is
// equal. It asks this where delays alone were delivered, and does not apply elsewhere; see also
// [RetryChangesNothing]. Delays are the faults of this module that only make a call, its
// stream or its body slower. An agent that gave up waiting breaks it.
func DelayChangesNothing(name string, severity contract.Severity, o *TwinOptions) contract.Invariant {
	d := newDraft("DelayChangesNothing", name, severity)
	return d.twin(o, true, delayed, nil)
}

// OrderChangesNothing holds when the end state does not depend on which of several calls
// that the agent made at the same time came first: it is that of the calm run. It asks this
// where calls overtook each other and no other fault was delivered, as with fault.ReorderCalls,
// and does not apply elsewhere; see also [RetryChangesNothing]. Calls are taken to be
// independent because the agent did not wait for one before it made the other.
func OrderChangesNothing(name string, severity contract.Severity, o *TwinOptions) contract.Invariant {
	d := newDraft("OrderChangesNothing", name, severity)
	return d.twin(o, false, reordered, nil)
}

// SpareChangesNothing holds when the agent does its task without the targets that the globs
// match, because the task does not need them: the answer is similar to that of the calm run,
// as in [BehaviorUnchanged], and the end state is equal. It asks this where faults were
// delivered on those targets alone, and does not apply elsewhere; see also
// [RetryChangesNothing].
func SpareChangesNothing(
	name string, severity contract.Severity, targets []string, o *TwinOptions,
) contract.Invariant {
	d := newDraft("SpareChangesNothing", name, severity)
	globs := d.targets("targets", targets, 1)
	return d.twin(o, true, func(_ *contract.Observation, e *chaos.Event) string {
		if anyMatches(globs, e.Target) {
			return ""
		}
		return "is not spare"
	}, nil)
}

// twin completes an invariant that compares with the calm run. Its premise is that each call on
// which a fault was delivered was of a kind: unless returns "", or what it is instead, as the end of
// a sentence. more is asked when nothing differs; nil: nothing.
func (d *draft) twin(
	given *TwinOptions, answers bool, unless func(*contract.Observation, *chaos.Event) string,
	more func(*contract.Observation) error,
) contract.Invariant {
	d.JudgesErrors, d.Needs = true, contract.NeedCalm|contract.NeedState|contract.NeedResults
	o := TwinOptions{}
	if given != nil {
		o = *given
	}
	c := comparison{part: o.Part, answers: answers}
	if c.part == nil {
		c.part = func(state any) any { return state }
	}
	c.alike = d.similarity(o.Threshold, o.Similarity, "calm run")
	return d.judge(func(ctx context.Context, o *contract.Observation) error {
		if err := c.began(o); err != nil {
			return err
		}
		if !slices.ContainsFunc(o.Events, func(e chaos.Event) bool { return e.Delivered }) {
			if err := c.differs(ctx, o); err != nil {
				return undecided("no fault was delivered for this prompt, and yet %w", err)
			}
			return nil
		}
		for i := range o.Events {
			e := &o.Events[i]
			if !e.Delivered {
				continue
			}
			if why := unless(o, e); why != "" {
				return fmt.Errorf("%w: %s at %s, on which %q was delivered, %s", contract.ErrDoesNotApply,
					e.Target, e.Start, cmp.Or(e.Fault, e.Rule), why)
			}
		}
		if err := c.differs(ctx, o); err != nil {
			return err
		}
		if more != nil {
			return more(o)
		}
		return nil
	})
}

// A comparison compares an observation with that of the calm run.
type comparison struct {
	part    func(state any) any
	answers bool // compares them too
	alike   func(ctx context.Context, baseline, answer string) error
}

// began returns an undecided error unless the prompt is that of the calm run and began in
// the same state.
func (c *comparison) began(o *contract.Observation) error {
	switch {
	case o.Original != nil:
		return undecided("the prompt was sent in other words")
	case o.Calm == nil:
		return undecided("there is no calm run")
	case o.Dropped > 0:
		return checkLog(o)
	case !reflect.DeepEqual(c.part(o.Calm.Before), c.part(o.Before)):
		return undecided("the prompt did not begin as in the calm run: %w",
			difference("the state", c.part(o.Calm.Before), c.part(o.Before)))
	}
	_, _, err := states[any](o)
	return err
}

// differs returns an error that says what is not as in the calm run.
func (c *comparison) differs(ctx context.Context, o *contract.Observation) error {
	if c.answers && o.Err != nil {
		return fmt.Errorf("the agent failed, and did not in the calm run: %w", o.Err)
	}
	calm, is := c.part(o.Calm.After), c.part(o.After)
	if !reflect.DeepEqual(calm, is) {
		return fmt.Errorf("the end state is not that of the calm run: %w", difference("what it is there", calm, is))
	}
	if c.answers && o.Response != o.Calm.Response {
		return c.alike(ctx, o.Calm.Response, o.Response)
	}
	return nil
}

// retried says why a call was no transient failure whose request succeeded later.
func retried(o *contract.Observation, e *chaos.Event) string {
	switch {
	case e.Outcome == chaos.OutcomeOK:
		return "was no failure"
	case e.Outcome == chaos.OutcomeOpen:
		return "did not end"
	case retryable.Of(0, 0, e.Err) != retryable.Transient:
		return fmt.Sprintf("failed with %s, which is not known to be transient", text.QuoteShort(e.Err))
	}
	keys := map[string]string{}
	for _, tool := range o.Tools {
		keys[tool.Name] = tool.IdempotencyKey
	}
	for i := range o.Events {
		if later := &o.Events[i]; later.Target == e.Target && later.Lane == e.Lane && later.Start >= e.End &&
			later.Outcome == chaos.OutcomeOK && sameRequest(e, later, keys[e.Target]) {
			return ""
		}
	}
	return "did not succeed later"
}

// sameRequest reports whether two calls to a target are known to ask for the same: their
// arguments are equal, but for the member that a JSON pointer names; "": for none.
func sameRequest(a, b *chaos.Event, pointer string) bool {
	return a.Key == b.Key && a.Key != 0 || len(a.Args) > 0 && len(b.Args) > 0 &&
		jsonhash.Sum(jsonedit.Without(a.Args, pointer)) == jsonhash.Sum(jsonedit.Without(b.Args, pointer))
}

// delays are the kinds of faults that make something slower and change nothing else. A test
// compares them with the catalogues.
var delays = [...]string{"latency", "handoff_delayed", "slow_first_item", "slow_items", "slow_headers", "slow_body",
	"slow_first_event", "slow_events"}

// delayed says why a call was not delayed alone.
func delayed(o *contract.Observation, e *chaos.Event) string {
	return kindIs(o, e, "a delay alone", delays[:]...)
}

// kindIs says why not all faults that were delivered on a call are of some kinds. An event
// has the kind of one rule, and the names of the others.
func kindIs(o *contract.Observation, e *chaos.Event, what string, kinds ...string) string {
	if !slices.Contains(kinds, e.Fault) {
		return "was not " + what
	}
	for _, rule := range e.Also {
		known := slices.ContainsFunc(o.Events, func(other chaos.Event) bool {
			return other.Rule == rule && slices.Contains(kinds, other.Fault)
		})
		if !known {
			return fmt.Sprintf("was not %s as far as known: rule %q was delivered too", what, rule)
		}
	}
	return ""
}

// reordered says why a call was not overtaken by another one, and nothing else.
func reordered(o *contract.Observation, e *chaos.Event) string {
	if why := kindIs(o, e, "reordered alone", "reordered_calls"); why != "" {
		return why
	}
	for i := range o.Events {
		other := &o.Events[i]
		// A call may take no time. If none came, the fault noted it.
		during := other.Start < e.End || other.Start == e.End && e.Note == ""
		if other != e && other.Start >= e.Start && other.End <= e.End && during {
			return ""
		}
	}
	return "was overtaken by no call"
}
