package contract

import (
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
	undecided    string       // why more cannot be said, "" when nothing is missing
	leaked       string       // goroutines left behind in a bubble
	warning      string
	cancelled    bool           // the run was, and that shows
	abandoned    bool           // user code was left behind
	uncounted    []*Observation // those whose faults the report has not counted
	late         int
	dropped      int
	delivered    int
	undelivered  int
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
	w.watchdog.Reset(v.limit)
	defer w.watchdog.Stop()
	if bubble != nil {
		return w.lookInto(ctx, v, bubble)
	}
	v.hands, v.watchdog = &w.hands, w.watchdog.C
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	v.run(own, cancel)
	v.seen.sum(ctx, v.injector)
	return &v.seen
}

// lookInto makes a visit in virtual time, and watches from outside. From there
// it must not touch anything that was made inside: it only sets the flag that
// closes the injector.
func (w *worker) lookInto(ctx context.Context, v *visit, bubble Bubble) *sight {
	cancelled := ctx.Done() // made here: first asked for inside, it would belong to the bubble
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
	for {
		select {
		case err := <-ended:
			return v.afterBubble(ctx, w.hands.over(err))
		case <-w.watchdog.C:
			w.hands.letGo()
			return v.abandon(ctx)
		case <-cancelled:
			cancelled = nil
			v.close()
			w.watchdog.Reset(grace)
		}
	}
}

// inside is the visit as the bubble's first goroutine makes it.
func (v *visit) inside(outer context.Context) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(outer))
	var hands hands
	v.hands, v.patience = &hands, patience
	v.run(ctx, cancel)
	cancel()
	hands.letGo()
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
		v.fail("the bubble did not run the cell to its end")
	case !errors.As(err, &stuck):
		v.fail(fmt.Sprintf("the bubble failed: %v", err))
	case !v.done:
		v.fail(fmt.Sprintf("blocked for good, while %s: %v", v.step, err))
		v.seen.abandoned = true
	case !v.seen.abandoned:
		v.seen.leaked, v.seen.abandoned = err.Error(), true
	}
	return v.sum(ctx)
}

// abandon leaves a visit behind, with what is known of it.
func (v *visit) abandon(ctx context.Context) *sight {
	v.close()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen.abandoned = true
	v.fail(v.why(cutWatchdog))
	return v.sum(ctx)
}

// fail says why the cell cannot be decided, unless that is said; v.mu is held.
func (v *visit) fail(why string) {
	if v.seen.undecided == "" {
		v.seen.undecided = why
	}
	if v.asking != nil {
		v.asking.Err = fmt.Errorf("%w: %s", ErrTimeout, why)
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
	s := v.seen // the visit may go on
	s.sum(ctx, v.injector)
	return &s
}

// sum counts faults and calls. Whatever was seen of a run that was cancelled
// may come of that, even an answer.
func (s *sight) sum(ctx context.Context, in *chaos.Injector) {
	if ctx.Err() != nil {
		s.undecided, s.cancelled = "the run was cancelled", true
	}
	if in != nil {
		s.late, s.dropped = int(in.LateCalls()), int(in.Dropped())
	}
	s.uncounted = s.observations[:len(s.observations):len(s.observations)]
	if s.partial != nil {
		s.uncounted = append(s.uncounted, s.partial)
	}
	for _, o := range s.uncounted {
		s.count(o)
	}
}

// elapsed is how long the agent took.
func (s *sight) elapsed() (sum time.Duration) {
	for _, o := range s.observations {
		sum += o.Elapsed
	}
	if s.partial != nil {
		sum += s.partial.Elapsed
	}
	return sum
}

func (s *sight) count(o *Observation) {
	for _, e := range o.Events {
		switch {
		case e.Delivered:
			s.delivered++
		case e.Rule != "":
			s.undelivered++
		}
	}
}
