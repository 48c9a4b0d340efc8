package chaoshttp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/blame"
)

// revision is what a fault makes of a document: another one, and what to
// declare once the caller reads the difference.
type revision struct {
	doc  []byte
	what []chaos.Change
}

// revise lets a fault replace a document of at most so many bytes; for a longer
// one the event says unfit. make gets the whole document and returns a
// revision, or an error for the reader of the body.
//
// If the length is known, the document is read and changed before the caller
// has the header, which gets the new length; an answer without a change stays as it
// was. If the length is not known, the document is read when the caller reads it.
func revise(ctx context.Context, r Response, most int64, unfit string,
	make func(context.Context, []byte) (revision, error)) Response {
	switch {
	case r.ContentLength > most:
		chaos.Note(ctx, unfit)
		return r
	case size(r.Response) == 0:
		chaos.Note(ctx, emptyBody)
		return r
	case r.ContentLength <= 0:
		return spoil(ctx, r, resized(r), func(s *spoiled, body io.Reader) io.Reader {
			return &lazy{open: func() io.Reader {
				doc, rest, ok := all(body, most)
				if !ok {
					s.note(unfit)
					return io.MultiReader(bytes.NewReader(doc), rest)
				}
				rev, err := make(s.ctx, doc)
				return rev.reader(s, doc, err)
			}}
		})
	}
	doc, rest, ok := all(r.Body, most)
	if !ok {
		chaos.Note(ctx, unfit)
		return held(r, doc, rest)
	}
	rev, err := make(ctx, doc)
	if err == nil && bytes.Equal(rev.doc, doc) {
		return held(r, doc, rest)
	}
	c := held(r, nil, rest)
	if err == nil {
		c = sized(c, int64(len(rev.doc)))
	}
	return spoil(ctx, r, c, func(s *spoiled, _ io.Reader) io.Reader { return rev.reader(s, doc, err) })
}

// reader reads the revision of doc.
func (rev revision) reader(s *spoiled, doc []byte, err error) io.Reader {
	switch {
	case err != nil && s.ctx.Err() != nil:
		return broken{err} // it waited, and the caller left
	case err != nil:
		return broken{s.fail(err)}
	case bytes.Equal(rev.doc, doc):
		return bytes.NewReader(doc)
	}
	return &altered{s: s, doc: rev.doc, mark: blame.Common(doc, rev.doc), what: rev.what}
}

// whole is a body that was read in full and is served from memory.
type whole struct {
	io.Reader
	from io.ReadCloser
}

func (w *whole) Close() error { return w.from.Close() }

// memory is a body without a connection.
type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

// held is a response with doc, which was read, followed by rest, which was not.
func held(r Response, doc []byte, rest io.Reader) Response {
	c := *r.Response
	c.Body = &whole{Reader: io.MultiReader(bytes.NewReader(doc), rest), from: r.Body}
	return Response{&c}
}

// all reads a body of at most so many bytes. For a longer one, ok is false and
// rest begins with what was read.
func all(body io.Reader, most int64) (doc []byte, rest io.Reader, ok bool) {
	doc, err := io.ReadAll(io.LimitReader(body, most+1))
	rest = body
	if err != nil {
		rest = broken{err}
	}
	return doc, rest, err == nil && int64(len(doc)) <= most
}

// jsonIn reads a JSON document. If the body is none, it adds a note to the
// event.
func jsonIn(ctx context.Context, body io.Reader, most int64) (doc []byte, rest io.Reader, ok bool) {
	if doc, rest, ok = all(body, most); !ok || !json.Valid(doc) {
		chaos.Note(ctx, notJSON)
		return doc, rest, false
	}
	return doc, rest, true
}

const emptyBody = "the body is empty"

const notJSON = "the body is no JSON of at most 4 MiB"
