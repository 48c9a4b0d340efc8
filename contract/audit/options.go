package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
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
	// State returns all that the tools may change, as a value that encoding/json can write, without ids
	// and times that differ from run to run, and without counts of requests. What it leaves out, the audit
	// does not see. A call that was given up may still go on meanwhile. nil: the result of
	// [Options.StateTool], and without that the state is not known.
	State func(ctx context.Context) (any, error)
	// Restart ends the program behind the tools and starts it again with what it stored; nil: it cannot.
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
	// NewWorld makes a world that always begins in the same state. Each treatment has one of its own, and
	// two more for the state of one call. Treatments then run in parallel.
	NewWorld func(ctx context.Context) (*World, error)
	// World is one world for all treatments, one after the other. The caller closes it.
	World *World
	// Reset brings World back to the same state. Without it the audit looks only at what the second call
	// changes after the first. So it finds tools that double, and none that is safe.
	Reset func(ctx context.Context) error
	// StateTool is the tool whose result is the state of worlds without State. It is called often, without
	// [Options].Allow, with its Example or {}.
	StateTool string
	// StateNote says in words what the state is, and what it does not show; the result repeats it.
	StateNote string
	// Claims are those of the tools' server. A tool that has none here is read-only if it declares
	// [chaos.EffectNone].
	Claims map[string]Claims
	// Example has the arguments of a call that succeeds, by tool. Without it they are made from the tool's
	// input schema.
	Example map[string]json.RawMessage
	// Keys are JSON pointers (RFC 6901) to the argument that is the idempotency key, by tool. Without one it is
	// what the tool declares, or an argument with a usual name, such as idempotency_key. A tool is not called if its
	// arguments have no place for the key.
	Keys map[string]string
	// Allow names the tools that may be called. Sandbox allows all others too, except those that claim to
	// be destructive.
	Allow   []string
	Sandbox bool
	// Cancellations is how often the first call is cancelled after parts of the time that one call takes, which are
	// spread evenly: with 2 after a quarter and three quarters. As many cancellations are placed where the state
	// changes. A step that takes a smaller share of the time than 1/Cancellations, and that the state does not show,
	// may be missed. 0: 8.
	Cancellations int
	// Timeout limits a call, and a reading of the state; 0: 30 s.
	Timeout time.Duration
	// Settle is waited for after the last call, before the state is read; 0: twice as long as one call
	// took, and at least 50 ms. Work that a tool does later is not seen: with such a tool, raise it.
	Settle time.Duration
	// Every is waited for before each call. With it, [Run] makes one treatment after the other.
	Every time.Duration
	// Secrets are texts that no result may repeat. What looks like a key is redacted without.
	Secrets []string
}

const (
	usualCancellations = 8
	leastSettle        = 50 * time.Millisecond
	mostCalls          = 4 // that fail, before the audit says that a call fails for ever
	retryAfter         = time.Second
	mostValue          = 8 << 10 // bytes of a result or a state that are kept
)

func (o *Options) check() error {
	p := fields.List()
	const one = "exactly one of NewWorld and World"
	switch {
	case o == nil || o.NewWorld == nil && o.World == nil:
		p.Wrong("NewWorld", fielderror.Found("missing, and so is World"), one)
		return p.Err()
	case o.NewWorld != nil && o.World != nil:
		p.Wrong("NewWorld", fielderror.Found("set, and so is World"), one)
	case o.NewWorld != nil:
		p.Demand(o.Reset == nil, "Reset", fielderror.Found("set without World"), "only with World")
	default:
		p.Demand(o.World.Tools != nil, "World.Tools", fielderror.Found("nil"), "the tools")
	}
	for _, d := range []time.Duration{o.Timeout, o.Settle, o.Every} {
		p.Demand(d >= 0, "Timeout, Settle or Every", d, "0 and up")
	}
	for tool, pointer := range o.Keys {
		valid := pointer != "" && jsonedit.PointerTo("", jsonedit.PointerKeys(pointer)...) == pointer
		p.Demand(valid, fmt.Sprintf("Keys[%q]", tool), pointer, `a JSON pointer to an argument, such as "/key"`)
	}
	p.Demand(o.Cancellations >= 0, "Cancellations", o.Cancellations, "0 and up")
	for tool, args := range o.Example {
		var object map[string]json.RawMessage
		p.Demand(json.Unmarshal(args, &object) == nil && object != nil, fmt.Sprintf("Example[%q]", tool), string(args), "a JSON object")
	}
	return p.Err()
}

// fresh reports whether the state of one call is known for each treatment.
func (o *Options) fresh() bool { return o.NewWorld != nil || o.Reset != nil }

func (o *Options) timeout() time.Duration {
	return cmp.Or(o.Timeout, 30*time.Second)
}

// open returns a world in its first state. The caller closes it.
func (o *Options) open(ctx context.Context) (*World, error) {
	w, err := o.World, error(nil)
	switch {
	case o.NewWorld != nil:
		w, err = o.NewWorld(ctx)
	case o.Reset != nil:
		err = o.Reset(ctx)
	}
	switch {
	case err != nil:
		return nil, err
	case w == nil || w.Tools == nil:
		return nil, fields.Wrong("NewWorld", fielderror.Found("returned no tools"), "a world with tools")
	}
	own := *w
	if own.Close == nil || o.World != nil { // which its maker closes
		own.Close = func() error { return nil }
	}
	return &own, nil
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
		err = cmp.Or(err, refusal(doc))
	default:
		return nil, errNoState
	}
	if err == nil {
		v, err = jsonvalue.Numbers(doc)
	}
	return v, err
}

func (o *Options) redactor() *redact.Redactor { return redact.New(o.Secrets, redact.Patterns) }
