package incident

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// faultsResource is where a server made by mcpadapter shows its latest faults.
const faultsResource = "chaos://faults"

// How often the resource is read: from a server that announces changes, and from
// one that does not.
const (
	readWhenAnnounced = 5 * time.Second
	readUnannounced   = time.Second
)

// A mark is the last event of the resource that was passed on. It outlives
// sessions, so that no event comes twice.
type mark struct {
	set      bool
	sequence uint64
	text     json.RawMessage // of that event; another text under its number is another server's
}

// faults is the resource: the latest events, numbered, the oldest first.
type faults struct {
	Last   uint64            `json:"last,string"`
	Faults []json.RawMessage `json:"faults"`
}

// watch follows the resource until the session ends.
func (s *Subscriber) watch(ctx context.Context, session *mcp.ClientSession, changed <-chan struct{}, m *mark) error {
	every := readUnannounced
	asking, cancel := context.WithTimeout(ctx, stepTimeout) // a server that does not answer is one that does not say
	if session.Subscribe(asking, &mcp.SubscribeParams{URI: faultsResource}) == nil {
		every = readWhenAnnounced
	}
	cancel()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		doc, err := readFaults(ctx, session)
		if err != nil {
			return err
		}
		s.passNew(doc, m)
		select {
		case <-changed:
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func readFaults(ctx context.Context, session *mcp.ClientSession) (doc faults, err error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	res, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: faultsResource})
	if err != nil {
		return doc, fmt.Errorf("%s: %w", faultsResource, err)
	}
	if len(res.Contents) != 1 {
		return doc, fmt.Errorf("%s has %d parts; allowed: 1", faultsResource, len(res.Contents))
	}
	return decodeFaults([]byte(res.Contents[0].Text))
}

// decodeFaults refuses impossible numbers, which would be counted as huge losses.
func decodeFaults(text []byte) (doc faults, err error) {
	if err := json.Unmarshal(text, &doc); err != nil {
		return faults{}, fmt.Errorf("%s: %w", faultsResource, err)
	}
	if doc.Last < uint64(len(doc.Faults)) || doc.Last > math.MaxInt64 {
		return faults{}, fmt.Errorf("%s: the last of %d events has the number %d", faultsResource, len(doc.Faults),
			doc.Last)
	}
	return doc, nil
}

// passNew passes events after the mark to the sink, and reports the number of
// those that are no longer in the resource. Events before the first reading are
// skipped.
func (s *Subscriber) passNew(doc faults, m *mark) {
	first := doc.Last + 1 - uint64(len(doc.Faults))
	if !m.set {
		m.move(doc, first)
		return
	}
	if m.another(doc, first) {
		s.report(fmt.Errorf("incident: %s: the server was started anew; its events are counted from 1 again",
			faultsResource))
		m.sequence = 0
	}
	if first > m.sequence+1 {
		n := first - m.sequence - 1
		s.report(&SubscriptionError{Text: strconv.FormatUint(n, 10) + " events were gone from " + faultsResource +
			" before they were read", Degraded: true, Dropped: n})
	}
	for i, event := range doc.Faults {
		if first+uint64(i) > m.sequence {
			s.pass("chaos/"+ModeResourceFaults, event)
		}
	}
	m.move(doc, first)
}

func (m *mark) move(doc faults, first uint64) {
	m.set, m.sequence = true, doc.Last
	if n := len(doc.Faults); n > 0 {
		m.text = doc.Faults[n-1]
	}
}

// another reports whether the numbers are those of another server: there are
// fewer than before, or the event of the mark differs.
func (m *mark) another(doc faults, first uint64) bool {
	if doc.Last < m.sequence {
		return true
	}
	at := m.sequence - first // wraps round where the event is gone
	return m.sequence > 0 && at < uint64(len(doc.Faults)) && !bytes.Equal(doc.Faults[at], m.text)
}
