package contract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// executeInBubble makes a run in virtual time and watches it from outside the
// bubble. From there it must not touch anything that was made inside: it only
// sets the flag that closes the injector.
func (w *worker) executeInBubble(ctx context.Context, r *runner, bubble Bubble) *run {
	cancelled := ctx.Done() // the first call makes the channel: inside, it would belong to the bubble
	asked, answers := r.askFromInside()
	defer close(answers)
	r.userDone = make(chan struct{}, 1)
	var inside atomic.Bool
	ended := w.caller.start(func() error {
		err := bubble(func() {
			if inside.CompareAndSwap(false, true) {
				r.runInBubble(ctx)
			}
		})
		if err != nil {
			err = &blocked{err}
		}
		return err
	})
	var doneAt, end time.Time // when user code was done, and when the watchdog expires
	for {
		select {
		case err := <-ended:
			return r.afterBubble(ctx, w.caller.received(err))
		case o := <-asked:
			answers <- w.between(ctx, r.inquiry, o)
		case <-r.userDone:
			if cancelled != nil {
				doneAt, end = time.Now(), w.due
				w.watch(min(time.Until(end), leftover))
			}
		case <-w.watchdog.C:
			left := time.Until(end)
			if cancelled != nil && !doneAt.IsZero() && !r.leftInIO(time.Since(doneAt)) && left > 0 {
				w.watch(min(left, leftover))
				continue
			}
			w.caller.release()
			return r.abandon(ctx, !doneAt.IsZero())
		case <-cancelled:
			cancelled = nil
			r.close()
			w.watch(grace)
		}
	}
}

// leftover is how much real time a bubble has to end once its user code is done.
// A goroutine that is left in real I/O stops the bubble's clock.
const leftover = 5 * time.Second

// askFromInside connects a run in a bubble with the inquiry, whose checks run
// outside. The channels are made outside too, so the bubble's clock stands still
// during a check. Closing answers makes later questions return false.
func (r *runner) askFromInside() (asked chan *Observation, answers chan bool) {
	asked, answers = make(chan *Observation, 1), make(chan bool, 1)
	if r.inquiry != nil {
		r.next = func(o *Observation) bool {
			asked <- o
			return <-answers
		}
	}
	return asked, answers
}

// runInBubble makes the run on the bubble's first goroutine.
func (r *runner) runInBubble(outer context.Context) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(outer))
	var own caller // its goroutine must belong to the bubble
	r.caller, r.patience = &own, patience
	number := bubbleNumber()
	r.mu.Lock()
	r.bubble = number
	r.mu.Unlock()
	r.run(ctx, cancel)
	cancel()
	own.release()
	r.begin("waiting for the goroutines it left")
	r.userDone <- struct{}{}
	time.Sleep(grace) // for goroutines that look at their context now and then
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = true
}

// blocked is an error of the bubble itself: its goroutines are blocked for good.
type blocked struct{ error }

// afterBubble returns the run of a bubble that has ended with err.
func (r *runner) afterBubble(ctx context.Context, err error) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	var stuck *blocked
	switch {
	case err == nil && r.done:
	case err == nil:
		r.fail(errors.New("the bubble did not run the cell to its end"))
	case !errors.As(err, &stuck):
		r.fail(fmt.Errorf("the bubble failed: %w", err))
	case !r.done:
		r.fail(fmt.Errorf("blocked for good, while %s: %w", r.step, err))
		r.result.abandoned = true
	case !r.result.abandoned:
		names, _ := strays(r.bubble)
		r.result.leaked, r.result.abandoned = cmp.Or(names, err.Error()), true
	}
	return r.sum(ctx)
}

// leftInIO reports whether user code left a goroutine in real I/O for at least
// the grace, which is a leak: the bubble cannot end.
func (r *runner) leftInIO(after time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	names, inIO := strays(r.bubble)
	if inIO && after >= grace {
		r.result.leaked = names
		return true
	}
	r.left = names
	return false
}

// abandon gives up waiting for the bubble and returns what is known of the run.
// done says that user code has ended.
func (r *runner) abandon(ctx context.Context, done bool) *run {
	r.close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.abandoned, r.result.lingering = true, done && r.result.undecided == nil
	switch why := r.why(cutWatchdog); {
	case r.result.leaked != "":
	case r.left != "":
		r.fail(fmt.Errorf("%w: %s", why, r.left))
	default:
		if names := holders(r.bubble); names != "" {
			why = fmt.Errorf("%w; what kept the clock from moving: %s", why, names)
		}
		r.fail(why)
	}
	return r.sum(ctx)
}

// fail sets why the cell cannot be decided, unless that is set; r.mu is held.
func (r *runner) fail(why error) {
	r.result.undecided = cmp.Or(r.result.undecided, why)
	if r.asking != nil {
		r.asking.Err = fmt.Errorf("%w: %w", ErrTimeout, why)
		r.collect(r.asking)
		r.result.partial, r.asking = r.asking, nil
	}
}

// patience is how much virtual time user code may take; more is a hang, since no
// realistic test waits for a month. It is not a deadline of the context, which
// user code would see. It is short enough for a world with a ticker of a second.
const patience = 30 * 24 * time.Hour
