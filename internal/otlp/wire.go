// Package otlp reads OpenTelemetry spans in the JSON encoding of the OpenTelemetry
// protocol, and says what kind of node a span is. The timeline and the import of
// sessions both use it.
package otlp

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// The parts of an ExportTraceServiceRequest that matter here, in the JSON
// encoding of the OpenTelemetry protocol (opentelemetry.io/docs/specs/otlp,
// "JSON Protobuf Encoding"): ids in hexadecimal, 64-bit integers as strings or
// numbers, enums as numbers. Members of other names are ignored, as the protocol
// demands.
type request struct {
	ResourceSpans *[]resourceSpans `json:"resourceSpans"`
	Batches       *[]resourceSpans `json:"batches"` // the name that Tempo gives them
}

type resourceSpans struct {
	Resource struct {
		Attributes Attributes `json:"attributes"`
	} `json:"resource"`
	ScopeSpans []scopeSpans `json:"scopeSpans"`
}

type scopeSpans struct {
	Scope struct {
		Name string `json:"name"`
	} `json:"scope"`
	Spans []Span `json:"spans"`
}

// A Span is one span. The fields without a JSON name are what [Reader.Read] makes of
// the others.
type Span struct {
	TraceID    string     `json:"traceId"`
	SpanID     string     `json:"spanId"`
	ParentID   string     `json:"parentSpanId"`
	Name       string     `json:"name"`
	Kind       Enum       `json:"kind"`
	StartText  Int        `json:"startTimeUnixNano"`
	EndText    Int        `json:"endTimeUnixNano"`
	Attributes Attributes `json:"attributes"`
	Events     []Event    `json:"events"`
	Status     struct {
		Code    Enum   `json:"code"`
		Message string `json:"message"`
	} `json:"status"`

	ID       ID         `json:"-"`
	Parent   ID         `json:"-"` // in the same trace
	Root     bool       `json:"-"` // it names no parent
	Start    int64      `json:"-"` // nanoseconds since 1970
	End      int64      `json:"-"` // 0: it has not ended
	Scope    string     `json:"-"` // the instrumentation that made it
	Resource Attributes `json:"-"` // those of the process that made it
}

// An Event is something that happened within a span, such as an exception.
type Event struct {
	Name       string     `json:"name"`
	Attributes Attributes `json:"attributes"`
}

// An ID is the 16 bytes of a trace's id and the 8 of a span's.
type ID [24]byte

// The values of Status.Code and one of Kind.
const (
	StatusUnset = 0
	StatusOK    = 1
	StatusError = 2
	KindClient  = 3
)

// Failed reports whether the span says that it failed: by its status, or where that is
// unset, by a type of error or, as Strands has it, by the status of a tool.
func (s *Span) Failed() bool {
	return s.Status.Code == StatusError || s.Status.Code == StatusUnset &&
		(s.Attributes.Text("error.type") != "" || s.Attributes.Text("gen_ai.tool.status") == "error")
}

// Succeeded reports whether the span says that it did not fail. Most say nothing.
func (s *Span) Succeeded() bool {
	return s.Status.Code == StatusOK || s.Attributes.Text("gen_ai.tool.status") == "success"
}

// An Enum is a value of an enumeration: its number, or its name.
type Enum int

// UnmarshalJSON reads either form.
func (e *Enum) UnmarshalJSON(text []byte) error {
	if len(text) == 0 || text[0] != '"' {
		return json.Unmarshal(text, (*int)(e))
	}
	known, found := enumNames[string(bytes.Trim(text, `"`))]
	if *e = known; !found {
		*e = unknownName // refused at its place: an error from here has no path under every version of Go
	}
	return nil
}

