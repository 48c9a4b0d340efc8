package chaostest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/telltale"
	"github.com/shakedown-go/shakedown/internal/text"
)

// FaultOptions are the call that a fault is checked on, and what it may do. The zero
// value is a tool call: its arguments and its result are JSON objects.
type FaultOptions struct {
	_ struct{}
	// Args and Result are what the callee is called with and returns, of the
	// types that the fault expects. They are not changed. nil: a json.RawMessage
	// with an object; that of Result has members of every type.
	Args, Result any
	// LosesErrors means that the fault may hide an error of the callee, as one
	// in PhaseAfter may anyway.
	LosesErrors bool
	// IgnoresContext means that the fault may go on after its context has ended.
	IgnoresContext bool
}

// request is what the callee is called with unless Args is set.
const request = `{"order":1042,"reason":"damaged"}`

// order is what the callee returns unless Result is set.
const order = `{"id":1042,"status":"shipped","total":17.5,"paid":true,"note":null,"items":["kettle","cup"],"customer":{"name":"Ann","since":"2024-02-29"}}`

// Fault checks a fault and returns all violations, joined, each a [*Violation];
// nil: there are none. o may be nil. The callee is one of Fault, so nothing
// outside is touched.
//
// A fault that is not delivered on any call passes if its events agree.
func Fault(f chaos.Fault, o *FaultOptions) error {
	t := &faultCheck{FaultOptions: *cmp.Or(o, &FaultOptions{}), fault: f, checker: checker{clock: read()}}
	if t.Args == nil {
		t.Args = json.RawMessage(request)
	}
	if t.Result == nil {
		t.Result = json.RawMessage(order)
	}
	if f == nil {
		t.add(Present, "the fault is nil")
		return t.err()
	}
	t.declares(f, true)
	t.phase = phaseOf(f)
	if t.has(Checked) {
		return t.err() // a plan refuses it
	}
	t.undisturbed()
	if !t.has(Cancelled) { // else each further call could block
		t.inTurn()
		t.passesErrors()
		if t.virtual {
			t.stops()
		}
		t.repeats()
	}
	if t.virtual {
		time.Sleep(t.guard) // for late calls of next; it costs nothing
	}
	return t.err()
}

// faultCheck is the check of one fault.
type faultCheck struct {
	FaultOptions
	checker
	fault chaos.Fault
	phase chaos.Phase

	fails     bool        // it makes an error of its own
	waits     bool        // it waits; known in virtual time
	otherArgs atomic.Bool // it passed on arguments other than those it was given
}

// fixture is a callee, the fault to check, and an injector between them.
type fixture struct {
	*faultCheck
	in      *chaos.Injector
	fn      func(context.Context, any) (any, error)
	failing error         // of the callee
	pause   time.Duration // that the callee takes
	reached atomic.Int64
}

const target = "orders.status"

// fixture makes an injector that injects into every call. A plan does not refuse the
// fault: declares has checked it.
func (t *faultCheck) fixture() *fixture {
	s := &fixture{faultCheck: t}
	plan, err := chaos.NewPlan(1, chaos.Rule{Name: "trial", Target: target, Fault: spy{t.fault, t}})
	if err != nil {
		t.add(Checked, "a plan refuses it: %v", err)
		plan, _ = chaos.NewPlan(1)
	}
	s.in = plan.Injector("trial", &chaos.InjectorOptions{RecordAll: true})
	s.fn = chaos.Wrap(target, s.callee)
	return s
}

func (s *fixture) callee(context.Context, any) (any, error) {
	s.reached.Add(1)
	if s.pause > 0 {
		time.Sleep(s.pause)
	}
	if s.failing != nil {
		return nil, s.failing
	}
	return copied(s.Result), nil
}

// copied returns a copy of a document, so that a fault cannot write into the
// original.
func copied(v any) any {
	switch v := v.(type) {
	case json.RawMessage:
		return json.RawMessage(bytes.Clone(v))
	case []byte:
		return bytes.Clone(v)
	}
	return v
}

func (s *fixture) call(ctx context.Context, stop stop) outcome {
	call := func(ctx context.Context) (any, error) { return s.fn(ctx, copied(s.Args)) }
	return s.start(chaos.NewContext(ctx, s.in), call).finish(s.in, stop)
}

// complete makes a call and waits for its end; after clock.guard it cancels the call.
func (s *fixture) complete(lane string) outcome {
	o := s.call(chaos.WithLane(context.Background(), lane), nil)
	if o.stuck || o.cut && o.after > s.prompt && !s.IgnoresContext {
		s.add(Cancelled, "the call went on for %v after its context had ended", o.after)
	}
	return o
}

