package chaoshttp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
	"github.com/shakedown-go/shakedown/internal/redact"
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
	head, rest, ok := all(src, limit, r.ContentLength)
	if !ok && !server && r.Context().Err() != nil {
		r.Body.Close()
		return nil, context.Cause(r.Context())
	}
	p.head, p.all = head[:min(int64(len(head)), limit)], ok
	if r.GetBody == nil {
		p.body = &whole{io.MultiReader(bytes.NewReader(head), rest), src}
	}
	return p, nil
}

// all reads a body of at most so many bytes, and of about that size. Where that is not all of it, ok is
// false, and rest is what follows.
func all(body io.Reader, most, size int64) (doc []byte, rest io.Reader, ok bool) {
	if size <= 0 {
		size = 511
	}
	doc = make([]byte, 0, min(size, most+1)+1)
	src := io.LimitReader(body, most+1)
	for {
		n, err := src.Read(doc[len(doc):cap(doc)])
		doc = doc[:len(doc)+n]
		switch {
		case err == io.EOF:
			return doc, body, int64(len(doc)) <= most
		case err != nil:
			return doc, failing(err), false
		case len(doc) == cap(doc):
			doc = slices.Grow(doc, len(doc))
		}
	}
}

type unsent string

func (u unsent) Error() string { return string(u) }

// Unsent reports that the callee was not reached.
func (unsent) Unsent() bool { return true }

const (
	// errSentOnce: the body was a stream, or longer than what is kept of one.
	errSentOnce  = unsent("http: the body of the request cannot be sent again")
	errNoRequest = unsent("http: a fault passed on no request")
)

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
	model := string(value[1 : len(value)-1])
	if strings.ContainsFunc(model, unusual) {
		var text string
		if json.Unmarshal(value, &text) != nil {
			return ""
		}
		model = text
	}
	if len(model) > maxModel || strings.ContainsAny(model, " \t\r\n") {
		return ""
	}
	return model
}

// unusual reports whether a character of a JSON string may stand for another one.
func unusual(r rune) bool { return r < ' ' || r >= utf8.RuneSelf || r == '\\' }

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

func called(quoted []byte, name string) bool {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1:len(quoted)-1]) == name
	}
	var text string
	return json.Unmarshal(quoted, &text) == nil && text == name
}

const (
	// maxTalk bounds each body in a [chaos.Exchange], in bytes.
	maxTalk = 16 << 10
	// spareTalk is how much more is kept: a secret across the bound is redacted whole.
	spareTalk = 4 << 10
	// minSecret is the shortest credential of a request that is looked for in bodies,
	// in bytes: a placeholder such as "none" would be found in anything.
	minSecret = 8
)

// talk is what a client says to a model and reads of its answer.
type talk struct {
	secrets []string // credentials of the request
	request said

	mu       sync.Mutex // guards what follows
	response said
	shown    *chaos.Exchange // nil: to be made
}

type said struct {
	text    []byte // up to maxTalk and spareTalk
	size    int64
	more    bool // there was more than size
	kind    string
	encoded bool
}

// KeepExchange is for an injector that keeps values: it returns what makes the
// [chaos.Exchange] of a call of a model, nil for another call. That has both bodies, up
// to 16 KiB each. Headers are left out. The credentials of the request, and what looks
// like a secret, are redacted. A body that is not UTF-8 is only counted.
func (r Request) KeepExchange() func() *chaos.Exchange {
	p := r.payload
	if p == nil || !r.model {
		return nil
	}
	if p.talk == nil {
		t := &talk{secrets: credentialsOf(p.of)}
		t.request.begin(p.of.Header)
		t.request.add(p.head)
		t.request.more = !p.all
		p.talk = t
	}
	return p.talk.exchange
}

// credentialsOf are the secrets that a request carries outside its body.
func credentialsOf(r *http.Request) (secrets []string) {
	add := func(values ...string) {
		for _, v := range values {
			if len(v) >= minSecret {
				secrets = append(secrets, v)
			}
		}
	}
	for name, values := range r.Header {
		if redact.SecretName(name) {
			add(values...)
			for _, v := range values {
				_, v, _ = strings.Cut(v, " ") // behind the scheme
				add(v)
			}
		}
	}
	for name, values := range r.URL.Query() {
		if strings.EqualFold(name, "key") || redact.SecretName(name) {
			add(values...)
		}
	}
	if password, ok := r.URL.User.Password(); ok {
		add(password)
	}
	return secrets
}

// heard keeps what the client reads of its answer, if what it said was kept.
func (p *payload) heard(resp *http.Response) *http.Response {
	if p == nil || p.talk == nil || resp == nil || resp.Body == nil || resp.Body == http.NoBody ||
		resp.StatusCode == http.StatusSwitchingProtocols {
		return resp
	}
	p.talk.mu.Lock()
	defer p.talk.mu.Unlock()
	p.talk.response.begin(resp.Header)
	resp.Body = &heardBody{resp.Body, p.talk}
	return resp
}

type heardBody struct {
	io.ReadCloser
	talk *talk
}

func (b *heardBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.talk.mu.Lock()
		defer b.talk.mu.Unlock()
		b.talk.response.add(p[:n])
		b.talk.shown = nil
	}
	return n, err
}

func (t *talk) exchange() *chaos.Exchange {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shown == nil {
		e, r := &chaos.Exchange{}, redact.New(t.secrets, redact.Patterns)
		e.Request, e.RequestTruncated = t.request.shown(r)
		e.Response, e.ResponseTruncated = t.response.shown(r)
		t.shown = e
	}
	return t.shown
}

func (s *said) begin(header http.Header) {
	s.kind = header.Get("Content-Type")
	s.encoded = header.Get("Content-Encoding") != ""
}

func (s *said) add(p []byte) {
	s.size += int64(len(p))
	s.text = append(s.text, p[:min(len(p), maxTalk+spareTalk-len(s.text))]...)
}

// shown is the body as an event has it. What may be the beginning of a secret, at
// the end of a body that breaks off, is left out.
func (s *said) shown(r *redact.Redactor) (body string, truncated bool) {
	text, truncated := s.text, s.more || s.size > int64(len(s.text))
	if truncated || !strings.HasPrefix(s.kind, "text/plain") {
		text = bytes.TrimRightFunc(text, ofToken) // no object and no event ends so
		truncated = truncated || len(text) < len(s.text)
	}
	if s.encoded || !utf8.Valid(text) {
		return fmt.Sprintf("(%d bytes that are not text)", s.size), s.more
	}
	body = string(text)
	if oneByOne(s.kind) {
		body = string(bytes.Join(r.Pieces([][]byte{text}), nil))
	}
	if body = r.Text(body); len(body) > maxTalk {
		body, truncated = strings.ToValidUTF8(body[:maxTalk], ""), true
	}
	return body, truncated
}

// ofToken reports whether a token may go on behind r; so it may behind half a character.
func ofToken(r rune) bool {
	return 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune("+/=-_.~%", r) ||
		r == utf8.RuneError
}
