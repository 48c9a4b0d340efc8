package fault

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// Duplicate is [Repeat] with n = 2: the call is executed twice.
func Duplicate() chaos.Fault { return Repeat(2) }

// Repeat executes a call n times, one after the other, with the same arguments,
// like a network that delivers a request again. The caller gets the first
// reply, a result or an error; the others are dropped. n is at least 2.
//
// No further execution begins once the caller's context has ended or the
// injector was disarmed. The arguments are not copied, so the callee must not
// change them.
func Repeat(n int) chaos.Fault { return repeat.Of(times{n}) }

var repeat = &catalog.Inject[times]{
	Row: catalog.Row{
		Kind: "duplicate", Doc: "The call is executed several times.", Go: "fault.Duplicate(), fault.Repeat(n)",
		Example: `{"times":2}`,
		Class:   chaos.ClassProtocol, Visibility: chaos.Implicit, Effect: chaos.EffectDone,
	},
	Inject: func(ctx context.Context, _ chaos.Call, p times, args any, next chaos.Next) (any, error) {
		result, err := next(ctx, args)
		for i := 1; i < p.Times && again(ctx, err); i++ {
			_, _ = next(ctx, args) // these replies are dropped
		}
		return result, err
	},
}

type times struct {
	Times int `json:"times" bounds:"min=2" allowed:"a number of executions, at least 2" doc:"number of executions"`
}

// again reports whether a call that returned err may be executed once more.
func again(ctx context.Context, err error) bool {
	return chaos.Sleep(ctx, 0) == nil && !errors.Is(err, chaos.ErrCellEnded)
}

// LoseRequest loses a request on its way: the callee is not reached. The caller
// gets the same as with [LoseReplyAfter] and [Timeout], so it cannot tell them
// apart; reports do. d is at least 0.
func LoseRequest(d time.Duration) chaos.Fault { return loseRequest.Of(wait{d}) }

var loseRequest = &catalog.Inject[wait]{
	Row: catalog.Row{
		Kind: "lost_request", Doc: "The request is lost on its way, and the caller sees a time-out.",
		Go: "fault.LoseRequest(d)", Example: `{"duration":"1s"}`,
		Class: chaos.ClassOmission, Visibility: chaos.Explicit, Effect: chaos.EffectNone,
	},
	Inject: func(ctx context.Context, _ chaos.Call, p wait, args any, next chaos.Next) (any, error) {
		return timesOut(ctx, p.Duration, ErrTimeout, args, next)
	},
}

// DeliverTwice delivers a request twice; the first reply is lost, and the
// caller gets the second. A callee that recognises repeated requests answers
// with a conflict, or with its first answer. Any other callee does its work
// twice.
//
// [Duplicate] returns the first reply. On a stream DeliverTwice does so too,
// since items are handed over as they come.
func DeliverTwice() chaos.Fault { return deliverTwice.Of(catalog.None{}) }

var deliverTwice = &catalog.Inject[catalog.None]{
	Row: catalog.Row{
		Kind: "delivered_twice", Doc: "The request arrives twice, and the caller sees the second reply.",
		Go:    "fault.DeliverTwice()",
		Class: chaos.ClassProtocol, Visibility: chaos.Implicit, Effect: chaos.EffectDone,
	},
	Inject: func(ctx context.Context, _ chaos.Call, _ catalog.None, args any, next chaos.Next) (any, error) {
		result, err := next(ctx, args)
		if !again(ctx, err) {
			return result, err
		}
		return next(ctx, args)
	},
}

// maxRemembered bounds what a fault remembers of the calls of one injector.
const maxRemembered = 4096

// SilentNoOp makes a call succeed without doing anything: the callee is not
// reached, and the caller gets the result of an earlier call to the same
// target.
//
// It learns that result from the first successful call to the target that the
// rule matches. That call goes through, and the fault is not delivered on it.
// If the trigger matches only one call, use [SilentNoOpWith].
func SilentNoOp() chaos.Fault { return silentNoOp.Of(maybeValue{}) }

// SilentNoOpWith is [SilentNoOp] with the result v, a value as with [Replace].
// nil is the zero value, or null if the result is JSON. On a stream only nil
// fits: the stream is empty. If v does not fit the result, the call goes
// through, and its event says why the fault was not delivered.
func SilentNoOpWith(v any) chaos.Fault { return silentNoOp.Of(maybeValue(valueOf(v))) }

var silentNoOp = &catalog.Remember[maybeValue, results]{
	Row: catalog.Row{
		Kind: "silent_no_op", Doc: "The call succeeds, and nothing was done.",
		Go: "fault.SilentNoOp(), fault.SilentNoOpWith(v)", Example: `{"value":{"ok":true}}`,
		Class: chaos.ClassOmission, Visibility: chaos.Implicit, Effect: chaos.EffectNone,
	},
	Prepare: func(p maybeValue) maybeValue {
		if p.Value != nil {
			p = maybeValue(anyValue(p).given())
		}
		return p
	},
	Inject: (*results).inject,
}

type maybeValue struct {
	Value json.RawMessage `json:"value,omitempty" doc:"what the caller gets; left out: what an earlier call gave"`
	v     any
	set   bool
}

// Labelled returns the parameters of a hand-off that is dropped.
func (p maybeValue) Labelled() any { return anyValue(p) }

func (p maybeValue) Check(c *catalog.Check) {
	c.That(p.set || c.Kind != handoffDropped.Row.Kind, "value", nil, "a reply, as of SilentNoOpWith")
}

// results are those that a silent no-op learned, by target.
type results struct {
	mu      sync.Mutex
	learned map[string]memo
}

func (n *results) inject(ctx context.Context, c chaos.Call, p maybeValue, args any, next chaos.Next) (any, error) {
	if p.set {
		return kept(forCaller(p.v, args)), nil
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

func (n *results) known(target string) memo {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.learned[target]
}

func (n *results) learn(target string, result any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.learned == nil {
		n.learned = make(map[string]memo)
	}
	if _, ok := n.learned[target]; ok || len(n.learned) < maxRemembered {
		n.learned[target] = remembered(result)
	}
}

// forCaller returns v as the result of a callee that was not reached: for a caller
// that passed JSON, nil is null.
func forCaller(v, args any) any {
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
