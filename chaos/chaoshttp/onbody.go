package chaoshttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// OnBody lets a fault of results, such as one of package chaos/lies, change
// the JSON body of a response: it gets the body as its result. f acts in
// [chaos.PhaseChange]. It runs when somebody reads the body, and its call ends
// with that. A body that is no JSON, longer than 4 MiB, or a stream of events
// or documents, is not changed.
func OnBody(f chaos.Fault) chaos.Fault { return onBody{f} }

type onBody struct{ inner chaos.Fault }

func (f onBody) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	return change{apply: func(ctx context.Context, c chaos.Call, r Response, _ Request) (Response, error) {
		if streams(ctx, r) {
			return r, nil
		}
		return spoil(ctx, resized(r), func(s *spoiled, body io.Reader) io.Reader {
			return &lazy{open: func() io.Reader { return f.read(s, c, args, body) }}
		}), nil
	}}.Inject(ctx, c, args, next)
}

// read is the body as the fault leaves it.
func (f onBody) read(s *spoiled, c chaos.Call, args any, body io.Reader) io.Reader {
	doc, rest, ok := whole(s, body)
	if !ok {
		return io.MultiReader(bytes.NewReader(doc), rest)
	}
	result, err := f.inner.Inject(s.ctx, c, args, func(context.Context, any) (any, error) {
		return json.RawMessage(bytes.Clone(doc)), nil
	})
	if err != nil {
		if ctxErr := s.ctx.Err(); ctxErr != nil && errors.Is(err, ctxErr) {
			return broken{err} // it waited, and the caller left
		}
		return broken{s.fail(err)}
	}
	raw, ok := result.(json.RawMessage)
	if !ok {
		if raw, err = json.Marshal(result); err != nil {
			s.note("the fault made a result that has no JSON: " + err.Error())
			return bytes.NewReader(doc)
		}
	}
	return bytes.NewReader(raw)
}

// whole reads a JSON document of at most 4 MiB. Otherwise it says so on the
// event, and what it has read comes before rest.
func whole(s *spoiled, body io.Reader) (doc []byte, rest io.Reader, ok bool) {
	doc, err := io.ReadAll(io.LimitReader(body, mostJSON+1))
	rest = body
	if err != nil {
		rest = broken{err}
	}
	if ok = err == nil && len(doc) <= mostJSON && json.Valid(doc); !ok {
		s.note("the body is no JSON of at most 4 MiB")
	}
	return doc, rest, ok
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

// kindOf is what a fault calls itself.
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
