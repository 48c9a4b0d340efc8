package otlp

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// decodeFast reads a request from an index of its text, which takes a third of the time
// that encoding/json does. It reports false for any request that is not as expected,
// such as one with a value of another type: encoding/json says then what is wrong, or
// reads what this does not, such as names in other cases.
func decodeFast(text []byte, q *request) bool {
	d, ok := jsonedit.Parse(text)
	if !ok || d.Kind(0) != jsonedit.Object {
		return false
	}
	f := fast{d, true}
	f.members(0, func(name []byte, at int) bool {
		if string(name) != "resourceSpans" {
			return known(name, "resourceSpans")
		}
		if f.Kind(at) == jsonedit.Null || q.ResourceSpans != nil {
			return false
		}
		list := []resourceSpans{}
		f.list(at, func(n int) { list = make([]resourceSpans, 0, n) }, func(at int) {
			list = append(list, resourceSpans{})
			f.resource(at, &list[len(list)-1])
		})
		q.ResourceSpans = &list
		return true
	})
	return f.ok
}

// known reports whether a name that is none of the given ones is none in other cases
// either.
func known(name []byte, names ...string) bool {
	for _, n := range names {
		if len(n) == len(name) && bytes.EqualFold(name, []byte(n)) {
			return false
		}
	}
	return true
}

// fast reads parts of a document. ok becomes false with the first that is not as
// expected.
type fast struct {
	*jsonedit.Doc
	ok bool
}

// members calls each for every member of an object. null is an object without any.
func (f *fast) members(at int, each func(name []byte, at int) bool) {
	if !f.is(at, jsonedit.Object) {
		return
	}
	for c := at + 1; f.ok && c < int(f.Nodes[at].Next); c = int(f.Nodes[c].Next) {
		n := &f.Nodes[c]
		name := f.Text[n.NameStart+1 : n.NameEnd-1]
		if bytes.IndexByte(name, '\\') >= 0 || !each(name, c) {
			f.ok = false
		}
	}
}

// list calls size with the number of elements of a list, and each for every one. Of null
// it calls neither. A list that is there twice is for encoding/json, which has rules of
// its own for it: callers ask once.
func (f *fast) list(at int, size func(int), each func(at int)) {
	if !f.is(at, jsonedit.Array) {
		return
	}
	n := 0
	for c := at + 1; c < int(f.Nodes[at].Next); c = int(f.Nodes[c].Next) {
		n++
	}
	size(n)
	for c := at + 1; f.ok && c < int(f.Nodes[at].Next); c = int(f.Nodes[c].Next) {
		each(c)
	}
}

// is reports whether a value has a type. null has none, and any other is not expected.
func (f *fast) is(at int, kind jsonedit.Kind) bool {
	switch f.Kind(at) {
	case kind:
		return true
	case jsonedit.Null:
		return false
	}
	f.ok = false
	return false
}

func (f *fast) text(at int, into *string) bool {
	if f.is(at, jsonedit.String) {
		raw := f.Raw(at)
		if !utf8.Valid(raw) {
			return false // encoding/json replaces what is not UTF-8
		}
		*into = jsonedit.Unquote(raw)
	}
	return true
}

func (f *fast) resource(at int, r *resourceSpans) {
	f.members(at, func(name []byte, at int) bool {
		switch string(name) {
		case "resource":
			f.members(at, func(name []byte, at int) bool {
				if string(name) == "attributes" {
					return f.attributes(at, &r.Resource.Attributes)
				}
				return known(name, "attributes")
			})
		case "scopeSpans":
			if r.ScopeSpans != nil {
				return false
			}
			f.list(at, func(n int) { r.ScopeSpans = make([]scopeSpans, 0, n) }, func(at int) {
				r.ScopeSpans = append(r.ScopeSpans, scopeSpans{})
				f.scope(at, &r.ScopeSpans[len(r.ScopeSpans)-1])
			})
		default:
			return known(name, "resource", "scopeSpans")
		}
		return true
	})
}

