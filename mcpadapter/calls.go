package mcpadapter

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
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

// lastWord is how long the last notification may take.
const lastWord = 10 * time.Second

// newProgress returns what notifies the client of how far a call is, if the call has a
// progress token. Writing to a client that does not read would block, so a goroutine of its
// own writes, and a newer report replaces one that waits. report does not block, and only
// one goroutine may call it. end waits until the last notification is out, for lastWord at
// most: a client that does not read delays only its own notifications.
func newProgress(ctx context.Context, req *mcp.CallToolRequest, total int) (report func(done int, message string),
	end func()) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func(int, string) {}, func() {}
	}
	latest, ended := make(chan *mcp.ProgressNotificationParams, 1), make(chan struct{})
	go func() {
		defer close(ended)
		for params := range latest {
			if req.Session.NotifyProgress(ctx, params) != nil {
				for range latest { // the client has gone
				}
			}
		}
	}()
	report = func(done int, message string) {
		select {
		case <-latest: // was not taken yet
		default:
		}
		latest <- &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(done), Total: float64(total),
			Message: message}
	}
	return report, func() {
		close(latest)
		select {
		case <-ended:
		case <-time.After(lastWord):
		}
	}
}
