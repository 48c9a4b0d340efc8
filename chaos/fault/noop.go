package fault

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// SilentNoOp makes a call succeed without doing anything: the callee is not
// reached, and the caller gets the result of an earlier call to the same
// target.
//
// It learns that result from the first successful call to the target that the
// rule matches. That call goes through, and the fault is not delivered on it.
// If the trigger matches only one call, use [SilentNoOpWith].
func SilentNoOp() chaos.Fault { return &silentNoOp{learns: true} }

// SilentNoOpWith is [SilentNoOp] with the result v, a value as with [Replace].
// nil is the zero value, or null if the result is JSON. On a stream only nil
// fits: the stream is empty. If v does not fit the result, the call goes
// through, and its event says why the fault was not delivered.
func SilentNoOpWith(v any) chaos.Fault { return &silentNoOp{v: kept(v)} }

type silentNoOp struct {
	*label
	v      any
	learns bool

	mu      sync.Mutex
	learned map[string]memo // results, by target
}

func (n *silentNoOp) Fresh() chaos.Fault {
	return &silentNoOp{label: n.label, v: n.v, learns: n.learns}
}

func (n *silentNoOp) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	if !n.learns {
		return kept(given(n.v, args)), nil
	}
	m, why := n.known(c.Target), "the call went through, to learn what a success looks like"
	if m != nil {
		v, unread := m()
		if unread == "" {
			return v, nil
		}
		why = "the call went through: " + unread
	}
	result, err := next(ctx, args)
	if err == nil {
		chaos.Note(ctx, why)
		n.learn(c.Target, result)
	}
	return result, err
}

func (n *silentNoOp) known(target string) memo {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.learned[target]
}

func (n *silentNoOp) learn(target string, result any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.learned == nil {
		n.learned = make(map[string]memo)
	}
	if _, ok := n.learned[target]; ok || len(n.learned) < maxRemembered {
		n.learned[target] = remembered(result)
	}
}

func (n *silentNoOp) Describe() chaos.Description {
	d := n.on(chaos.Description{
		Kind: "silent_no_op", Class: chaos.ClassOmission, Visibility: chaos.Implicit,
		Persistence: chaos.Transient, Effect: chaos.EffectNone,
	})
	if n.learns {
		return d
	}
	return param.With(d, valueParams{orNull(jsonvalue.Document(n.v))})
}

// valueParams are the parameters of a fault that gives a value.
type valueParams struct {
	Value json.RawMessage `json:"value"`
}

func orNull(doc json.RawMessage) json.RawMessage {
	if doc == nil {
		return json.RawMessage("null")
	}
	return doc
}

// given returns v as the result of a callee that was not reached: for a caller
// that passed JSON, nil is null.
func given(v, args any) any {
	if _, ok := args.(json.RawMessage); ok && v == nil {
		return json.RawMessage("null")
	}
	return v
}

// memo returns a result again, or says why it cannot.
type memo func() (v any, why string)

// keeper is a result that its caller has to read before it can be returned
// again, such as the body of an HTTP response.
type keeper interface {
	Keep() (again func() (result any, why string))
}

// remembered stores a result for later calls, before its caller gets it.
func remembered(v any) memo {
	if k, ok := v.(keeper); ok {
		return k.Keep()
	}
	own := kept(v)
	return func() (any, string) { return kept(own), "" }
}

// kept returns a value that is safe to return to later calls: bytes are copied,
// since an earlier caller may write to them.
func kept(v any) any {
	switch v := v.(type) {
	case json.RawMessage:
		return slices.Clone(v)
	case []byte:
		return slices.Clone(v)
	}
	return v
}
