package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/scoring"
)

// A FieldError is one problem of the options. Several are joined.
type FieldError = scoring.FieldError

const fields fielderror.Package = "audit"

// A World is the tools under audit and the system that they work on.
type World struct {
	// Tools are required.
	Tools chaos.ToolRegistry
	// State returns all that the tools may change, as a value that encoding/json can write. It
	// should leave out what differs from run to run, such as ids and times. What it leaves out, the audit
	// does not see. nil: the result of [Options.StateTool]; without that the state is unknown.
	State func(ctx context.Context) (any, error)
	// Restart ends the program behind the tools and starts it again, with what it has stored. nil: it
	// cannot be restarted, and that is not tried.
	Restart func(ctx context.Context) error
	// Close releases the world; nil: nothing to release.
	Close func() error
}

// Claims are what a server says about a tool, in the words of MCP's annotations. nil: it says nothing.
type Claims struct {
	ReadOnly    *bool `json:"readOnlyHint,omitempty"`
	Idempotent  *bool `json:"idempotentHint,omitempty"`
	Destructive *bool `json:"destructiveHint,omitempty"`
}

// Options say what is audited, and what may be called. Exactly one of NewWorld and World is required.
type Options struct {
	_ struct{}
	// NewWorld makes a world whose state is always the same at the beginning. Each treatment has one of
	// its own, and two more for the state of one call. Treatments then run in parallel.
	NewWorld func(ctx context.Context) (*World, error)
	// World is one world for all treatments, one after the other.
	World *World
	// Reset brings World back to the same state. Without it the audit looks only at what the second call
	// changes after the first. So it finds tools that double, and none that is safe.
	Reset func(ctx context.Context) error
	// StateTool is the tool whose result is the state, for worlds without State. It is called often, with
	// its Example or {}.
	StateTool string
	// Claims are those of the tools' server, by tool. A tool without is read-only if it declares
	// [chaos.EffectNone].
	Claims map[string]Claims
	// Example has the arguments of a call that succeeds, by tool. Without it they are made from the tool's
	// input schema.
	Example map[string]json.RawMessage
	// Allow names the tools that may be called.
	Allow []string
	// Sandbox allows all tools, except those that claim to be destructive and are not in Allow.
	Sandbox bool
	// Timeout limits a call; 0: 30 s.
	Timeout time.Duration
	// Settle is waited for after the last call, before the state is read; 0: twice as long as one call
	// took, and at least 50 ms. Work that a tool does later is not seen.
	Settle time.Duration
	// Every is the least time between two calls of a treatment, and makes treatments run one after the
	// other. The two calls at once count as one. 0: no limit.
	Every time.Duration
	// Secrets are texts that no result may repeat. What looks like a key is redacted without.
	Secrets []string
}

const (
	defaultTimeout = 30 * time.Second
	leastSettle    = 50 * time.Millisecond
	retries        = 3 // further calls before the audit says that a call fails for ever
	retryAfter     = time.Second
	mostValue      = 8 << 10 // bytes of a result or a state that are kept
)

func (o *Options) check() error {
	if o == nil {
		o = new(Options)
	}
	p := fields.List()
	const one = "exactly one of NewWorld and World"
	switch {
	case o.NewWorld == nil && o.World == nil:
		p.Wrong("NewWorld", fielderror.Found("missing, and so is World"), one)
	case o.NewWorld != nil && o.World != nil:
		p.Wrong("NewWorld", fielderror.Found("set, and so is World"), one)
	case o.World == nil:
		p.Demand(o.Reset == nil, "Reset", fielderror.Found("set without World"), "only with World")
	default:
		p.Demand(o.World.Tools != nil, "World.Tools", fielderror.Found("nil"), "the tools")
	}
	for field, d := range map[string]time.Duration{"Timeout": o.Timeout, "Settle": o.Settle, "Every": o.Every} {
		p.Demand(d >= 0, field, d, "0 and up")
	}
	for tool, args := range o.Example {
		var object map[string]json.RawMessage
		p.Demand(json.Unmarshal(args, &object) == nil && object != nil, fmt.Sprintf("Example[%q]", tool), string(args), "a JSON object")
	}
	return p.Err()
}

// fresh reports whether the state of one call is known for each treatment.
func (o *Options) fresh() bool { return o.NewWorld != nil || o.Reset != nil }

// open returns a world in its first state. The caller calls closing.
func (o *Options) open(ctx context.Context) (w *World, closing func() error, err error) {
	closing = func() error { return nil }
	if o.NewWorld == nil {
		if o.Reset != nil {
			err = o.Reset(ctx)
		}
		return o.World, closing, err
	}
	if w, err = o.NewWorld(ctx); err != nil {
		return nil, closing, err
	}
	if w == nil || w.Tools == nil {
		return nil, closing, fields.Wrong("NewWorld", fielderror.Found("returned no tools"), "a world with tools")
	}
	if w.Close != nil {
		closing = w.Close
	}
	return w, closing, nil
}

var errNoState = errors.New("audit: the state is not known: there is neither World.State nor Options.StateTool")

// state reads the state of a world as JSON, with its numbers as they are spelled.
func (o *Options) state(ctx context.Context, w *World) (v any, err error) {
	var doc []byte
	switch {
	case w.State != nil:
		if v, err = w.State(ctx); err == nil {
			doc, err = json.Marshal(v)
		}
	case o.StateTool != "":
		args := o.Example[o.StateTool]
		if len(args) == 0 {
			args = json.RawMessage("{}")
		}
		doc, err = w.Tools.CallTool(ctx, o.StateTool, args)
	default:
		return nil, errNoState
	}
	if err != nil {
		return nil, fmt.Errorf("audit: the state could not be read: %w", err)
	}
	if v, err = jsonvalue.Numbers(doc); err != nil {
		return nil, fmt.Errorf("audit: the state is not JSON: %w", err)
	}
	return v, nil
}

func (o *Options) redactor() *redact.Redactor { return redact.New(o.Secrets, redact.Patterns) }
