package mcpchaos

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
)

// Options are settings of middleware and transports. nil is the zero value.
type Options struct {
	_ struct{}
	// Injector is used whatever the contexts carry. Servers need it, because their
	// contexts come from the wire. nil: the injector in the context of each
	// request. A message that belongs to no request sent from here uses the context
	// of Connect.
	Injector *chaos.Injector
	// MaxLine is the length in bytes above which a received message breaks the
	// connection, as in the SDK's own transports. 0: [mcp.DefaultMaxLineLength];
	// negative: no limit.
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

// injector returns the injector that applies, or nil.
func (o *Options) injector(ctx context.Context) *chaos.Injector {
	if o.Injector != nil {
		return o.Injector
	}
	return chaos.FromContext(ctx)
}