func (s *fixture) event() (e chaos.Event, ok bool) {
	events := s.in.Events()
	if len(events) == 0 {
		return e, false
	}
	return events[0], true
}

// undisturbed injects the fault into one call, and compares what the caller got with
// what the callee returned and with the event.
func (t *faultCheck) undisturbed() {
	s := t.fixture()
	o := s.complete("")
	e, ok := s.event()
	t.waits = o.took > 0
	if !ok || o.stuck || o.cut {
		return
	}
	if t.fails = o.err != nil; t.fails {
		t.checkError(o.err)
	}
	if o.err == nil && o.panicked == nil && !t.fits(o.result) {
		t.add(Types, "the caller got %T, and the callee's result is %T", o.result, t.Result)
		return
	}
	t.honest(o, e)
	t.matchesDescription(s, o, e)
}

func (t *faultCheck) checkError(err error) {
	text := err.Error()
	if text == "" {
		t.add(Text, "the error has no text")
	}
	if word := telltale.Find(text); word != "" {
		t.add(Text, "the text of the error, %q, contains %q", text, word)
	}
}

// fits reports whether a result has the callee's type, or can be converted into it:
// nil is the zero value, and JSON and Go values are converted into each other.
func (t *faultCheck) fits(result any) bool {
	if result == nil || reflect.TypeOf(result) == reflect.TypeOf(t.Result) {
		return true
	}
	if _, ok := t.Result.(json.RawMessage); ok {
		_, err := json.Marshal(result)
		return err == nil
	}
	doc, ok := result.(json.RawMessage)
	return ok && json.Unmarshal(doc, reflect.New(reflect.TypeOf(t.Result)).Interface()) == nil
}

func (t *faultCheck) honest(o outcome, e chaos.Event) {
	if o.err != nil || o.panicked != nil {
		return
	}
	same := equal(o.result, t.Result)
	switch {
	case !same && (!e.Delivered || strings.Contains(e.Note, "without declaring it")):
		t.add(Honest, "the caller got %s where the callee gave %s, and Changed was not called", show(o.result),
			show(t.Result))
	// changed arguments do not show in the result
	case same && strings.Contains(e.Note, "made no difference"), same && len(e.Changes) > 0 && !t.otherArgs.Load():
		t.add(Honest, "Changed was called, and the caller got what the callee gave")
	case same && t.phase == chaos.PhaseChange && e.Delivered:
		t.add(Honest, "it says that it changed the result, which is what the callee gave")
	}
}

func (t *faultCheck) matchesDescription(s *fixture, o outcome, e chaos.Event) {
	said, ok := t.fault.(chaos.Described)
	if !ok || !e.Delivered {
		return
	}
	d, failed, reached := said.Describe(), o.err != nil || o.panicked != nil, s.reached.Load()
	switch {
	case d.Visibility == chaos.Explicit && !failed:
		t.add(Described, "it says that it is explicit, and the caller got no error")
	case d.Visibility == chaos.Implicit && failed:
		t.add(Described, "it says that it is implicit, and the caller got an error")
	}
	switch {
	case d.Effect == chaos.EffectNone && reached > 0:
		t.add(Described, "it says that the callee does nothing, and the callee was reached %d times", reached)
	case d.Effect == chaos.EffectDone && reached == 0:
		t.add(Described, "it says that the callee does its work, and the callee was not reached")
	}
}

// inTurn makes the callee take some time, so that concurrent calls of next overlap.
func (t *faultCheck) inTurn() {
	s := t.fixture()
	s.pause = t.settle
	s.complete("")
}

var errCallee = errors.New("no such order")

// passesErrors makes the callee fail: a fault that delays, repeats or changes must
// return its error.
func (t *faultCheck) passesErrors() {
	if t.LosesErrors || t.fails || t.phase == chaos.PhaseAfter {
		return
	}
	s := t.fixture()
	s.failing = errCallee
	o := s.complete("")
	e, ok := s.event()
	if !ok || o.stuck || o.cut || o.panicked != nil || s.reached.Load() == 0 {
		return
	}
	if o.err != errCallee {
		t.add(PassesErrors, "the callee failed with %q, and the caller got %v", errCallee, o.err)
		return
	}
	if strings.Contains(e.Note, "made no difference") || e.Delivered && t.phase == chaos.PhaseChange {
		t.add(Honest, "the callee's error went through, and the event says that a change was delivered")
	}
}

// equal reports whether two values are the same to a caller. Documents are compared
// by their values.
func equal(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	if errX != nil || errY != nil {
		return false
	}
	_, isDoc := b.(json.RawMessage)
	var u, v any
	return isDoc && json.Unmarshal(x, &u) == nil && json.Unmarshal(y, &v) == nil && reflect.DeepEqual(u, v)
}

