//lint:file-ignore SA1019 log messages are deprecated, and what the servers that report faults push

package incident

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	words "github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/mcpadapter/client"
)

// The modes of a subscription.
const (
	ModeFaults         = "faults"
	ModeResourceFaults = "resource-faults"
)

// A Subscriber receives the fault events of an MCP server over streamable HTTP.
// Endpoint and Sink are required.
type Subscriber struct {
	_        struct{}
	Endpoint string                                          // URL of the server
	Token    string                                          // sent as a bearer token; a secret; "": none
	Mode     string                                          // "": ModeFaults
	Filter   map[string]any                                  // further arguments of events_subscribe, such as namespace
	Sink     func(logger string, data json.RawMessage) error // [Runner.Offer]; must not block; its errors are logged
	// called when a session is lost, or the server reports that it dropped events; nil: only logged
	OnError func(error)
	Client  *http.Client // nil: http.DefaultClient
	Log     *slog.Logger // nil: nothing is logged
}

// The revision of the protocol whose servers push log messages to a session.
// Later ones have no sessions.
const pushingRevision = "2025-11-25"

const (
	leastBackoff = time.Second
	mostBackoff  = 60 * time.Second
	keepAlive    = 30 * time.Second // a dead connection is noticed after it
	stepTimeout  = 30 * time.Second // of one request while a session is set up
	maxProblem   = 500              // bytes of what a server reports of a subscription
)

// Check returns everything that is wrong with the settings.
func (s *Subscriber) Check() error {
	problems := fields.List()
	if u, err := url.Parse(s.Endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		problems.Wrong("Endpoint", withoutUser(s.Endpoint), "an http or https URL")
	}
	problems.Demand(s.Sink != nil, "Sink", nil, "a function")
	problems.Demand(s.Mode == "" || s.Mode == ModeFaults || s.Mode == ModeResourceFaults,
		"Mode", s.Mode, ModeFaults+"|"+ModeResourceFaults)
	return problems.Err()
}

// withoutUser removes the name and the password from a URL, even one that
// cannot be parsed.
func withoutUser(endpoint string) string {
	if at := strings.LastIndexByte(endpoint, '@'); at >= 0 {
		return "(hidden)" + endpoint[at:]
	}
	return endpoint
}

// Run keeps a subscribed session until the context ends, and returns the
// context's error. If a session cannot be opened, or is lost, Run tries again
// after 1 s, 2 s, 4 s and so on up to 60 s. Each pause is shortened at random
// by up to a half, so that many clients do not return at once. After a session
// that lasted longer than the pause, the first pause is 1 s again. Wrong
// settings are returned at once.
func (s *Subscriber) Run(ctx context.Context) error {
	if err := s.Check(); err != nil {
		return err
	}
	backoff := leastBackoff
	for {
		began := time.Now()
		subscribed, err := s.session(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// A server that takes subscriptions and drops them at once gets no more
		// attempts than one that refuses them.
		if subscribed && time.Since(began) >= backoff {
			backoff = leastBackoff
		}
		wait := backoff/2 + rand.N(backoff/2)
		s.report(fmt.Errorf("incident: session lost, next attempt in %v: %w", wait.Round(time.Millisecond), err))
		if pause(ctx, wait) != nil {
			return ctx.Err()
		}
		backoff = min(2*backoff, mostBackoff)
	}
}

// session opens a session and stays until it ends.
func (s *Subscriber) session(ctx context.Context) (subscribed bool, err error) {
	setup, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	session, err := s.connect(setup)
	if err != nil {
		return false, err
	}
	defer session.Close()
	ctx, lost := context.WithCancelCause(ctx)
	defer lost(nil)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		lost(cmp.Or(session.Wait(), errors.New("the server closed the session")))
	}()
	defer func() {
		_ = session.Close()
		<-ended
	}()
	if err := s.subscribe(setup, session); err != nil {
		return false, err
	}
	<-ctx.Done()
	return true, context.Cause(ctx)
}

// connect opens a session to which messages can be pushed.
func (s *Subscriber) connect(ctx context.Context) (*mcp.ClientSession, error) {
	protocol := mcp.NewClient(&mcp.Implementation{Name: "shakedown-incident", Version: "1"},
		&mcp.ClientOptions{LoggingMessageHandler: s.receive, KeepAlive: keepAlive})
	// A stream that breaks ends the session, and a new one is made. A server that
	// keeps no events cannot resume a stream, and events would be lost until the
	// next ping.
	transport := &mcp.StreamableClientTransport{Endpoint: s.Endpoint, MaxRetries: -1,
		HTTPClient: client.WithToken(s.Client, s.Endpoint, s.Token)}
	return protocol.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: pushingRevision})
}

// subscribe first asks for log messages: a server sends none to a session
// without a level.
func (s *Subscriber) subscribe(ctx context.Context, session *mcp.ClientSession) error {
	if err := session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
		return fmt.Errorf("logging level: %w", err)
	}
	args := map[string]any{"mode": cmp.Or(s.Mode, ModeFaults)}
	for name, value := range s.Filter {
		args[name] = value
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "events_subscribe", Arguments: args})
	if err != nil {
		return fmt.Errorf("events_subscribe: %w", err)
	}
	if result.IsError {
		return fmt.Errorf("events_subscribe: %s", resultText(result))
	}
	s.log().Info("subscribed", "mode", args["mode"])
	return nil
}

// receive sorts the log messages of a session by their logger.
func (s *Subscriber) receive(_ context.Context, req *mcp.LoggingMessageRequest) {
	data, err := json.Marshal(req.Params.Data)
	if err != nil {
		s.report(fmt.Errorf("incident: notification of %s: %w", req.Params.Logger, err))
		return
	}
	switch topic := afterSlash(req.Params.Logger); topic {
	case ModeFaults, ModeResourceFaults:
		if err := s.Sink(req.Params.Logger, data); err != nil {
			s.log().Warn("event not taken", "logger", req.Params.Logger, "error", err)
		}
	case "subscription_error":
		s.report(fmt.Errorf("incident: the server reports of a subscription: %s", words.Clip(string(data), maxProblem)))
	default: // the server's own logging
		s.log().Debug("server log", "logger", req.Params.Logger, "data", string(data))
	}
}

// afterSlash returns the topic of a logger of a known server: kubernetes/… and
// chaos/….
func afterSlash(logger string) string {
	origin, topic, _ := strings.Cut(logger, "/")
	if origin == "kubernetes" || origin == "chaos" {
		return topic
	}
	return ""
}

func (s *Subscriber) report(err error) {
	s.log().Warn("subscription", "error", err)
	if s.OnError != nil {
		s.OnError(err)
	}
}

func (s *Subscriber) log() *slog.Logger {
	if s.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return s.Log
}

func resultText(r *mcp.CallToolResult) string {
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			return t.Text
		}
	}
	return "an error without a text"
}
