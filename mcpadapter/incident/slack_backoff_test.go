package incident_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

// fickle is a network whose server takes every subscription, and ends the
// session's stream at once.
type fickle struct {
	mu         sync.Mutex
	subscribed int
	stream     chan struct{} // of the session; closed when it is subscribed
}

// silence is a stream that ends without an event.
type silence chan struct{}

func (s silence) Read([]byte) (int, error) { <-s; return 0, io.EOF }
func (s silence) Close() error             { return nil }

func (f *fickle) RoundTrip(req *http.Request) (*http.Response, error) {
	answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: req}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch req.Method {
	case http.MethodDelete:
		return answer, nil
	case http.MethodGet:
		answer.Body = silence(f.stream)
		answer.Header.Set("Content-Type", "text/event-stream")
		return answer, nil
	}
	var call struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if err := json.NewDecoder(req.Body).Decode(&call); err != nil {
		return nil, err
	}
	result := `{}`
	switch call.Method {
	case "initialize":
		f.stream = make(chan struct{})
		result = `{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"tools":{}},"serverInfo":{"name":"fickle","version":"1"}}`
	case "tools/call":
		f.subscribed++
		close(f.stream)
		result = `{"content":[]}`
	}
	if call.ID == nil {
		answer.StatusCode = http.StatusAccepted
		return answer, nil
	}
	answer.Header.Set("Content-Type", "application/json")
	answer.Header.Set("Mcp-Session-Id", "s")
	answer.Body = io.NopCloser(strings.NewReader(`{"jsonrpc":"2.0","id":` + string(call.ID) + `,"result":` + result + `}`))
	return answer, nil
}

// A server that accepts a subscription and drops it at once gets the same pauses
// as one that refuses it.
func TestAFickleServerIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := new(fickle)
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
		defer stop()
		err := (&incident.Subscriber{Endpoint: "http://fickle.test/mcp", Client: &http.Client{Transport: f},
			Sink: func(string, json.RawMessage) error { return nil }}).Run(ctx)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.GreaterOrEqual(t, f.subscribed, 10)
		assert.LessOrEqual(t, f.subscribed, 30, "pauses grow to a minute")
	})
}
