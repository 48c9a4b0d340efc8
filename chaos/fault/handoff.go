package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// CorruptHandoff changes what one agent hands to another. The other agent gets
// the arguments after a JSON merge patch (RFC 7396), such as
// {"order":null,"amount":1}. The patch must be a JSON object. The event shows
// the arguments before and after.
//
// The arguments are JSON, or a Go value that encodes to JSON and decodes from
// it. If the patch does not change them, or does not fit them, they are passed
// on as they are, and the fault is not delivered. The same holds for an HTTP
// request, which is not a document.
//
// All faults of hand-offs act on the callable through which an agent hands
// over, which may be a tool.
func CorruptHandoff(patch json.RawMessage) chaos.Fault {
	return corruptHandoff.Of(patchParams{jsonvalue.Document(patch), patch})
}

var corruptHandoff = &catalog.Inject[patchParams]{
	Row: catalog.Row{Kind: "handoff_corrupt", Doc: "The arguments of a hand-off are changed.",
		Go: "fault.CorruptHandoff(patch)", Example: `{"patch":{"order":"A9"}}`, Layer: chaos.LayerMultiAgent,
		Class: chaos.ClassValue},
	Phase: chaos.PhaseBefore,
	Inject: func(ctx context.Context, _ chaos.Call, p patchParams, args any, next chaos.Next) (any, error) {
		return withArgs(ctx, args, next, patching(p.given()))
	},
}

type patchParams struct {
	Patch json.RawMessage `json:"patch" doc:"a JSON merge patch of the arguments (RFC 7396), an object"`
	patch json.RawMessage // as it was given in Go
}

func (p patchParams) given() json.RawMessage {
	if p.patch == nil {
		return p.Patch
	}
	return p.patch
}

func (p patchParams) Check(c *catalog.Check) {
	v, err := jsonvalue.Numbers(p.given())
	_, ok := v.(map[string]any)
	c.That(err == nil && ok, "patch", string(p.given()), "a JSON object")
}

// withArgs makes a call with the arguments that change returns.
func withArgs(ctx context.Context, args any, next chaos.Next, change func(args any) (any, error)) (any, error) {
	skip(ctx)
	before := jsonvalue.Document(args)
	changed, err := change(args)
	if err != nil {
		chaos.Note(ctx, fmt.Sprintf("the arguments, %T, were not changed: %v", args, err))
		return next(ctx, args)
	}
	if after := jsonvalue.Document(changed); !equal(before, after) {
		chaos.Changed(ctx, chaos.Change{Path: "$args", Before: before, After: after})
		args = changed
	}
	return next(ctx, args)
}

func patching(patch json.RawMessage) func(any) (any, error) {
	return func(args any) (any, error) {
		doc, isText := jsonvalue.Text(args)
		if !isText {
			doc = jsonvalue.Document(args)
		}
		out, err := merged(doc, patch)
		if err != nil || isText {
			return inForm(out, args), err
		}
		if args == nil {
			return nil, errors.New("there are none")
		}
		return jsonvalue.DecodeLike(out, args)
	}
}

// Misroute sends a hand-off to another agent: it sets the member of the
// arguments that names the agent. The member's name is required. The rest is as
// with [CorruptHandoff].
func Misroute(member, agent string) chaos.Fault { return misroute.Of(misrouteParams{member, agent}) }

var misroute = &catalog.Inject[misrouteParams]{
	Row: catalog.Row{Kind: "misroute", Doc: "A hand-off goes to another agent.", Go: "fault.Misroute(member, agent)",
		Example: `{"member":"agent","agent":"shipping"}`, Layer: chaos.LayerMultiAgent, Class: chaos.ClassProtocol},
	Phase: chaos.PhaseBefore,
	Inject: func(ctx context.Context, _ chaos.Call, p misrouteParams, args any, next chaos.Next) (any, error) {
		patch, _ := json.Marshal(map[string]string{p.Member: p.Agent}) // texts always have JSON
		return withArgs(ctx, args, next, patching(patch))
	},
}

type misrouteParams struct {
	Member string `json:"member" doc:"of the arguments, which names the agent"`
	Agent  string `json:"agent" doc:"the other agent"`
}

func (p misrouteParams) Check(c *catalog.Check) {
	c.That(p.Member != "", "member", strconv.Quote(p.Member), "the name of a member of the arguments")
}

// CycleHandoff makes the other agent hand the task straight back: it is not
// reached, and the caller gets reply, which should look like a hand-off to the
// caller; it is a value as with [SilentNoOpWith]. Without a [chaos.Rule.Limit]
// this never ends. An invariant over the number of calls finds it.
func CycleHandoff(reply any) chaos.Fault { return cycleHandoff.Of(valueOf(reply)) }

var cycleHandoff = &catalog.Inject[anyValue]{
	Row: catalog.Row{Kind: "handoff_cycle", Doc: "A hand-off is handed straight back.", Go: "fault.CycleHandoff(reply)",
		Example: `{"value":"please take over"}`, Layer: chaos.LayerMultiAgent, Class: chaos.ClassProtocol,
		Effect: chaos.EffectNone},
	Inject: func(_ context.Context, _ chaos.Call, p anyValue, args any, _ chaos.Next) (any, error) {
		return kept(forCaller(p.value(), args)), nil
	},
}

