package dialect

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A shape is the objects at the beginning of an input: the first one, those in its
// lists of known names, and the first lines. Nothing is decoded: an input may be long,
// and is read in full only by the dialect that it is in.
type shape struct {
	objects []members
}

// members are the values of an object, as they are written.
type members map[string]json.RawMessage

const (
	shapeObjects = 64 // looked at
	shapeNames   = 8  // named in an error
)

func shapeOf(doc []byte) *shape {
	s := &shape{}
	for at := jsonedit.Space(doc, 0); at < len(doc) && len(s.objects) < shapeObjects; {
		end := jsonedit.After(doc, at)
		if end < 0 {
			end = len(doc)
		}
		s.add(doc[at:end], 2)
		at = jsonedit.Space(doc, end)
	}
	return s
}

// add adds an object, or the elements of a list, and those in it to a depth.
func (s *shape) add(value []byte, depth int) {
	if len(value) == 0 || len(s.objects) >= shapeObjects {
		return
	}
	switch value[0] {
	case '{':
		m := membersOf(value)
		s.objects = append(s.objects, m)
		if depth > 0 {
			for _, name := range []string{"data", "messages", "contents", "input", "output", "items"} {
				if list := m[name]; len(list) > 0 && list[0] == '[' {
					s.add(list, depth-1)
				}
			}
			if m["response"] != nil && len(m["request"]) > 0 && m["request"][0] == '{' { // a log of both
				s.add(m["request"], depth-1)
			}
		}
	case '[':
		for at := jsonedit.Space(value, 1); at < len(value) && len(s.objects) < shapeObjects; {
			end := jsonedit.After(value, at)
			if value[at] == ']' {
				return
			}
			if end < 0 {
				end = len(value)
			}
			if value[at] != '[' {
				s.add(value[at:end], depth)
			} else if depth > 0 {
				s.add(value[at:end], depth-1)
			}
			if at = jsonedit.Space(value, end); at < len(value) && value[at] == ',' {
				at = jsonedit.Space(value, at+1)
			}
		}
	}
}

// membersOf returns the members of an object, as far as it has the form of one.
func membersOf(object []byte) members {
	m := make(members)
	for at := jsonedit.Space(object, 1); at < len(object) && object[at] == '"'; {
		end := jsonedit.After(object, at)
		if end < 0 {
			break
		}
		name := strings.Trim(string(object[at:end]), `"`)
		if at = jsonedit.Space(object, end); at >= len(object) || object[at] != ':' {
			break
		}
		at = jsonedit.Space(object, at+1)
		if end = jsonedit.After(object, at); end < 0 {
			m[name] = object[at:]
			break
		}
		m[name] = object[at:end]
		if at = jsonedit.Space(object, end); at < len(object) && object[at] == ',' {
			at = jsonedit.Space(object, at+1)
		}
	}
	return m
}

// has reports whether an object has a member.
func (s *shape) has(name string) bool {
	return slices.ContainsFunc(s.objects, func(m members) bool { return m[name] != nil })
}

// under reports whether a member of an object, itself an object, has a member.
func (s *shape) under(outer, name string) bool {
	return slices.ContainsFunc(s.objects, func(m members) bool {
		return m.object(outer)[name] != nil
	})
}

// is reports whether an object has a member with one of the given texts.
func (s *shape) is(name string, texts ...string) bool {
	return slices.ContainsFunc(s.objects, func(m members) bool {
		return slices.Contains(texts, strings.Trim(string(m[name]), `"`))
	})
}

// inContent reports whether the content of a message has what a dialect alone has.
func (s *shape) inContent(has func(content *shape) bool) bool {
	return slices.ContainsFunc(s.objects, func(m members) bool {
		content := &shape{}
		if m["role"] != nil {
			content.add(m["content"], 0)
		}
		return has(content)
	})
}

func (s *shape) anthropic() bool {
	return s.inContent(func(c *shape) bool { return c.is("type", "tool_use", "tool_result") })
}

func (s *shape) bedrock() bool {
	return s.inContent(func(c *shape) bool { return c.has("toolUse") || c.has("toolResult") })
}

func (s *shape) langfuse() bool {
	return s.has("observations") || s.has("parentObservationId") ||
		s.has("traceId") && s.has("startTime") && s.has("level")
}

func (s *shape) openAIAgents() bool {
	return s.has("span_data") || s.is("object", "trace.span") || s.is("object", "trace") && s.has("workflow_name")
}

// claudeCode reports whether a line of its log is there.
func (s *shape) claudeCode() bool { return s.has("sessionId") && s.under("message", "role") }

func (s *shape) responses() bool {
	return s.is("type", "function_call", "function_call_output") || s.is("object", "response") ||
		s.is("type", "message", "reasoning") && s.has("role")
}

func (s *shape) chat() bool { return s.has("messages") || s.has("role") || s.is("type", "human", "ai") }

// found names the members of the first object.
func (s *shape) found() string {
	if len(s.objects) == 0 {
		return "no JSON object"
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.objects[0])) {
		names = append(names, text.Clip(name, 40))
	}
	return "members " + text.Some(names, shapeNames)
}
