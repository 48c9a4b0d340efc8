package chaoshttp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/internal/completion"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/sse"
)

// The faults of this file act on responses of the type text/event-stream, of
// any service. Events are counted from 0, only those that a client gets:
// comments and unknown blocks pass, and so do events of more than 1 MiB, which
// are not held. On another response, or a stream that ends before its position,
// a fault is not delivered, and the event of the call says why.

// eventRows are the faults of this file.
func eventRows() []*catalog.Row {
	return []*catalog.Row{slowFirstEventRow, slowEventsRow, hangStreamRow, cutEventRow, cutStreamRow, malformEventRow,
		duplicateEventRow, swapEventsRow, errorEventRow, dropTerminatorRow}
}

// Anywhere, as the position of a fault in a stream, is drawn from the
// coordinates of each call: after none to seven events.
const Anywhere = -1

// anywhere is the number of positions that are drawn from, and drawPosition the
// salt: ASCII for "position".
const (
	anywhere     = 8
	drawPosition = 0x706f736974696f6e
)

// position is where in a stream a fault acts.
type position struct {
	After int `json:"after" bounds:"min=-1" allowed:"a number of events of 0 or more, or -1: anywhere" doc:"number of events that come before; -1: a drawn one"`
}

// in is the position in the stream of a call.
func (p position) in(c chaos.Call) int {
	if p.After == Anywhere {
		return int(c.Draw(drawPosition) * anywhere)
	}
	return p.After
}

// changeEvents makes the call and has a script change the events of its answer.
func changeEvents(ctx context.Context, args any, next chaos.Next, sc script) (any, error) {
	result, err := next(ctx, args)
	if err != nil {
		return result, err
	}
	return scripted(ctx, result, sc), nil
}

type eventDelay struct {
	Duration time.Duration `json:"duration" bounds:"over=0" doc:"time that an event takes longer"`
}

// SlowFirstEvent delays the first event of a stream by d, which is more than 0,
// as a slow model does.
func SlowFirstEvent(d time.Duration) chaos.Fault { return slowFirstEvent{eventDelay: eventDelay{d}} }

var slowFirstEventRow = catalog.Fault(catalog.Row{
	Kind: "slow_first_event", Doc: "The first event of a response is late.",
	Go: "chaoshttp.SlowFirstEvent(d)", Example: `{"duration":"5s"}`,
	Layer: chaos.LayerStream, Class: chaos.ClassTiming, Visibility: chaos.Implicit,
	Persistence: chaos.Transient, Effect: chaos.EffectDone,
}, func(p eventDelay) chaos.Fault { return slowFirstEvent{eventDelay: p} })

type slowFirstEvent struct {
	changes
	eventDelay
}

func (f slowFirstEvent) Check() error                { return slowFirstEventRow.Check(f.eventDelay).Err() }
func (f slowFirstEvent) Describe() chaos.Description { return slowFirstEventRow.Describe(f.eventDelay) }

func (f slowFirstEvent) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	return changeEvents(ctx, args, next, &slow{wait: f.Duration, first: true})
}

// SlowEvents delays each event of a stream by d, which is more than 0.
func SlowEvents(d time.Duration) chaos.Fault { return slowEvents{eventDelay: eventDelay{d}} }

var slowEventsRow = catalog.Fault(catalog.Row{
	Kind: "slow_events", Doc: "Every event of a response is late.",
	Go: "chaoshttp.SlowEvents(d)", Example: `{"duration":"1s"}`,
	Layer: chaos.LayerStream, Class: chaos.ClassTiming, Visibility: chaos.Implicit,
	Persistence: chaos.Transient, Effect: chaos.EffectDone,
}, func(p eventDelay) chaos.Fault { return slowEvents{eventDelay: p} })

type slowEvents struct {
	changes
	eventDelay
}

func (f slowEvents) Check() error                { return slowEventsRow.Check(f.eventDelay).Err() }
func (f slowEvents) Describe() chaos.Description { return slowEventsRow.Describe(f.eventDelay) }

func (f slowEvents) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	return changeEvents(ctx, args, next, &slow{wait: f.Duration})
}

// HangStream stops a stream after so many events, or [Anywhere]: the reader
// waits until the request's context ends or the body is closed.
func HangStream(after int) chaos.Fault { return hangStream{position: position{after}} }

var hangStreamRow = catalog.Fault(catalog.Row{
	Kind: "hanging_stream", Doc: "A response falls silent.",
	Go: "chaoshttp.HangStream(after)", Example: `{"after":2}`,
	Layer: chaos.LayerStream, Class: chaos.ClassTiming, Visibility: chaos.Explicit,
	Persistence: chaos.Transient, Effect: chaos.EffectDone,
}, func(p position) chaos.Fault { return hangStream{position: p} })

type hangStream struct {
	changes
	position
}

