package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/mcpadapter/client"
)

// A Server is an MCP server that the agent connects to.
type Server struct {
	Endpoint string       // an http or https URL
	Token    string       // a bearer token, a secret; "": none
	Client   *http.Client // nil: http.DefaultClient
}

// Dial opens a session, to be closed.
func (s Server) Dial(ctx context.Context) (*Session, error) {
	at, err := url.Parse(s.Endpoint)
	if err != nil || at.Host == "" {
		return nil, fmt.Errorf("offline: the endpoint is %q; allowed: an http or https URL", s.Endpoint)
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "shakedown-offline-agent", Version: "1"}, nil)
	session, err := c.Connect(ctx,
		&mcp.StreamableClientTransport{Endpoint: s.Endpoint, HTTPClient: client.WithToken(s.Client, s.Endpoint, s.Token),
			DisableStandaloneSSE: true}, nil)
	if err != nil {
		return nil, fmt.Errorf("offline: connect: %w", err)
	}
	return &Session{session}, nil
}

// A Session is an open connection.
type Session struct{ *mcp.ClientSession }

// Call calls a tool and reads its JSON into answer.
func (s *Session) Call(ctx context.Context, name string, args map[string]any, answer any) error {
	text, err := json.Marshal(args)
	if err == nil {
		text, err = client.Registry(s.ClientSession).CallTool(ctx, name, text)
	}
	if err == nil {
		err = json.Unmarshal(text, answer)
	}
	if err != nil {
		return fmt.Errorf("offline: %s: %w", name, err)
	}
	return nil
}
