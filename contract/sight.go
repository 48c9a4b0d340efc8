package contract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// sight is what one visit showed: an observation per prompt, and what went
// wrong around them.
type sight struct {
	observations []*Observation
	partial      *Observation // that of a prompt that could not be judged
	undecided    error        // why more cannot be said, nil when nothing is missing
	leaked       string       // goroutines left behind in a bubble
	lingering    bool         // user code came to its end, and only its bubble did not
	warning      string
	cancelled    bool           // the run was, and that shows
	abandoned    bool           // user code was left behind
	uncounted    []*Observation // those whose faults the report has not counted
	late         int
	dropped      int
	deliveries
}

// deliveries are the faults of some observations.
type deliveries struct {
	delivered, undelivered int  // calls
	absorbed               bool // of those delivered, none is known to have come to the agent itself
}

// patience is how much virtual time user code may take. More is a hang: nothing
// that is worth a test waits for a month. Not a deadline, since code can see
// those, and short enough for a world that ticks every second meanwhile.
const patience = 30 * 24 * time.Hour

// look makes a visit, in a bubble if there is one, under the watchdog.
func (w *worker) look(ctx context.Context, v *visit, bubble Bubble) *sight {
	v.limit = w.engine.watchdog()
	if bubble == nil && w.engine.o.Watchdog == 0 {
		v.limit += time.Duration(len(v.prompts)) * w.engine.m.Timeout
	}
	w.watch(v.limit)
	defer w.watchdog.Stop()
	if bubble != nil {
		return w.lookInto(ctx, v, bubble)
	}
	v.hands, v.watchdog = &w.hands, w.watchdog.C
	if v.inquiry != nil {
		v.next = func(o *Observation) bool { return w.between(ctx, v.inquiry, o) }
	}
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	v.run(own, cancel)
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.sum(ctx)
}

// lookInto makes a visit in virtual time, and watches from outside. From there
// it must not touch anything that was made inside: it only sets the flag that
// closes the injector.
func (w *worker) lookInto(ctx context.Context, v *visit, bubble Bubble) *sight {
	cancelled := ctx.Done() // made here: first asked for inside, it would belong to the bubble
	asked, answers := v.askFromInside()
	defer close(answers)
	v.over = make(chan struct{}, 1)
	var inside atomic.Bool
	ended := w.hands.start(func() error {
		err := bubble(func() {
			if inside.CompareAndSwap(false, true) {
				v.inside(ctx)
			}
		})
		if err != nil {
			err = &blocked{err}
		}
		return err
	})
	var over, end time.Time // when user code was done, and when the watchdog's time ends then
	for {
		select {
		case err := <-ended:
			return v.afterBubble(ctx, w.hands.over(err))
		case o := <-asked:
			answers <- w.between(ctx, v.inquiry, o)
		case <-v.over:
			if cancelled != nil {
				over, end = time.Now(), w.due
				w.watch(min(time.Until(end), leftover))
			}
		case <-w.watchdog.C:
			left := time.Until(end)
			if cancelled != nil && !over.IsZero() && !v.leftInIO(time.Since(over)) && left > 0 {
				w.watch(min(left, leftover))
				continue
			}
			w.hands.letGo()
			return v.abandon(ctx, !over.IsZero())
		case <-cancelled:
			cancelled = nil
			v.close()
			w.watch(grace)
		}
	}
}

// leftover is how much real time a bubble has to end once its user code is done.
// Its clock stands still when a goroutine is left in real I/O.
const leftover = 5 * time.Second

// askFromInside lets a visit in a bubble ask the inquiry, whose checks are user
// code for the world outside. The bubble's clock stands still meanwhile, since
// the channels are made here. Closing answers tells it that nobody listens.
func (v *visit) askFromInside() (asked chan *Observation, answers chan bool) {
	asked, answers = make(chan *Observation, 1), make(chan bool, 1)
	if v.inquiry != nil {
		v.next = func(o *Observation) bool {
			asked <- o
			return <-answers
		}
	}
	return asked, answers
}

// inside is the visit as the bubble's first goroutine makes it.
func (v *visit) inside(outer context.Context) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(outer))
	var hands hands
	v.hands, v.patience = &hands, patience
	number := bubbleNumber()
	v.mu.Lock()
	v.bubble = number
	v.mu.Unlock()
	v.run(ctx, cancel)
	cancel()
	hands.letGo()
	v.begin("waiting for the goroutines it left")
	v.over <- struct{}{}
	time.Sleep(grace) // for goroutines that look at their context now and then
	v.mu.Lock()
	defer v.mu.Unlock()
	v.done = true
}

