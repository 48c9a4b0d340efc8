package chaoshttp

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"mime"
	"strings"
	"unicode/utf8"

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
		return spoil(ctx, r, c, func(s *spoiled, body io.Reader) io.Reader {
			return &marked{s: s, body: body, what: chaos.Change{Path: "/Content-Encoding", After: text("gzip")}}
		})
	}
	c := copied(resized(r))
	c.Uncompressed = true
	return spoil(ctx, r, c, func(s *spoiled, body io.Reader) io.Reader { return &inflated{s: s, body: body} })
})

// marked declares a change at the first byte that is read.
type marked struct {
	s        *spoiled
	body     io.Reader
	what     chaos.Change
	declared bool
}

func (m *marked) Read(p []byte) (int, error) {
	n, err := m.body.Read(p)
	if n > 0 && !m.declared {
		m.declared = true
		m.s.changed(m.what)
	}
	return n, err
}

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

// WrongCharset sends text in ISO 8859-1 under a content type of UTF-8.
// Characters beyond ASCII become bytes that are no UTF-8; those that ISO 8859-1
// does not have become question marks. A body of ASCII alone is not changed,
// nor one with a stated length of more than 4 MiB. A response without a length
// keeps its content type.
func WrongCharset() chaos.Fault { return wrongCharsetRow.Of(catalog.None{}) }

var wrongCharsetRow = bodyRow(catalog.Row{
	Kind: "wrong_charset", Doc: "The body is in another character set than its header says.",
	Go:    "chaoshttp.WrongCharset()",
	Class: chaos.ClassProtocol, Visibility: chaos.Implicit,
}, func(ctx context.Context, _ chaos.Call, _ catalog.None, r Response, _ Request) Response {
	if size(r.Response) < 0 { // the header is sent before it is known whether anything is beyond ASCII
		return spoil(ctx, r, r, func(s *spoiled, body io.Reader) io.Reader {
			return &latin1{declare: s.changed, body: bufio.NewReader(body)}
		})
	}
	return revise(ctx, r, mostJSON, "the body is longer than 4 MiB",
		func(_ context.Context, doc []byte) (revision, error) {
			return inLatin1(doc), nil
		}, inUTF8)
})

// inUTF8 is a response that says that it is UTF-8.
func inUTF8(r Response) Response {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || strings.EqualFold(params["charset"], "utf-8") {
		return r
	}
	c := copied(r)
	params["charset"] = "utf-8"
	c.Header.Set("Content-Type", mime.FormatMediaType(kind, params))
	return c
}

// inLatin1 rewrites a document in ISO 8859-1.
func inLatin1(doc []byte) (rev revision) {
	l := &latin1{declare: func(ch ...chaos.Change) { rev.what = ch }, body: bufio.NewReader(bytes.NewReader(doc))}
	rev.doc, _ = io.ReadAll(l) // of memory
	return rev
}

type latin1 struct {
	declare  func(...chaos.Change)
	body     *bufio.Reader
	declared bool
}

func (l *latin1) Read(p []byte) (n int, err error) {
	for n < len(p) && (n == 0 || l.body.Buffered() >= utf8.UTFMax) {
		r, size, err := l.body.ReadRune()
		if err != nil {
			return n, err
		}
		switch {
		case r == utf8.RuneError && size == 1: // it was not UTF-8 before
			_ = l.body.UnreadRune()
			p[n], _ = l.body.ReadByte()
		case r > 0xFF:
			p[n] = '?'
		default:
			p[n] = byte(r)
		}
		n++
		if size > 1 && !l.declared {
			l.declared = true
			l.declare(chaos.Change{Before: text(string(r)), After: text("\uFFFD")})
		}
	}
	return n, nil
}

// Oversized puts white space before the body, until it is n bytes long, 1 to 1
// TiB in all. JSON stays JSON, and a client that reads all of it at once needs
// that much memory; this package holds none of it. A body that is not shorter
// is not changed.
func Oversized(n int64) chaos.Fault { return oversizedRow.Of(bodySize{n}) }

type bodySize struct {
	Bytes int64 `json:"bytes" bounds:"min=1,max=1099511627776" allowed:"a number of bytes from 1 to 1099511627776" doc:"length that the body is brought to"`
}

var oversizedRow = bodyRow(catalog.Row{
	Kind: "oversized_body", Doc: "The body is very long.",
	Go: "chaoshttp.Oversized(n)", Example: `{"bytes":65536}`,
	Class: chaos.ClassValue, Visibility: chaos.Implicit,
}, func(ctx context.Context, _ chaos.Call, p bodySize, r Response, _ Request) Response {
	more := p.Bytes - max(r.ContentLength, 0)
	if more <= 0 {
		chaos.Note(ctx, "the body is that long already")
		return r
	}
	c := resized(r)
	if r.ContentLength >= 0 {
		c = sized(r, p.Bytes)
	}
	return spoil(ctx, r, c, func(s *spoiled, body io.Reader) io.Reader {
		pad := &marked{s: s, body: io.LimitReader(blank{}, more), what: chaos.Change{After: number(p.Bytes)}}
		return io.MultiReader(pad, body)
	})
})

// blank is endless white space.
type blank struct{}

func (blank) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
