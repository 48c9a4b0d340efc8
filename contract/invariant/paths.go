package invariant

import (
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/jsonpath"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
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
	return d.unchanged(func(o *contract.Observation) error {
		before, after, err := states[any](o)
		if err != nil {
			return err
		}
		b, err := document(before)
		if err != nil {
			return undecided("the state before the answer has no JSON: %w", err)
		}
		a, err := document(after)
		if err != nil {
			return undecided("the state after the answer has no JSON: %w", err)
		}
		if at, was, is, differ := jsonvalue.FirstPlace(without(b, parsed), without(a, parsed)); differ {
			return fmt.Errorf("the state changed at %q, which no path allows: %s became %s", at, text.Truncate(was),
				text.Truncate(is))
		}
		return nil
	})
}

// without returns a document, which it may change, without the places that paths match.
func without(doc any, paths []*jsonpath.Path) any {
	places := &place{}
	for _, p := range paths {
		for _, m := range p.Find(doc) {
			places.add(m.Keys)
		}
	}
	return places.remove(doc)
}

// A place is a member or an element of a document: it is removed, or some below it are.
type place struct {
	whole bool
	below map[any]*place // by name or index
}

func (p *place) add(keys []any) {
	for _, key := range keys {
		if p.below == nil {
			p.below = make(map[any]*place)
		}
		if p.below[key] == nil {
			p.below[key] = &place{}
		}
		p = p.below[key]
	}
	p.whole = true
}

// remove returns a value without the places below it; nil for what is empty.
func (p *place) remove(v any) any {
	at := func(key any) *place {
		if p == nil {
			return nil
		}
		return p.below[key]
	}
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if q := at(name); q != nil && q.whole {
				delete(v, name)
			} else {
				v[name] = q.remove(member)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		kept := slices.Clip(v[:0])
		for i, element := range v {
			if q := at(i); q == nil || !q.whole {
				kept = append(kept, q.remove(element))
			}
		}
		if len(kept) == 0 {
			return nil
		}
		return kept
	}
	return v
}
