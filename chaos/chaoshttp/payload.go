package chaoshttp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

// payload is the beginning of a request's body, read before the call: all of it
// if it is not longer than the limit. It stays with the request, so that the
// request can be sent again, also on behalf of a later call.
type payload struct {
	of   *http.Request // as it was given
	head []byte
	body io.ReadCloser // what the callee reads instead of the request's, which was read from; nil: it was not
	all  bool          // head is the whole body
	sent atomic.Bool
	talk *talk // nil: not kept
}

func hasBody(r *http.Request) bool { return r.Body != nil && r.Body != http.NoBody }

// read takes a copy of a body. A request that can give one (GetBody) keeps its
// own untouched; otherwise the body is read, and the callee gets the copy and
// the rest. A body without a stated size is read only if it is one JSON
// document: another may be a stream whose writer waits for the answer.
func read(r *http.Request, limit int64, server bool) (*payload, error) {
	p := &payload{of: r}
	if !hasBody(r) {
		p.all = true
		return p, nil
	}
	kind := r.Header.Get("Content-Type")
	if r.ContentLength <= 0 && (oneByOne(kind) || !strings.Contains(kind, "json")) {
		return p, nil
	}
	src := r.Body
	switch {
	case r.GetBody != nil:
		again, err := r.GetBody()
		if err != nil {
			r.Body.Close()
			return nil, err
		}
		defer again.Close()
		src = again
	case !server: // a transport ends a body that stalls in the same way
		stop := context.AfterFunc(r.Context(), func() { src.Close() })
		defer stop()
	}
	head, err := readUpTo(src, limit+1, r.ContentLength)
	if err != nil && !server && r.Context().Err() != nil {
		r.Body.Close()
		return nil, context.Cause(r.Context())
	}
	if p.head, p.all = head, err == nil && int64(len(head)) <= limit; !p.all {
		p.head = head[:min(int64(len(head)), limit)]
	}
	if r.GetBody == nil {
		rest := io.MultiReader(bytes.NewReader(head), src)
		if err != nil {
			rest = io.MultiReader(bytes.NewReader(head), broken{err})
		}
		p.body = struct {
			io.Reader
			io.Closer
		}{rest, src}
	}
	return p, nil
}

// broken is the end of a body that failed while it was read.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

// readUpTo reads at most so many bytes of a body of about that size.
func readUpTo(src io.Reader, most, size int64) ([]byte, error) {
	if size <= 0 {
		size = 511
	}
	doc := make([]byte, 0, min(size, most)+1)
	src = io.LimitReader(src, most)
	for {
		n, err := src.Read(doc[len(doc):cap(doc)])
		doc = doc[:len(doc)+n]
		switch {
		case err == io.EOF:
			return doc, nil
		case err != nil:
			return doc, err
		case len(doc) == cap(doc):
			doc = slices.Grow(doc, len(doc))
		}
	}
}

// errSentOnce is the error of a second send of a request whose body was a
// stream, or longer than what is kept of one.
var errSentOnce error = sentOnce{}

type sentOnce struct{}

func (sentOnce) Error() string { return "http: the body of the request cannot be sent again" }

// Unsent reports that the callee was not reached.
func (sentOnce) Unsent() bool { return true }

// errNoRequest is the error of a fault that passes on no request.
var errNoRequest error = noRequest{}

type noRequest struct{}

func (noRequest) Error() string { return "http: a fault passed on no request" }

// Unsent reports that the callee was not reached.
func (noRequest) Unsent() bool { return true }

// send returns the request for the callee: with its original body the first
// time, with a copy on repeats. A body set by a fault is left alone.
func (p *payload) send(r *http.Request) (*http.Request, error) {
	again := p.sent.Swap(true)
	switch {
	case r.Body == nil || r.Body == http.NoBody || !sameBody(r.Body, p.of.Body):
	case !again && p.body != nil:
		r.Body = p.body
	case !again:
	case p.of.GetBody != nil:
		body, err := p.of.GetBody()
		if err != nil {
			return nil, err
		}
		r.Body = body
	case p.all:
		r.Body = io.NopCloser(bytes.NewReader(p.head))
	default:
		return nil, errSentOnce
	}
	return r, nil
}

// sameBody is a == b, also for types with which that would panic.
func sameBody(a, b io.ReadCloser) bool {
	if !reflect.ValueOf(a).Comparable() || !reflect.ValueOf(b).Comparable() {
		return reflect.DeepEqual(a, b)
	}
	return a == b
}

// key tells calls of one target apart: by the query and the body, by value if
// the body is JSON. A request without either has the empty key.
func (p *payload) key(r *http.Request) (key uint64) {
	if p != nil && len(p.head) > 0 {
		key = jsonhash.Sum(p.head)
	}
	if r.URL.RawQuery != "" {
		key = hash.Combine(key, hash.String(r.URL.RawQuery))
	}
	return key
}

// maxModel bounds the name of a model, in bytes: it becomes part of a target.
// Names of models have no spaces, which tells rules for other paths from those
// for a model.
const maxModel = 128

// model is the member "model" of a JSON object, if it was read; empty: there is
// none, or it is not the name of a model.
func (p *payload) model() string {
	value := firstMember(p.head, "model")
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	model := value[1 : len(value)-1]
	if bytes.IndexByte(model, '\\') >= 0 || bytes.IndexFunc(model, unusual) >= 0 {
		var text string
		if json.Unmarshal(value, &text) != nil {
			return ""
		}
		model = []byte(text)
	}
	if len(model) > maxModel || bytes.ContainsAny(model, " \t\r\n") {
		return ""
	}
	return string(model)
}

// unusual reports whether a character of a JSON string may stand for another one.
func unusual(r rune) bool { return r < ' ' || r >= utf8.RuneSelf }

// firstMember is the text of a member's value in a JSON object, the first of
// that name. It scans no further, and of what stands before only to its end.
// nil: there is none, or doc ends before the value does.
func firstMember(doc []byte, name string) []byte {
	i := jsonedit.Space(doc, 0)
	if i == len(doc) || doc[i] != '{' {
		return nil
	}
	for i++; ; i++ {
		i = jsonedit.Space(doc, i)
		from := i
		if i = jsonedit.After(doc, i); i < 0 || doc[from] != '"' {
			return nil
		}
		found := called(doc[from:i], name)
		if i = jsonedit.Space(doc, i); i == len(doc) || doc[i] != ':' {
			return nil
		}
		from = jsonedit.Space(doc, i+1)
		if i = jsonedit.After(doc, from); i < 0 {
			return nil
		}
		if found {
			return doc[from:i]
		}
		if i = jsonedit.Space(doc, i); i == len(doc) || doc[i] != ',' {
			return nil
		}
	}
}

// called reports whether a JSON string equals the name.
func called(quoted []byte, name string) bool {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1:len(quoted)-1]) == name
	}
	var text string
	return json.Unmarshal(quoted, &text) == nil && text == name
}
