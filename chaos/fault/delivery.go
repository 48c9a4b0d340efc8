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
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

func deliveryRows() []*catalog.Row {
	return []*catalog.Row{repeatRow, loseRequestRow, deliverTwiceRow, replayRequestRow, silentNoOpRow}
}

// Duplicate is [Repeat] with n = 2: the call is executed twice.
func Duplicate() chaos.Fault { return Repeat(2) }

// Repeat executes a call n times, one after the other, with the same arguments,
// like a network that delivers a request again. The caller gets the first
// reply, a result or an error; the others are dropped. n is at least 2.
//
// No further execution begins once the caller's context has ended or the
// injector was disarmed. The arguments are not copied, so the callee must not
// change them.
func Repeat(n int) chaos.Fault { return repeat{times: times{n}} }

var repeatRow = catalog.Fault(catalog.Row{
	Kind: "duplicate", Doc: "The call is executed several times.", Go: "fault.Duplicate(), fault.Repeat(n)",
	Example: `{"times":2}`,
	Class:   chaos.ClassProtocol, Visibility: chaos.Implicit, Persistence: chaos.Transient, Effect: chaos.EffectDone,
}, func(p times) chaos.Fault { return Repeat(p.Times) })

type times struct {
	Times int `json:"times" bounds:"min=2" allowed:"a number of executions, at least 2" doc:"number of executions"`
}

type repeat struct {
	label
	times
}

func (r repeat) as(kind string) chaos.Fault  { return repeat{label{kind}, r.times} }
func (r repeat) Check() error                { return r.check(repeatRow, r.times).Err() }
func (r repeat) Describe() chaos.Description { return r.of(repeatRow).Describe(r.times) }

func (r repeat) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(ctx, args)
	for i := 1; i < r.Times && again(ctx, err); i++ {
		_, _ = next(ctx, args) // these replies are dropped
	}
	return result, err
}

// again reports whether a call that returned err may be executed once more.
func again(ctx context.Context, err error) bool {
	return chaos.Sleep(ctx, 0) == nil && !errors.Is(err, chaos.ErrCellEnded)
}

// LoseRequest loses a request on its way: the callee is not reached. The caller
// gets the same as with [LoseReplyAfter] and [Timeout], so it cannot tell them
// apart; reports do. d is at least 0.
func LoseRequest(d time.Duration) chaos.Fault { return loseRequest{wait{d}} }

var loseRequestRow = catalog.Fault(catalog.Row{
	Kind: "lost_request", Doc: "The request is lost on its way, and the caller sees a time-out.",
	Go: "fault.LoseRequest(d)", Example: `{"duration":"1s"}`,
	Class: chaos.ClassOmission, Visibility: chaos.Explicit, Persistence: chaos.Transient, Effect: chaos.EffectNone,
}, func(p wait) chaos.Fault { return loseRequest{p} })

type loseRequest struct{ wait }

func (l loseRequest) Check() error                { return loseRequestRow.Check(l.wait).Err() }
func (l loseRequest) Describe() chaos.Description { return loseRequestRow.Describe(l.wait) }

func (l loseRequest) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	return timesOut(ctx, l.Duration, ErrTimeout, args, next)
}

// DeliverTwice delivers a request twice; the first reply is lost, and the
// caller gets the second. A callee that recognises repeated requests answers
// with a conflict, or with its first answer. Any other callee does its work
// twice.
//
// [Duplicate] returns the first reply. On a stream DeliverTwice does so too,
// since items are handed over as they come.
func DeliverTwice() chaos.Fault { return deliverTwice{} }

var deliverTwiceRow = catalog.Fault(catalog.Row{
	Kind: "delivered_twice", Doc: "The request arrives twice, and the caller sees the second reply.",
	Go:    "fault.DeliverTwice()",
	Class: chaos.ClassProtocol, Visibility: chaos.Implicit, Persistence: chaos.Transient, Effect: chaos.EffectDone,
}, func(catalog.None) chaos.Fault { return DeliverTwice() })

type deliverTwice struct{}

func (deliverTwice) Describe() chaos.Description { return deliverTwiceRow.Describe(catalog.None{}) }

