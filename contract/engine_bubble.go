package contract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/internal/usercode"
)

// executeInBubble makes a run in virtual time and watches it from outside the
// bubble. From there it must not touch anything that was made inside: it only
// sets the flag that closes the injector.
func (w *worker) executeInBubble(ctx context.Context, r *liveRun, bubble Bubble) *run {
	over, cancelled := false, ctx.Done() // the first call makes the channel: inside, it would belong to the bubble
	asked, answers := r.askFromInside()
	defer close(answers)
	r.userDone = make(chan struct{}, 1)
	var inside atomic.Bool
	ended := w.caller.Start(func() error {
		err := bubble(func() {
			if inside.CompareAndSwap(false, true) {
				r.runInBubble()
			}
		})
		if err != nil {
			err = &blocked{err}
		}
		return err
	})
	var doneAt time.Time // when user code was done
	var still stillness
	end := w.due // when the watchdog expires; it is woken before, to look at the bubble
	w.watchdog.Reset(w.engine.untilLook(end))
	for {
		select {
		case err := <-ended:
			return r.afterBubble(w.caller.Received(err))
		case o := <-asked:
			answers <- w.between(ctx, r.inquiry, o)
			end = w.due
			w.watchdog.Reset(w.engine.untilLook(end))
		case <-r.userDone:
			if !over {
				doneAt = time.Now()
				w.watchdog.Reset(min(time.Until(end), leftover))
			}
		case <-w.watchdog.C:
			left := time.Until(end)
			switch {
			case over:
			case doneAt.IsZero() && left > 0 && !r.frozen(&still):
				w.watchdog.Reset(w.engine.untilLook(end))
				continue
			case !doneAt.IsZero() && !r.leftInIO(time.Since(doneAt)) && left > 0:
				w.watchdog.Reset(min(left, leftover))
				continue
			}
			w.caller.Release()
			return r.abandon(!doneAt.IsZero())
		case <-cancelled:
			cancelled, over = nil, true
			r.mu.Lock()
			r.close()
			r.mu.Unlock()
			w.watch(usercode.Grace)
		}
	}
}

// leftover is how much real time a bubble has to end once its user code is done.
// A goroutine that is left in real I/O stops the bubble's clock.
const leftover = 5 * time.Second

// askFromInside connects a run in a bubble with the inquiry, whose checks run
// outside. The channels are made outside too, so the bubble's clock stands still
// during a check. Closing answers makes later questions return false.
func (r *liveRun) askFromInside() (asked chan *Observation, answers chan bool) {
	asked, answers = make(chan *Observation, 1), make(chan bool, 1)
	if r.inquiry != nil {
		r.next = func(o *Observation) bool {
			asked <- o
			return <-answers
		}
	}
	return asked, answers
}

func (r *liveRun) runInBubble() {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.outer))
	own := newCaller() // its goroutine must belong to the bubble
	r.caller, r.patience = &own, patience
	number := bubbleNumber()
	r.mu.Lock()
	r.bubble = number
	r.mu.Unlock()
	r.run(ctx, cancel)
	cancel()
	own.Release()
	r.begin("waiting for the goroutines it left")
	r.userDone <- struct{}{}
	time.Sleep(usercode.Grace) // for goroutines that look at their context now and then
	r.endCalls()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = true
}

// blocked is an error of the bubble itself: its goroutines are blocked for good.
type blocked struct{ error }

// afterBubble returns the run of a bubble that has ended with err.
func (r *liveRun) afterBubble(err error) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	var stuck *blocked
	switch {
	case err == nil && r.done:
	case err == nil:
		r.fail(errors.New("the bubble did not run the cell to its end"))
	case !errors.As(err, &stuck):
		r.fail(fmt.Errorf("the bubble failed: %w", err))
	case r.injector == nil:
		r.fail(fmt.Errorf("the bubble did not run the cell: %w", err))
	case !r.done:
		r.fail(fmt.Errorf("blocked for good, while %s: %w", r.step, err))
		r.result.abandoned = true
	case !r.result.abandoned:
		names, _ := strays(allTraces(r.bubble), r.bubble)
		r.result.leaked, r.result.abandoned = cmp.Or(names, err.Error()), true
	}
	return r.sum()
}

// leftInIO reports whether user code left a goroutine in real I/O for at least
// the grace, which is a leak: the bubble cannot end.
func (r *liveRun) leftInIO(after time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	names, inIO := strays(allTraces(r.bubble), r.bubble)
	if inIO && after >= usercode.Grace {
		r.result.leaked = names
		return true
	}
	r.left = names
	return false
}

// patience is how much virtual time user code may take; more is a hang, since no
// realistic test waits for a month. It is not a deadline of the context, which
// user code would see. It is short enough for a world with a ticker of a second.
const patience = 30 * 24 * time.Hour

