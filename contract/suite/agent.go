package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
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
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonpath"
	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

type endpoint struct {
	options httpagent.Options
	timeout time.Duration
	reset   string
	secrets []string // what the environment gave
	redact  *redact.Redactor
	proxies []*proxy
	tools   declared // behind them
	state   string
}

// variable is a variable of the environment in a text, or the beginning of one that does not
// end.
var variable = regexp.MustCompile(`\$\{([^}"{$\s]*)(\}?)`)

func (l *loader) expand(n node, text string) string {
	return variable.ReplaceAllStringFunc(text, func(found string) string {
		name, ended := strings.CutSuffix(found[2:], "}")
		value, set := os.LookupEnv(name)
		allowed := l.o.Variables
		switch {
		case !ended:
			l.r.refuse(n, fmt.Sprintf("${%s without its }", strictjson.Short(name)),
				"${NAME}, a variable of the environment")
		case allowed != nil && !slices.Contains(allowed, name):
			l.r.refuse(n, fmt.Sprintf("the variable %q may not be named here", name),
				listed(allowed)+" (Options.Variables)")
			return ""
		case !set:
			l.r.refuse(n, fmt.Sprintf("the variable %q is not set", name), "variables of the environment that are set")
		}
		l.secrets = append(l.secrets, value)
		return value
	})
}

// leastSecret is the length from which on the value of a variable may be a secret. What is
// shorter is a number or a word that errors would lack.
const leastSecret = 6

// secretsOf are the values of the environment that no report repeats. The origin of an address
// is none of them: who reads that nobody is there must know where.
func (l *loader) secretsOf(addresses ...string) (secrets []string) {
	var origins []string
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
	return secrets
}

func (l *loader) agent(n node, p *agentPart) *endpoint {
	if p == nil {
		return nil
	}
	e := &endpoint{timeout: time.Duration(p.Timeout) * time.Millisecond}
	e.options.URL = l.url(n.Get("endpoint"))
	e.reset = l.url(n.Get("reset_endpoint"))
	e.options.Header = l.headers(n.Get("headers"), p.Headers)
	if p.Template != "" {
		e.options.Encode = l.template(n.Get("request_template"))
	}
	if p.ResponsePath != "" {
		e.options.Decode = l.answerAt(n.Get("response_path"))
	}
	if p.State != nil {
		e.state = l.url(within(n, "/state/url"))
	}
	l.proxies(n, p, e)
	addresses := []string{e.options.URL, e.reset, e.state}
	for _, one := range e.proxies {
		if addresses = append(addresses, "http://"+one.listen); one.to != nil {
			addresses = append(addresses, one.to.String())
		}
	}
	e.secrets = l.secretsOf(addresses...)
	e.redact = redact.New(e.secrets, redact.Patterns)
	return e
}

func (l *loader) headers(n node, headers map[string]string) http.Header {
	all := http.Header{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		own := n.Get(name)
		switch canonical := http.CanonicalHeaderKey(name); {
		case slices.Contains(ofTheClient, canonical):
			l.r.refuse(own, "a header that the client of HTTP sets itself: "+name, "other headers")
		case all[canonical] != nil:
			l.r.refuse(own, "a repeated header: "+name, "each header once, in any case")
		}
		value := l.expand(own, headers[name])
		if !headerName.MatchString(name) || strings.ContainsAny(value, "\r\n\x00") {
			l.r.refuse(own, "no header", "a name of letters, digits and '-', and a value of one line")
		}
		all.Set(name, value)
	}
	return all
}

// ofTheClient are headers that a request does not take from its header.
var ofTheClient = []string{"Connection", "Content-Length", "Host", "Trailer", "Transfer-Encoding"}

var headerName = regexp.MustCompile(`^[A-Za-z0-9!#$%&'*+.^_|~-]+$`)

// url reads an address; "": there is none, or it was refused.
func (l *loader) url(n node) string {
	if n == nil || n.Kind() != jsonedit.String {
		return ""
	}
	before := l.r.Count()
	text := l.expand(n, n.String())
	if l.r.Count() > before {
		return text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		l.r.add(n, &fielderror.Error{Value: fielderror.Found(strictjson.Short(redact.Address(string(n.JSON())))),
			Allowed: "an absolute http or https URL"})
	default:
		l.mayName(n, u.Host, u.Hostname())
	}
	return text
}

