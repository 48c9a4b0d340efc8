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
//
// Stability: may change.
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
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
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
	// Encode makes the body of the request; nil: {"input": "…"}.
	Encode func(prompt string) ([]byte, error)
	// Decode reads the answer from the body of a response; nil: the string "output" of an object.
	Decode func(body []byte) (string, error)
	// Client makes the requests. nil: a new client, with ten seconds to connect,
	// no time limit on the answer except its context, and no idle connections.
	Client *http.Client
}

const (
	maxBody      = 1 << 20 // of a response: a larger one is an error
	excerptBytes = 256
	shortTimeout = 5 * time.Second
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
// If the URL is not valid, every call returns a [*contract.FieldError]. A response without
// an answer, or of more than 1 MiB, is an [*Error]. The agent is safe for concurrent use if
// Encode, Decode and Client are.
func Agent(options *Options) contract.Agent {
	o := *cmp.Or(options, &Options{})
	o.Header = o.Header.Clone()
	if o.Encode == nil {
		o.Encode = encodeInput
	}
	if o.Decode == nil {
		o.Decode = decodeOutput
	}
	problem := checkURL("Options.URL", o.URL)
	client := cmp.Or(o.Client, newClient())
	return func(ctx context.Context, prompt string, _ chaos.ToolRegistry) (string, error) {
		if problem != nil {
			return "", problem
		}
		body, err := o.Encode(prompt)
		if err != nil {
			return "", fmt.Errorf("httpagent: encoding the prompt for %s: %w", o.URL, err)
		}
		header := http.Header{"Content-Type": {"application/json"}}
		for name, values := range o.Header {
			header[http.CanonicalHeaderKey(name)] = values
		}
		response, err := send(ctx, client, http.MethodPost, o.URL, header, body, maxBody+1)
		if err != nil {
			return "", err
		}
		answer := ""
		if len(response.body) > maxBody {
			err = fmt.Errorf("the body has more than %d bytes", maxBody)
		} else {
			answer, err = o.Decode(response.body)
		}
		if err != nil {
			return "", response.refuse(err)
		}
		return answer, nil
	}
}

func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DisableKeepAlives:   true,
		TLSHandshakeTimeout: 10 * time.Second,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
	}}
}

const fields = fielderror.Package("httpagent")

func checkURL(field, text string) error {
	const allowed = "an absolute http or https URL"
	u, err := url.Parse(text)
	shown := redact.Address(text)
	switch {
	case err != nil:
		var cause *url.Error // it has the address as it is
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return fields.Because(field, shown, err, allowed)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fields.Wrong(field, shown, allowed)
	}
	return nil
}

func encodeInput(prompt string) ([]byte, error) {
	return json.Marshal(map[string]string{"input": prompt})
}

func decodeOutput(body []byte) (string, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return "", fmt.Errorf("the body is no JSON object: %w", err)
	}
	var answer *string
	if err := json.Unmarshal(members["output"], &answer); err != nil || answer == nil {
		return "", errors.New(`the body has no string "output"`)
	}
	return *answer, nil
}

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

// send sends one request and reads up to most bytes of its response. A status
// outside 2xx is an error.
func send(ctx context.Context, client *http.Client, method, address string, header http.Header, body []byte,
	most int64) (*response, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
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
	ask := shortly(http.MethodPost, "Reset url", url, excerptBytes)
	return func(ctx context.Context) error {
		_, err := ask(ctx)
		return err
	}
}

// State returns a function for [contract.World].State that gets the state from an endpoint, as
// encoding/json decodes JSON of up to 1 MiB, with [json.Number] for numbers. It waits for up to
// five seconds. A status outside 2xx and a body that is no JSON are an [*Error]. If the URL is
// not valid, every call returns a [*contract.FieldError].
func State(url string) func(context.Context) (any, error) {
	ask := shortly(http.MethodGet, "State url", url, maxBody+1)
	return func(ctx context.Context) (any, error) {
		r, err := ask(ctx)
		switch {
		case err != nil:
			return nil, err
		case len(r.body) > maxBody:
			return nil, r.refuse(fmt.Errorf("the body has more than %d bytes", maxBody))
		}
		state, err := jsonvalue.Numbers(r.body)
		if err != nil {
			return nil, r.refuse(errors.New("the body is no JSON"))
		}
		return state, nil
	}
}

// shortly returns a function that sends a request without a body, within five seconds.
func shortly(method, field, url string, most int64) func(context.Context) (*response, error) {
	problem, client := checkURL(field, url), newClient()
	return func(ctx context.Context) (*response, error) {
		if problem != nil {
			return nil, problem
		}
		ctx, cancel := context.WithTimeout(ctx, shortTimeout)
		defer cancel()
		return send(ctx, client, method, url, http.Header{}, nil, most)
	}
}
