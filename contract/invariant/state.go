package invariant

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/nearest"
	"github.com/shakedown-go/shakedown/internal/text"
)

// ExactlyOnce holds when each wanted effect is in the end state once and no effect is
// there twice. It counts effects, not calls: a retry that the tool recognises by its
// idempotency key is no second effect.
//
//	// Refunds names the refunds of the ledger by the order they are for.
//	func Refunds(s Snapshot) []string
//
//	invariant.ExactlyOnce("one-refund", contract.Critical, support.Refunds)
//
// effects lists the effects in a state. The name of an effect says what it achieves,
// not which attempt made it: for a refund the order, not the row. A name that occurs
// twice after the answer breaks the invariant, unless it occurred as often before.
// Without want there must be at least one more effect than before. With want, each of
// those names must be there, whether this answer or an earlier one caused it.
//
// S is the type of the world's state. The invariant is undecided for a state of another
// type. It is also undecided for a pointer or map that is the same before and after,
// because it no longer shows the state before. effects must be safe for concurrent use
// and must not change the state.
//
// An agent that gives up breaks it, even if it says so; see [AtMostOnce].
func ExactlyOnce[S any](
	name string, severity contract.Severity, effects func(state S) []string, want ...string,
) contract.Invariant {
	d := newDraft("ExactlyOnce", name, severity)
	want = slices.Clone(want)
	d.texts("want", want, 0)
	d.demand(effects != nil, "effects", nil, "a function that is not nil")
	return d.ofState(func(o *contract.Observation) error {
		before, after, err := counts(o, effects)
		if err != nil {
			return err
		}
		if err := repeatedEffects(before, after); err != nil {
			return err
		}
		return missingEffects(before, after, want)
	})
}

// AtMostOnce holds when no effect is in the end state twice, as described at
// [ExactlyOnce]; there may be none. It holds for an agent that gives up, and breaks for
// one that repeats an effect because it retries without an idempotency key.
func AtMostOnce[S any](name string, severity contract.Severity, effects func(state S) []string) contract.Invariant {
	d := newDraft("AtMostOnce", name, severity)
	d.demand(effects != nil, "effects", nil, "a function that is not nil")
	return d.ofState(func(o *contract.Observation) error {
		before, after, err := counts(o, effects)
		if err != nil {
			return err
		}
		return repeatedEffects(before, after)
	})
}

// counts returns how often each effect occurs before and after the answer.
func counts[S any](o *contract.Observation, effects func(S) []string) (before, after map[string]int, err error) {
	b, a, err := states[S](o)
	if err != nil {
		return nil, nil, err
	}
	return tally(effects(b)), tally(effects(a)), nil
}

func tally(names []string) map[string]int {
	n := make(map[string]int, len(names))
	for _, name := range names {
		n[name]++
	}
	return n
}

// repeatedEffects returns an error that names the effects that happened more than once.
func repeatedEffects(before, after map[string]int) error {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if n := after[name]; n > 1 && n > before[name] {
			found = append(found, fmt.Sprintf("%s is there %d times (%d before)", text.QuoteShort(name), n,
				before[name]))
		}
	}
	if found != nil {
		return fmt.Errorf("an effect happened more than once: %s", text.JoinItems(found))
	}
	return nil
}

// missingEffects returns an error if a wanted effect is absent or, without want, if
// there is no new one.
func missingEffects(before, after map[string]int, want []string) error {
	var absent []string
	for _, name := range want {
		if after[name] == 0 {
			absent = append(absent, text.QuoteShort(name))
		}
	}
	if absent != nil {
		return fmt.Errorf("expected once and not in the end state: %s; effects there: %s",
			text.JoinItems(absent), effectNames(after))
	}
	if len(want) > 0 {
		return nil
	}
	for name, n := range after {
		if n > before[name] {
			return nil
		}
	}
	return fmt.Errorf("no effect came about, one is expected; effects there: %s", effectNames(after))
}

func effectNames(effects map[string]int) string {
	if len(effects) == 0 {
		return "none"
	}
	return text.JoinItems(text.QuoteAll(slices.Sorted(maps.Keys(effects))))
}

// states returns the state before and after the answer, or an undecided error if they
// cannot be compared.
func states[S any](o *contract.Observation) (before, after S, err error) {
	if before, err = stateAs[S](o.Before, "before"); err != nil {
		return before, after, err
	}
	if after, err = stateAs[S](o.After, "after"); err != nil {
		return before, after, err
	}
	if sameMemory(o.Before, o.After) {
		err = undecided("the state before and after the answer is the same %T; World.State must return a copy", o.After)
	}
	return before, after, err
}

func stateAs[S any](state any, when string) (S, error) {
	s, ok := state.(S)
	if state == nil {
		return s, forJudge{never: true, error: undecided("the state %s the answer is nil, and tells nothing", when)}
	}
	if !ok {
		return s, forJudge{never: true, error: undecided("the state %s the answer is a %T, want %v", when, state,
			reflect.TypeFor[S]())}
	}
	return s, nil
}

// sameMemory reports whether two states are the same pointer or map.
func sameMemory(before, after any) bool {
	a, b := reflect.ValueOf(before), reflect.ValueOf(after)
	if !a.IsValid() || !b.IsValid() || a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Pointer:
		return !a.IsNil() && a.Type().Elem().Size() > 0 && a.Pointer() == b.Pointer()
	case reflect.Map:
		return !a.IsNil() && a.Pointer() == b.Pointer()
	}
	return false
}

// StateUnchanged holds when the state after the answer is deeply equal
// ([reflect.DeepEqual]) to that before it. Use it for prompts that only ask a question.
// It is undecided for a pointer or map that is the same before and after.
func StateUnchanged(name string, severity contract.Severity) contract.Invariant {
	d := newDraft("StateUnchanged", name, severity)
	return d.ofState(func(o *contract.Observation) error {
		before, after, err := states[any](o)
		if err != nil {
			return err
		}
		return difference("the state", before, after)
	})
}

// difference returns an error that says where two values differ, nil if they are equal.
func difference(what string, before, after any) error {
	if reflect.DeepEqual(before, after) {
		return nil
	}
	b, errBefore := json.Marshal(before)
	a, errAfter := json.Marshal(after)
	if errBefore == nil && errAfter == nil {
		if path, was, is, differ := nearest.First(b, a); differ {
			return fmt.Errorf("%s changed at %q: %s became %s", what, path, text.Truncate(was), text.Truncate(is))
		}
	}
	return fmt.Errorf("%s changed, in a part that its JSON does not show: %s became %s",
		what, text.QuoteShort(fmt.Sprintf("%+v", before)), text.QuoteShort(fmt.Sprintf("%+v", after)))
}
