// Package httpagent lets a matrix test an agent behind an HTTP endpoint, and
// reset its world through another endpoint.
//
//	m := &contract.Matrix{
//		World: &contract.World{Agent: httpagent.Agent(&httpagent.Options{URL: "http://localhost:8080/agent"})},
//		Reset:  httpagent.Reset("http://localhost:8080/reset"),
//		…
//	}
//
// It is a separate package, so that a matrix of agents in the same process does
// not compile net/http.
package httpagent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/redact"
)

// Options are the settings of [Agent]. With only a URL, the agent posts
// {"input": "…"} as JSON and reads {"output": "…"}.
type Options struct {
	_ struct{}
	// URL is the endpoint for prompts: absolute, http or https. Required.
	URL string
	// Header is sent with each request. The Content-Type is application/json, unless
	// Header has one.
	Header http.Header
	// RequestField is the member of the request that holds the prompt; empty: "input".
	RequestField string
	// ResponseField is the member of the response that holds the answer, a
	// string; empty: "output".
	ResponseField string
	// Encode makes the body of the request, in place of RequestField.
	Encode func(prompt string) ([]byte, error)
	// Decode reads the answer from the body of a response, in place of ResponseField.
	Decode func(body []byte) (string, error)
	// MaxBody is the largest body of a response, in bytes; a larger one is an
	// error. 0: 1 MiB.
	MaxBody int64
	// Client makes the requests. nil: a new client, with ten seconds to connect,
	// no time limit on the answer except its context, and no idle connections.
	Client *http.Client
}

const (
	defaultMaxBody = 1 << 20
	excerptBytes   = 256
	resetTimeout   = 5 * time.Second
)

// An Error is a response without an answer: its status is outside 2xx, or its
// body could not be read or decoded.
type Error struct {
	URL     string
	Status  int
	Excerpt string // of the body: its first 256 bytes
	Err     error  // the problem of the body; nil: the status is the problem
}

// Error names the endpoint, the status and the problem, with the excerpt.
func (e *Error) Error() string {
	s := fmt.Sprintf("httpagent: %s answered %d %s", e.URL, e.Status, http.StatusText(e.Status))
	if e.Err != nil {
		s += fmt.Sprintf(": %v", e.Err)
	}
	if e.Excerpt != "" {
		s += fmt.Sprintf("; it begins %q", e.Excerpt)
	}
	return s
}

// Unwrap returns the problem of the body, or nil.
func (e *Error) Unwrap() error { return e.Err }

// Agent returns an agent that sends prompts to an HTTP endpoint. It ignores the
// tools of the world. Faults reach its own tools only if these are wrapped in the
// same process and named in [contract.Matrix.Points]. It does real I/O, so its
// cells must run in real time.
//
// If the options are not valid, every call returns the problems: each a
// [*contract.FieldError], joined. A response without an answer is an [*Error]. The
// agent is safe for concurrent use if Encode, Decode and Client are.
func Agent(options *Options) contract.Agent {
	var o Options
	if options != nil {
		o = *options
	}
	o.Header = o.Header.Clone()
	problem := o.check()
	client := o.Client
	if client == nil {
		client = newClient()
	}
	return func(ctx context.Context, prompt string, _ chaos.ToolRegistry) (string, error) {
		if problem != nil {
			return "", problem
		}
		body, err := o.encode(prompt)
		if err != nil {
			return "", fmt.Errorf("httpagent: encoding the prompt for %s: %w", o.URL, err)
		}
		header := http.Header{"Content-Type": {"application/json"}}
		for name, values := range o.Header {
			header[http.CanonicalHeaderKey(name)] = values
		}
		return o.ask(ctx, client, header, body)
	}
}

// ask posts a body and reads the answer.
func (o *Options) ask(ctx context.Context, client *http.Client, header http.Header, body []byte) (string, error) {
	most := o.MaxBody
	most = cmp.Or(most, defaultMaxBody)
	response, err := post(ctx, client, o.URL, header, body, most+1)
	if err != nil {
		return "", err
	}
	var answer string
	if int64(len(response.body)) > most {
		err = fmt.Errorf("the body has more than %d bytes", most)
	} else {
		answer, err = o.decode(response.body)
	}
	if err != nil {
		return "", response.refuse(err)
	}
	return answer, nil
}

