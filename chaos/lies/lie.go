package lies

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
	"github.com/shakedown-go/shakedown/internal/jsonpath"
)

// lie is the form of nearly all faults here: the places that suit it, and what
// it does to the value at such a place.
type lie struct {
	kind   string
	class  chaos.Class
	layer  chaos.Layer    // empty: that of the point
	params map[string]any // without the paths
	paths  []string
	one    bool             // there is at most one path, and its parameter is named so
	where  []*jsonpath.Path // of paths, those that parse
	check  func(*param.Check)

	wants string                    // what suits, for the note of a lie that found nothing
	rank  func(e *edit, i int) int  // 0: node i does not suit; 1 is better than 2, and so on
	apply func(e *edit, i int) bool // changes node i; false: nothing would change
	whole func(e *edit)             // changes the document in place of rank and apply; nil: they do
}

// maxRank is the last of the ranks.
const maxRank = 4

// at completes a lie with the paths that its user gave.
func (l lie) at(paths []string) chaos.Fault {
	l.paths, l.where = slices.Clone(paths), parsed(paths)
	return &l
}

// parsed returns the paths that parse; Check reports the others.
func parsed(paths []string) (where []*jsonpath.Path) {
	for _, text := range paths {
		if p, err := jsonpath.Parse(text); err == nil {
			where = append(where, p)
		}
	}
	return where
}

func (l *lie) Phase() chaos.Phase { return chaos.PhaseChange }

func (l *lie) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(ctx, args)
	if err != nil {
		return result, err
	}
	if r, ok := result.(bodied); ok {
		return r.OnBody(ctx, c, args, l)
	}
	in, why := open(result)
	if why != "" {
		chaos.Note(ctx, why)
		return result, nil
	}
	e := &edit{call: c, doc: in.doc, plain: in.plain}
	l.applyTo(e)
	return e.finish(ctx, in, l.kind, l.wants)
}

// applyTo changes every place that the paths name, or one that is drawn.
func (l *lie) applyTo(e *edit) {
	e.addressed = len(l.paths) > 0
	switch {
	case l.whole != nil:
		l.whole(e)
	case !e.addressed:
		e.applyToOne(l.rank, l.apply)
	default:
		for _, i := range e.find(l.where) {
			if l.rank(e, i) > 0 {
				l.apply(e, i)
			}
		}
	}
}

func (l *lie) Check() error {
	c := &param.Check{Kind: l.kind}
	for i, text := range l.paths {
		_, err := jsonpath.Parse(text)
		place := fmt.Sprintf("paths[%d]", i)
		if l.one {
			place = "path"
		}
		c.That(err == nil, place, fmt.Sprintf("%q", text), fmt.Sprintf(`a JSON path such as "$.items[0].price" (%v)`, err))
	}
	if l.check != nil {
		l.check(c)
	}
	return c.Err()
}

func (l *lie) Describe() chaos.Description {
	params := make(map[string]any, len(l.params)+1)
	maps.Copy(params, l.params)
	switch {
	case len(l.paths) == 0:
	case l.one:
		params["path"] = l.paths[0]
	default:
		params["paths"] = l.paths
	}
	return describe(l.kind, l.class, l.layer, params)
}

// describe describes a lie; no params: it has none.
func describe(kind string, class chaos.Class, layer chaos.Layer, params map[string]any) chaos.Description {
	d := chaos.Description{
		Kind: kind, Class: class, Visibility: chaos.Implicit, Layer: layer,
		Persistence: chaos.Transient, Effect: chaos.EffectDone,
	}
	if len(params) == 0 {
		return d
	}
	return param.With(d, params)
}
