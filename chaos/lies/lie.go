package lies

import (
	"context"
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonpath"
)

// row is a kind of lies with parameters P. make returns what such a lie does.
func row[P any](r catalog.Row, make func(P) lie) *catalog.Own[P, chaos.Fault] {
	return &catalog.Own[P, chaos.Fault]{Row: hidden(r), Make: func(m catalog.Made[P]) chaos.Fault {
		l := make(m.Params)
		paths := pathsOf(m.Params)
		l.made, l.addressed, l.where = m, len(paths) > 0, parsed(paths)
		return &l
	}}
}

// lieRow is a row of lies whose parameters only say where they act.
func lieRow[P any](r catalog.Row, l lie) *catalog.Own[P, chaos.Fault] {
	return row(r, func(P) lie { return l })
}

// hidden completes the row of a fault that nothing shows: the callee did its work, and
// its answer is wrong.
func hidden(r catalog.Row) catalog.Row {
	r.Visibility, r.Persistence, r.Effect = chaos.Implicit, chaos.Transient, chaos.EffectDone
	return r
}

// made is the part of a fault that knows its row and parameters.
type made interface {
	chaos.Checked
	chaos.Described
	Kind() string
}

// lie is the form of nearly all faults here: the places that suit it, and what
// it does to the value at such a place.
type lie struct {
	made
	addressed bool             // there are paths
	where     []*jsonpath.Path // of the paths, those that parse
	inner     *lie             // the lie that it applies to another document, and whose class and layer it has

	wants string                    // what suits, for the note of a lie that found nothing
	rank  func(e *edit, i int) int  // 0: node i does not suit; 1 is better than 2, and so on
	apply func(e *edit, i int) bool // changes node i; false: nothing would change
	whole func(e *edit)             // changes the document in place of rank and apply; nil: they do
}

// maxRank is the last of the ranks.
const maxRank = 4

// where is a parameter of nearly all lies.
type where struct {
	Paths []string `json:"paths,omitempty" doc:"JSON paths of the values that are changed; left out: a place that suits is drawn"`
}

func pathsIn(paths []string) where { return where{slices.Clone(paths)} }

func (p where) places() []string { return p.Paths }

// pathsOf are the JSON paths that the user gave.
func pathsOf(params any) []string {
	if p, ok := params.(interface{ places() []string }); ok {
		return p.places()
	}
	return nil
}

func (p where) Check(c *catalog.Check) {
	for i, text := range p.Paths {
		checkPath(c, fmt.Sprintf("paths[%d]", i), text)
	}
}

func checkPath(c *catalog.Check, place, text string) {
	_, err := jsonpath.Parse(text)
	c.That(err == nil, place, fmt.Sprintf("%q", text), fmt.Sprintf(`a JSON path such as "$.items[0].price" (%v)`, err))
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
	return onResult(ctx, c, args, next, l, func(result any) (any, error) {
		return editResult(ctx, c, result, l.Kind(), l.wants, l.applyTo)
	})
}

// onResult makes the call and has change act on its result. Of an HTTP response f acts on
// the body.
func onResult(ctx context.Context, c chaos.Call, args any, next chaos.Next, f chaos.Fault,
	change func(result any) (any, error)) (any, error) {
	result, err := next(ctx, args)
	if err != nil {
		return result, err
	}
	if r, ok := result.(bodied); ok {
		return r.OnBody(ctx, c, args, f)
	}
	return change(result)
}

// editResult applies a lie of a kind to a result that it wants something in.
func editResult(ctx context.Context, c chaos.Call, result any, kind, wants string, apply func(*edit)) (any, error) {
	in, why := open(result)
	if why != "" {
		chaos.Note(ctx, why)
		return result, nil
	}
	e := &edit{call: c, doc: in.doc, plain: in.plain}
	apply(e)
	return e.finish(ctx, in, kind, wants)
}

// applyTo changes every place that the paths name, or one that is drawn.
func (l *lie) applyTo(e *edit) {
	e.addressed = l.addressed
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

func (l *lie) Describe() chaos.Description {
	d := l.made.Describe()
	if l.inner != nil {
		of := l.inner.Describe()
		d.Class, d.Layer = of.Class, of.Layer
	}
	return d
}
