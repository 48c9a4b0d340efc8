package contract

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// A callLoop is a goroutine that runs user code, which may panic, end its
// goroutine or never return. It serves one call after the other, because a new
// goroutine for each call would have to grow its stack each time.
type callLoop struct {
	work  chan func() error
	ended chan error // one slot, so that a loop that was released can send and end
}

func (l *callLoop) serve() {
	for fn := range l.work {
		l.call(fn)
	}
}

// call reports how fn ended. A panic is recovered. After a Goexit nothing sets err,
// which is ErrFailNow then.
func (l *callLoop) call(fn func() error) {
	err := ErrFailNow
	defer func() { l.ended <- err }()
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: string(debug.Stack())}
		}
	}()
	err = fn()
}

// A caller runs user code on a goroutine of its own, one call at a time. It must
// be used by one goroutine. The zero value is ready; release it at the end.
type caller struct{ loop *callLoop }

// start runs fn and returns the channel on which its error arrives. What is
// received there must be passed to received.
func (c *caller) start(fn func() error) <-chan error {
	if c.loop == nil {
		c.loop = &callLoop{make(chan func() error, 1), make(chan error, 1)}
		go c.loop.serve()
	}
	c.loop.work <- fn
	return c.loop.ended
}

// received returns err, an error from start's channel, and drops a loop whose
// goroutine has ended.
func (c *caller) received(err error) error {
	if err == ErrFailNow { // its goroutine is gone
		c.release()
	}
	return err
}

// release drops the loop. Its goroutine ends when the current call does, if ever.
func (c *caller) release() {
	if c.loop != nil {
		close(c.loop.work)
		c.loop = nil
	}
}

// grace is how long user code may take to end once its time is over.
const grace = time.Second

// limits are what ends the wait for user code.
type limits struct {
	ctx      context.Context    // of the code; when it ends, the code should
	cancel   context.CancelFunc // ends ctx when one of the others does
	watchdog <-chan time.Time   // in real time; nil: none, as in a bubble
	patience time.Duration      // in virtual time; 0: without end
}

// A cut is what ended the wait for user code.
type cut uint8

const (
	uncut       cut = iota // it returned, panicked or ended its goroutine
	cutByCtx               // its context ended, and it did not end within the grace
	cutHung                // patience was over
	cutWatchdog            // the watchdog expired
)

// ending is how a call of user code ended, or that it was left.
type ending struct {
	err  error // what it returned, a [*PanicError] or [ErrFailNow]
	cut  cut
	left bool // it is still running
}

// call runs fn within limits.
func (c *caller) call(l limits, fn func() error) ending {
	ended := c.start(fn)
	var hung <-chan time.Time
	if l.patience > 0 {
		t := time.NewTimer(l.patience)
		defer t.Stop()
		hung = t.C
	}
	var e ending
	select {
	case err := <-ended:
		return ending{err: c.received(err)}
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
		if e.err = c.received(err); e.cut == cutByCtx {
			e.cut = uncut // it noticed the end of its context and returned, as it should
		}
	case <-t.C:
		c.release()
		e.left = true
	}
	return e
}

// callAside runs user code that has no context, under a watchdog of its own. It
// returns what went wrong, or "".
func callAside(c *caller, limit time.Duration, fn func()) (why string) {
	t := time.NewTimer(limit)
	defer t.Stop()
	ended := c.start(func() error {
		fn()
		return nil
	})
	select {
	case err := <-ended:
		if err = c.received(err); err != nil {
			return err.Error()
		}
		return ""
	case <-t.C:
		c.release()
		return fmt.Sprintf("it did not return within %v", limit)
	}
}
