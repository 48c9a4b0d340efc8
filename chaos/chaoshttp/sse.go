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

// The faults of this file act on streams of any service: of server-sent events, or of lines,
// each a JSON document (NDJSON), which count as events. Events are counted from 0, only those that a client gets:
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

type position struct {
	After int `json:"after" bounds:"min=-1" allowed:"a number of events of 0 or more, or -1: anywhere" doc:"number of events that come before; -1: a drawn one"`
}

func (p position) in(c chaos.Call) int {
	if p.After == Anywhere {
		return int(c.Draw(drawPosition) * anywhere)
	}
	return p.After
}

// eventRow completes the row of a fault that changes the events of an answer: make
// is called before each call, for the script that does.
func eventRow[P any](r catalog.Row, make func(chaos.Call, P) script) *catalog.Inject[P] {
	r.Layer = chaos.LayerStream
	return changeRow(r, false, func(ctx context.Context, c chaos.Call, p P, r Response, _ Request) Response {
		return scripted(ctx, r, make(c, p))
	})
}

func positionRow(r catalog.Row, make func(after int) script) *catalog.Inject[position] {
	r.Example = `{"after":2}`
	return eventRow(r, func(c chaos.Call, p position) script { return make(p.in(c)) })
}

// atEvent is a script that does something to one event, after so many others. Of them
// those alone count that counts says; nil: all do.
func atEvent(after int, counts func(sse.Event) bool, do func(n int, e sse.Event) step) script {
	met := 0
	return script{
		event: func(n int, e sse.Event) step {
			if counts != nil && !counts(e) {
				return as(e)
			}
			if met++; met-1 != after {
				return as(e)
			}
			return do(n, e)
		},
		end: func(int) step { return short(met, after) },
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
	Class: chaos.ClassTiming,
}, func(_ chaos.Call, p eventDelay) script { return waitAt(0, p.Duration) })

// SlowEvents delays each event of a stream by d, which is more than 0.
func SlowEvents(d time.Duration) chaos.Fault { return slowEventsRow.Of(eventDelay{d}) }

var slowEventsRow = eventRow(catalog.Row{
	Kind: "slow_events", Doc: "Every event of a response is late.",
	Go: "chaoshttp.SlowEvents(d)", Example: `{"duration":"1s"}`,
	Class: chaos.ClassTiming,
}, func(_ chaos.Call, p eventDelay) script {
	return script{keepsSize: true, event: func(_ int, e sse.Event) step { return step{out: e.Raw, wait: p.Duration} }}
})

// HangStream stops a stream after so many events, or [Anywhere]: the reader
// waits until the request's context ends or the body is closed.
func HangStream(after int) chaos.Fault { return hangStreamRow.Of(position{after}) }

var hangStreamRow = positionRow(catalog.Row{
	Kind: "hanging_stream", Doc: "A response falls silent.",
	Go:    "chaoshttp.HangStream(after)",
	Class: chaos.ClassTiming, Visibility: chaos.Explicit,
}, func(after int) script { return waitAt(after, -1) })