// mayName refuses a host that the file may not name.
func (l *loader) mayName(n node, host, name string) {
	if l.o.Hosts != nil && !slices.Contains(l.o.Hosts, host) && !slices.Contains(l.o.Hosts, name) {
		l.r.refuse(n, fmt.Sprintf("the host %q may not be named here", host), listed(l.o.Hosts)+" (Options.Hosts)")
	}
}

// template makes the body of a request. The prompt is escaped as within a JSON string.
func (l *loader) template(n node) func(prompt string) ([]byte, error) {
	text := variable.ReplaceAllStringFunc(n.String(), func(name string) string { return escaped(l.expand(n, name)) })
	encode := func(prompt string) ([]byte, error) {
		return []byte(strings.ReplaceAll(text, "{prompt}", escaped(prompt))), nil
	}
	body, _ := encode("a \"prompt\"")
	if !strings.Contains(text, "{prompt}") || !json.Valid(body) {
		l.r.Refuse(n, `a JSON document with "{prompt}" in it`, nil)
	}
	return encode
}

func escaped(s string) string {
	quoted := strictjson.Quote(s)
	return string(quoted[1 : len(quoted)-1])
}

func (l *loader) answerAt(n node) func(body []byte) (string, error) {
	text := n.String()
	if !strings.HasPrefix(text, "$") {
		text = "$." + text
	}
	path, err := jsonpath.Parse(text)
	if err != nil {
		l.r.Refuse(n, "a path such as $.output or output (RFC 9535)", err)
		return nil
	}
	return func(body []byte) (string, error) {
		doc, ok := jsonedit.Parse(body)
		if !ok {
			return "", fmt.Errorf("the body is no JSON")
		}
		found := path.Find(doc)
		if len(found) != 1 {
			return "", fmt.Errorf("%d values at %s, and not one", len(found), text)
		}
		if doc.Kind(found[0]) != jsonedit.String {
			return "", fmt.Errorf("no text at %s", text)
		}
		return doc.String(found[0]), nil
	}
}

// give gives a matrix the world of the file's agent.
func (e *endpoint) give(m *contract.Matrix) {
	ask, g := httpagent.Agent(&e.options), &gate{of: e}
	m.World = &contract.World{}
	if len(e.tools) > 0 {
		m.World.Tools = e.tools
	}
	m.World.Agent = func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
		if e.timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, e.timeout)
			defer cancel()
		}
		if len(e.proxies) > 0 {
			g.enter(ctx)
		}
		answer, err := ask(ctx, prompt, tools)
		return answer, e.hide(err)
	}
	if len(e.proxies) > 0 {
		m.Open = g.open
	}
	for i := range m.Invariants {
		m.Invariants[i] = ofReached(m.Invariants[i])
	}
	if e.reset != "" {
		reset := httpagent.Reset(e.reset)
		m.Reset = func(ctx context.Context) error { return e.hide(reset(ctx)) }
	}
	if e.state != "" {
		state := httpagent.State(e.state)
		m.World.State = func(ctx context.Context) (any, error) {
			is, err := state(ctx)
			return is, e.hide(err)
		}
	}
	m.Secrets = slices.Clone(e.secrets)
}

// ofReached keeps an invariant that allows errors from holding where the agent could not be reached: nobody
// was tested.
func ofReached(v contract.Invariant) contract.Invariant {
	check := v.Check
	if !v.JudgesErrors || check == nil {
		return v
	}
	v.Check = func(ctx context.Context, o *contract.Observation) error {
		err := check(ctx, o)
		if e, ok := errors.AsType[*net.OpError](o.Err); ok && e.Op == "dial" && err == nil {
			return fmt.Errorf("%w: the agent was not reached: %w", contract.ErrUndecided, o.Err)
		}
		return err
	}
	return v
}

// hide takes secrets out of the text of an error, which reports show: the address of a
// request has what the environment gave.
func (e *endpoint) hide(err error) error {
	if err == nil {
		return nil
	}
	if text := e.redact.Text(err.Error()); text != err.Error() {
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