// beforeDeadline shortens a limit that goes beyond the deadline; 0 or less: there is no
// time left.
func (e *engine) beforeDeadline(limit time.Duration) time.Duration {
	if d := e.o.Harness.Deadline; !d.IsZero() {
		return min(limit, time.Until(d)-e.reserve)
	}
	return limit
}

// defaultIOPatience is how much real time a bubble may wait for one and the same I/O. An
// answer of a local server takes less; that of a slow model may not, so a limit of the
// caller's is in force in its place.
const defaultIOPatience = 20 * time.Second

// ioPatience is how long nothing but real I/O may keep the clock of a bubble from moving;
// 0: as long as the watchdog allows.
func (e *engine) ioPatience() time.Duration {
	if e.o.Watchdog > 0 {
		return e.o.ioPatience
	}
	return cmp.Or(e.o.ioPatience, defaultIOPatience)
}

// looks is how often a bubble is looked at in the time of the patience. Each look stops
// the process for as long as it takes to write down its goroutines.
const looks = 8

func (e *engine) untilLook(end time.Time) time.Duration {
	left := time.Until(end)
	if p := e.ioPatience(); p > 0 {
		left = min(left, p/looks)
	}
	return left
}

func (e *engine) refusal(virtual bool) error {
	if why := e.halted.Load(); why != nil && virtual {
		return fmt.Errorf("it was not run, for the reason of an earlier run in virtual time: %w", *why)
	}
	if e.beforeDeadline(defaultWatchdog) <= 0 {
		return errors.New("it was not run: the rest of the time until the deadline of the tests is for the report")
	}
	return nil
}

// A stillness finds out for how long nothing but real I/O has kept the clock of a bubble
// from moving. Between two looks anything may have happened that left no trace, so a
// limit on it must be far above the time that an answer takes.
type stillness struct {
	seen  string // what was waiting at the last look
	since time.Time
	again int // looks since then that showed the same
}

// look notes what waits for I/O now, and reports whether the same has been waited for
// since limit. "": nothing waits, or something else keeps the clock too. Looks that come
// late, on a busy machine, do not count for those that are missing.
func (s *stillness) look(now time.Time, waiting string, limit time.Duration) bool {
	if waiting == "" || waiting != s.seen {
		s.seen, s.since, s.again = waiting, now, 0
		return false
	}
	s.again++
	return s.again >= looks && now.Sub(s.since) >= limit
}

// frozen reports whether nothing but real I/O has kept the clock from moving for longer
// than the engine's patience, and no call of an injection point has ended meanwhile. Then
// the cells that follow would freeze too: the engine runs none of them.
func (r *liveRun) frozen(s *stillness) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	limit := r.engine.ioPatience()
	traces := allTraces(r.bubble)
	names, waiting := holders(traces, r.bubble)
	if len(traces) >= maxTraces {
		waiting = "" // some goroutines are not there
	}
	if waiting != "" && r.injector != nil {
		_, ended := r.injector.EventsSince(math.MaxUint64)
		waiting += fmt.Sprint(ended)
	}
	if limit == 0 || !s.look(time.Now(), waiting, limit) {
		return false
	}
	why := fmt.Errorf("real I/O alone has held the clock for %v of real time, while %s; "+
		"what kept the clock from moving: %s", limit, r.step, names)
	r.result.frozen = true
	r.fail(why)
	r.engine.halted.CompareAndSwap(nil, &why) // later runs in virtual time do not begin
	return true
}

// abandon gives up waiting for the bubble and returns what is known of the run.
// done says that user code has ended.
func (r *liveRun) abandon(done bool) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.result.frozen {
		return r.sum()
	}
	r.result.abandoned, r.result.lingering = true, done && r.result.undecided == nil
	switch why := r.why(usercode.CutWatchdog); {
	case r.result.leaked != "":
	case r.left != "":
		r.fail(fmt.Errorf("%w: %s", why, r.left))
	default:
		if names, _ := holders(allTraces(r.bubble), r.bubble); names != "" {
			why = fmt.Errorf("%w; what kept the clock from moving: %s", why, names)
		}
		r.fail(why)
	}
	return r.sum()
}

// An unanswered is the error of an answer that did not come because the bubble froze. It
// matches [ErrTimeout], and its text does not say that the agent was slow.
type unanswered struct{ error }

func (unanswered) Is(target error) bool { return target == ErrTimeout }

func (u unanswered) Unwrap() error { return u.error }

// fail sets why the cell cannot be decided, unless that is set; r.mu is held.
func (r *liveRun) fail(why error) {
	r.result.undecided = cmp.Or(r.result.undecided, why)
	if r.asking != nil {
		r.asking.Err = unanswered{why}
		r.collect(r.asking)
		r.result.partial, r.asking = r.asking, nil
	}
}