// blocked is what a bubble returns: its goroutines are blocked for good.
type blocked struct{ error }

// afterBubble reads what a visit found whose bubble has ended.
func (v *visit) afterBubble(ctx context.Context, err error) *sight {
	v.mu.Lock()
	defer v.mu.Unlock()
	var stuck *blocked
	switch {
	case err == nil && v.done:
	case err == nil:
		v.fail(errors.New("the bubble did not run the cell to its end"))
	case !errors.As(err, &stuck):
		v.fail(fmt.Errorf("the bubble failed: %w", err))
	case !v.done:
		v.fail(fmt.Errorf("blocked for good, while %s: %w", v.step, err))
		v.seen.abandoned = true
	case !v.seen.abandoned:
		names, _ := strays(v.bubble)
		v.seen.leaked, v.seen.abandoned = cmp.Or(names, err.Error()), true
	}
	return v.sum(ctx)
}

// leftInIO reports whether user code left a goroutine in real I/O, so that the
// bubble does not end; after the grace that is a leak.
func (v *visit) leftInIO(after time.Duration) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	names, inIO := strays(v.bubble)
	if inIO && after >= grace {
		v.seen.leaked = names
		return true
	}
	v.left = names
	return false
}

// abandon leaves a visit behind, with what is known of it; over says that user
// code came to its end.
func (v *visit) abandon(ctx context.Context, over bool) *sight {
	v.close()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen.abandoned, v.seen.lingering = true, over && v.seen.undecided == nil
	switch why := v.why(cutWatchdog); {
	case v.seen.leaked != "":
	case v.left != "":
		v.fail(fmt.Errorf("%w: %s", why, v.left))
	default:
		v.fail(why)
	}
	return v.sum(ctx)
}

// fail says why the cell cannot be decided, unless that is said; v.mu is held.
func (v *visit) fail(why error) {
	if v.seen.undecided == nil {
		v.seen.undecided = why
	}
	if v.asking != nil {
		v.asking.Err = fmt.Errorf("%w: %w", ErrTimeout, why)
		v.collect(v.asking)
		v.seen.partial, v.asking = v.asking, nil
	}
}

// close ends the cell: later calls get ErrCellEnded.
func (v *visit) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.injector != nil {
		v.injector.Close()
	}
}

// sum returns what was seen so far; v.mu is held.
func (v *visit) sum(ctx context.Context) *sight {
	v.gatherLate()
	s := v.seen // the visit may go on
	s.sum(ctx, v.injector)
	return &s
}

// sum counts faults and calls. Whatever was seen of a run that was cancelled
// may come of that, even an answer.
func (s *sight) sum(ctx context.Context, in *chaos.Injector) {
	if ctx.Err() != nil {
		s.undecided, s.cancelled = errors.New("the run was cancelled"), true
	}
	if in != nil {
		s.late, s.dropped = toInt(in.LateCalls()), toInt(in.Dropped())
	}
	s.uncounted = s.observations[:len(s.observations):len(s.observations)]
	if s.partial != nil {
		s.uncounted = append(s.uncounted, s.partial)
	}
	s.deliveries = countDeliveries(s.uncounted)
}

// elapsed is how long the agent took.
func (s *sight) elapsed() (sum time.Duration) {
	for _, o := range s.observations {
		sum = plus(sum, o.Elapsed)
	}
	if s.partial != nil {
		sum = plus(sum, s.partial.Elapsed)
	}
	return sum
}

func countDeliveries(observations []*Observation) (d deliveries) {
	for _, o := range observations {
		for i := range o.Events {
			switch e := &o.Events[i]; {
			case e.Delivered:
				d.delivered++
			case e.Rule != "":
				d.undelivered++
			}
		}
	}
	d.absorbed = d.delivered > 0 && !reachedAgent(observations)
	return d
}

// upTo are the faults that the ruling may come of: those after the prompt that
// broke the invariant cannot be why, and there are none where later prompts are
// not put.
func (s *sight) upTo(r ruling) deliveries {
	if r.state != Broken || r.at < 0 || r.at+1 == len(s.observations) && s.partial == nil {
		return s.deliveries
	}
	return countDeliveries(s.observations[:r.at+1])
}