func waitAt(after int, wait time.Duration) script {
	sc := atEvent(after, nil, func(_ int, e sse.Event) step { return step{out: e.Raw, wait: wait} })
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

var cutEventRow = positionRow(catalog.Row{
	Kind: "cut_event", Doc: "The connection breaks within an event.",
	Go:    "chaoshttp.CutEvent(after)",
	Class: chaos.ClassCrash, Visibility: chaos.Explicit,
}, func(after int) script {
	sc := atEvent(after, nil, func(n int, e sse.Event) step {
		return step{out: e.Raw[:len(e.Raw)/2], changes: gone(n, e), stop: io.ErrUnexpectedEOF}
	})
	sc.keepsSize = true // the header has the whole length
	return sc
})

// CutStream ends a stream without an error after so many events, or [Anywhere],
// as a proxy does whose upstream broke: only what is missing shows it.
func CutStream(after int) chaos.Fault { return cutStreamRow.Of(position{after}) }

var cutStreamRow = positionRow(catalog.Row{
	Kind: "cut_stream", Doc: "A response ends between two events, in good order.",
	Go:    "chaoshttp.CutStream(after)",
	Class: chaos.ClassOmission,
}, func(after int) script {
	return atEvent(after, nil, func(n int, e sse.Event) step { return step{changes: gone(n, e), stop: io.EOF} })
})

func eventPath(n int) string { return fmt.Sprintf("$[%d]", n) }

func became(n int, before, after string) []chaos.Change {
	return []chaos.Change{{Path: eventPath(n), Before: shownData(before), After: shownData(after)}}
}

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

var malformEventRow = positionRow(catalog.Row{
	Kind: "malformed_event", Doc: "An event's data is half of it.",
	Go:    "chaoshttp.MalformEvent(after)",
	Class: chaos.ClassProtocol,
}, func(after int) script {
	isObject := func(e sse.Event) bool { return strings.HasPrefix(strings.TrimSpace(e.Data), "{") }
	return atEvent(after, isObject, func(n int, e sse.Event) step {
		half := e
		half.Data = strings.ToValidUTF8(e.Data[:(len(e.Data)+1)/2], "")
		return step{out: sse.Append(nil, half), changes: became(n, e.Data, half.Data)}
	})
})

// DuplicateEvent sends an event twice, after so many others, or [Anywhere].
func DuplicateEvent(after int) chaos.Fault { return duplicateEventRow.Of(position{after}) }

var duplicateEventRow = positionRow(catalog.Row{
	Kind: "duplicate_event", Doc: "An event arrives twice.",
	Go:    "chaoshttp.DuplicateEvent(after)",
	Class: chaos.ClassProtocol,
}, func(after int) script {
	return atEvent(after, nil, func(n int, e sse.Event) step {
		return step{out: slices.Concat(e.Whole(), e.Whole()),
			changes: []chaos.Change{{Path: eventPath(n + 1), After: shownData(e.Data)}}}
	})
})

// SwapEvents exchanges an event with the one that follows it, after so many
// others, or [Anywhere]. Two events of equal data are not exchanged.
func SwapEvents(after int) chaos.Fault { return swapEventsRow.Of(position{after}) }

var swapEventsRow = positionRow(catalog.Row{
	Kind: "swapped_events", Doc: "Two events have changed places.",
	Go:    "chaoshttp.SwapEvents(after)",
	Class: chaos.ClassProtocol,
}, func(after int) script {
	var held *sse.Event
	release := func(st step) step {
		if held != nil {
			st.out, held = held.Raw, nil
		}
		return st
	}
	return script{
		event: func(n int, e sse.Event) step {
			if n == after {
				e.Raw = bytes.Clone(e.Raw)
				held = &e
				return step{}
			}
			if held == nil {
				return as(e)
			}
			first := *held
			held = nil
			if first.Data == e.Data {
				return step{out: slices.Concat(first.Whole(), e.Raw), note: "the two events are equal"}
			}
			return step{was: slices.Concat(first.Raw, e.Raw), out: slices.Concat(e.Whole(), first.Whole()),
				changes: append(became(n-1, first.Data, e.Data), became(n, e.Data, first.Data)...)}
		},
		end: func(n int) step { return release(short(n-1, after)) },
		long: func() step { // no event that cannot be held overtakes one that is
			if held == nil {
				return step{}
			}
			return release(step{note: "the event behind it is too long to be held"})
		},
	}
})

// ErrorEvent sends the provider's error as an event, after so many others, or
// [Anywhere], and ends the stream; the status was 200 before. api and kind are
// those of [APIError].
func ErrorEvent(api API, kind ErrorKind, after int) chaos.Fault {
	return errorEventRow.Of(eventError{errorOf{api, kind}, position{after}})
}

type eventError struct {
	errorOf
	position
}

func (p eventError) Check(c *catalog.Check) { checkKind(c, p.API, p.Error) }

var errorEventRow = changeRow(catalog.Row{
	Kind: "error_event", Doc: "The provider sends an error in the middle of a response.",
	Go: "chaoshttp.ErrorEvent(api, kind, after)", Example: `{"api":"openai","error":"server","after":2}`,
	Layer: chaos.LayerStream, Class: chaos.ClassCrash, Visibility: chaos.Explicit,
}, false, func(ctx context.Context, c chaos.Call, p eventError, r Response, of Request) Response {
	is, note, ok := p.resolve(of, c.Target)
	chaos.Note(ctx, note)
	if !ok {
		return r
	}
	body, _ := is.body(c, 0)
	failure := sse.Event{Type: providers[is.API].eventType, Data: string(body), HasData: true}
	return scripted(ctx, r, atEvent(p.in(c), nil, func(n int, e sse.Event) step {
		failure.Line = e.Line
		return step{stop: io.EOF, out: sse.Append(nil, failure), changes: became(n, e.Data, failure.Data)}
	}))
})

// DropTerminator removes the events that mark a stream as complete: "[DONE]" of
// chat completions, message_stop of Anthropic's messages, response.completed of
// OpenAI's responses, and Ollama's line that is done. A stream of Gemini's has none.
func DropTerminator() chaos.Fault { return dropTerminatorRow.Of(catalog.None{}) }

var dropTerminatorRow = eventRow(catalog.Row{
	Kind: "unterminated_stream", Doc: "The events that end a response are missing.",
	Go:    "chaoshttp.DropTerminator()",
	Class: chaos.ClassProtocol,
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
		end: func(int) (st step) {
			if !done {
				st.note = "the stream has no terminator"
			}
			return st
		},
	}
})
