package chaostest

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/telltale"
	"github.com/shakedown-go/shakedown/internal/text"
)

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

// checkError checks the error that a fault returned.
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

// honest compares the event with the result that the caller got.
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

// matchesDescription compares a delivered fault with its description.
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

// show returns a value as a message shows it.
func show(v any) string {
	doc, err := json.Marshal(v)
	if err != nil {
		return "a value without JSON"
	}
	return text.Clip(string(doc), 100)
}
