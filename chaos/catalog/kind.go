package catalog

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
)

// Made is what a fault or trigger was made of: a row and parameters. It checks and
// describes itself by them.
//
// Parameters P are a struct with one field for each: string, bool, int, int64,
// uint64 (in JSON a decimal string), float64, [time.Duration] (in JSON "1.5s"),
// error (in JSON its text), [json.RawMessage], another struct, a slice or map of
// these, a pointer to one, [chaos.Fault] or [chaos.When]. Its JSON tags name them;
// without omitempty they are required. Three more tags say what a field means:
//
//   - doc:"…" describes it;
//   - bounds:"min=1,over=0,max=9,enum=a|b" bounds a number, a duration, the length
//     of a list (over and enum: its elements) or of a map, or with enum a text;
//   - allowed:"…" says what is allowed, where the bounds alone say too little.
//
// An optional number that is 0 counts as left out. A struct may be embedded, a
// pointer may not. Fields that are not exported are for the fault alone. planjson
// refuses a row with parameters or tags that have no meaning.
//
// P may have methods that say more:
//
//   - Check(*Check) adds problems that bounds cannot see;
//   - Coordinates(*chaos.Description) changes a description that depends on
//     parameters.
type Made[P any] struct {
	row    *Row
	Params P
}

// Check returns the problems of the parameters.
func (m Made[P]) Check() error { return check(m.row, m.Params) }

func check(row *Row, params any) error {
	c := row.Check(params)
	if p, ok := params.(interface{ Check(*Check) }); ok {
		p.Check(c)
	}
	return c.Err()
}

// Describe is the description by the row and the parameters.
func (m Made[P]) Describe() chaos.Description { return describe(m.row, m.Params) }

func describe(row *Row, params any) chaos.Description {
	d := row.Describe(params)
	if p, ok := params.(interface{ Coordinates(*chaos.Description) }); ok {
		p.Coordinates(&d)
	}
	return d
}

// Kind is the kind of the fault or trigger.
func (m Made[P]) Kind() string { return m.row.Kind }

func (m Made[P]) parts() (row *Row, params any) { return m.row, m.Params }

// kind is any of the kinds.
type kind interface{ complete() *Row }

// lazy completes the row of a kind when it is first needed.
type lazy struct {
	once sync.Once
	row  *Row
}

// rowOf is the complete row of a kind whose faults or triggers, T, come from made.
func rowOf[P, T any](l *lazy, r *Row, made func(*Row, P) T) *Row {
	l.once.Do(func() {
		_, trigger := any((*T)(nil)).(*chaos.When)
		l.row = complete(*r, trigger, func(row *Row, p P) any { return made(row, p) })
	})
	return l.row
}

// madeOf is what a fault or trigger of these parameters is made of.
func madeOf[P any](row *Row, prepare func(P) P, p P) Made[P] {
	if prepare != nil {
		p = prepare(p)
	}
	return Made[P]{row, p}
}

// Inject is a kind of faults that act on a call.
type Inject[P any] struct {
	Row     Row
	Phase   chaos.Phase
	Prepare func(P) P // completes the parameters, from Go or JSON, for Inject; nil: nothing is to be done
	Inject  func(ctx context.Context, c chaos.Call, p P, args any, next chaos.Next) (any, error)
	lazy    lazy
}

// Of makes a fault.
func (k *Inject[P]) Of(p P) chaos.Fault           { return k.made(k.complete(), p) }
func (k *Inject[P]) complete() *Row               { return rowOf(&k.lazy, &k.Row, k.made) }
func (k *Inject[P]) made(r *Row, p P) chaos.Fault { return &injecting[P]{madeOf(r, k.Prepare, p), k} }

type injecting[P any] struct {
	Made[P]
	kind *Inject[P]
}

func (f *injecting[P]) Phase() chaos.Phase { return f.kind.Phase }
func (f *injecting[P]) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	return f.kind.Inject(ctx, c, f.Params, args, next)
}

// Fail is a kind of faults that only make an error; see [chaos.Failer].
type Fail[P any] struct {
	Row     Row
	Prepare func(P) P // as in Inject
	Fail    func(c chaos.Call, p P) error
	// FailArgs takes the place of Fail if the arguments matter; see [chaos.ArgsFailer].
	FailArgs func(c chaos.Call, p P, args any) (note string, err error)
	lazy     lazy
}

