package faulthub

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// URI is the resource of the latest delivered faults, for clients that have no
// sessions and for those that only follow resources.
const URI = "chaos://faults"

// keptFaults is how many faults the resource shows.
const keptFaults = 256

// faultLog remembers the latest faults, numbered from 1.
type faultLog struct {
	mu     sync.Mutex
	faults []Numbered
	last   uint64
}

// A Numbered is a fault with its sequence number, by which a client knows what it
// has not seen. Numbers are decimal strings: they have 64 bits.
type Numbered struct {
	Sequence string `json:"sequence"`
	Flat
}

func (l *faultLog) add(f Flat) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.faults) == keptFaults {
		l.faults = slices.Delete(l.faults, 0, 1)
	}
	l.last++
	l.faults = append(l.faults, Numbered{strconv.FormatUint(l.last, 10), f})
}

// A Document is the text of the resource.
type Document struct {
	Last    string     `json:"last"`    // number of the latest fault; "0": none yet
	Omitted uint64     `json:"omitted"` // older ones, which are not kept
	Lost    uint64     `json:"lost"`    // those that came too fast and were dropped; they have no number
	Faults  []Numbered `json:"faults"`  // oldest first
}

func (l *faultLog) document(lost uint64) Document {
	l.mu.Lock()
	defer l.mu.Unlock()
	faults := append([]Numbered{}, l.faults...)
	return Document{strconv.FormatUint(l.last, 10), l.last - uint64(len(faults)), lost, faults}
}

// methodUpdated is the notification that a resource has changed.
const methodUpdated = "notifications/resources/updated"

// Updates is middleware that passes that notification to the reader of the session. The
// SDK notifies all sessions in a row, and would wait for one that does not
// read.
func (h *Hub) Updates(next mcp.MethodHandler) mcp.MethodHandler {
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

// Latest returns the latest faults. lost is how many were lost before the hub.
func (h *Hub) Latest(lost uint64) Document { return h.log.document(lost) }