var enumNames = map[string]Enum{
	"SPAN_KIND_UNSPECIFIED": 0, "SPAN_KIND_INTERNAL": 1, "SPAN_KIND_SERVER": 2, "SPAN_KIND_CLIENT": KindClient,
	"SPAN_KIND_PRODUCER": 4, "SPAN_KIND_CONSUMER": 5,
	"STATUS_CODE_UNSET": StatusUnset, "STATUS_CODE_OK": StatusOK, "STATUS_CODE_ERROR": StatusError,
}

// unknownName is an enumeration's value whose name is in no list.
const unknownName Enum = -1

func (e Enum) shown() any {
	if e == unknownName {
		return fielderror.Found("a name that is not known")
	}
	return int(e)
}

// An Int is a 64-bit integer as it is written: a string or a number.
type Int string

// UnmarshalJSON reads either form.
func (n *Int) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, (*string)(n))
	}
	if !bytes.Equal(text, []byte("null")) {
		*n = Int(text)
	}
	return nil
}

// Attributes are names with values of many types. They are searched, not indexed: of
// the many that a span may have, few are asked for.
type Attributes []Attribute

// An Attribute is a name with a value.
type Attribute struct {
	Key   string `json:"key"`
	Value Value  `json:"value"`
}

// A Value is the value of an attribute, in one of its members.
type Value struct {
	String *string         `json:"stringValue"`
	Int    *Int            `json:"intValue"`
	Bool   *bool           `json:"boolValue"`
	Double json.RawMessage `json:"doubleValue"`
	Bytes  *string         `json:"bytesValue"` // in base64
	List   *struct {
		Values Attributes `json:"values"`
	} `json:"kvlistValue"`
	Array *struct {
		Values []Value `json:"values"`
	} `json:"arrayValue"`
}

// Find returns the value of an attribute; nil: there is none.
func (as Attributes) Find(key string) *Value {
	for i := range as {
		if as[i].Key == key {
			return &as[i].Value
		}
	}
	return nil
}

// First returns the first of the attributes that has a text, as [Attributes.Text]
// does; "" if none has.
func (as Attributes) First(keys ...string) string {
	for _, key := range keys {
		if text := as.Text(key); text != "" {
			return text
		}
	}
	return ""
}

// Text returns the value of an attribute as text; "" if there is none, or it is a
// structure.
func (as Attributes) Text(key string) string { return as.Find(key).Text() }

// Text returns the value as text; "" if there is none, or it is a structure.
func (v *Value) Text() string {
	switch {
	case v == nil:
		return ""
	case v.String != nil:
		return *v.String
	case v.Int != nil:
		return string(*v.Int)
	case v.Bool != nil:
		return strconv.FormatBool(*v.Bool)
	}
	return strings.Trim(string(v.Double), `"`)
}

// JSON returns the value as a document: a structure as an object or a list, and a
// text that is JSON as what it says. nil: there is no value.
func (v *Value) JSON() json.RawMessage {
	switch {
	case v == nil:
		return nil
	case v.String != nil:
		return jsonvalue.OfBytes([]byte(*v.String))
	case v.Bytes != nil || v.List == nil && v.Array == nil && v.Text() == "":
		return nil
	case v.Int != nil || v.Double != nil:
		return jsonvalue.OfBytes([]byte(v.Text()))
	}
	return jsonedit.Of(v.within()).Bytes()
}

// within returns a value as it stands in a structure; nil: there is none. Of two members of
// one name the last counts.
func (v *Value) within() any {
	switch {
	case v.String != nil:
		return *v.String
	case v.Bytes != nil:
		return *v.Bytes
	case v.List != nil:
		object := make(map[string]any, len(v.List.Values))
		for i := range v.List.Values {
			object[v.List.Values[i].Key] = v.List.Values[i].Value.within()
		}
		return object
	case v.Array != nil:
		list := make([]any, len(v.Array.Values))
		for i := range v.Array.Values {
			list[i] = v.Array.Values[i].within()
		}
		return list
	}
	if text := v.Text(); json.Valid([]byte(text)) {
		return json.RawMessage(text)
	} else if text != "" {
		return text
	}
	return nil
}
