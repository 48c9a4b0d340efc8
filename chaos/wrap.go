package chaos

import (
	"cmp"
	"context"

	"github.com/shakedown-go/shakedown/internal/hash"
)

// point is an injection point, resolved when it is wrapped.
type point struct {
	target string
	alias  string // another name by which rules match it; empty: it has none
	hash   uint64
	layer  Layer
	effect Effect // what it declares that a successful call does
}

func newPoint(target string, layer Layer) point {
	return point{target: target, hash: hash.String(target), layer: layer}
}

// Wrap makes an injection point of a function. The returned function behaves like
// fn, except that the rules that match target act on its calls if its context
// carries an injector. Without one it is inert and costs a few nanoseconds.
//
// A fault that decides the call returns the zero Out and its error. The returned
// function is as safe for concurrent use as fn, which must not be nil. For a function of
// another signature, wrap a closure that calls it, or put a [Point] inside.
func Wrap[In, Out any](
	target string, fn func(context.Context, In) (Out, error),
) func(context.Context, In) (Out, error) {
	return WrapWith(target, fn, &WrapOptions[In]{})
}

// WrapOptions are the settings of [WrapWith]; the zero value is that of [Wrap].
type WrapOptions[In any] struct {
	_ struct{}
	// Key distinguishes the calls of a target, so that draws do not depend on the
	// order of calls: equal arguments, equal keys. It must be a pure function. nil,
	// or a result of 0: the empty key. Calls with it are counted in their order
	// within the lane, apart from those with another key.
	Key func(In) uint64
	// Injector binds the function to an injector, whatever its context carries: for
	// code that drops its context. Lane, turn and caller still come from the context.
	Injector *Injector
	// Layer is that of the point, as events show it; empty: [LayerPoint].
	Layer Layer
	// Alias is another name of the point by which rules match it too, such as the name
	// without a last part that few rules care about; empty: it has none.
	Alias string
	// Crossing is a call that has begun already and that the function continues. The
	// function is then for this one call, and Key, Injector, Layer and Alias are
	// ignored. nil: each call begins anew.
	Crossing *Crossing
	// Fit converts what a fault gives in place of the result, or of an item of a stream, where
	// the type of Go says too little, such as a message whose type only the call knows. It is
	// asked about every value that a fault gives, and returns one of the function's type. Its
	// error says why the value does not fit: the fault is then not delivered. nil: as [Fault] says.
	Fit func(v any) (any, error)

	effect Effect // what a successful call does
}

// WrapWith is [Wrap] with options; nil is the zero [WrapOptions].
func WrapWith[In, Out any](target string, fn func(context.Context, In) (Out, error),
	o *WrapOptions[In]) func(context.Context, In) (Out, error) {
	o = cmp.Or(o, &WrapOptions[In]{})
	c := &callee[In, Out]{point: newPoint(target, cmp.Or(o.Layer, LayerPoint)), fn: fn}
	c.alias, c.effect, c.fit = o.Alias, o.effect, o.Fit
	if x := o.Crossing; x != nil {
		c.point = x.point
		return func(ctx context.Context, in In) (Out, error) { return goOn(ctx, x, c, in) }
	}
	bound, keyOf := o.Injector, o.Key
	return func(ctx context.Context, in In) (Out, error) {
		f, ok := ctx.(*frame) // frameOf, spelled out: this is the path of production code
		if !ok && ctx != nil {
			f, _ = ctx.Value(frameKey{}).(*frame)
		}
		injector := bound
		if injector == nil {
			if f == nil || f.in == nil {
				return fn(ctx, in)
			}
			injector = f.in
		}
		set, err := injector.enter(&c.point, f)
		if set == nil {
			if err != nil {
				var none Out
				return none, err
			}
			return fn(ctx, in)
		}
		var key uint64
		if keyOf != nil {
			key = keyOf(in)
		}
		return cross(ctx, f, set, c, in, key)
	}
}

// Point is an injection point inside a function. It returns the error of the fault
// that was injected, after any delay, and nil if there is none.
func Point(ctx context.Context, target string) error {
	f := frameOf(ctx)
	if f == nil || f.in == nil {
		return nil
	}
	p := newPoint(target, LayerPoint)
	p.effect = EffectNone
	_, err := callNamed(ctx, f, f.in, &p, struct{}{}, func(struct{}) uint64 { return 0 },
		func(context.Context, string, struct{}) (struct{}, error) { return struct{}{}, nil })
	return err
}

func callNamed[In, Out any](ctx context.Context, f *frame, in *Injector, p *point, args In,
	keyOf func(In) uint64, fn func(ctx context.Context, name string, args In) (Out, error)) (out Out, err error) {
	set, err := in.enter(p, f)
	switch {
	case err != nil:
		return out, err
	case set == nil:
		return fn(ctx, p.target, args)
	}
	c := callee[In, Out]{point: *p, named: fn}
	return cross(ctx, f, set, &c, args, keyOf(args))
}

type callee[In, Out any] struct {
	point
	fn     func(context.Context, In) (Out, error)
	named  func(ctx context.Context, name string, in In) (Out, error) // instead, if fn is nil
	attach func(*injection)
	// finish is called with what the caller gets, and returns what it did get; nil: the same.
	finish func(Out, error) (Out, error)
	unseen func(context.Context, In) (Out, error) // fn if its result is not used; nil: fn itself
	fit    func(any) (any, error)                 // that of WrapOptions; nil: by type
}

func (c *callee[In, Out]) call(ctx context.Context, in In) (Out, error) {
	if c.fn == nil {
		return c.named(ctx, c.target, in)
	}
	return c.fn(ctx, in)
}

func (c *callee[In, Out]) fitArgs(v any) (any, error) { return as[In](v) }

func (c *callee[In, Out]) fitResult(v any) (any, error) {
	if c.fit != nil {
		return c.fit(v)
	}
	return fitted[Out](v)
}