func (f *fast) scope(at int, s *scopeSpans) {
	f.members(at, func(name []byte, at int) bool {
		switch string(name) {
		case "scope":
			f.members(at, func(name []byte, at int) bool {
				if string(name) == "name" {
					return f.text(at, &s.Scope.Name)
				}
				return known(name, "name")
			})
		case "spans":
			if s.Spans != nil {
				return false
			}
			f.list(at, func(n int) { s.Spans = make([]Span, 0, n) }, func(at int) {
				s.Spans = append(s.Spans, Span{})
				f.span(at, &s.Spans[len(s.Spans)-1])
			})
		default:
			return known(name, "scope", "spans")
		}
		return true
	})
}

func (f *fast) span(at int, s *Span) {
	f.members(at, func(name []byte, at int) bool {
		switch string(name) {
		case "traceId":
			return f.text(at, &s.TraceID)
		case "spanId":
			return f.text(at, &s.SpanID)
		case "parentSpanId":
			return f.text(at, &s.ParentID)
		case "name":
			return f.text(at, &s.Name)
		case "kind":
			return f.other(at, &s.Kind)
		case "startTimeUnixNano":
			return f.int(at, &s.StartText)
		case "endTimeUnixNano":
			return f.int(at, &s.EndText)
		case "attributes":
			return f.attributes(at, &s.Attributes)
		case "events":
			if s.Events != nil {
				return false
			}
			f.list(at, func(n int) { s.Events = make([]Event, 0, n) }, func(at int) {
				s.Events = append(s.Events, Event{})
				f.event(at, &s.Events[len(s.Events)-1])
			})
			return true
		case "status":
			f.members(at, func(name []byte, at int) bool {
				switch string(name) {
				case "code":
					return f.other(at, &s.Status.Code)
				case "message":
					return f.text(at, &s.Status.Message)
				}
				return known(name, "code", "message")
			})
			return true
		}
		return known(name, "traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano",
			"attributes", "events", "status")
	})
}

func (f *fast) event(at int, e *Event) {
	f.members(at, func(name []byte, at int) bool {
		switch string(name) {
		case "name":
			return f.text(at, &e.Name)
		case "attributes":
			return f.attributes(at, &e.Attributes)
		}
		return known(name, "name", "attributes")
	})
}

// attributes reads a list that is not there yet.
func (f *fast) attributes(at int, into *Attributes) bool {
	if *into != nil {
		return false
	}
	f.list(at, func(n int) { *into = make(Attributes, 0, n) }, func(at int) {
		*into = append(*into, Attribute{})
		a := &(*into)[len(*into)-1]
		f.members(at, func(name []byte, at int) bool {
			switch string(name) {
			case "key":
				return f.text(at, &a.Key)
			case "value":
				f.value(at, &a.Value)
				return true
			}
			return known(name, "key", "value")
		})
	})
	return true
}

func (f *fast) value(at int, v *Value) {
	f.members(at, func(name []byte, at int) bool {
		if f.Kind(at) == jsonedit.Null {
			return false // encoding/json has rules of its own for it
		}
		switch string(name) {
		case "stringValue":
			v.String = new(string)
			return f.text(at, v.String)
		case "intValue":
			v.Int = new(Int)
			return f.int(at, v.Int)
		case "boolValue":
			v.Bool = new(bool)
			return f.other(at, v.Bool)
		case "doubleValue":
			v.Double = new(json.Number)
			return f.other(at, v.Double)
		case "kvlistValue":
			v.List = f.Raw(at)
		case "arrayValue":
			v.Array = f.Raw(at)
		default:
			return known(name, "stringValue", "intValue", "boolValue", "doubleValue", "kvlistValue", "arrayValue")
		}
		return true
	})
}

// int reads a number as it is written, or the text that it is.
func (f *fast) int(at int, n *Int) bool {
	if f.Kind(at) == jsonedit.String {
		return f.text(at, (*string)(n))
	}
	return f.other(at, n)
}

// other reads a value of a rare member.
func (f *fast) other(at int, into any) bool { return json.Unmarshal(f.Raw(at), into) == nil }
