package mcpchaos

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
)

// Options are settings of middleware and transports. nil is the zero value.
type Options struct {
	_ struct{}
	// Injector decides, whatever the contexts carry: for servers, whose
	// contexts come from the wire. nil: the one in the context of each request;
	// that of a message which belongs to no request sent from here is the one in the
	// context of Connect.
	Injector *chaos.Injector
	// MaxLine is the length in bytes above which a received message breaks the
	// connection, as the SDK's own transports have it. 0: [mcp.DefaultMaxLineLength]; negative: none.
	MaxLine int
}

func (o *Options) orDefault() Options {
	var full Options
	if o != nil {
		full = *o
	}
	if full.MaxLine == 0 {
		full.MaxLine = mcp.DefaultMaxLineLength
	}
	return full
}

// injector is the one in charge, or nil.
func (o *Options) injector(ctx context.Context) *chaos.Injector {
	if o.Injector != nil {
		return o.Injector
	}
	return chaos.FromContext(ctx)
}
