package chaoshttp

import (
	"context"
	"io"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// CutBody breaks the connection off after n bytes of the body, n at least 0.
// The header has the whole length, and reading ends with [io.ErrUnexpectedEOF].
// A body that is not longer is not cut.
func CutBody(n int64) chaos.Fault {
	return change{
		d:     spoils("cut_body", chaos.ClassOmission, chaos.Explicit, bytesParams{n}),
		check: atLeast(n, 0),
		apply: func(ctx context.Context, _ chaos.Call, r Response, _ Request) (Response, error) {
			if r.ContentLength >= 0 && r.ContentLength <= n {
				chaos.Note(ctx, "the body is not longer than what is left of it")
				return r, nil
			}
			return spoil(ctx, r, r, func(s *spoiled, body io.Reader) io.Reader {
				return &cutReader{s: s, body: body, left: n, kept: n, size: r.ContentLength, end: io.ErrUnexpectedEOF}
			}), nil
		},
	}
}

// ShortBody drops what follows the first n bytes of the body, n at least 0. A
// length in the header is that of the shorter body, so nothing in the answer
// shows the loss. A body that is not longer is not changed.
func ShortBody(n int64) chaos.Fault {
	return change{
		d:     spoils("short_body", chaos.ClassOmission, chaos.Implicit, bytesParams{n}),
		check: atLeast(n, 0),
		apply: func(ctx context.Context, _ chaos.Call, r Response, _ Request) (Response, error) {
			length := n
			switch {
			case r.ContentLength < 0:
				length = -1
			case r.ContentLength <= n:
				chaos.Note(ctx, "the body is not longer than what is left of it")
				return r, nil
			}
			return spoil(ctx, r, sized(r, length), func(s *spoiled, body io.Reader) io.Reader {
				return &cutReader{s: s, body: body, left: n, kept: n, size: r.ContentLength, end: io.EOF}
			}), nil
		},
	}
}

type bytesParams struct {
	Bytes int64 `json:"bytes"`
}

func atLeast(n, least int64) func(*param.Check) {
	return func(c *param.Check) {
		c.That(n >= least, "bytes", n, "a number of bytes, at least "+string(number(least)))
	}
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