func (f hangStream) Check() error                { return hangStreamRow.Check(f.position).Err() }
func (f hangStream) Describe() chaos.Description { return hangStreamRow.Describe(f.position) }

func (f hangStream) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	return changeEvents(ctx, args, next, &slow{wait: -1, first: true, after: f.in(c)})
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

// CutEvent breaks the connection in the middle of an event, after so many whole
// ones, or [Anywhere]: the reader gets [io.ErrUnexpectedEOF].
func CutEvent(after int) chaos.Fault { return cutEvent{position: position{after}} }

var cutEventRow = catalog.Fault(catalog.Row{
	Kind: "cut_event", Doc: "The connection breaks within an event.",
	Go: "chaoshttp.CutEvent(after)", Example: `{"after":2}`,
	Layer: chaos.LayerStream, Class: chaos.ClassCrash, Visibility: chaos.Explicit,
	Persistence: chaos.Transient, Effect: chaos.EffectDone,
}, func(p position) chaos.Fault { return cutEvent{position: p} })

type cutEvent struct {
	changes
	position
}

func (f cutEvent) Check() error                { return cutEventRow.Check(f.position).Err() }
func (f cutEvent) Describe() chaos.Description { return cutEventRow.Describe(f.position) }

func (f cutEvent) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	return changeEvents(ctx, args, next, &cut{after: f.in(c), within: true})
}

// CutStream ends a stream without an error after so many events, or [Anywhere],
// as a proxy does whose upstream broke: only what is missing shows it.
func CutStream(after int) chaos.Fault { return cutStream{position: position{after}} }

var cutStreamRow = catalog.Fault(catalog.Row{
	Kind: "cut_stream", Doc: "A response ends between two events, in good order.",
	Go: "chaoshttp.CutStream(after)", Example: `{"after":2}`,
	Layer: chaos.LayerStream, Class: chaos.ClassOmission, Visibility: chaos.Implicit,
	Persistence: chaos.Transient, Effect: chaos.EffectDone,
}, func(p position) chaos.Fault { return cutStream{position: p} })

type cutStream struct {
	changes
	position
}

func (f cutStream) Check() error                { return cutStreamRow.Check(f.position).Err() }
func (f cutStream) Describe() chaos.Description { return cutStreamRow.Describe(f.position) }

func (f cutStream) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	return changeEvents(ctx, args, next, &cut{after: f.in(c)})
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

// eventPath is the path of an event in changes.
func eventPath(n int) string { return fmt.Sprintf("$[%d]", n) }

// gone is the change that removes an event.
func gone(n int, e sse.Event) []chaos.Change {
	return []chaos.Change{{Path: eventPath(n), Before: shownData(e.Data)}}
}

// shownData is the data of an event as a change shows it: itself if it is JSON.
func shownData(data string) []byte {
	if doc, ok := jsonedit.ParseValue([]byte(data)); ok {
		return doc.Bytes()
	}
	return jsonedit.Of(data).Bytes()
}

// MalformEvent cuts the data of an event to its first half, after so many
// events, or [Anywhere]. Only events whose data is a JSON object count.
func MalformEvent(after int) chaos.Fault { return malformEvent{position: position{after}} }

var malformEventRow = catalog.Fault(catalog.Row{
	Kind: "malformed_event", Doc: "An event's data is half of it.",
	Go: "chaoshttp.MalformEvent(after)", Example: `{"after":2}`,
	Layer: chaos.LayerStream, Class: chaos.ClassProtocol, Visibility: chaos.Implicit,
	Persistence: chaos.Transient, Effect: chaos.EffectDone,
}, func(p position) chaos.Fault { return malformEvent{position: p} })

type malformEvent struct {
	changes
	position
}

func (f malformEvent) Check() error                { return malformEventRow.Check(f.position).Err() }
func (f malformEvent) Describe() chaos.Description { return malformEventRow.Describe(f.position) }

func (f malformEvent) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	return changeEvents(ctx, args, next, &halved{after: f.in(c)})
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
		{Path: eventPath(n), Before: shownData(e.Data), After: shownData(half.Data)},
	}}
}

func (f *halved) end(int) step { return short(f.objects, f.after) }

// DuplicateEvent sends an event twice, after so many others, or [Anywhere].
func DuplicateEvent(after int) chaos.Fault { return duplicateEvent{position: position{after}} }

var duplicateEventRow = catalog.Fault(catalog.Row{
	Kind: "duplicate_event", Doc: "An event arrives twice.",
	Go: "chaoshttp.DuplicateEvent(after)", Example: `{"after":2}`,
	Layer: chaos.LayerStream, Class: chaos.ClassProtocol, Visibility: chaos.Implicit,
	Persistence: chaos.Transient, Effect: chaos.EffectDone,
}, func(p position) chaos.Fault { return duplicateEvent{position: p} })

type duplicateEvent struct {
	changes
	position
}

