package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/httpagent"
	"github.com/shakedown-go/shakedown/internal/jsonpath"
	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// An endpoint is the agent of a file.
type endpoint struct {
	options httpagent.Options
	timeout time.Duration
	reset   string
	secrets *redact.Redactor // of what the environment gave
}

// variable is a variable of the environment in a text.
var variable = regexp.MustCompile(`\$\{([^}]*)\}`)

// expand replaces the variables in the text at a pointer.
func (l *loader) expand(at, text string) string {
	return variable.ReplaceAllStringFunc(text, func(name string) string {
		name = name[2 : len(name)-1]
		value, ok := os.LookupEnv(name)
		if !ok {
			l.r.refuse(at, fmt.Sprintf("the variable %q is not set", name), "variables of the environment that are set")
		}
		l.secrets = append(l.secrets, value)
		return value
	})
}

// leastSecret is the length from which on the value of a variable may be a secret. What is
// shorter is a number or a word that errors would lack.
const leastSecret = 6

// hides makes the redactor of what the environment gave. The origin of an address is none of
// it: who reads that nobody is there must know where.
func (l *loader) hides(addresses ...string) *redact.Redactor {
	var origins, secrets []string
	for _, address := range addresses {
		if u, err := url.Parse(address); err == nil {
			origins = append(origins, u.Scheme+"://"+u.Host)
		}
	}
	for _, secret := range l.secrets {
		for _, origin := range origins {
			secret = strings.TrimPrefix(secret, origin)
		}
		secret = strings.TrimSpace(secret)
		if len(secret) >= leastSecret &&
			!slices.ContainsFunc(origins, func(origin string) bool { return strings.Contains(origin, secret) }) {
			secrets = append(secrets, secret)
		}
	}
	return redact.New(secrets, redact.Patterns)
}

// agent reads the agent of a file.
func (l *loader) agent(p *agentPart) *endpoint {
	if p == nil {
		return nil
	}
	const at = "/agent"
	if p.Type != "" && p.Type != "http" {
		l.r.refuse(at+"/type", fmt.Sprintf("unknown value %q", p.Type),
			"http; agents in Go are given to Suite.Matrices")
	}
	if p.Method != "" && p.Method != "POST" {
		l.r.bad(at+"/method", "POST", nil)
	}
	e := &endpoint{timeout: time.Duration(p.Timeout) * time.Millisecond}
	e.options.URL = l.url(at+"/endpoint", p.Endpoint)
	if p.ResetEndpoint != "" {
		e.reset = l.url(at+"/reset_endpoint", p.ResetEndpoint)
	}
	e.options.Header = http.Header{}
	for _, name := range slices.Sorted(maps.Keys(p.Headers)) {
		key, value := strictjson.Join(at+"/headers", name), p.Headers[name]
		switch canonical := http.CanonicalHeaderKey(name); {
		case slices.Contains(ofTheClient, canonical):
			l.r.refuse(key, "a header that the client of HTTP sets itself: "+name, "other headers")
		case e.options.Header[canonical] != nil:
			l.r.refuse(key, "a repeated header: "+name, "each header once, in any case")
		}
		value = l.expand(key, value)
		if !headerName.MatchString(name) || strings.ContainsAny(value, "\r\n\x00") {
			l.r.refuse(key, "no header", "a name of letters, digits and '-', and a value of one line")
		}
		e.options.Header.Set(name, value)
	}
	if p.Template != "" {
		e.options.Encode = l.template(at+"/request_template", p.Template)
	}
	if p.ResponsePath != "" {
		e.options.Decode = l.answerAt(at+"/response_path", p.ResponsePath)
	}
	e.secrets = l.hides(e.options.URL, e.reset)
	return e
}

// ofTheClient are headers that a request does not take from its header.
var ofTheClient = []string{"Connection", "Content-Length", "Host", "Trailer", "Transfer-Encoding"}

var headerName = regexp.MustCompile(`^[A-Za-z0-9!#$%&'*+.^_|~-]+$`)

func (l *loader) url(at, text string) string {
	before := len(l.r.list)
	text = l.expand(at, text)
	if len(l.r.list) > before || l.r.is('"', at) == nil { // that was refused
		return text
	}
	if u, err := url.Parse(text); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		n := l.r.nearest(at)
		l.r.at(at, n, &Error{Problem: "bad value", Value: strictjson.Short(redact.Address(string(n.JSON()))),
			Allowed: "an absolute http or https URL"})
	}
	return text
}

// template makes the body of a request. The prompt is escaped as within a JSON string.
func (l *loader) template(at, text string) func(prompt string) ([]byte, error) {
	text = variable.ReplaceAllStringFunc(text, func(name string) string { return escaped(l.expand(at, name)) })
	encode := func(prompt string) ([]byte, error) {
		return []byte(strings.ReplaceAll(text, "{prompt}", escaped(prompt))), nil
	}
	body, _ := encode("a \"prompt\"")
	if !strings.Contains(text, "{prompt}") || !json.Valid(body) {
		l.r.bad(at, `a JSON document with "{prompt}" in it`, nil)
	}
	return encode
}

// escaped is a text as it stands between the quotation marks of JSON.
func escaped(s string) string {
	quoted := strictjson.Quote(s)
	return string(quoted[1 : len(quoted)-1])
}

// answerAt reads the answer from a response.
func (l *loader) answerAt(at, text string) func(body []byte) (string, error) {
	if !strings.HasPrefix(text, "$") {
		text = "$." + text
	}
	path, err := jsonpath.Parse(text)
	if err != nil {
		l.r.bad(at, "a path such as $.output or output (RFC 9535)", err)
		return nil
	}
	return func(body []byte) (string, error) {
		var doc any
		if err := json.Unmarshal(body, &doc); err != nil {
			return "", fmt.Errorf("the body is no JSON: %w", err)
		}
		found := path.Find(doc)
		if len(found) != 1 {
			return "", fmt.Errorf("%d values at %s, and not one", len(found), text)
		}
		answer, ok := found[0].Value.(string)
		if !ok {
			return "", fmt.Errorf("no text at %s", text)
		}
		return answer, nil
	}
}

// world makes the world of the file's agent, with a function that resets it.
func (e *endpoint) world() (*contract.World, func(context.Context) error) {
	ask := httpagent.Agent(&e.options)
	w := &contract.World{Agent: func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
		if e.timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, e.timeout)
			defer cancel()
		}
		answer, err := ask(ctx, prompt, tools)
		return answer, e.hide(err)
	}}
	if e.reset == "" {
		return w, nil
	}
	reset := httpagent.Reset(e.reset)
	return w, func(ctx context.Context) error { return e.hide(reset(ctx)) }
}

// hide takes secrets out of the text of an error, which reports show: the address of a
// request has what the environment gave.
func (e *endpoint) hide(err error) error {
	if err == nil {
		return nil
	}
	if text := e.secrets.Text(err.Error()); text != err.Error() {
		return &hidden{text, err}
	}
	return err
}

// A hidden error is another one without its secrets.
type hidden struct {
	text string
	err  error
}

func (h *hidden) Error() string { return h.text }
func (h *hidden) Unwrap() error { return h.err }
