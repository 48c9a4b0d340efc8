package chaoshttp

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/blame"
	"github.com/shakedown-go/shakedown/internal/sse"
)

// A script decides what becomes of the events of one stream. It sees the events
// that a client would get, without comments.
type script struct {
	// event is called with the n-th event, counting from 0.
	event func(n int, e sse.Event) step
	// end is called when the stream ended after n events, well or not. It returns what
	// the script held back. nil: it held nothing.
	end func(n int) step
	// long is called when a part of an event comes that is too long to be held; nil: no
	// event is held.
	long func() step
	// keepsSize keeps the stated length of the stream, whatever becomes of its events.
	keepsSize bool
}

type step struct {
	wait time.Duration // before the rest; negative: until the call ends
	out  []byte        // what the caller gets in the event's place
	was  []byte        // what it would have got, where that is not the event alone
	// changes are declared when the caller gets the first byte that it would
	// not have got or, if there is none, the end: what is not read was not delivered.
	changes []chaos.Change
	stop    error // after out: io.EOF, or an error that the fault makes
	note    string
}

func as(e sse.Event) step { return step{out: e.Raw} }

// eventBody is the body of an event stream that follows a script.
type eventBody struct {
	s      *spoiled
	src    *sse.Reader
	script *script // nil: the rest passes as it is
	n      int
	out    []byte
	due    []chaos.Change
	mark   int    // the index in out of the byte that shows what is due; len(out): the next byte does
	was    []byte // the original of what follows mark
	stop   error
}

// scripted puts a script in front of a response, if that is an event stream. Unless
// the script keeps it, the stream has no stated length any more: its readers go by its
// events.
func scripted(ctx context.Context, r Response, sc script) Response {
	if problem := noStream(r); problem != "" {
		chaos.Note(ctx, problem)
		return r
	}
	to := r
	if !sc.keepsSize {
		to = resized(r)
	}
	return spoil(ctx, r, to, func(s *spoiled, body io.Reader) io.Reader {
		src := sse.NewReader(body, 0)
		if isLines(r.Header) {
			src = sse.NewLineReader(body, 0)
		}
		return &eventBody{s: s, src: src, script: &sc}
	})
}

// noStream returns what a response is instead of an event stream; empty: it is one.
func noStream(r Response) string {
	if problem := encodedAs(r); problem != "" || isStream(r.Header) {
		return problem
	}
	return fmt.Sprintf("the response is no event stream: its content type is %q", r.Header.Get("Content-Type"))
}

// encodedAs returns why the body of a response cannot be read as it is; empty: it can.
func encodedAs(r Response) string {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return "the response is encoded: " + coding
	}
	return ""
}

func isStream(h http.Header) bool { return mediaType(h) == "text/event-stream" || isLines(h) }

// isLines reports whether a stream is one of lines, each of which is a JSON document.
func isLines(h http.Header) bool {
	return slices.Contains([]string{"application/x-ndjson", "application/ndjson", "application/jsonl"}, mediaType(h))
}

// mediaType is that of the content; empty: it cannot be read.
func mediaType(h http.Header) string {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// Read reads what the script leaves of the stream.
func (b *eventBody) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(b.out) == 0 && b.stop == nil {
		b.fill()
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	if len(b.due) > 0 && (b.mark < n || n == 0) {
		b.s.changed(b.due...)
		b.due, b.was = nil, nil
	}
	b.mark -= n
	if n == 0 {
		return 0, b.stop
	}
	return n, nil
}

func (b *eventBody) fill() {
	e, err := b.src.Next()
	switch {
	case err != nil:
		if b.finish(nil); b.stop == nil {
			b.stop = err
		}
	case b.script == nil:
		b.take(as(e), e.Raw)
	case !e.Ended && !e.Part: // the stream broke off: clients drop this one
		b.finish(e.Raw)
	case e.Part:
		st := step{}
		if b.script.long != nil {
			st = b.script.long()
		}
		st.out = slices.Concat(st.out, e.Raw)
		b.take(st, e.Raw)
	case !e.Seen():
		b.take(as(e), e.Raw)
	default:
		b.n++
		b.take(b.script.event(b.n-1, e), e.Raw)
	}
}

// finish ends the script before the rest of the stream.
func (b *eventBody) finish(rest []byte) {
	sc := b.script
	b.script = nil
	if sc == nil {
		return
	}
	st := step{}
	if sc.end != nil {
		st = sc.end(b.n)
	}
	st.out = slices.Concat(st.out, rest)
	b.take(st, rest)
}

// take does what a step says instead of what the provider sent.
func (b *eventBody) take(st step, raw []byte) {
	if st.note != "" {
		chaos.Note(b.s.ctx, st.note)
	}
	if st.wait != 0 {
		disarmed, err := b.s.sleep(st.wait)
		if err != nil {
			b.stop = b.s.fail(err)
			return
		}
		if disarmed {
			b.script = nil
		}
	}
	b.out = st.out
	b.due = append(b.due, st.changes...)
	if len(b.due) > 0 {
		if st.was != nil {
			raw = st.was
		}
		b.was = append(b.was, raw...)
		b.mark = blame.Common(b.out, b.was)
		if b.mark == len(b.out) && b.mark == len(b.was) {
			b.mark = 0 // the caller got the difference before, and it is known to be one now
		}
		b.was = b.was[min(b.mark, len(b.was)):]
	}
	switch {
	case st.stop == io.EOF:
		b.stop = io.EOF
	case st.stop != nil:
		b.stop = b.s.fail(st.stop)
	}
}
