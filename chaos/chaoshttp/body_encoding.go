package chaoshttp

import (
	"compress/gzip"
	"context"
	"io"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// WrongEncoding marks the body as compressed with gzip, which it is not. A
// client whose transport decompresses by itself, the usual case, fails to read
// it ([gzip.ErrHeader]). One that set Accept-Encoding itself gets the header
// and the plain body. A body that already has an encoding is not changed.
func WrongEncoding() chaos.Fault { return wrongEncodingRow.Of(catalog.None{}) }

var wrongEncodingRow = bodyRow(catalog.Row{
	Kind: "wrong_encoding", Doc: "The header says that the body is compressed; it is not.",
	Go:    "chaoshttp.WrongEncoding()",
	Class: chaos.ClassProtocol, Visibility: chaos.Explicit,
}, func(ctx context.Context, _ chaos.Call, _ catalog.None, r Response, of Request) Response {
	if r.Header.Get("Content-Encoding") != "" {
		chaos.Note(ctx, "the body has an encoding already")
		return r
	}
	if size(r.Response) == 0 {
		chaos.Note(ctx, emptyBody)
		return r
	}
	if of.server || of.Request != nil && (of.Header.Get("Accept-Encoding") != "" || of.Header.Get("Range") != "") {
		c := copied(r)
		c.Header.Set("Content-Encoding", "gzip")
		// The client that sees the header is told of the fault by it.
		return spoil(ctx, r, c, func(_ *spoiled, body io.Reader) io.Reader { return body })
	}
	c := copied(resized(r))
	c.Uncompressed = true
	return spoil(ctx, r, c, func(s *spoiled, body io.Reader) io.Reader { return &inflated{s: s, body: body} })
})

// inflated reads a body as a transport does that decompresses it.
type inflated struct {
	s    *spoiled
	body io.Reader
	zip  io.Reader
}

func (r *inflated) Read(p []byte) (int, error) {
	if r.zip == nil {
		zip, err := gzip.NewReader(r.body)
		switch {
		case err == gzip.ErrHeader, err == io.ErrUnexpectedEOF: // not wrapped: that is another fault's
			return 0, r.s.fail(err)
		case err != nil:
			return 0, err
		}
		r.zip = zip // it was compressed after all
	}
	return r.zip.Read(p)
}
