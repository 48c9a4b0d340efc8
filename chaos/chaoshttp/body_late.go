package chaoshttp

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// SlowHeaders delays the answer: the server does its work, and the caller waits
// wait, more than 0, for the header. If the caller gives up before, the work is
// done all the same.
func SlowHeaders(wait time.Duration) chaos.Fault { return slowHeaders.Of(headerWait{wait}) }

type headerWait struct {
	Wait time.Duration `json:"wait" bounds:"over=0" doc:"time that it takes"`
}

var slowHeaders = &catalog.Inject[headerWait]{
	Row: catalog.Row{
		Kind: "slow_headers", Doc: "The work is done, and the answer is late.",
		Go: "chaoshttp.SlowHeaders(wait)", Example: `{"wait":"5s"}`,
		Class: chaos.ClassTiming, Visibility: chaos.Implicit, Persistence: chaos.Transient, Effect: chaos.EffectDone,
	},
	Phase: chaos.PhaseAfter,
	Inject: func(ctx context.Context, _ chaos.Call, p headerWait, args any, next chaos.Next) (any, error) {
		result, err := next(ctx, args)
		if late := chaos.Sleep(ctx, p.Wait); late != nil && !errors.Is(late, chaos.ErrDisarmed) {
			return nil, late
		}
		return result, err
	},
}

// SlowBody delivers the body in pieces of at most chunk bytes, each of them,
// the first included, every later than the one before. With every = time.Second
// chunk is a rate in bytes per second. Both are more than 0. The call ends with
// its body.
func SlowBody(chunk int, every time.Duration) chaos.Fault {
	return slowBodyRow.Of(bodyRate{chunk, every})
}

type bodyRate struct {
	Chunk int           `json:"chunk" bounds:"min=1" allowed:"a number of bytes, at least 1" doc:"bytes that come at a time"`
	Every time.Duration `json:"every" bounds:"over=0" doc:"time before each of them"`
}

var slowBodyRow = bodyRow(catalog.Row{
	Kind: "slow_body", Doc: "The body comes in pieces.",
	Go: "chaoshttp.SlowBody(chunk, every)", Example: `{"chunk":16,"every":"1s"}`,
	Class: chaos.ClassTiming, Visibility: chaos.Implicit,
}, func(ctx context.Context, _ chaos.Call, p bodyRate, r Response, _ Request) Response {
	return spoil(ctx, r, r, func(s *spoiled, body io.Reader) io.Reader {
		return &slowReader{s: s, body: body, chunk: p.Chunk, every: p.Every}
	})
})

type slowReader struct {
	s        *spoiled
	body     io.Reader
	chunk    int
	every    time.Duration
	disarmed bool
	err      error // of the body, to be returned after what came with it
}

func (r *slowReader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if r.disarmed {
		return r.body.Read(p)
	}
	var n int
	n, r.err = r.body.Read(p[:min(len(p), r.chunk)])
	if n == 0 {
		return 0, r.err
	}
	disarmed, err := r.s.sleep(r.every)
	if r.disarmed = disarmed; err != nil {
		return 0, err
	}
	return n, nil
}

// CutBody breaks the connection off after n bytes of the body, n at least 0.
// The header has the whole length, and reading ends with [io.ErrUnexpectedEOF].
// A body that is not longer is not cut.
func CutBody(n int64) chaos.Fault { return cutBodyRow.Of(bodyBytes{n}) }

type bodyBytes struct {
	Bytes int64 `json:"bytes" bounds:"min=0" allowed:"a number of bytes, at least 0" doc:"bytes of the body that come"`
}

var cutBodyRow = bodyRow(catalog.Row{
	Kind: "cut_body", Doc: "The connection breaks within the body.",
	Go: "chaoshttp.CutBody(n)", Example: `{"bytes":20}`,
	Class: chaos.ClassOmission, Visibility: chaos.Explicit,
}, func(ctx context.Context, _ chaos.Call, p bodyBytes, r Response, _ Request) Response {
	if r.ContentLength >= 0 && r.ContentLength <= p.Bytes {
		chaos.Note(ctx, notLonger)
		return r
	}
	return p.cut(ctx, r, r, io.ErrUnexpectedEOF)
})

// ShortBody drops what follows the first n bytes of the body, n at least 0. A
// length in the header is that of the shorter body, so nothing in the answer
// shows the loss. A body that is not longer is not changed.
func ShortBody(n int64) chaos.Fault { return shortBodyRow.Of(bodyBytes{n}) }

var shortBodyRow = bodyRow(catalog.Row{
	Kind: "short_body", Doc: "The end of the body is missing, without a sign of it.",
	Go: "chaoshttp.ShortBody(n)", Example: `{"bytes":20}`,
	Class: chaos.ClassOmission, Visibility: chaos.Implicit,
}, func(ctx context.Context, _ chaos.Call, p bodyBytes, r Response, _ Request) Response {
	length := p.Bytes
	switch {
	case r.ContentLength < 0:
		length = -1
	case r.ContentLength <= p.Bytes:
		chaos.Note(ctx, notLonger)
		return r
	}
	return p.cut(ctx, r, sized(r, length), io.EOF)
})

const notLonger = "the body is not longer than what is left of it"

// cut ends the body of r early, with the given error. to is the response that
// the client gets.
func (p bodyBytes) cut(ctx context.Context, r, to Response, end error) Response {
	return spoil(ctx, r, to, func(s *spoiled, body io.Reader) io.Reader {
		return &cutReader{s: s, body: body, left: p.Bytes, kept: p.Bytes, size: r.ContentLength, end: end}
	})
}

// cutReader ends a body early, if there is more of it.
type cutReader struct {
	s    *spoiled
	body io.Reader
	left int64
	kept int64
	size int64 // of the whole; -1: not known
	end  error
	done error
}

func (r *cutReader) Read(p []byte) (int, error) {
	if r.done != nil || len(p) == 0 {
		return 0, r.done
	}
	if r.left > 0 {
		n, err := r.body.Read(p[:min(int64(len(p)), r.left)])
		r.left -= int64(n)
		return n, err
	}
	if r.size < 0 { // is there more?
		var one [1]byte
		if _, err := io.ReadFull(r.body, one[:]); err != nil {
			return 0, err
		}
	}
	ch := chaos.Change{Path: "", After: number(r.kept)}
	if r.size >= 0 {
		ch.Before = number(r.size)
	}
	r.s.changed(ch)
	if r.done = r.end; r.end != io.EOF {
		r.done = r.s.fail(r.end)
	}
	return 0, r.done
}
