package dialect

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A shape is what is seen at the beginning of an input: in the first objects, those in their lists
// of known names, and the first lines. Nothing is decoded: an input may be long, and is read in
// full only by the dialect that it is in.
type shape struct {
	objects int             // looked at
	first   members         // the first of them
	marks   map[string]bool // "name", "name=text" and "name.inner"; of parts of messages behind "content/"
}

// members are the values of an object, as they are written.
type members map[string]json.RawMessage

const (
	shapeObjects = 64 // looked at
	shapeNames   = 8  // named in an error
	shapeName    = 40 // bytes of each
)

func shapeOf(doc []byte) *shape {
	s := &shape{marks: make(map[string]bool)}
	for value := range s.values(doc, ' ') {
		s.add(value, 2)
	}
	return s
}

// add adds an object, or the elements of a list, and those in it to a depth.
func (s *shape) add(value []byte, depth int) {
	if len(value) == 0 || s.objects >= shapeObjects {
		return
	}
	switch value[0] {
	case '{':
		m := membersOf(value)
		if s.objects++; s.first == nil {
			s.first = m
		}
		s.mark("", m)
		if m["role"] != nil {
			for _, part := range m.list("content") {
				s.mark("content/", objectOf(part))
			}
		}
		for _, name := range []string{"data", "messages", "contents", "input", "output", "items"} {
			if list := m[name]; depth > 0 && len(list) > 0 && list[0] == '[' {
				s.add(list, depth-1)
			}
		}
		if request := m["request"]; depth > 0 && m["response"] != nil && objectOf(request) != nil { // a log of both
			s.add(request, depth-1)
		}
	case '[':
		for inner := range s.values(value[1:], ',') {
			if inner[0] != '[' {
				s.add(inner, depth)
			} else if depth > 0 {
				s.add(inner, depth-1)
			}
		}
	}
}

// values are those at the top of a text (a blank parts them), or the elements of a list up to its end,
// until enough objects were looked at.
func (s *shape) values(doc []byte, separator byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for at := jsonedit.Space(doc, 0); at < len(doc) && doc[at] != ']' && s.objects < shapeObjects; {
			end := jsonedit.After(doc, at)
			if end < 0 {
				end = len(doc)
			}
			if !yield(doc[at:end]) {
				return
			}
			if at = jsonedit.Space(doc, end); at < len(doc) && doc[at] == separator {
				at = jsonedit.Space(doc, at+1)
			}
		}
	}
}

func (s *shape) mark(within string, m members) {
	for name, value := range m {
		s.marks[within+name] = true
		if len(value) < 2*shapeName {
			s.marks[within+name+"="+strings.Trim(string(value), `"`)] = true
		}
		for inner := range objectOf(value) {
			s.marks[within+name+"."+inner] = true
		}
	}
}

// has reports whether all marks of one of several groups were seen: groups are separated by blanks,
// marks by a plus.
func (s *shape) has(groups string) bool {
	for group := range strings.FieldsSeq(groups) {
		if !slices.ContainsFunc(strings.Split(group, "+"), func(mark string) bool { return !s.marks[mark] }) {
			return true
		}
	}
	return false
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

func (s *shape) found() string {
	if s.first == nil {
		return "no JSON object"
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.first)) {
		names = append(names, text.Clip(name, shapeName))
	}
	return "members " + text.Some(names, shapeNames)
}
