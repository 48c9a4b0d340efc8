package policy

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Transport returns a transport whose calls have the client's request
// identifiers in the audit log: a transport alone does not pass them to a
// server. It is for standard input and memory, whose caller is [Options.Local].
// An HTTP handler gets them from [Gate.HTTPHandler].
func (g *Gate) Transport(t mcp.Transport) mcp.Transport { return identified{g, t} }

type identified struct {
	gate *Gate
	mcp.Transport
}

func (t identified) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return identifiedConn{t.gate, c}, nil
}

type identifiedConn struct {
	gate *Gate
	mcp.Connection
}

func (c identifiedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if req, ok := m.(*jsonrpc.Request); ok && err == nil && req.Extra == nil {
		from := &origin{caller: c.gate.local, transport: transportStdio}
		if text, err := json.Marshal(req.ID.Raw()); err == nil && req.ID.IsValid() {
			from.ids = &idScanner{found: text}
		}
		req.Extra = &mcp.RequestExtra{TokenInfo: from.info()}
	}
	return m, err
}
