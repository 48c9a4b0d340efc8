package modeltest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// A Model is a model provider in a test. It is an [http.Handler], and an
// [http.RoundTripper] that answers without a network. Make one with [New]. It is
// safe for concurrent use and needs no closing.
type Model struct {
	answer Func

	mu     sync.Mutex
	failed map[string]error     // by text: a client may ask again
	stored map[string][]Message // conversations of OpenAI's responses, by ID
}

// A TB is a test: a *testing.T, *testing.B or *rapid.T has these methods.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
}

// New makes a model of a function, such as a [Script]. At the end of the test t it
// reports [Model.Err] as the test's error. t may be nil: then nothing is reported.
func New(t TB, answer Func) *Model {
	if answer == nil {
		answer = Script()
	}
	m := &Model{answer: answer, failed: map[string]error{}, stored: map[string][]Message{}}
	if t != nil {
		t.Cleanup(func() {
			t.Helper()
			if err := m.Err(); err != nil {
				t.Errorf("%v", err)
			}
		})
	}
	return m
}

// Err returns the errors of the test's own model so far, joined: a script that is
// at its end or does not fit, an error of a [Func], an answer that is not allowed.
// Each names its turn, and its client got it too, with status 400 and in the
// provider's form. Requests that a provider would refuse are not errors of the
// model: the agent is told, as in production.
func (m *Model) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, text := range slices.Sorted(maps.Keys(m.failed)) {
		errs = append(errs, m.failed[text])
	}
	return errors.Join(errs...)
}

// ServeHTTP answers a request of a provider's client. Every piece of a stream is
// flushed.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resp := m.respond(r)
	maps.Copy(w.Header(), resp.header)
	w.WriteHeader(resp.status)
	flush := http.NewResponseController(w)
	for _, piece := range resp.pieces {
		if _, err := w.Write(piece); err != nil {
			return // the client has gone
		}
		if resp.streamed {
			_ = flush.Flush() // a writer that cannot flush sends the whole
		}
	}
}

// RoundTrip answers the request in the calling goroutine, without a network, and
// thus in virtual time. The whole body is there when it returns. For a stream that
// is read while the answer is written, use chaoshttp.InProcess(m).
func (m *Model) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	if r.URL == nil {
		return nil, errors.New("http: nil Request.URL") // as net/http has it
	}
	if err := context.Cause(r.Context()); err != nil {
		return nil, err
	}
	resp := m.respond(r)
	if err := context.Cause(r.Context()); err != nil {
		return nil, err // it ended while the function ran
	}
	body, length := bytes.Join(resp.pieces, nil), int64(-1)
	if !resp.streamed {
		length = int64(len(body))
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", resp.status, http.StatusText(resp.status)), StatusCode: resp.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: resp.header,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: length, Request: r,
	}, nil
}

// A response is an answer on the wire.
type response struct {
	status   int
	header   http.Header
	pieces   [][]byte
	streamed bool
}

// maxBody is the longest request, in bytes, as Anthropic has it.
const maxBody = 32 << 20

func (m *Model) respond(r *http.Request) response {
	api, known := wireOf(r)
	switch {
	case !known:
		return refused(api, &problem{status: http.StatusNotFound, text: "no such path: " + r.Method + " " + r.URL.Path})
	case r.Method != http.MethodPost:
		return refused(api, &problem{status: http.StatusMethodNotAllowed,
			text: r.Method + " is not allowed; allowed: POST"})
	}
	var body []byte
	var err error
	if r.Body != nil {
		body, err = io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	}
	if err != nil {
		return refused(api, wrong("", "the body cannot be read: %v", err))
	}
	if len(body) > maxBody {
		return refused(api, &problem{status: http.StatusRequestEntityTooLarge, text: "the body is longer than 32 MiB"})
	}
	q := &query{url: r.URL, body: body, stored: m.conversation, ids: map[string]bool{}}
	p := api.read(q)
	if p == nil {
		p = cmp.Or(q.schema, q.answeredAll())
	}
	if p != nil {
		return refused(api, p)
	}
	ask := q.request(api.name)
	a, err := m.answer(r.Context(), ask)
	if err == nil {
		err = a.check(ask)
	}
	if err != nil {
		err = fmt.Errorf("modeltest: turn %d of %s %s: %w", ask.Turn, r.Method, r.URL.Path, err)
		return refused(api, wrong("", "%s", m.fail(err)))
	}
	said := newReply(q, ask, a)
	if q.store {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.stored[said.id("resp_")] = append(q.messages[q.system:],
			Message{Role: roleAssistant, Text: said.Text, Calls: said.Calls})
	}
	return said.response(api)
}

// fail notes an error of the model and returns its text.
func (m *Model) fail(err error) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed[err.Error()] = err
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

// conversation is one of OpenAI's responses, which a later request continues.
func (m *Model) conversation(id string) ([]Message, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all, ok := m.stored[id]
	return all, ok
}