// newClient makes a client that no other part of the process shares.
func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DisableKeepAlives:   true,
		TLSHandshakeTimeout: 10 * time.Second,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
	}}
}

func (o *Options) check() error {
	p := fields.List()
	checkURL(p, "Options.URL", o.URL)
	if o.MaxBody < 0 {
		p.Wrong("Options.MaxBody", o.MaxBody, "1 or more bytes, or 0 for 1 MiB")
	}
	if o.Encode != nil && o.RequestField != "" {
		p.Wrong("Options.RequestField", o.RequestField, "empty beside Encode")
	}
	if o.Decode != nil && o.ResponseField != "" {
		p.Wrong("Options.ResponseField", o.ResponseField, "empty beside Decode")
	}
	return p.Err()
}

// fields makes the errors of this package.
const fields = fielderror.Package("httpagent")

func checkURL(p *fielderror.List, field, text string) {
	const allowed = "an absolute http or https URL"
	u, err := url.Parse(text)
	shown := redact.Address(text)
	switch {
	case err != nil:
		var cause *url.Error // it has the address as it is
		if errors.As(err, &cause) {
			err = cause.Err
		}
		p.Because(field, shown, err, allowed)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		p.Wrong(field, shown, allowed)
	}
}

func (o *Options) encode(prompt string) ([]byte, error) {
	if o.Encode != nil {
		return o.Encode(prompt)
	}
	field := o.RequestField
	field = cmp.Or(field, "input")
	return json.Marshal(map[string]string{field: prompt})
}

func (o *Options) decode(body []byte) (string, error) {
	if o.Decode != nil {
		return o.Decode(body)
	}
	field := o.ResponseField
	field = cmp.Or(field, "output")
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return "", fmt.Errorf("the body is no JSON object: %w", err)
	}
	var answer *string
	if err := json.Unmarshal(members[field], &answer); err != nil || answer == nil {
		return "", fmt.Errorf("the body has no string %q", field)
	}
	return *answer, nil
}

// A response is the answer to a request, with the beginning of its body.
type response struct {
	url    string
	status int
	body   []byte
}

// refuse returns the [*Error] of a response that has no answer.
func (r *response) refuse(err error) error {
	excerpt := r.body[:min(len(r.body), excerptBytes)]
	return &Error{URL: r.url, Status: r.status, Excerpt: strings.ToValidUTF8(string(excerpt), "\ufffd"), Err: err}
}

// post sends one request and reads up to most bytes of its response. A status
// outside 2xx is an error.
func post(ctx context.Context, client *http.Client, address string, header http.Header, body []byte,
	most int64) (*response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = header
	shown := redact.New(nil, redact.Patterns).Text(request.URL.Redacted()) // a query may have a token
	answer, err := client.Do(request)
	if err != nil {
		var of *url.Error
		if errors.As(err, &of) {
			of.URL = shown
		}
		return nil, err
	}
	defer answer.Body.Close()
	r := &response{url: shown, status: answer.StatusCode}
	r.body, err = io.ReadAll(io.LimitReader(answer.Body, most))
	if err != nil || r.status < 200 || r.status > 299 {
		return nil, r.refuse(err)
	}
	return r, nil
}

// Reset returns a function for [contract.Matrix.Reset] that posts to an endpoint
// and waits for up to five seconds. A status outside 2xx is an [*Error]. If the URL
// is not valid, every call returns a [*contract.FieldError].
func Reset(url string) func(context.Context) error {
	p := fields.List()
	checkURL(p, "Reset url", url)
	client := newClient()
	return func(ctx context.Context) error {
		if p.Count() > 0 {
			return p.Err()
		}
		ctx, cancel := context.WithTimeout(ctx, resetTimeout)
		defer cancel()
		_, err := post(ctx, client, url, http.Header{}, nil, excerptBytes)
		return err
	}
}