func show(v any) string {
	doc, err := json.Marshal(v)
	if err != nil {
		return "a value without JSON"
	}
	return text.Clip(string(doc), 100)
}

// stops ends calls by their context and by Disarm, before they begin and while they
// wait. Only virtual time shows what happens at once.
func (t *faultCheck) stops() {
	if !t.IgnoresContext {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		o := t.fixture().call(ctx, nil)
		o.after = max(o.after, o.took)
		t.cancelled(o)
	}
	if !t.waits || t.has(Cancelled) {
		return
	}
	if !t.IgnoresContext {
		t.cancelledDuring()
	}
	t.disarmedDuring()
}

func (t *faultCheck) cancelled(o outcome) (ended bool) {
	if ended = !o.stuck && o.after <= t.prompt; !ended {
		t.add(Cancelled, "the call went on for %v after its context had ended", o.after)
	}
	return ended
}

func (t *faultCheck) cancelledDuring() {
	o := t.fixture().call(context.Background(), func(cancel context.CancelFunc, _ *chaos.Injector) { cancel() })
	switch {
	case !o.cut || !t.cancelled(o):
	case o.err == nil && o.panicked == nil:
		t.add(Cancelled, "the context ended during the wait, and the caller got no error")
	case o.err != nil && !errors.Is(o.err, context.Canceled):
		t.add(Cancelled, "the context ended during the wait, and the caller got %q in place of its error", o.err)
	}
}

// disarmedDuring disarms the injector while a call waits: the call goes through.
func (t *faultCheck) disarmedDuring() {
	s := t.fixture()
	o := s.call(context.Background(), func(_ context.CancelFunc, in *chaos.Injector) { in.Disarm() })
	const during = "the injector was disarmed during the wait, and the call "
	reached := s.reached.Load()
	switch {
	case !o.cut:
	case o.stuck || o.after > t.prompt:
		t.add(Disarmed, "the call went on waiting for %v after the injector was disarmed", o.after)
	case o.panicked != nil:
		t.add(Disarmed, during+"panicked: %v", o.panicked)
	case o.err != nil:
		t.add(Disarmed, during+"failed: %v", o.err)
	case reached == 0 || !equal(o.result, t.Result):
		t.add(Disarmed, during+"reached the callee %d times and gave %s", reached, show(o.result))
	}
}

// callSummary is what must be the same when a call is repeated.
type callSummary struct {
	result, text string
	panicked     bool
	delivered    bool
	asked        time.Duration
	changes      int
}

const lanes = 8

// repeats makes the same calls in several injectors: in order, in order again,
// and all at once in the opposite order.
func (t *faultCheck) repeats() {
	if t.has(Cancelled) || t.has(Disarmed) {
		return // a call could block
	}
	first, sureFirst := t.calls(false)
	again, sureAgain := t.calls(false)
	_, stateful := t.fault.(chaos.Stateful)
	check := Repeatable
	if stateful {
		check = Fresh
	}
	t.compare(check, "in a second injector", first, again, sureFirst && sureAgain)
	crowd, sureCrowd := t.calls(true)
	if !stateful && !t.has(Repeatable) {
		t.compare(Concurrent, "among other calls", first, crowd, sureFirst && sureCrowd)
	}
}

func (t *faultCheck) compare(check Check, where string, a, b []callSummary, sure bool) {
	for i := range a {
		if sure && a[i] != b[i] {
			t.add(check, "one call ended as %+v, and %s as %+v", a[i], where, b[i])
			return
		}
	}
}

// calls makes a call in each of some lanes, one after the other, or all at once. sure
// reports that none was cancelled after clock.guard: its result would depend on the machine.
func (t *faultCheck) calls(atOnce bool) (summaries []callSummary, sure bool) {
	s := t.fixture()
	outcomes := make([]outcome, lanes)
	var all sync.WaitGroup
	for i := range outcomes {
		if !atOnce {
			outcomes[i] = s.complete(laneName(i))
			continue
		}
		i = lanes - 1 - i // in the opposite order
		all.Go(func() { outcomes[i] = s.complete(laneName(i)) })
	}
	all.Wait()
	events := map[string]chaos.Event{} // by lane
	for _, e := range s.in.Events() {
		events[e.Lane] = e
	}
	sure = true
	for i, o := range outcomes {
		sure = sure && !o.cut && !o.stuck
		e := events[laneName(i)]
		one := callSummary{result: show(o.result), panicked: o.panicked != nil, delivered: e.Delivered, asked: e.Asked,
			changes: len(e.Changes)}
		if o.err != nil {
			one.text = o.err.Error()
		}
		summaries = append(summaries, one)
	}
	return summaries, sure
}

func laneName(i int) string { return fmt.Sprint("lane-", i) }
