package otlp

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// A Reader reads spans.
type Reader struct {
	Fields fielderror.Package // makes the errors
	Wrong  *fielderror.List   // gets them
	// Open lets a span have no end. Its End is 0 then.
	Open bool
}

// A Place is the position of a span in the input.
type Place struct {
	*Reader
	Line                  int
	resource, scope, span int
	before                int // the problems of the spans before
}

// Bad reports whether the span has problems.
func (p *Place) Bad() bool { return p.Wrong.Count() > p.before }

// Refuse adds the error of a member of the span.
func (p *Place) Refuse(field string, value any, allowed string) {
	if value == "" {
		value = nil
	}
	path := fmt.Sprintf("resourceSpans[%d].scopeSpans[%d].spans[%d].%s", p.resource, p.scope, p.span, field)
	p.Wrong.Add(p.Fields.Wrong(path, value, allowed).At(p.Line, 0))
}

// ReadAll reads an input of at most so many bytes; 0: 64 MiB.
func ReadAll(r io.Reader, maxBytes int64, errs fielderror.Package) ([]byte, error) {
	if maxBytes < 0 || maxBytes > 1<<40 {
		return nil, errs.Wrong("maxBytes", maxBytes, "at most 1 TiB, or 0 for 64 MiB")
	}
	maxBytes = cmp.Or(maxBytes, 64<<20)
	text, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err == nil && int64(len(text)) > maxBytes {
		err = errs.Wrong("input", fielderror.Found("too long"), "at most MaxBytes bytes in all")
	}
	return text, err
}

// Read reads one ExportTraceServiceRequest, or several, one after the other. It calls
// each for every span, also for one with problems: these are in Wrong then.
func (r *Reader) Read(text []byte, each func(at *Place, s *Span)) {
	requests, at := 0, jsonedit.Space(text, 0)
	for ; at < len(text); requests++ {
		var q request
		dec := json.NewDecoder(bytes.NewReader(text[at:]))
		if err := dec.Decode(&q); err != nil {
			r.Wrong.Add(r.decodeError(text, at, err))
			break
		}
		end := at + int(dec.InputOffset())
		r.request(lineAt(text, int64(at)), &q, each)
		at = jsonedit.Space(text, end)
	}
	if requests == 0 && r.Wrong.Count() == 0 {
		r.Wrong.Add(r.Fields.Wrong("resourceSpans", nil, "an ExportTraceServiceRequest").At(1, 0))
	}
}

func (r *Reader) request(line int, q *request, each func(at *Place, s *Span)) {
	if q.ResourceSpans == nil {
		q.ResourceSpans = q.Batches
	}
	if q.ResourceSpans == nil {
		r.Wrong.Add(r.Fields.Wrong("resourceSpans", nil, "an array: an ExportTraceServiceRequest has it").At(line, 0))
		return
	}
	at := &Place{Reader: r, Line: line}
	for i, rs := range *q.ResourceSpans {
		for j, ss := range rs.ScopeSpans {
			for k := range ss.Spans {
				at.resource, at.scope, at.span, at.before = i, j, k, r.Wrong.Count()
				s := &ss.Spans[k]
				s.Scope, s.Resource = ss.Scope.Name, rs.Resource.Attributes
				at.check(s)
				each(at, s)
			}
		}
	}
}

// check fills the fields that have no JSON name, or reports all problems of the span.
func (p *Place) check(s *Span) {
	p.id(s.ID[:16], "traceId", s.TraceID)
	s.TraceID = hex.EncodeToString(s.ID[:16])
	p.id(s.ID[16:], "spanId", s.SpanID)
	s.Root = strings.Trim(s.ParentID, "0") == ""
	copy(s.Parent[:16], s.ID[:16])
	if !s.Root {
		p.id(s.Parent[16:], "parentSpanId", s.ParentID)
		if s.Parent == s.ID {
			p.Refuse("parentSpanId", s.ParentID, "the id of another span")
		}
	}
	s.Start = p.time("startTimeUnixNano", s.StartText)
	if !p.Open || strings.Trim(string(s.EndText), "0") != "" {
		s.End = p.time("endTimeUnixNano", s.EndText)
	}
	if s.End < s.Start && s.End > 0 {
		p.Refuse("endTimeUnixNano", string(s.EndText), "not before startTimeUnixNano, which is "+string(s.StartText))
	}
	if s.Status.Code < 0 || s.Status.Code > StatusError {
		p.Refuse("status.code", s.Status.Code.shown(), "0 (unset), 1 (ok) or 2 (error)")
	}
	if s.Kind == unknownName {
		p.Refuse("kind", s.Kind.shown(), "0 to 5, or its name such as SPAN_KIND_CLIENT")
	}
}

func (p *Place) id(to []byte, field, text string) {
	if hex.DecodedLen(len(text)) == len(to) && len(text)%2 == 0 && strings.Trim(text, "0") != "" {
		if _, err := hex.Decode(to, []byte(text)); err == nil {
			return
		}
	}
	if raw, err := base64.StdEncoding.DecodeString(text); err == nil && len(raw) == len(to) {
		copy(to, raw)
		return
	}
	p.Refuse(field, text, fmt.Sprintf("%d hexadecimal digits, not all 0", 2*len(to)))
}

func (p *Place) time(field string, text Int) int64 {
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil || n == 0 || n > math.MaxInt64 {
		p.Refuse(field, string(text), "nanoseconds since 1970, above 0 and below 2^63, as a string or a number")
		return 0
	}
	return int64(n)
}

// decodeError returns an error of encoding/json with its line. Offsets count from the
// beginning of the request.
func (r *Reader) decodeError(text []byte, from int, err error) error {
	wrong := r.Fields.Because("input", nil, err, "OTLP JSON").At(lineAt(text, int64(len(text))), 0)
	var typed *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &typed):
		wrong.Line = lineAt(text, int64(from)+typed.Offset-1)
		wrong.Field, wrong.Value, wrong.Err, wrong.Allowed = jsonvalue.FieldOf(typed), typed.Value, nil,
			"a value of type "+typed.Type.String()
		if wrong.Field == "" {
			wrong.Field, wrong.Allowed = "input", "an ExportTraceServiceRequest"
		}
	case errors.As(err, &syntax):
		wrong.Line = lineAt(text, int64(from)+syntax.Offset-1)
	}
	return wrong
}

func lineAt(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(max(offset, 0), int64(len(text)))], []byte("\n"))
}
