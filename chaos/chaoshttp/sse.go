package chaoshttp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
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

// eventRow completes the row of a fault that changes the events of an answer: make
// is called before each call, for the script that does.
func eventRow[P any](r catalog.Row, make func(chaos.Call, P) script) *catalog.Inject[P] {
	r.Layer, r.Persistence, r.Effect = chaos.LayerStream, chaos.Transient, chaos.EffectDone
	return changeRow(r, func(ctx context.Context, c chaos.Call, p P, r Response) Response {
		return scripted(ctx, r, make(c, p))
	})
}

// atEvent is a script that does something to one event, after so many others.
func atEvent(after int, do func(n int, e sse.Event) step) script {
	return script{
		event: func(n int, e sse.Event) step {
			if n != after {
				return as(e)
			}
			return do(n, e)
		},
		end: func(n int) step { return short(n, after) },
	}
}

type eventDelay struct {
	Duration time.Duration `json:"duration" bounds:"over=0" doc:"time that an event takes longer"`
}

// SlowFirstEvent delays the first event of a stream by d, which is more than 0,
// as a slow model does.
func SlowFirstEvent(d time.Duration) chaos.Fault { return slowFirstEventRow.Of(eventDelay{d}) }

var slowFirstEventRow = eventRow(catalog.Row{
	Kind: "slow_first_event", Doc: "The first event of a response is late.",
	Go: "chaoshttp.SlowFirstEvent(d)", Example: `{"duration":"5s"}`,
	Class: chaos.ClassTiming, Visibility: chaos.Implicit,
}, func(_ chaos.Call, p eventDelay) script { return waitAt(0, p.Duration) })

// SlowEvents delays each event of a stream by d, which is more than 0.
func SlowEvents(d time.Duration) chaos.Fault { return slowEventsRow.Of(eventDelay{d}) }

var slowEventsRow = eventRow(catalog.Row{
	Kind: "slow_events", Doc: "Every event of a response is late.",
	Go: "chaoshttp.SlowEvents(d)", Example: `{"duration":"1s"}`,
	Class: chaos.ClassTiming, Visibility: chaos.Implicit,
}, func(_ chaos.Call, p eventDelay) script {
	return script{keepsSize: true, event: func(_ int, e sse.Event) step { return step{out: e.Raw, wait: p.Duration} }}
})

// HangStream stops a stream after so many events, or [Anywhere]: the reader
// waits until the request's context ends or the body is closed.
func HangStream(after int) chaos.Fault { return hangStreamRow.Of(position{after}) }

var hangStreamRow = eventRow(catalog.Row{
	Kind: "hanging_stream", Doc: "A response falls silent.",
	Go: "chaoshttp.HangStream(after)", Example: `{"after":2}`,
	Class: chaos.ClassTiming, Visibility: chaos.Explicit,
}, func(c chaos.Call, p position) script { return waitAt(p.in(c), -1) })

// waitAt waits before one event.
func waitAt(after int, wait time.Duration) script {
	sc := atEvent(after, func(_ int, e sse.Event) step { return step{out: e.Raw, wait: wait} })
	sc.keepsSize = true
	return sc
}

// short ends a script whose stream may have ended before the fault's position.
func short(n, after int) step {
	if n > after {
		return step{}
	}
	return step{note: fmt.Sprintf("the stream ended after %d events; the fault comes after %d", n, after)}
}

// CutEvent breaks the connection in the middle of an event, after so many whole
// ones, or [Anywhere]: the reader gets [io.ErrUnexpectedEOF].
func CutEvent(after int) chaos.Fault { return cutEventRow.Of(position{after}) }

var cutEventRow = eventRow(catalog.Row{
	Kind: "cut_event", Doc: "The connection breaks within an event.",
	Go: "chaoshttp.CutEvent(after)", Example: `{"after":2}`,
	Class: chaos.ClassCrash, Visibility: chaos.Explicit,
}, func(c chaos.Call, p position) script {
	sc := atEvent(p.in(c), func(n int, e sse.Event) step {
		return step{out: e.Raw[:len(e.Raw)/2], changes: gone(n, e), stop: io.ErrUnexpectedEOF}
	})
	sc.keepsSize = true // the header has the whole length
	return sc
})

// CutStream ends a stream without an error after so many events, or [Anywhere],
// as a proxy does whose upstream broke: only what is missing shows it.
func CutStream(after int) chaos.Fault { return cutStreamRow.Of(position{after}) }

var cutStreamRow = eventRow(catalog.Row{
	Kind: "cut_stream", Doc: "A response ends between two events, in good order.",
	Go: "chaoshttp.CutStream(after)", Example: `{"after":2}`,
	Class: chaos.ClassOmission, Visibility: chaos.Implicit,
}, func(c chaos.Call, p position) script {
	return atEvent(p.in(c), func(n int, e sse.Event) step { return step{changes: gone(n, e), stop: io.EOF} })
})

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
func MalformEvent(after int) chaos.Fault { return malformEventRow.Of(position{after}) }