func (f duplicateEvent) Check() error                { return duplicateEventRow.Check(f.position).Err() }
func (f duplicateEvent) Describe() chaos.Description { return duplicateEventRow.Describe(f.position) }

func (f duplicateEvent) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	return changeEvents(ctx, args, next, &duplicate{after: f.in(c)})
}

type duplicate struct{ after int }

func (f *duplicate) event(n int, e sse.Event) step {
	if n != f.after {
		return as(e)
	}
	return step{out: bytes.Join([][]byte{e.Whole(), e.Whole()}, nil), changes: []chaos.Change{
		{Path: eventPath(n + 1), After: shownData(e.Data)},
	}}
}

func (f *duplicate) end(n int) step { return short(n, f.after) }

// SwapEvents exchanges an event with the one that follows it, after so many
// others, or [Anywhere]. Two events of equal data are not exchanged.
func SwapEvents(after int) chaos.Fault { return swapEvents{position: position{after}} }

var swapEventsRow = catalog.Fault(catalog.Row{
	Kind: "swapped_events", Doc: "Two events have changed places.",
	Go: "chaoshttp.SwapEvents(after)", Example: `{"after":2}`,
	Layer: chaos.LayerStream, Class: chaos.ClassProtocol, Visibility: chaos.Implicit,
	Persistence: chaos.Transient, Effect: chaos.EffectDone,
}, func(p position) chaos.Fault { return swapEvents{position: p} })

type swapEvents struct {
	changes
	position
}

func (f swapEvents) Check() error                { return swapEventsRow.Check(f.position).Err() }
func (f swapEvents) Describe() chaos.Description { return swapEventsRow.Describe(f.position) }

func (f swapEvents) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	return changeEvents(ctx, args, next, &swapped{after: f.in(c)})
}

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
	return step{was: bytes.Join([][]byte{first.Raw, e.Raw}, nil),
		out: bytes.Join([][]byte{e.Whole(), first.Whole()}, nil), changes: []chaos.Change{
			{Path: eventPath(n - 1), Before: shownData(first.Data), After: shownData(e.Data)},
			{Path: eventPath(n), Before: shownData(e.Data), After: shownData(first.Data)},
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

// ErrorEvent sends the provider's error as an event, after so many others, or
// [Anywhere], and ends the stream; the status was 200 before. The kinds are
// those of [APIError].
func ErrorEvent(api API, kind ErrorKind, after int) chaos.Fault {
	return errorEvent{eventError: eventError{errorOf{api, kind}, position{after}}}
}

type eventError struct {
	errorOf
	position
}

var errorEventRow = catalog.Fault(catalog.Row{
	Kind: "error_event", Doc: "The provider sends an error in the middle of a response.",
	Go: "chaoshttp.ErrorEvent(api, kind, after)", Example: `{"api":"openai","error":"server","after":2}`,
	Layer: chaos.LayerStream, Class: chaos.ClassCrash, Visibility: chaos.Explicit,
	Persistence: chaos.Transient, Effect: chaos.EffectDone,
}, func(p eventError) chaos.Fault { return errorEvent{eventError: p} })

type errorEvent struct {
	changes
	eventError
}

func (f errorEvent) Check() error {
	c := errorEventRow.Check(f.eventError)
	checkKind(c, f.API, f.Error)
	return c.Err()
}

func (f errorEvent) Describe() chaos.Description { return errorEventRow.Describe(f.eventError) }

func (f errorEvent) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	body, _ := errorBody(f.API, f.Error, c, 0)
	return changeEvents(ctx, args, next, &failed{after: f.in(c), api: f.API, body: body})
}

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
		{Path: eventPath(n), Before: shownData(e.Data), After: f.body},
	}}
}

func (f *failed) end(n int) step { return short(n, f.after) }

// DropTerminator removes the events that mark a stream as complete: "[DONE]" of
// chat completions, message_stop of Anthropic's messages, and
// response.completed of OpenAI's responses.
func DropTerminator() chaos.Fault { return dropTerminator{} }

var dropTerminatorRow = catalog.Fault(catalog.Row{
	Kind: "unterminated_stream", Doc: "The events that end a response are missing.",
	Go:    "chaoshttp.DropTerminator()",
	Layer: chaos.LayerStream, Class: chaos.ClassProtocol, Visibility: chaos.Implicit,
	Persistence: chaos.Transient, Effect: chaos.EffectDone,
}, func(catalog.None) chaos.Fault { return DropTerminator() })

type dropTerminator struct{ changes }

func (dropTerminator) Describe() chaos.Description { return dropTerminatorRow.Describe(catalog.None{}) }

func (dropTerminator) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	return changeEvents(ctx, args, next, &unterminated{})
}

type unterminated struct{ done bool }

func (f *unterminated) event(n int, e sse.Event) step {
	if !completion.Ends(e.Data) {
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