func (deliverTwice) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(ctx, args)
	if !again(ctx, err) {
		return result, err
	}
	return next(ctx, args)
}

// ReplayRequest delivers an old request again after a new one, like a queue
// that redelivers out of order. After each call the callee is invoked again
// with the arguments of the previous, different call to the same target. So the
// old request may overwrite what the new one wrote. The second reply is
// dropped.
//
// It remembers the calls that its rule matched. On the first of them there is
// nothing to replay, and it is not delivered. Arguments are not copied, so the
// callee must not change them.
func ReplayRequest() chaos.Fault { return &replayRequest{} }

var replayRequestRow = catalog.Fault(catalog.Row{
	Kind: "replayed_request", Doc: "The previous request arrives again after this one.", Go: "fault.ReplayRequest()",
	Order: catalog.Deliveries,
	Class: chaos.ClassProtocol, Visibility: chaos.Implicit, Persistence: chaos.Transient, Effect: chaos.EffectDone,
}, func(catalog.None) chaos.Fault { return ReplayRequest() })

type replayRequest struct {
	mu     sync.Mutex
	before map[string]any // arguments, by target
}

func (*replayRequest) Fresh() chaos.Fault          { return &replayRequest{} }
func (*replayRequest) Describe() chaos.Description { return replayRequestRow.Describe(catalog.None{}) }

func (r *replayRequest) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(ctx, args)
	old, known := r.remember(c.Target, args)
	if known && again(ctx, err) {
		_, _ = next(ctx, old)
	}
	return result, err
}

// remember stores the arguments and returns the previous ones, if they differ.
func (r *replayRequest) remember(target string, args any) (old any, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, known = r.before[target]
	if known && equal(old, args) {
		return nil, false
	}
	if r.before == nil {
		r.before = make(map[string]any)
	}
	if known || len(r.before) < maxRemembered {
		r.before[target] = kept(args)
	}
	return old, known
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
func SilentNoOp() chaos.Fault { return &silentNoOp{learns: true} }

// SilentNoOpWith is [SilentNoOp] with the result v, a value as with [Replace].
// nil is the zero value, or null if the result is JSON. On a stream only nil
// fits: the stream is empty. If v does not fit the result, the call goes
// through, and its event says why the fault was not delivered.
func SilentNoOpWith(v any) chaos.Fault { return &silentNoOp{v: kept(v)} }

var silentNoOpRow = catalog.Fault(catalog.Row{
	Kind: "silent_no_op", Doc: "The call succeeds, and nothing was done.",
	Go: "fault.SilentNoOp(), fault.SilentNoOpWith(v)", Example: `{"value":{"ok":true}}`,
	Class: chaos.ClassOmission, Visibility: chaos.Implicit, Persistence: chaos.Transient, Effect: chaos.EffectNone,
}, func(p maybeValue) chaos.Fault {
	if p.Value == nil {
		return SilentNoOp()
	}
	return SilentNoOpWith(p.Value)
})

type maybeValue struct {
	Value json.RawMessage `json:"value,omitempty" doc:"what the caller gets; left out: what an earlier call gave"`
}

// silentNoOp may have the label of a hand-off, which needs a value.
type silentNoOp struct {
	label
	v      any
	learns bool

	mu      sync.Mutex
	learned map[string]memo // results, by target
}

func (n *silentNoOp) Fresh() chaos.Fault { return n.as(n.kind) }

func (n *silentNoOp) as(kind string) chaos.Fault {
	return &silentNoOp{label: label{kind}, v: n.v, learns: n.learns}
}

func (n *silentNoOp) Check() error {
	if n.of(silentNoOpRow) == handoffDroppedRow {
		c := handoffDroppedRow.Check(n.value())
		c.That(!n.learns, "value", nil, "a reply, as of SilentNoOpWith")
		return c.Err()
	}
	return n.check(silentNoOpRow, maybeValue{}).Err()
}

func (n *silentNoOp) Describe() chaos.Description {
	if row := n.of(silentNoOpRow); !n.learns {
		return row.Describe(n.value())
	}
	return bare(n.of(silentNoOpRow))
}

func (n *silentNoOp) value() anyValue { return anyValue{jsonvalue.Document(n.v)} }

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
