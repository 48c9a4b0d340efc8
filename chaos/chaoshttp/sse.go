package chaoshttp

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/sse"
)

// The faults of this file act on responses of the type text/event-stream, of
// any service. Events are counted from 0, those alone that a client is handed;
// comments and unknown blocks pass, and so do events of more than 1 MiB, which
// are not held. On another response, or a stream that ends
// before its position, a fault is not delivered, and the event of the call says why.

// SlowFirstEvent delays the first event of a stream by d, which is more than 0,
// as a slow model does.
func SlowFirstEvent(d time.Duration) chaos.Fault { return streamFault{kind: kindSlowFirst, wait: d} }

// SlowEvents delays each event of a stream by d, which is more than 0.
func SlowEvents(d time.Duration) chaos.Fault { return streamFault{kind: kindSlowEvents, wait: d} }

// HangStream stops a stream after so many events, or [Anywhere]: the reader
// waits until the request's context ends or the body is closed.
func HangStream(after int) chaos.Fault { return streamFault{kind: kindHang, after: after} }

// CutEvent breaks the connection in the middle of an event, after so many whole
// ones, or [Anywhere]: the reader gets [io.ErrUnexpectedEOF].
func CutEvent(after int) chaos.Fault { return streamFault{kind: kindCutEvent, after: after} }

// CutStream ends a stream without an error after so many events, or [Anywhere],
// as a proxy does whose upstream broke: only what is missing shows it.
func CutStream(after int) chaos.Fault { return streamFault{kind: kindCutStream, after: after} }

// MalformEvent cuts the data of an event to its first half, after so many
// events, or [Anywhere]. Only events whose data is a JSON object
// count.
func MalformEvent(after int) chaos.Fault { return streamFault{kind: kindMalformed, after: after} }

// DuplicateEvent sends an event twice, after so many others, or [Anywhere].
func DuplicateEvent(after int) chaos.Fault { return streamFault{kind: kindDuplicate, after: after} }

// SwapEvents exchanges an event with the one that follows it, after so many
// others, or [Anywhere]. Two events of equal data are not exchanged.
func SwapEvents(after int) chaos.Fault { return streamFault{kind: kindSwapped, after: after} }

// DropTerminator removes the events that mark a stream as complete: "[DONE]" of
// chat completions, message_stop of Anthropic's messages, and
// response.completed of OpenAI's responses.
func DropTerminator() chaos.Fault { return streamFault{kind: kindTerminator} }

// ErrorEvent sends the provider's error as an event, after so many others, or
// [Anywhere], and ends the stream; the status was 200 before. The kinds are
// those of [APIError].
func ErrorEvent(api API, kind ErrorKind, after int) chaos.Fault {
	return streamFault{kind: kindError, after: after, api: api, as: kind}
}

// slow waits before one event, or before every one.
type slow struct {
	wait  time.Duration
	first bool
	after int
}

func (f *slow) event(n int, e sse.Event) step {
	st := as(e)
	if !f.first || n == f.after {
		st.wait = f.wait
	}
	return st
}

func (f *slow) end(n int) step {
	if f.first {
		return short(n, f.after)
	}
	return step{}
}

func (f *slow) keepsSize() bool { return true }

// short ends a script whose stream may have ended before the fault's position.
func short(n, after int) step {
	if n > after {
		return step{}
	}
	return step{note: fmt.Sprintf("the stream ended after %d events; the fault comes after %d", n, after)}
}

type cut struct {
	after  int
	within bool
}

func (f *cut) event(n int, e sse.Event) step {
	switch {
	case n != f.after:
		return as(e)
	case f.within:
		return step{out: e.Raw[:len(e.Raw)/2], changes: gone(n, e), stop: io.ErrUnexpectedEOF}
	}
	return step{changes: gone(n, e), stop: io.EOF}
}

func (f *cut) end(n int) step { return short(n, f.after) }

// keepsSize reports true for a broken connection: the header has the whole
// length.
func (f *cut) keepsSize() bool { return f.within }

// failed ends a stream with an error of the provider.
type failed struct {
	after int
	api   API
	body  []byte
}