// Of makes a fault.
func (k *Fail[P]) Of(p P) chaos.Fault { return k.made(k.complete(), p) }
func (k *Fail[P]) complete() *Row {
	r := k.Row
	r.Visibility, r.Effect = cmp.Or(r.Visibility, chaos.Explicit), cmp.Or(r.Effect, chaos.EffectNone)
	return rowOf(&k.lazy, &r, k.made)
}

func (k *Fail[P]) made(row *Row, p P) chaos.Fault {
	f := failing[P]{madeOf(row, k.Prepare, p), k}
	if k.FailArgs != nil {
		return &failingArgs[P]{f}
	}
	return &f
}

type failing[P any] struct {
	Made[P]
	kind *Fail[P]
}

func (f *failing[P]) Fail(c chaos.Call) error { return f.kind.Fail(c, f.Params) }
func (f *failing[P]) Inject(_ context.Context, c chaos.Call, _ any, _ chaos.Next) (any, error) {
	return nil, f.Fail(c)
}

type failingArgs[P any] struct{ failing[P] }

func (f *failingArgs[P]) Fail(c chaos.Call) error {
	_, err := f.FailArgs(c, nil)
	return err
}

func (f *failingArgs[P]) FailArgs(c chaos.Call, args any) (note string, err error) {
	return f.kind.FailArgs(c, f.Params, args)
}

func (f *failingArgs[P]) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	note, err := f.FailArgs(c, args)
	chaos.Note(ctx, note)
	if err != nil {
		return nil, err
	}
	return next(ctx, args)
}

// Remember is a kind of faults that keep a state S between calls, whose zero value
// is ready to use. Each injector has a state of its own. Concurrent calls share it,
// so it needs a lock and a bound.
type Remember[P, S any] struct {
	Row     Row
	Phase   chaos.Phase
	Prepare func(P) P // as in Inject
	Inject  func(s *S, ctx context.Context, c chaos.Call, p P, args any, next chaos.Next) (any, error)
	lazy    lazy
}

// Of makes a fault.
func (k *Remember[P, S]) Of(p P) chaos.Fault { return k.made(k.complete(), p) }
func (k *Remember[P, S]) complete() *Row     { return rowOf(&k.lazy, &k.Row, k.made) }
func (k *Remember[P, S]) made(row *Row, p P) chaos.Fault {
	return &remembering[P, S]{madeOf(row, k.Prepare, p), k, new(S)}
}

type remembering[P, S any] struct {
	Made[P]
	kind  *Remember[P, S]
	state *S
}

func (f *remembering[P, S]) Phase() chaos.Phase { return f.kind.Phase }
func (f *remembering[P, S]) Fresh() chaos.Fault { return &remembering[P, S]{f.Made, f.kind, new(S)} }
func (f *remembering[P, S]) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	return f.kind.Inject(f.state, ctx, c, f.Params, args, next)
}

// Stream is a kind of faults that act on a stream as a whole; see [chaos.Streamer].
// At a point that is no stream the call goes through, and the event has a note.
type Stream[P any] struct {
	Row    Row
	Stream func(ctx context.Context, c chaos.Call, p P, items iter.Seq2[any, error]) iter.Seq2[any, error]
	lazy   lazy
}

// Of makes a fault.
func (k *Stream[P]) Of(p P) chaos.Fault             { return k.made(k.complete(), p) }
func (k *Stream[P]) complete() *Row                 { return rowOf(&k.lazy, &k.Row, k.made) }
func (k *Stream[P]) made(row *Row, p P) chaos.Fault { return &streaming[P]{Made[P]{row, p}, k} }

type streaming[P any] struct {
	Made[P]
	kind *Stream[P]
}

// Phase puts the fault after the source.
func (*streaming[P]) Phase() chaos.Phase { return chaos.PhaseChange }

func (f *streaming[P]) Stream(ctx context.Context, c chaos.Call, items iter.Seq2[any, error]) iter.Seq2[any, error] {
	return f.kind.Stream(ctx, c, f.Params, items)
}

func (*streaming[P]) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	chaos.Note(ctx, fmt.Sprintf("%s is no stream", c.Target))
	return next(ctx, args)
}

// Match is a kind of triggers that choose calls by their coordinates and, with
// MatchArgs, by their arguments.
type Match[P any] struct {
	Row       Row
	Prepare   func(P) P // as in Inject
	Match     func(p P, c chaos.Call) bool
	MatchArgs func(p P, c chaos.Call, args any) bool // nil: Match decides; see [chaos.ArgsWhen]
	WantsArgs func(p P) bool                         // reports whether MatchArgs is needed; nil: always
	lazy      lazy
}

