package chaos

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// injectionOf is the injection in which a fault has that context, nil outside a fault, and
// the rule that the context is pinned to: see injection.ruleOf.
func injectionOf(ctx context.Context) (x *injection, pinned int16) {
	if f := frameOf(ctx); f != nil {
		return f.injection, f.pinned
	}
	return nil, 0
}

// Changed declares, from within [Fault.Inject], what a fault changed: the arguments
// before it calls next, the result after it. If the fault is delivered, the changes
// appear on the event, at most 256 of one rule on one call.
//
// If the values can be compared, the comparison decides whether the fault was delivered,
// and the event has a note where the declaration differs. The declaration decides after
// [KeepOpen], and if values cannot be compared. A fault of another phase than [PhaseChange]
// calls Changed without a change for a difference that no value shows, such as the order of
// two calls. Outside a fault Changed does nothing.
func Changed(ctx context.Context, ch ...Change) {
	switch f := frameOf(ctx); {
	case f == nil || f.injection == nil:
	case f.held != nil:
		f.held.add(ch)
	default:
		f.injection.changed(f.pinned, ch)
	}
}

// Unseen declares, after [KeepOpen] and with its context, that the caller got nothing
// of what the fault did. The fault is then delivered only if it waited, or the callee saw
// it. A later [Changed] takes Unseen back.
func Unseen(ctx context.Context) {
	if x, rule := injectionOf(ctx); x != nil {
		x.unseen(rule, false)
	}
}

// UnseenWithin declares the same of the faults further in, whose results the caller
// would have got without this one.
func UnseenWithin(ctx context.Context) {
	if x, rule := injectionOf(ctx); x != nil {
		x.unseen(rule, true)
	}
}

// Postponed declares, from within [Fault.Inject], that the fault keeps the call's
// [Next] to call it from a later Inject. The effect of a call that did not reach its callee
// is unknown then.
func Postponed(ctx context.Context) {
	if x, _ := injectionOf(ctx); x != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.later = x.later || !x.over
	}
}

// Note adds a sentence to the event, from within [Fault.Inject], such as why the
// fault could not do its work. The same sentence is kept once, and 4 KiB of them in all.
func Note(ctx context.Context, text string) {
	if x, _ := injectionOf(ctx); x != nil {
		x.note(text)
	}
}

// Sleep waits, from within [Fault.Inject], for d; a negative d has no end. It returns the
// context's error if that ends first, and [ErrDisarmed] if the injector is disarmed before
// or meanwhile, or the rule is removed or expires: the fault then calls next. Outside a
// fault only the context ends it early.
func Sleep(ctx context.Context, d time.Duration) error {
	if x, rule := injectionOf(ctx); x != nil {
		return x.sleep(ctx, rule, d)
	}
	return wait(orBackground(ctx), d, nil, nil)
}

// KeepOpen keeps the call open, from within [Fault.Inject], after Inject has
// returned, as an HTTP call is until the body of its response was read. The fault returns
// without an error, and what it returns must make sure that end is called.
//
// Until then [Changed], [Note] and [Sleep] with the context late, which ends with ctx,
// count for the fault, from one goroutine at a time. It is delivered if it waits, ends with
// an error that it made, or calls Changed, which it does once the caller has got the first
// difference.
//
// end takes the error by which the call ended, if any, and whether the fault made it. It
// returns the error as the caller should see it. The event is written when every fault that
// kept the call open has called end, when the call failed, or by [Injector.End].
func KeepOpen(ctx context.Context) (late context.Context, end func(err error, made bool) error) {
	x, rule := injectionOf(ctx)
	a := x.keepOpen(rule)
	if a == nil {
		return ctx, func(err error, _ bool) error { return err }
	}
	pinned := derive(ctx)
	pinned.pinned = int16(a.index) + 1
	ended := false // guarded by x.mu
	return pinned, func(err error, made bool) error { return x.end(&ended, a, err, made) }
}

// BeforeEnd has [Injector.End] call f, after [KeepOpen] and with its context, before it
// gives a call that has returned and is still kept open its event. f declares what is known
// of what the caller got. It runs beside the call, and must not wait. The last f counts.
func BeforeEnd(ctx context.Context, f func()) {
	if x, _ := injectionOf(ctx); x != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.beforeEnd = f
	}
}

// keepOpen returns the rule that keeps the call open from now on; nil: none can, since no
// fault is executing, or the call has no injection.
func (x *injection) keepOpen(pinned int16) *callRule {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	a := x.ruleOf(pinned)
	if x.over || a == nil {
		return nil
	}
	x.stillOpen++
	a.keepsOpen = true
	return a
}

// end notes that a fault which kept the call open has ended. If it was the last one
// and the call has returned, it settles the call.
func (x *injection) end(ended *bool, a *callRule, err error, made bool) error {
	x.mu.Lock()
	if made && err != nil {
		err = x.injectedError(a, err)
	}
	if *ended || x.over {
		x.mu.Unlock()
		return err
	}
	*ended = true
	if made && err != nil {
		a.made = err
	}
	x.lastErr = cmp.Or(x.lastErr, err)
	x.stillOpen--
	settle := x.left && x.stillOpen == 0
	x.mu.Unlock()
	if settle {
		x.settle(x.lastErr, false)
	}
	return err
}

func (x *injection) keptOpen() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.stillOpen > 0
}

func (x *injection) leave() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.left = true
	return x.over || x.stillOpen == 0
}

// Withhold returns a context that keeps what a fault declares by [Changed] from the
// event, and a function that returns what was kept so far. It is for a fault that calls
// another fault, learns only later what the caller sees of it, and then declares the
// changes itself. Outside a fault nothing is kept.
func Withhold(ctx context.Context) (held context.Context, changes func() []Change) {
	f := derive(ctx)
	w := &withheld{}
	f.held = w
	return f, func() []Change {
		w.mu.Lock()
		defer w.mu.Unlock()
		return slices.Clone(w.ch)
	}
}

// withheld are the changes of one fault on one call that were kept from the event.
type withheld struct {
	mu sync.Mutex
	ch []Change
}

func (w *withheld) add(ch []Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ch = append(w.ch, ch...)
}
