package mcpadapter

import (
	"context"
	"net/http"
	"sync"
)

// activeCalls counts the calls under way, so that the server can end when they
// have. The zero value is ready.
type activeCalls struct {
	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup
}

// begin counts a call as active, unless the server is closing; done ends that.
func (a *activeCalls) begin() (done func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, problem(http.StatusServiceUnavailable, codeClosing, "the server is shutting down",
			"Connect again when it is back.")
	}
	a.calls.Add(1)
	return a.calls.Done, nil
}

// untilAnswered counts a request as active until its answer is written. The SDK
// ends the request's context then; it drops the answers of a session that is
// closed earlier.
func (a *activeCalls) untilAnswered(request context.Context) error {
	done, err := a.begin()
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

// close refuses new calls. The channel is closed when the active ones have ended.
func (a *activeCalls) close() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	idle := make(chan struct{})
	go func() {
		a.calls.Wait()
		close(idle)
	}()
	return idle
}

func (a *activeCalls) closing() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.closed
}

// runsAlone takes a name until free is called, and refuses a second call for it.
func (s *Server) runsAlone(what string) (free func(), err error) {
	if _, busy := s.alone.LoadOrStore(what, true); busy {
		return nil, problem(http.StatusConflict, codeConflict, what+" is running already",
			"Wait for the call that is under way, then call again.")
	}
	return func() { s.alone.Delete(what) }, nil
}