// Of makes a trigger.
func (k *Match[P]) Of(p P) chaos.When { return k.made(k.complete(), p) }
func (k *Match[P]) complete() *Row    { return rowOf(&k.lazy, &k.Row, k.made) }
func (k *Match[P]) made(row *Row, p P) chaos.When {
	w := &matching[P]{madeOf(row, k.Prepare, p), k}
	if k.MatchArgs != nil && (k.WantsArgs == nil || k.WantsArgs(p)) {
		return matchingArgs[P]{w}
	}
	return w
}

type matching[P any] struct {
	Made[P]
	kind *Match[P]
}

func (w *matching[P]) Match(c chaos.Call) bool { return w.kind.Match(w.Params, c) }

type matchingArgs[P any] struct{ *matching[P] }

func (w matchingArgs[P]) MatchArgs(c chaos.Call, args any) bool {
	return w.kind.MatchArgs(w.Params, c, args)
}

// Ordinal is a kind of triggers that look at a call's number alone, from 0; see
// [chaos.OrdinalWhen].
type Ordinal[P any] struct {
	Row   Row
	Match func(p P, ordinal uint64) bool
	lazy  lazy
}

// Of makes a trigger.
func (k *Ordinal[P]) Of(p P) chaos.When             { return k.made(k.complete(), p) }
func (k *Ordinal[P]) complete() *Row                { return rowOf(&k.lazy, &k.Row, k.made) }
func (k *Ordinal[P]) made(row *Row, p P) chaos.When { return &counting[P]{Made[P]{row, p}, k} }

type counting[P any] struct {
	Made[P]
	kind *Ordinal[P]
}

func (w *counting[P]) Match(c chaos.Call) bool          { return w.kind.Match(w.Params, c.Ordinal) }
func (w *counting[P]) MatchOrdinal(ordinal uint64) bool { return w.kind.Match(w.Params, ordinal) }

// Own is a kind of faults or triggers of a type of your own, which embeds [Made]. T
// is [chaos.Fault] or [chaos.When].
type Own[P, T any] struct {
	Row  Row
	Make func(Made[P]) T
	lazy lazy
}

// Of makes a fault or trigger.
func (k *Own[P, T]) Of(p P) T             { return k.made(k.complete(), p) }
func (k *Own[P, T]) complete() *Row       { return rowOf(&k.lazy, &k.Row, k.made) }
func (k *Own[P, T]) made(row *Row, p P) T { return k.Make(Made[P]{row, p}) }

// Label is a kind of faults that are those of another kind under a name of their
// own, with the same parameters, error and behaviour. The example and the
// coordinates that Row leaves empty are those of Base.
type Label struct {
	Row  Row
	Base kind
	lazy lazy
}

func (k *Label) complete() *Row {
	k.lazy.once.Do(func() {
		l, r := k.Row, *k.Base.complete()
		r.Kind, r.Doc, r.Go, r.Base, r.base = l.Kind, l.Doc, l.Go, r.Kind, r.self
		r.Order = cmp.Or(l.Order, r.Order)
		r.Example, r.Layer, r.Class = cmp.Or(l.Example, r.Example), cmp.Or(l.Layer, r.Layer), cmp.Or(l.Class, r.Class)
		r.Visibility, r.Persistence = cmp.Or(l.Visibility, r.Visibility), cmp.Or(l.Persistence, r.Persistence)
		r.Effect = cmp.Or(l.Effect, r.Effect)
		r.self = &r
		k.lazy.row = &r
	})
	return k.lazy.row
}

// As returns f under the label. ok is false if the label has another kind, or
// another base than f.
func (k *Label) As(kind string, f chaos.Fault) (as chaos.Fault, ok bool) {
	made, ok := f.(interface{ parts() (*Row, any) })
	if kind != k.Row.Kind || !ok {
		return nil, false
	}
	row, params := made.parts()
	label := k.complete()
	if cmp.Or(row.base, row) != label.base {
		return nil, false
	}
	return label.build(label, params).(chaos.Fault), true // Row.Build makes none that holds code
}

// List returns copies of the rows of kinds, which the caller may change.
func List(kinds ...kind) []*Row {
	rows := make([]*Row, len(kinds))
	for i, k := range kinds {
		row := *k.complete()
		rows[i] = &row
	}
	return rows
}