// StaleApproval reuses an approval: a request that the guardrail rejects gets
// the approval of an earlier, different request. approval is the verdict that
// approves, a value as with [Replace]; it is required.
//
// It remembers the calls that its rule matched, over all targets of the rule.
// Before the first approval it is not delivered.
func StaleApproval(approval any) chaos.Fault {
	return staleApproval.Of(verdictParams(valueOf(approval)))
}

var staleApproval = &catalog.Remember[verdictParams, approval]{
	Row: catalog.Row{Kind: "stale_approval", Doc: "A rejected request gets the approval of an earlier one.",
		Order: catalog.Deliveries, Go: "fault.StaleApproval(approval)",
		Example: `{"value":{"allowed":true,"rule":"payments"}}`, Layer: chaos.LayerControl, Class: chaos.ClassValue},
	Phase: chaos.PhaseChange,
	Inject: func(s *approval, ctx context.Context, _ chaos.Call, p verdictParams,
		args any, next chaos.Next,
	) (any, error) {
		request := jsonvalue.Document(args) // before the call, since the guardrail may change them
		verdict, err := next(ctx, args)
		if err != nil {
			return verdict, err
		}
		stale, ok := s.judge(request, verdict, anyValue(p).value())
		if !ok {
			return verdict, nil
		}
		chaos.Changed(ctx, chaos.Change{Before: jsonvalue.Document(verdict), After: jsonvalue.Document(stale)})
		return stale, nil
	},
}

// verdictParams is anyValue with a check.
type verdictParams anyValue

func (p verdictParams) Check(c *catalog.Check) {
	c.That(anyValue(p).value() != nil, "value", nil, "the verdict that approves, such as true")
}

// approval is the last one, and what it was for.
type approval struct {
	mu      sync.Mutex
	known   bool
	request json.RawMessage
	verdict any
}

// judge remembers an approval, and returns the remembered one for a request
// that was rejected.
func (s *approval) judge(request json.RawMessage, verdict, approves any) (stale any, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if equal(verdict, inForm(approves, verdict)) {
		s.known, s.request, s.verdict = true, request, kept(verdict)
		return nil, false
	}
	return kept(s.verdict), s.known && !bytes.Equal(request, s.request)
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
func Repeat(n int) chaos.Fault { return repeat.Of(times{n}) }

var repeat = &catalog.Inject[times]{
	Row: catalog.Row{Kind: "duplicate", Doc: "The call is executed several times.",
		Go: "fault.Duplicate(), fault.Repeat(n)", Example: `{"times":2}`, Class: chaos.ClassProtocol},
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
	Row: catalog.Row{Kind: "lost_request", Doc: "The request is lost on its way, and the caller sees a time-out.",
		Go: "fault.LoseRequest(d)", Example: `{"duration":"1s"}`, Class: chaos.ClassOmission,
		Visibility: chaos.Explicit, Effect: chaos.EffectNone},
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
	Row: catalog.Row{Kind: "delivered_twice", Doc: "The request arrives twice, and the caller sees the second reply.",
		Go: "fault.DeliverTwice()", Class: chaos.ClassProtocol},
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

var silentNoOp = &catalog.Remember[maybeValue, memos[string]]{
	Row: catalog.Row{Kind: "silent_no_op", Doc: "The call succeeds, and nothing was done.",
		Go: "fault.SilentNoOp(), fault.SilentNoOpWith(v)", Example: `{"value":{"ok":true}}`, Class: chaos.ClassOmission,
		Effect: chaos.EffectNone},
	Inject: noOp,
}

type maybeValue struct {
	Value json.RawMessage `json:"value,omitempty" doc:"what the caller gets; left out: what an earlier call gave"`
	v     any
	set   bool
}

func noOp(learned *memos[string], ctx context.Context, c chaos.Call, p maybeValue,
	args any, next chaos.Next) (any, error) {
	if p.set || p.Value != nil {
		return kept(forCaller(anyValue(p).value(), args)), nil
	}
	why := "the call went through, to learn what a success looks like"
	if m := learned.get(c.Target); m != nil {
		v, unread := m()
		if unread == "" {
			return v, nil
		}
		why = "the call went through: " + unread
	}
	result, err := next(ctx, args)
	if err == nil {
		chaos.Note(ctx, why)
		learned.put(c.Target, result)
	}
	return result, err
}

// memos are results that are remembered, up to maxRemembered.
type memos[K comparable] struct {
	mu sync.Mutex
	by map[K]memo
}

func (m *memos[K]) get(key K) memo {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.by[key]
}

func (m *memos[K]) put(key K, result any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.by == nil {
		m.by = make(map[K]memo)
	}
	if _, known := m.by[key]; known || len(m.by) < maxRemembered {
		m.by[key] = remembered(result)
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
