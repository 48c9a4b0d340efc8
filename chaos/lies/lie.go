package lies

import (
	"context"
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonpath"
)

// maker is a row that makes the faults of its kind. The constructors call it, and
// so do plans in JSON.
type maker[P parameters] struct {
	*catalog.Row
	make func(P) fault
}

// row completes the row of a fault with parameters P: the callee did its work, and
// nothing shows that its answer is wrong. make returns what the fault does.
func row[P parameters](r catalog.Row, make func(P) fault) *maker[P] {
	r.Visibility, r.Persistence, r.Effect = chaos.Implicit, chaos.Transient, chaos.EffectDone
	m := &maker[P]{make: make}
	m.Row = catalog.Fault(r, func(p P) chaos.Fault { return m.of(p) })
	return m
}

// of makes the fault with these parameters.
func (m *maker[P]) of(p P) chaos.Fault {
	f := m.make(p)
	f.become(made{m.Row, p})
	return f
}

// fault is a fault that a maker makes.
type fault interface {
	chaos.Fault
	become(made)
}

// made is what a fault was made of. It checks and describes itself by it.
type made struct {
	row *catalog.Row
	parameters
}

func (m *made) become(other made) { *m = other }

func (m *made) Check() error {
	c := m.row.Check(m.parameters)
	m.check(c)
	return c.Err()
}

func (m *made) Describe() chaos.Description {
	d := m.row.Describe(m.parameters)
	if string(d.Params) == "{}" {
		d.Params = nil // all were left out
	}
	return d
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

// parameters are those of a fault, a struct as its row has it. Their fields stand
// in the order of their JSON names, in which descriptions have them.
type parameters interface {
	places() []string     // the JSON paths that its user gave
	check(*catalog.Check) // adds what bounds cannot say
}

// where is a parameter of nearly all lies.
type where struct {
	Paths []string `json:"paths,omitempty" doc:"JSON paths of the values that are changed; left out: a place that suits is drawn"`
}

func at(paths []string) where { return where{slices.Clone(paths)} }

func (p where) places() []string { return p.Paths }

func (p where) check(c *catalog.Check) {
	for i, text := range p.Paths {
		checkPath(c, fmt.Sprintf("paths[%d]", i), text)
	}
}

func checkPath(c *catalog.Check, place, text string) {
	_, err := jsonpath.Parse(text)
	c.That(err == nil, place, fmt.Sprintf("%q", text), fmt.Sprintf(`a JSON path such as "$.items[0].price" (%v)`, err))
}

// pathless is part of the parameters of a fault that takes no paths.
type pathless struct{}

func (pathless) places() []string     { return nil }
func (pathless) check(*catalog.Check) {}

// become takes the places from the parameters too.
func (l *lie) become(m made) {
	l.made = m
	l.addressed, l.where = len(l.places()) > 0, parsed(l.places())
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
	return e.finish(ctx, in, l.row.Kind, l.wants)
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
