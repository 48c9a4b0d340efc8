package chaoshttp

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/sse"
)

// A script says what becomes of the events of one stream. It is asked about
// those that a client would be handed, comments apart.
type script interface {
	// event is asked about the n-th event, counting from 0.
	event(n int, e sse.Event) step
	// end is asked when the stream ended after n events, well or not: what the
	// script kept back is to come now.
	end(n int) step
}

// step is what a script makes of one event.
type step struct {
	wait time.Duration // before the rest; negative: until the call ends
	out  []byte        // what the caller gets in the event's place
	// changes are declared when the caller is handed out or, if there is none,
	// what comes next: what nobody reads was not delivered.
	changes []chaos.Change
	stop    error // after out: io.EOF, or an error that the fault makes
	note    string
}

// as passes an event through as it came.
func as(e sse.Event) step { return step{out: e.Raw} }

// eventBody is the body of an event stream that follows a script.
type eventBody struct {
	s      *spoiled
	src    *sse.Reader
	script script // nil: the rest passes as it is
	n      int
	out    []byte
	due    []chaos.Change
	stop   error
}

// scripted puts a script in front of a response, if that is an event stream.
func scripted(ctx context.Context, result any, sc script) any {
	r, problem := streamIn(result)
	if problem != "" {
		chaos.Note(ctx, problem)
		return result
	}
	return spoil(ctx, resized(r), func(s *spoiled, body io.Reader) io.Reader {
		return &eventBody{s: s, src: sse.NewReader(body, 0), script: sc}
	})
}

// streamIn returns the response if it is an event stream, or what it is instead.
func streamIn(result any) (r Response, problem string) {
	r, problem = plainIn(result)
	if problem == "" && !isStream(r.Header) {
		problem = fmt.Sprintf("the response is no event stream: its content type is %q", r.Header.Get("Content-Type"))
	}
	return r, problem
}

// plainIn returns the response if its body can be read as it stands.
func plainIn(result any) (r Response, problem string) {
	r, ok := result.(Response)
	switch {
	case !ok || r.Response == nil || r.Body == nil:
		return r, fmt.Sprintf("the result, %T, is no HTTP response", result)
	case encoded(r.Header):
		return r, fmt.Sprintf("the response is encoded: %s", r.Header.Get("Content-Encoding"))
	}
	return r, ""
}

func encoded(h http.Header) bool {
	coding := h.Get("Content-Encoding")
	return coding != "" && coding != "identity"
}

func isStream(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && kind == "text/event-stream"
}

// Read hands over what the script leaves of the stream.
func (b *eventBody) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(b.out) == 0 && b.stop == nil {
		b.fill()
	}
	if len(b.due) > 0 {
		b.s.changed(b.due...)
		b.due = nil
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	if n == 0 {
		return 0, b.stop
	}
	return n, nil
}

// fill takes one event of the provider.
func (b *eventBody) fill() {
	e, err := b.src.Next()
	switch {
	case err != nil && b.script != nil:
		sc := b.script
		b.script = nil
		b.take(sc.end(b.n))
		if b.stop == nil {
			b.stop = err
		}
	case err != nil:
		b.stop = err
	case b.script == nil || !e.Seen():
		b.out = e.Raw
	default:
		b.n++
		b.take(b.script.event(b.n-1, e))
	}
}

// take does what a step says.
func (b *eventBody) take(st step) {
	if st.note != "" {
		b.s.note(st.note)
	}
	if st.wait != 0 {
		calm, err := b.s.sleep(st.wait)
		if err != nil {
			b.stop = b.s.fail(err)
			return
		}
		if calm {
			b.script = nil
		}
	}
	b.out = st.out
	b.due = append(b.due, st.changes...)
	switch {
	case st.stop == io.EOF:
		b.stop = io.EOF
	case st.stop != nil:
		b.stop = b.s.fail(st.stop)
	}
}