var malformEventRow = eventRow(catalog.Row{
	Kind: "malformed_event", Doc: "An event's data is half of it.",
	Go: "chaoshttp.MalformEvent(after)", Example: `{"after":2}`,
	Class: chaos.ClassProtocol, Visibility: chaos.Implicit,
}, func(c chaos.Call, p position) script {
	after, objects := p.in(c), 0
	return script{
		event: func(n int, e sse.Event) step {
			if !strings.HasPrefix(strings.TrimSpace(e.Data), "{") {
				return as(e)
			}
			if objects++; objects-1 != after {
				return as(e)
			}
			half := e
			half.Data = strings.ToValidUTF8(e.Data[:(len(e.Data)+1)/2], "")
			return step{out: sse.Append(nil, half), changes: []chaos.Change{
				{Path: eventPath(n), Before: shownData(e.Data), After: shownData(half.Data)},
			}}
		},
		end: func(int) step { return short(objects, after) },
	}
})

// DuplicateEvent sends an event twice, after so many others, or [Anywhere].
func DuplicateEvent(after int) chaos.Fault { return duplicateEventRow.Of(position{after}) }

var duplicateEventRow = eventRow(catalog.Row{
	Kind: "duplicate_event", Doc: "An event arrives twice.",
	Go: "chaoshttp.DuplicateEvent(after)", Example: `{"after":2}`,
	Class: chaos.ClassProtocol, Visibility: chaos.Implicit,
}, func(c chaos.Call, p position) script {
	return atEvent(p.in(c), func(n int, e sse.Event) step {
		return step{out: slices.Concat(e.Whole(), e.Whole()),
			changes: []chaos.Change{{Path: eventPath(n + 1), After: shownData(e.Data)}}}
	})
})

// SwapEvents exchanges an event with the one that follows it, after so many
// others, or [Anywhere]. Two events of equal data are not exchanged.
func SwapEvents(after int) chaos.Fault { return swapEventsRow.Of(position{after}) }

var swapEventsRow = eventRow(catalog.Row{
	Kind: "swapped_events", Doc: "Two events have changed places.",
	Go: "chaoshttp.SwapEvents(after)", Example: `{"after":2}`,
	Class: chaos.ClassProtocol, Visibility: chaos.Implicit,
}, func(c chaos.Call, p position) script { return (&swap{after: p.in(c)}).script() })

type swap struct {
	after int
	held  *sse.Event
}

func (f *swap) script() script { return script{event: f.event, end: f.end, long: f.long} }

func (f *swap) event(n int, e sse.Event) step {
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
		return step{out: slices.Concat(first.Whole(), e.Raw), note: "the two events are equal"}
	}
	return step{was: slices.Concat(first.Raw, e.Raw), out: slices.Concat(e.Whole(), first.Whole()),
		changes: []chaos.Change{
			{Path: eventPath(n - 1), Before: shownData(first.Data), After: shownData(e.Data)},
			{Path: eventPath(n), Before: shownData(e.Data), After: shownData(first.Data)},
		}}
}

// release gives up the event that is held.
func (f *swap) release(st step) step {
	if f.held != nil {
		st.out, f.held = f.held.Raw, nil
	}
	return st
}

func (f *swap) end(n int) step { return f.release(short(n-1, f.after)) }

// long releases the event that is held, so that no event that cannot be held
// overtakes it.
func (f *swap) long() step {
	if f.held == nil {
		return step{}
	}
	return f.release(step{note: "the event behind it is too long to be held"})
}

// ErrorEvent sends the provider's error as an event, after so many others, or
// [Anywhere], and ends the stream; the status was 200 before. The kinds are
// those of [APIError].
func ErrorEvent(api API, kind ErrorKind, after int) chaos.Fault {
	return errorEventRow.Of(eventError{errorOf{api, kind}, position{after}})
}

type eventError struct {
	errorOf
	position
}

func (p eventError) Check(c *catalog.Check) { checkKind(c, p.API, p.Error) }

var errorEventRow = eventRow(catalog.Row{
	Kind: "error_event", Doc: "The provider sends an error in the middle of a response.",
	Go: "chaoshttp.ErrorEvent(api, kind, after)", Example: `{"api":"openai","error":"server","after":2}`,
	Class: chaos.ClassCrash, Visibility: chaos.Explicit,
}, func(c chaos.Call, p eventError) script {
	body, _ := errorBody(p.API, p.Error, c, 0)
	failure := sse.Event{Data: string(body), HasData: true}
	if p.API == Anthropic {
		failure.Type = "error"
	}
	return atEvent(p.in(c), func(n int, e sse.Event) step {
		return step{stop: io.EOF, out: sse.Append(nil, failure), changes: []chaos.Change{
			{Path: eventPath(n), Before: shownData(e.Data), After: body},
		}}
	})
})

// DropTerminator removes the events that mark a stream as complete: "[DONE]" of
// chat completions, message_stop of Anthropic's messages, and
// response.completed of OpenAI's responses.
func DropTerminator() chaos.Fault { return dropTerminatorRow.Of(catalog.None{}) }

var dropTerminatorRow = eventRow(catalog.Row{
	Kind: "unterminated_stream", Doc: "The events that end a response are missing.",
	Go:    "chaoshttp.DropTerminator()",
	Class: chaos.ClassProtocol, Visibility: chaos.Implicit,
}, func(chaos.Call, catalog.None) script {
	done := false
	return script{
		event: func(n int, e sse.Event) step {
			if !completion.Ends(e.Data) {
				return as(e)
			}
			done = true
			return step{changes: gone(n, e)}
		},
		end: func(int) step {
			if done {
				return step{}
			}
			return step{note: "the stream has no terminator"}
		},
	}
})
