package mcpadapter

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/faultevent"
)

// uriFaults is the resource of the latest delivered faults, for clients that
// have no sessions and for those that only follow resources.
const uriFaults = "chaos://faults"

// keptFaults is how many faults the resource shows.
const keptFaults = 256

// faultLog remembers the latest faults, numbered from 1.
type faultLog struct {
	mu     sync.Mutex
	faults []numbered
	last   uint64
}

// numbered is a fault with its sequence number, by which a client knows what it
// has not seen. Numbers are decimal strings: they have 64 bits.
type numbered struct {
	Sequence string `json:"sequence"`
	faultevent.Flat
}

func (l *faultLog) add(f faultevent.Flat) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.faults) == keptFaults {
		l.faults = slices.Delete(l.faults, 0, 1)
	}
	l.last++
	l.faults = append(l.faults, numbered{strconv.FormatUint(l.last, 10), f})
}

// faultsDocument is the text of the resource.
type faultsDocument struct {
	Last    string     `json:"last"`    // number of the latest fault; "0": none yet
	Omitted uint64     `json:"omitted"` // older ones, which are not kept
	Lost    uint64     `json:"lost"`    // those that came too fast and were dropped; they have no number
	Faults  []numbered `json:"faults"`  // oldest first
}

func (l *faultLog) document(lost uint64) faultsDocument {
	l.mu.Lock()
	defer l.mu.Unlock()
	faults := append([]numbered{}, l.faults...)
	return faultsDocument{strconv.FormatUint(l.last, 10), l.last - uint64(len(faults)), lost, faults}
}

// addFaults adds the resource if there are events to show.
func (s *Server) addFaults() {
	if s.hub == nil {
		return
	}
	s.mcp.AddResource(&mcp.Resource{URI: uriFaults, Name: "faults", Title: "Faults that struck lately", MIMEType: mimeJSON,
		Description: "The last 256 faults that were delivered in the live program, oldest first, each with its number, target, kind, severity and time. Subscribe to be told when there are more, and read on from the last number you saw."},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			text, err := json.Marshal(s.hub.log.document(s.host.Events.Dropped()))
			return content(uriFaults, mimeJSON, text), err
		})
	s.mcp.AddSendingMiddleware(s.hub.updatesByReaders)
	s.onEvent(s.notifyOfFault)
}

// methodUpdated is the notification that a resource has changed.
const methodUpdated = "notifications/resources/updated"

// updatesByReaders passes that notification to the reader of the session. The
// SDK notifies all sessions in a row, and would wait for one that does not
// read.
func (h *hub) updatesByReaders(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		session, ok := req.GetSession().(*mcp.ServerSession)
		if method != methodUpdated || !ok {
			return next(ctx, method, req)
		}
		ctx = context.WithoutCancel(ctx)
		h.mu.Lock()
		defer h.mu.Unlock()
		if !h.closed {
			h.reader(session).update(func() { _, _ = next(ctx, method, req) })
		}
		return nil, nil
	}
}

// subscribes accepts subscriptions to the resource of faults only: no other
// resource reports its changes.
func (s *Server) subscribes(_ context.Context, req *mcp.SubscribeRequest) error {
	if req.Params.URI != uriFaults {
		return mcp.ResourceNotFoundError(req.Params.URI)
	}
	return nil
}

func (s *Server) unsubscribes(context.Context, *mcp.UnsubscribeRequest) error { return nil }

// notifyOfFault notifies the subscribers to events, and then those to the
// resource. The pump calls it.
func (s *Server) notifyOfFault(e chaos.Event) {
	s.hub.publish(e)
	_ = s.mcp.ResourceUpdated(s.life, &mcp.ResourceUpdatedNotificationParams{URI: uriFaults}) // readers do the sending
}
