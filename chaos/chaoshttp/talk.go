package chaoshttp

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/redact"
)

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

// said is the beginning of one body.
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

// exchange is what was said so far.
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
