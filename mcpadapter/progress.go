package mcpadapter

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A progress notifies the client of how far a call is. Writing to a client that
// does not read would block, so a goroutine of its own writes. A newer report
// replaces one that waits.
type progress struct {
	latest chan mcp.ProgressNotificationParams // nil: the client did not ask
	ended  chan struct{}
	token  any
	total  float64
}

// newProgress starts reporting, if the call has a progress token. end ends
// it.
func newProgress(ctx context.Context, req *mcp.CallToolRequest, total int) *progress {
	p := &progress{token: req.Params.GetProgressToken(), total: float64(total)}
	if p.token == nil {
		return p
	}
	p.latest, p.ended = make(chan mcp.ProgressNotificationParams, 1), make(chan struct{})
	go func() {
		defer close(p.ended)
		for params := range p.latest {
			if req.Session.NotifyProgress(ctx, &params) != nil {
				for range p.latest { // the client has gone
				}
			}
		}
	}()
	return p
}

// report reports that done of the total are done. It does not block. Only one
// goroutine may call it.
func (p *progress) report(done int, message string) {
	if p.latest == nil {
		return
	}
	select {
	case <-p.latest: // was not taken yet
	default:
	}
	p.latest <- mcp.ProgressNotificationParams{ProgressToken: p.token, Progress: float64(done), Total: p.total,
		Message: message}
}

// lastWord is how long the last notification may take.
const lastWord = 10 * time.Second

// end waits until the last notification is out, for lastWord at most. A client
// that does not read delays only its own notifications, until its session ends.
func (p *progress) end() {
	if p.latest == nil {
		return
	}
	close(p.latest)
	timer := time.NewTimer(lastWord)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
	}
}
