package invariant

import (
	"encoding/json"
	"fmt"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonpath"
	"github.com/shakedown-go/shakedown/internal/nearest"
	"github.com/shakedown-go/shakedown/internal/text"
)

// StateChangesOnlyAt holds when the state, as JSON, is the same before and after the answer,
// except at the places that the paths match:
//
//	invariant.StateChangesOnlyAt("only-1042", contract.Critical, "$.orders['1042'].status", "$.refunds")
//
// Paths are those of RFC 9535 without functions: members, elements, "*", ".." and conditions
// such as "$.orders[?(@.id == 1042)]". A path that ends at a member or an element allows all
// below it. Places are matched in the state before and in that after, so one that came or went
// may be allowed too. null, an empty list and an empty object are the same: nil slices and
// maps of Go are null. What JSON does not show, such as fields that are not exported, is not
// compared.
//
// It is undecided for a state without JSON, and for a pointer or map that is the same before
// and after.
func StateChangesOnlyAt(name string, severity contract.Severity, paths ...string) contract.Invariant {
	d := newDraft("StateChangesOnlyAt", name, severity)
	d.demand(len(paths) > 0, "paths", nil, "at least one")
	parsed := make([]*jsonpath.Path, len(paths))
	for i, path := range paths {
		p, err := jsonpath.Parse(path)
		switch {
		case err != nil:
			d.refuse(fmt.Sprintf("paths[%d]", i), path, err, `a path such as "$.refunds"`)
		case path == "$":
			d.refuse(fmt.Sprintf("paths[%d]", i), path, nil,
				"a path below the whole state, at which everything may change")
		}
		parsed[i] = p
	}
	return d.ofState(func(o *contract.Observation) error {
		before, after, err := states[any](o)
		if err != nil {
			return err
		}
		b, err := without(before, parsed)
		if err != nil {
			return undecided("the state before the answer has no JSON: %w", err)
		}
		a, err := without(after, parsed)
		if err != nil {
			return undecided("the state after the answer has no JSON: %w", err)
		}
		if at, was, is, differ := nearest.First(b, a); differ {
			return fmt.Errorf("the state changed at %q, which no path allows: %s became %s", at, text.Truncate(was),
				text.Truncate(is))
		}
		return nil
	})
}

// without returns a state as JSON, without the places that paths match, and with null for what is empty then.
func without(state any, paths []*jsonpath.Path) ([]byte, error) {
	encoded, err := json.Marshal(state)
	if err != nil {
		return nil, err
	}
	d, _ := jsonedit.Parse(encoded)
	var gone []int
	for _, p := range paths {
		gone = append(gone, p.Find(d)...)
	}
	kept, _ := jsonedit.Parse(d.Apply(d.Remove(gone...)...))
	var empty []jsonedit.Edit
	for i, n := range kept.Nodes {
		if kind := kept.Kind(i); (kind == jsonedit.Object || kind == jsonedit.Array) && int(n.Next) == i+1 {
			empty = append(empty, kept.Replace(i, []byte("null")))
		}
	}
	return kept.Apply(empty...), nil
}
