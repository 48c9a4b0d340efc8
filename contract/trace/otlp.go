package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// The parts of an ExportTraceServiceRequest that matter here, in the JSON
// encoding of the OpenTelemetry protocol (opentelemetry.io/docs/specs/otlp,
// "JSON Protobuf Encoding"): ids in hexadecimal, 64-bit integers as strings or
// numbers, enums as numbers. Members of other names are ignored, as the protocol
// demands.
type otlpRequest struct {
	ResourceSpans *[]otlpResourceSpans `json:"resourceSpans"`
}

type otlpResourceSpans struct {
	Resource struct {
		Attributes otlpAttributes `json:"attributes"`
	} `json:"resource"`
	ScopeSpans []struct {
		Spans []otlpSpan `json:"spans"`
	} `json:"scopeSpans"`
}

type otlpSpan struct {
	TraceID    string         `json:"traceId"`
	SpanID     string         `json:"spanId"`
	ParentID   string         `json:"parentSpanId"`
	Name       string         `json:"name"`
	Kind       int            `json:"kind"`
	Start      otlpInt        `json:"startTimeUnixNano"`
	End        otlpInt        `json:"endTimeUnixNano"`
	Attributes otlpAttributes `json:"attributes"`
	Status     struct {
		Code int `json:"code"`
	} `json:"status"`
}

const (
	otlpKindClient  = 3
	otlpStatusError = 2
	otlpStatusUnset = 0
)

// otlpInt is a 64-bit integer as it is written: a string or a number.
type otlpInt string

func (n *otlpInt) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, (*string)(n))
	}
	if !bytes.Equal(text, []byte("null")) {
		*n = otlpInt(text)
	}
	return nil
}

// otlpAttributes are names with values of many types. They are searched, not
// indexed: of the many that a span may have, few are asked for.
type otlpAttributes []struct {
	Key   string    `json:"key"`
	Value otlpValue `json:"value"`
}

type otlpValue struct {
	String *string         `json:"stringValue"`
	Int    *otlpInt        `json:"intValue"`
	Bool   *bool           `json:"boolValue"`
	Double *json.Number    `json:"doubleValue"`
	List   json.RawMessage `json:"kvlistValue"`
	Array  json.RawMessage `json:"arrayValue"`
}

func (as otlpAttributes) find(key string) *otlpValue {
	for i := range as {
		if as[i].Key == key {
			return &as[i].Value
		}
	}
	return nil
}

// text returns the value of an attribute as text; "" if there is none.
func (as otlpAttributes) text(key string) string {
	v := as.find(key)
	switch {
	case v == nil:
		return ""
	case v.String != nil:
		return *v.String
	case v.Int != nil:
		return string(*v.Int)
	case v.Bool != nil:
		return strconv.FormatBool(*v.Bool)
	case v.Double != nil:
		return v.Double.String()
	}
	return ""
}

// ReadOTLP reads OpenTelemetry spans in OTLP JSON: one ExportTraceServiceRequest,
// or several, one after the other, as the collector's file exporter writes them.
// Each span becomes a sample:
//
//   - Target is "service.node". The service is service.name, its dots replaced by
//     underscores; without it there is no prefix. The node is gen_ai.tool.name for tools,
//     gen_ai.agent.name for agents, gen_ai.request.model for models, server.address for
//     outgoing HTTP, and else, or where that is missing, the name of the span.
//   - Type follows gen_ai.operation.name, gen_ai.tool.name, mcp.method.name and
//     http.request.method (the OpenTelemetry semantic conventions); else it is point.
//   - Caller is the target of the parent span, "agent" at the root, "(missing)"
//     where the parent is not among the spans.
//   - Failed is the status code ERROR; where the status is unset, an error.type.
//   - Class is the attribute [ReadOptions].ClassBy; Fault and Rule are shakedown.fault and shakedown.rule.
//   - Lane is the parent span; Key hashes gen_ai.tool.call.arguments; Attempt is
//     1 + http.request.resend_count, else counted ([SampleList.NumberAttempts]).
//
// The epoch is the earliest start that is kept, rounded down to a second. A tool's span inside
// a span of the same tool (two instrumentations of one call) is not counted again,
// nor is a span that was exported twice; notes say how many. Spans far from the
// others in time are left out ([ReadOptions].MaxGap). Notes also name clocks that
// disagree: a span that begins before its parent in another service shows that.
//
// Members of unknown names are ignored, as the protocol demands. All other problems
// are joined, the first 16 as a [*FieldError] with its place. With an error the
// list is nil.
func ReadOTLP(r io.Reader, o *ReadOptions) (*SampleList, error) {
	options, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r, options.MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > options.MaxBytes {
		return nil, fields.Wrong("input", fielderror.Found("too long"), "at most MaxBytes bytes in all")
	}
	t := trace{options: options, byID: make(map[spanID]int), wrong: fields.ListUpTo(maxReported)}
	requests := 0
	for dec := json.NewDecoder(bytes.NewReader(text)); ; requests++ {
		from := dec.InputOffset()
		var request otlpRequest
		err := dec.Decode(&request)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.wrong.Add(otlpError(text, from, err))
			break
		}
		t.add(lineAt(text, int64(jsonedit.Space(text, int(from)))), &request)
	}
	if requests == 0 && t.wrong.Count() == 0 {
		t.wrong.Add(fields.Wrong("resourceSpans", nil, "an ExportTraceServiceRequest").At(1, 0))
	}
	t.refuseCycles()
	if err := t.wrong.Err(); err != nil {
		return nil, err
	}
	return t.samples(), nil
}

// otlpError returns an error of encoding/json with its line. The offset of a type
// error counts from the beginning of its request, and that of a syntax error from
// the beginning of the input.
func otlpError(text []byte, from int64, err error) error {
	wrong := fields.Because("input", nil, err, "OTLP JSON").At(lineAt(text, int64(len(text))), 0)
	var typed *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &typed):
		wrong.Line = lineAt(text, from+typed.Offset-1)
		wrong.Field, wrong.Value, wrong.Err, wrong.Allowed = typed.Field, typed.Value, nil,
			"a value of type "+typed.Type.String()
		if wrong.Field == "" {
			wrong.Field, wrong.Allowed = "input", "an ExportTraceServiceRequest"
		}
	case errors.As(err, &syntax):
		wrong.Line = lineAt(text, syntax.Offset-1)
	}
	return wrong
}

// lineAt returns the number of the line that contains an offset.
func lineAt(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(max(offset, 0), int64(len(text)))], []byte("\n"))
}