func (f *failed) event(n int, e sse.Event) step {
	if n != f.after {
		return as(e)
	}
	failure := sse.Event{Data: string(f.body), HasData: true}
	if f.api == Anthropic {
		failure.Type = "error"
	}
	return step{stop: io.EOF, out: sse.Append(nil, failure), changes: []chaos.Change{
		{Path: index("$", n), Before: shownData(e.Data), After: f.body},
	}}
}

func (f *failed) end(n int) step { return short(n, f.after) }

// gone is the change that removes an event.
func gone(n int, e sse.Event) []chaos.Change {
	return []chaos.Change{{Path: index("$", n), Before: shownData(e.Data)}}
}

// shownData is the data of an event as a change shows it: itself if it is JSON.
func shownData(data string) []byte {
	if doc, ok := jsonedit.ParseValue([]byte(data)); ok {
		return doc.Bytes()
	}
	return jsonedit.Of(data).Bytes()
}

type halved struct {
	after   int
	objects int
}

func (f *halved) event(n int, e sse.Event) step {
	if !strings.HasPrefix(strings.TrimSpace(e.Data), "{") {
		return as(e)
	}
	f.objects++
	if f.objects-1 != f.after {
		return as(e)
	}
	half := e
	half.Data = strings.ToValidUTF8(e.Data[:(len(e.Data)+1)/2], "")
	return step{out: sse.Append(nil, half), changes: []chaos.Change{
		{Path: index("$", n), Before: shownData(e.Data), After: shownData(half.Data)},
	}}
}

func (f *halved) end(int) step { return short(f.objects, f.after) }

type duplicate struct{ after int }

func (f *duplicate) event(n int, e sse.Event) step {
	if n != f.after {
		return as(e)
	}
	return step{out: bytes.Join([][]byte{e.Whole(), e.Whole()}, nil), changes: []chaos.Change{
		{Path: index("$", n+1), After: shownData(e.Data)},
	}}
}

func (f *duplicate) end(n int) step { return short(n, f.after) }

type swapped struct {
	after int
	held  *sse.Event
}

func (f *swapped) event(n int, e sse.Event) step {
	switch {
	case n == f.after:
		e.Raw = bytes.Clone(e.Raw)
		f.held = &e
		return step{}
	case f.held == nil:
		return as(e)
	}
	first := *f.held
	f.held = nil
	if first.Data == e.Data {
		return step{out: bytes.Join([][]byte{first.Whole(), e.Raw}, nil), note: "the two events are equal"}
	}
	return step{was: bytes.Join([][]byte{first.Raw, e.Raw}, nil), out: bytes.Join([][]byte{e.Whole(), first.Whole()}, nil), changes: []chaos.Change{
		{Path: index("$", n-1), Before: shownData(first.Data), After: shownData(e.Data)},
		{Path: index("$", n), Before: shownData(e.Data), After: shownData(first.Data)},
	}}
}

func (f *swapped) end(n int) step {
	st := short(n-1, f.after)
	if f.held != nil {
		st.out, f.held = f.held.Raw, nil
	}
	return st
}

// long releases the event that is held, so that no event that cannot be held
// overtakes it.
func (f *swapped) long() step {
	if f.held == nil {
		return step{}
	}
	st := step{out: f.held.Raw, note: "the event behind it is too long to be held"}
	f.held = nil
	return st
}

type unterminated struct{ done bool }

func (f *unterminated) event(n int, e sse.Event) step {
	if !terminates(e) {
		return as(e)
	}
	f.done = true
	return step{changes: gone(n, e)}
}

func (f *unterminated) end(int) step {
	if f.done {
		return step{}
	}
	return step{note: "the stream has no terminator"}
}

// terminates reports whether the event marks the stream as complete.
func terminates(e sse.Event) bool {
	if strings.TrimSpace(e.Data) == "[DONE]" {
		return true
	}
	doc, ok := jsonedit.ParseValue([]byte(e.Data))
	if !ok {
		return false
	}
	kind, _ := doc.Get("type").Text()
	return kind == "message_stop" || kind == "response.completed"
}
