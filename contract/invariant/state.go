package invariant

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/shakedown-go/shakedown/contract"
)

// StateUnchanged holds when the state after the answer is deeply equal
// ([reflect.DeepEqual]) to that before it: for prompts that ask a question and order
// nothing. A pointer or map that is the same before and after leaves it undecided.
func StateUnchanged(id string, severity contract.Severity) contract.Invariant {
	d := newDraft("StateUnchanged", id, severity)
	return d.unchanged(func(o *contract.Observation) error {
		before, after, err := states[any](o)
		if err != nil {
			return err
		}
		return difference("the state", before, after)
	})
}

// PartUnchanged holds when a part of the state is deeply equal after the answer:
// everything but the order that was meant, for example. S is the type of the
// world's state; a state of another type leaves it undecided. part must be safe
// for concurrent use and must not change the state.
func PartUnchanged[S, P any](id string, severity contract.Severity, part func(state S) P) contract.Invariant {
	d := newDraft("PartUnchanged", id, severity)
	d.demand(part != nil, "part", nil, "a function that is not nil")
	return d.unchanged(func(o *contract.Observation) error {
		before, after, err := states[S](o)
		if err != nil {
			return err
		}
		return difference("the part of the state", part(before), part(after))
	})
}

func (d *draft) unchanged(check func(*contract.Observation) error) contract.Invariant {
	d.JudgesErrors, d.Needs = true, contract.NeedState
	return d.judge(func(_ context.Context, o *contract.Observation) error { return check(o) })
}

// difference describes where two values differ, if their JSON does.
func difference(what string, before, after any) error {
	if reflect.DeepEqual(before, after) {
		return nil
	}
	b, errBefore := document(before)
	a, errAfter := document(after)
	if errBefore == nil && errAfter == nil {
		if path, was, is, differ := diverge("", b, a); differ {
			return fmt.Errorf("%s changed at %q: %s became %s", what, path, was, is)
		}
	}
	return fmt.Errorf("%s changed, in a part that its JSON does not show: %s became %s",
		what, quote(fmt.Sprintf("%+v", before)), quote(fmt.Sprintf("%+v", after)))
}

func document(v any) (doc any, err error) {
	encoded, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	err = decoder.Decode(&doc)
	return doc, err
}

// diverge finds the first place at which two JSON values differ, as a JSON
// pointer (RFC 6901, without its escapes).
func diverge(path string, before, after any) (at, was, is string, differ bool) {
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok {
			return divergeMembers(path, b, a)
		}
	case []any:
		if a, ok := after.([]any); ok {
			return divergeItems(path, b, a)
		}
	}
	if reflect.DeepEqual(before, after) {
		return "", "", "", false
	}
	return path, show(before), show(after), true
}

func divergeMembers(path string, before, after map[string]any) (at, was, is string, differ bool) {
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		b, had := before[name]
		a, has := after[name]
		here := path + "/" + name
		if !had {
			return here, "nothing", show(a), true
		}
		if !has {
			return here, show(b), "nothing", true
		}
		if at, was, is, differ := diverge(here, b, a); differ {
			return at, was, is, true
		}
	}
	return "", "", "", false
}

func divergeItems(path string, before, after []any) (at, was, is string, differ bool) {
	for i := range max(len(before), len(after)) {
		here := fmt.Sprintf("%s/%d", path, i)
		if i >= len(before) {
			return here, "nothing", show(after[i]), true
		}
		if i >= len(after) {
			return here, show(before[i]), "nothing", true
		}
		if at, was, is, differ := diverge(here, before[i], after[i]); differ {
			return at, was, is, true
		}
	}
	return "", "", "", false
}

func show(v any) string {
	encoded, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return cut(string(encoded))
}
