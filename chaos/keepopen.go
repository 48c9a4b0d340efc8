package chaos

import (
	"cmp"
	"context"
)

// KeepOpen keeps the call open, from within [Fault.Inject], after Inject has
// returned, as an HTTP call is until the body of its response was read. Whether the
// fault is delivered is known only then. The fault returns without an error, and
// what it returns must make sure that end is called.
//
// Until then [Changed], [Note] and [Sleep] with the context late count for the
// fault, from one goroutine at a time; late ends with ctx. The result of Inject is not
// compared. The fault is delivered if it waits, ends with an error that it made, or
// calls Changed. It calls Changed once the caller has got the first difference.
//
// end takes the error by which the call ended, if any, and whether the fault made
// it. It returns the error as the caller should see it: one that the fault made as
// an [*InjectedError].
//
// The call is settled, and its event written, when every fault that kept it open has
// called end. Further calls of one fault's end do nothing. A call that is never
// ended stays under way and has no event. A call that failed does not wait for end.
// Outside a fault end returns its error unchanged.
func KeepOpen(ctx context.Context) (late context.Context, end func(err error, made bool) error) {
	f := frameOf(ctx)
	if f == nil || f.injection == nil {
		return ctx, func(err error, _ bool) error { return err }
	}
	x := f.injection
	x.mu.Lock()
	at := x.indexOf(f.pinned)
	if x.over || at == len(x.rules) {
		x.mu.Unlock()
		return ctx, func(err error, _ bool) error { return err }
	}
	x.stillOpen++
	x.rules[at].keepsOpen = true
	x.mu.Unlock()
	pinned := derive(ctx)
	pinned.pinned = int16(at) + 1
	ended := false // guarded by x.mu
	return pinned, func(err error, made bool) error { return x.end(&ended, &x.rules[at], err, made) }
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

// keptOpen reports whether a fault keeps the call open after it has returned.
func (x *injection) keptOpen() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.stillOpen > 0
}

// leave notes that the call returns, and reports whether to settle it.
func (x *injection) leave() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.left = true
	return x.over || x.stillOpen == 0
}
