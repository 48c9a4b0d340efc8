package chaoshttp

import (
	"compress/gzip"
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
		Class: chaos.ClassTiming,
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

var slowBodyRow = changeRow(catalog.Row{
	Kind: "slow_body", Doc: "The body comes in pieces.",
	Go: "chaoshttp.SlowBody(chunk, every)", Example: `{"chunk":16,"every":"1s"}`,
	Class: chaos.ClassTiming,
}, false, func(ctx context.Context, _ chaos.Call, p bodyRate, r Response, _ Request) Response {
	return spoil(ctx, r, r, func(s *spoiled, body io.Reader) io.Reader {
		disarmed := false
		var end error // of the body, to be returned after what came with it
		return readFunc(func(b []byte) (n int, err error) {
			if end != nil {
				return 0, end
			}
			if disarmed {
				return body.Read(b)
			}
			if n, end = body.Read(b[:min(len(b), p.Chunk)]); n == 0 {
				return 0, end
			}
			if disarmed, err = s.sleep(p.Every); err != nil {
				return 0, err
			}
			return n, nil
		})
	})
})

// CutBody breaks the connection off after n bytes of the body, n at least 0.
// The header has the whole length, and reading ends with [io.ErrUnexpectedEOF].
// A body that is not longer is not cut.
func CutBody(n int64) chaos.Fault { return cutBodyRow.Of(bodyBytes{n}) }

type bodyBytes struct {
	Bytes int64 `json:"bytes" bounds:"min=0" allowed:"a number of bytes, at least 0" doc:"bytes of the body that come"`
}

var cutBodyRow = cutRow(catalog.Row{
	Kind: "cut_body", Doc: "The connection breaks within the body.", Go: "chaoshttp.CutBody(n)",
	Visibility: chaos.Explicit,
}, io.ErrUnexpectedEOF)

// ShortBody drops what follows the first n bytes of the body, n at least 0. A
// length in the header is that of the shorter body, so nothing in the answer
// shows the loss. A body that is not longer is not changed.
func ShortBody(n int64) chaos.Fault { return shortBodyRow.Of(bodyBytes{n}) }

var shortBodyRow = cutRow(catalog.Row{
	Kind: "short_body", Doc: "The end of the body is missing, without a sign of it.", Go: "chaoshttp.ShortBody(n)",
}, io.EOF)

// cutRow completes the row of a fault by which a body ends early, if there is more of it.
// With [io.EOF] the header agrees.
func cutRow(row catalog.Row, end error) *catalog.Inject[bodyBytes] {
	row.Example, row.Class = `{"bytes":20}`, chaos.ClassOmission
	return changeRow(row, false, func(ctx context.Context, _ chaos.Call, p bodyBytes, r Response, _ Request) Response {
		whole, to := r.ContentLength, r
		switch {
		case whole >= 0 && whole <= p.Bytes:
			chaos.Note(ctx, "the body is not longer than what is left of it")
			return r
		case end == io.EOF && whole >= 0:
			to = sized(r, p.Bytes)
		case end == io.EOF:
			to = resized(r)
		}
		return spoil(ctx, r, to, func(s *spoiled, body io.Reader) io.Reader {
			left := p.Bytes
			return readFunc(func(b []byte) (int, error) {
				if len(b) == 0 {
					return 0, nil
				}
				if left > 0 {
					n, err := body.Read(b[:min(int64(len(b)), left)])
					left -= int64(n)
					return n, err
				}
				if whole < 0 {
					if _, err := io.ReadFull(body, make([]byte, 1)); err != nil {
						return 0, err // there is no more of it
					}
				}
				if s.changed(chaos.Change{Before: number(whole), After: number(p.Bytes)}); end == io.EOF {
					return 0, end
				}
				return 0, s.fail(end)
			})
		})
	})
}

// WrongEncoding marks the body as compressed with gzip, which it is not. A
// client whose transport decompresses by itself, the usual case, fails to read
// it ([gzip.ErrHeader]). One that set Accept-Encoding itself gets the header
// and the plain body. A body that already has an encoding is not changed.
func WrongEncoding() chaos.Fault { return wrongEncodingRow.Of(catalog.None{}) }

var wrongEncodingRow = changeRow(catalog.Row{
	Kind: "wrong_encoding", Doc: "The header says that the body is compressed; it is not.",
	Go:    "chaoshttp.WrongEncoding()",
	Class: chaos.ClassProtocol, Visibility: chaos.Explicit,
}, false, func(ctx context.Context, _ chaos.Call, _ catalog.None, r Response, of Request) Response {
	switch {
	case r.Header.Get("Content-Encoding") != "":
		chaos.Note(ctx, "the body has an encoding already")
		return r
	case size(r.Response) == 0:
		chaos.Note(ctx, emptyBody)
		return r
	case of.server || of.Request != nil && (of.Header.Get("Accept-Encoding") != "" || of.Header.Get("Range") != ""):
		c := copied(r)
		c.Header.Set("Content-Encoding", "gzip")
		// The client that sees the header is told of the fault by it.
		return spoil(ctx, r, c, func(_ *spoiled, body io.Reader) io.Reader { return body })
	}
	c := copied(resized(r))
	c.Uncompressed = true
	return spoil(ctx, r, c, func(s *spoiled, body io.Reader) io.Reader {
		var zip io.Reader
		return readFunc(func(p []byte) (int, error) { // as a transport does that decompresses
			if zip == nil {
				z, err := gzip.NewReader(body)
				switch {
				case err == gzip.ErrHeader, err == io.ErrUnexpectedEOF: // not wrapped: that is another fault's
					return 0, s.fail(err)
				case err != nil:
					return 0, err
				}
				zip = z // it was compressed after all
			}
			return zip.Read(p)
		})
	})
})
