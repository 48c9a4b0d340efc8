package contract

import (
	"context"
	"runtime/debug"
	"time"
)

// A hand is a goroutine that runs user code, which may panic, end its
// goroutine or never return. It serves one call after the other, because a new
// goroutine for each would have to grow its stack each time.
type hand struct {
	work  chan func() error
	ended chan error // one slot: nobody has to wait for a hand that was left behind
}

func (h *hand) serve() {
	for fn := range h.work {
		h.run(fn)
	}
}

// run tells a panic from a Goexit by what is left to do when it ends.
func (h *hand) run(fn func() error) {
	err := ErrFailNow
	defer func() { h.ended <- err }()
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: string(debug.Stack())}
		}
	}()
	err = fn()
}

// hands lend a hand to one goroutine that has user code to run, one call at a
// time. The zero value is ready; what is lent at the end must be let go.
type hands struct{ lent *hand }

// start runs fn, and returns where its end is reported; see over.
func (s *hands) start(fn func() error) <-chan error {
	if s.lent == nil {
		s.lent = &hand{make(chan func() error, 1), make(chan error, 1)}
		go s.lent.serve()
	}
	s.lent.work <- fn
	return s.lent.ended
}

// over passes on what was received from start.
func (s *hands) over(err error) error {
	if err == ErrFailNow { // its goroutine is gone
		s.letGo()
	}
	return err
}

// letGo leaves the hand: when it has done what it is doing, if ever, it ends.
func (s *hands) letGo() {
	if s.lent != nil {
		close(s.lent.work)
		s.lent = nil
	}
}

// grace is how long user code may take to end once its time is over.
const grace = time.Second

// limits are what ends the wait for user code.
type limits struct {
	ctx      context.Context    // of the code; when it ends, the code should
	cancel   context.CancelFunc // ends ctx when one of the others does
	watchdog <-chan time.Time   // in real time; nil: it stands elsewhere
	patience time.Duration      // in virtual time; 0: without end
}

// A cut is what ended the wait for user code.
type cut uint8

const (
	uncut       cut = iota // it returned, panicked or ended its goroutine
	cutByCtx               // its context ended, and it did not within the grace
	cutHung                // patience was over
	cutWatchdog            // the watchdog expired
)

// ending is how user code ended, or was left.
type ending struct {
	err  error // what it returned, a [*PanicError] or [ErrFailNow]
	cut  cut
	left bool // it is still running
}

// call runs fn within limits.
func (s *hands) call(l limits, fn func() error) ending {
	ended := s.start(fn)
	var hung <-chan time.Time
	if l.patience > 0 {
		t := time.NewTimer(l.patience)
		defer t.Stop()
		hung = t.C
	}
	var e ending
	select {
	case err := <-ended:
		return ending{err: s.over(err)}
	case <-l.ctx.Done():
		e.cut = cutByCtx
	case <-hung:
		e.cut = cutHung
	case <-l.watchdog:
		e.cut = cutWatchdog
	}
	l.cancel()
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case err := <-ended:
		if e.err = s.over(err); e.cut == cutByCtx {
			e.cut = uncut // to notice the end and say so is right
		}
	case <-t.C:
		s.letGo()
		e.left = true
	}
	return e
}
