package chaoshttp

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// OnBody lets a fault of results, such as one of package chaos/lies, change the
// JSON body of a response: f gets the body as its result. f acts in
// [chaos.PhaseChange]. A body is not changed if it is no JSON, longer than 4
// MiB, or a stream of events or documents.
//
// If the response has a length, f runs before the caller has the header, whose
// length is then that of the changed body. Otherwise f runs when the body is
// read. The call ends with the body, and f is delivered once the caller has
// read the first byte that differs.
//
// The faults of package chaos/lies do the same without OnBody: around them it
// changes nothing.
func OnBody(f chaos.Fault) chaos.Fault { return onBody{f} }

type onBody struct{ inner chaos.Fault }

func (f onBody) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	return change{apply: func(ctx context.Context, c chaos.Call, r Response, of Request) (Response, error) {
		return r.onBody(ctx, c, of, f.inner), nil
	}}.Inject(ctx, c, args, next)
}

// OnBody lets a fault of results change the JSON body of the response, as the
// fault of that name does. A fault of another package calls it with the call
// and the arguments that it was given, to act on a document within a response.
// The result replaces the response.
func (r Response) OnBody(ctx context.Context, c chaos.Call, args any, f chaos.Fault) (any, error) {
	return onBody{f}.Inject(ctx, c, args, func(context.Context, any) (any, error) { return r, nil })
}

func (r Response) onBody(ctx context.Context, c chaos.Call, args any, f chaos.Fault) Response {
	if streams(ctx, r) {
		return r
	}
	return revise(ctx, r, mostJSON, notJSON, func(ctx context.Context, doc []byte) (revision, error) {
		if !json.Valid(doc) {
			chaos.Note(ctx, notJSON)
			return revision{doc: doc}, nil
		}
		held, changes := chaos.Withhold(ctx)
		result, err := f.Inject(held, c, args, func(context.Context, any) (any, error) {
			return json.RawMessage(bytes.Clone(doc)), nil
		})
		if err != nil {
			return revision{}, err
		}
		raw, ok := result.(json.RawMessage)
		if !ok {
			if raw, err = json.Marshal(result); err != nil {
				chaos.Note(ctx, "the fault made a result that has no JSON: "+err.Error())
				return revision{doc: doc}, nil
			}
		}
		return revision{doc: raw, what: changes()}, nil
	}, nil)
}

func (f onBody) Phase() chaos.Phase { return chaos.PhaseChange }

// Fresh gives a fault that remembers something its own memory.
func (f onBody) Fresh() chaos.Fault {
	if s, ok := f.inner.(chaos.Stateful); ok {
		return onBody{s.Fresh()}
	}
	return f
}

func (f onBody) Check() error {
	c := param.Check{Kind: "on_body"}
	phased, _ := f.inner.(chaos.Phased)
	switch {
	case f.inner == nil:
		c.That(false, "fault", nil, "a fault that changes results")
	case phased == nil || phased.Phase() != chaos.PhaseChange:
		c.That(false, "fault", kindOf(f.inner), "a fault that changes results")
	default:
		c.Part("fault", f.inner)
	}
	return c.Err()
}

// kindOf is the kind of a fault.
func kindOf(f chaos.Fault) string {
	if d, ok := f.(chaos.Described); ok {
		return d.Describe().Kind
	}
	return "one without a kind"
}

func (f onBody) Describe() chaos.Description {
	inner := chaos.Description{Class: chaos.ClassValue, Visibility: chaos.Implicit, Persistence: chaos.Transient, Effect: chaos.EffectDone}
	if d, ok := f.inner.(chaos.Described); ok {
		inner = d.Describe()
	}
	d := inner
	d.Kind = "on_body"
	return param.With(d, struct {
		Fault chaos.Description `json:"fault"`
	}{chaos.Description{Kind: inner.Kind, Params: inner.Params}})
}
