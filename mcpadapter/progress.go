package mcpadapter

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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
