package policy

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"strings"

	"github.com/shakedown-go/shakedown/internal/text"
)

// maxProblem bounds what is read of a failed response, in bytes.
const maxProblem = 64 << 10

// A Problem is problem details as in RFC 9457: how an HTTP API describes a
// failed request. As the error of a tool's handler it reaches the client whole.
type Problem struct {
	Type     string // a URI reference; empty means "about:blank"
	Title    string
	Status   int // an HTTP status; 0: not given
	Detail   string
	Instance string
	// Extensions are all other members, by name. A name of the five above is left
	// out of JSON.
	Extensions map[string]any
}

// Error describes the problem in one line.
func (p *Problem) Error() string {
	var parts []string
	for _, s := range []string{p.Title, p.Detail} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if len(parts) == 0 {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("status %d %s", p.Status, http.StatusText(p.Status))))
	}
	return strings.Join(parts, ": ")
}

// MarshalJSON writes the members that are set, extensions beside the others.
func (p *Problem) MarshalJSON() ([]byte, error) {
	m := make(map[string]any, len(p.Extensions)+5)
	maps.Copy(m, p.Extensions)
	for name, value := range map[string]string{"type": p.Type, "title": p.Title, "detail": p.Detail, "instance": p.Instance} {
		delete(m, name)
		if value != "" {
			m[name] = value
		}
	}
	delete(m, "status")
	if p.Status != 0 {
		m["status"] = p.Status
	}
	return json.Marshal(m)
}

// UnmarshalJSON reads an object. As the RFC asks, a member of the wrong type is
// ignored; it is no extension either.
func (p *Problem) UnmarshalJSON(text []byte) error {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	*p = Problem{}
	for name, into := range map[string]any{"type": &p.Type, "title": &p.Title, "status": &p.Status, "detail": &p.Detail, "instance": &p.Instance} {
		if value, ok := m[name]; ok {
			if json.Unmarshal(value, into) != nil && name == "status" {
				p.Status = 0
			}
			delete(m, name)
		}
	}
	for name, value := range m {
		var v any
		if err := json.Unmarshal(value, &v); err != nil {
			return err
		}
		if p.Extensions == nil {
			p.Extensions = make(map[string]any, len(m))
		}
		p.Extensions[name] = v
	}
	return nil
}

// envelope keeps the problem whole and repeats what every failure has.
func (p *Problem) envelope() *Error {
	e := &Error{Status: p.Status, Code: CodeUpstreamProblem, Detail: p.Detail, Problem: p}
	if e.Detail == "" {
		e.Detail = p.Error()
	}
	switch {
	case e.Status < 400 || e.Status > 599:
		e.Status = http.StatusBadGateway
	case e.Status == http.StatusTooManyRequests, e.Status == http.StatusServiceUnavailable:
		e.Hint = "try again later"
	case e.Status < 500:
		e.Hint = "the service behind the tool refused the request; see the problem"
	}
	return e
}

// ReadProblem returns nil for a response whose status is below 400, and
// otherwise the problem that it carries, as a [*Problem]. The caller still
// closes the body. Problem details are kept whole, with the response's status
// if they give none. Any other response becomes a problem with the status's own
// title and, if it is text, its first lines as the detail. At most 64 KiB are
// read.
func ReadProblem(res *http.Response) error {
	if res.StatusCode < 400 {
		return nil
	}
	p := new(Problem)
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxProblem)) // a cut body is better than no problem
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if media != "application/problem+json" || json.Unmarshal(body, p) != nil {
		*p = Problem{Title: http.StatusText(res.StatusCode)}
		if strings.HasPrefix(media, "text/") && media != "text/html" || media == "application/json" {
			p.Detail = text.Clip(strings.TrimSpace(strings.ToValidUTF8(string(body), "\uFFFD")), 1000)
		}
	}
	if p.Status == 0 {
		p.Status = res.StatusCode
	}
	return p
}
