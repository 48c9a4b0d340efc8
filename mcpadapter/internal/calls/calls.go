// Package calls counts the calls of a server, so that it can end when they have,
// and keeps apart what must not run twice at a time.
package calls

import (
	"context"
	"net/http"
	"sync"

	"github.com/shakedown-go/shakedown/mcpadapter/internal/failure"
)

// Active counts the calls under way. Make one with [NewActive]. Its methods are
// safe for concurrent use.
type Active struct {
	idle chan struct{} // closed when closing and n is 0

	mu      sync.Mutex
	closing bool
	n       int
}

// NewActive returns a counter that accepts calls.
func NewActive() *Active { return &Active{idle: make(chan struct{})} }

// Begin counts a call as active, unless the server is closing; done ends that.
func (a *Active) Begin() (done func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closing {
		return nil, &failure.Problem{Status: http.StatusServiceUnavailable, Code: failure.CodeClosing,
			Detail: "the server is shutting down", Hint: "Connect again when it is back."}
	}
	a.n++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.n--
		a.signalIdle()
	}, nil
}

// UntilAnswered counts a request as active until its answer is written. The SDK
// ends the request's context then; it drops the answers of a session that is
// closed earlier.
func (a *Active) UntilAnswered(request context.Context) error {
	done, err := a.Begin()
	if err != nil {
		return err
	}
	if request.Done() == nil {
		done()
	} else {
		context.AfterFunc(request, done)
	}
	return nil
}

// signalIdle signals that no call is active any more. a.mu is held.
func (a *Active) signalIdle() {
	if !a.closing || a.n > 0 {
		return
	}
	select {
	case <-a.idle:
	default:
		close(a.idle)
	}
}

// Close refuses new calls. The channel is closed when the active ones have ended.
// It may be called more than once.
func (a *Active) Close() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closing = true
	a.signalIdle()
	return a.idle
}

// Closing reports whether new calls are refused.
func (a *Active) Closing() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.closing
}

// Exclusive prevents that one thing runs twice at a time. The zero value is ready.
type Exclusive struct {
	mu      sync.Mutex
	running map[string]bool
}

// Take returns a problem if what is running already.
func (x *Exclusive) Take(what string) (free func(), err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.running[what] {
		return nil, &failure.Problem{Status: http.StatusConflict, Code: failure.CodeConflict,
			Detail: what + " is running already", Hint: "Wait for the call that is under way, then call again."}
	}
	if x.running == nil {
		x.running = make(map[string]bool)
	}
	x.running[what] = true
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.running, what)
	}, nil
}
