package usercode

import (
	"context"
	"time"
)

// A Loop runs user code on a goroutine of its own, one call at a time. It keeps the
// goroutine for the next call, because a new one would have to grow its stack each
// time. It must be used by one goroutine. The zero value is ready; release it at
// the end.
type Loop struct {
	Exited error // of a function that ends its goroutine; nil: [ErrExited]

	serving *server
}

// A server is the goroutine of a loop.
type server struct {
	exited error
	work   chan func() error
	ended  chan error // one slot, so that a loop that was released can send and end
}

func (s *server) serve() {
	for fn := range s.work {
		run(s.exited, fn, s.send)
	}
}

func (s *server) send(err error) { s.ended <- err }

// Start runs fn and returns the channel on which its error arrives, as of [Go].
// What is received there must be passed to Received.
func (l *Loop) Start(fn func() error) <-chan error {
	if l.serving == nil {
		l.serving = &server{named(l.Exited), make(chan func() error, 1), make(chan error, 1)}
		go l.serving.serve()
	}
	l.serving.work <- fn
	return l.serving.ended
}

// Received returns err, an error from Start's channel, and drops a goroutine that
// has ended.
func (l *Loop) Received(err error) error {
	if l.serving != nil && err == l.serving.exited {
		l.Release()
	}
	return err
}

// Release drops the goroutine. It ends when the current call does, if ever.
func (l *Loop) Release() {
	if l.serving != nil {
		close(l.serving.work)
		l.serving = nil
	}
}

// Limits are what ends the wait for user code.
type Limits struct {
	Ctx      context.Context    // of the code; when it ends, the code should
	Cancel   context.CancelFunc // ends Ctx when one of the others does
	Watchdog <-chan time.Time   // in real time; nil: none, as in a bubble
	Patience time.Duration      // in virtual time; 0: without end
}

// A Cut is what ended the wait for user code.
type Cut uint8

// The cuts.
const (
	Uncut       Cut = iota // it returned, panicked or ended its goroutine
	CutByCtx               // its context ended, and it did not end within [Grace]
	CutHung                // patience was over
	CutWatchdog            // the watchdog expired
)

// An Ending is how a call of user code ended, or that it was left.
type Ending struct {
	Err  error // what it returned, a [*PanicError] or [Loop.Exited]
	Cut  Cut
	Left bool // it is still running
}

// Call runs fn within limits.
func (l *Loop) Call(limits Limits, fn func() error) Ending {
	ended := l.Start(fn)
	var hung <-chan time.Time
	if limits.Patience > 0 {
		t := time.NewTimer(limits.Patience)
		defer t.Stop()
		hung = t.C
	}
	var e Ending
	select {
	case err := <-ended:
		return Ending{Err: l.Received(err)}
	case <-limits.Ctx.Done():
		e.Cut = CutByCtx
	case <-hung:
		e.Cut = CutHung
	case <-limits.Watchdog:
		e.Cut = CutWatchdog
	}
	limits.Cancel()
	t := time.NewTimer(Grace)
	defer t.Stop()
	select {
	case err := <-ended:
		if e.Err = l.Received(err); e.Cut == CutByCtx {
			e.Cut = Uncut // it noticed the end of its context and returned, as it should
		}
	case <-t.C:
		l.Release()
		e.Left = true
	}
	return e
}

// Aside runs user code that has no context for at most limit of real time. If it
// takes longer it is left behind.
func (l *Loop) Aside(limit time.Duration, fn func()) Ending {
	t := time.NewTimer(limit)
	defer t.Stop()
	ended := l.Start(func() error {
		fn()
		return nil
	})
	select {
	case err := <-ended:
		return Ending{Err: l.Received(err)}
	case <-t.C:
		l.Release()
		return Ending{Cut: CutWatchdog, Left: true}
	}
}
