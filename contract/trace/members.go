package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

const headerAllowed = `a first line {"format":"shakedown/samples","version":1,"epoch":"…"} with a time in RFC 3339`

// header reads the first line, and reports whether the rest can be read: without a
// header the epoch of the samples is unknown.
func (d *lineReader) header(text []byte) bool {
	var h header
	ok := d.object(text, func(m member) error {
		switch string(m.name) {
		case "format":
			return m.text(&h.Format)
		case "version":
			return m.int(&h.Version)
		case "epoch":
			var at string
			if err := m.text(&at); err != nil {
				return err
			}
			epoch, err := time.Parse(time.RFC3339Nano, at)
			h.Epoch = epoch.UTC()
			if err != nil || !writableTime(h.Epoch) {
				return m.refused("a time in RFC 3339")
			}
			return nil
		}
		return m.refused("no member of this name in the header: format, version, epoch")
	})
	if !ok {
		return false
	}
	if h.Format != linesFormat || h.Version != linesVersion || !d.saw("epoch") {
		d.refuse("header", string(text), headerAllowed)
		return false
	}
	d.found.Epoch = h.Epoch
	return true
}

// sample reads one line.
func (d *lineReader) sample(text []byte) {
	var s timeline.Sample
	if !d.object(text, func(m member) error { return d.member(&s, m) }) {
		return
	}
	ok := true
	for _, name := range [...]string{"target", "startNs", "endNs"} {
		if !d.saw(name) {
			d.refuse(name, nil, "")
			ok = false
		}
	}
	if !ok {
		return
	}
	if err := s.Validate(); err != nil {
		d.wrong.Add(fields.Because("sample", s.Target, err, "").At(d.line, 0))
		return
	}
	d.found.Samples = append(d.found.Samples, s)
}

func (d *lineReader) member(s *timeline.Sample, m member) error {
	switch string(m.name) {
	case "caller":
		return d.once(m, &s.Caller)
	case "target":
		return d.once(m, &s.Target)
	case "class":
		return d.once(m, &s.Class)
	case "lane":
		return d.once(m, &s.Lane)
	case "fault":
		return d.once(m, &s.Fault)
	case "rule":
		return d.once(m, &s.Rule)
	case "type":
		return d.once(m, (*string)(&s.Type))
	case "key":
		return m.key(&s.Key)
	case "startNs":
		return m.duration(&s.Start)
	case "endNs":
		return m.duration(&s.End)
	case "attempt":
		return m.int(&s.Attempt)
	case "failed":
		return m.bool(&s.Failed)
	case "final":
		return m.bool(&s.Final)
	}
	return m.refused("no member of this name in a sample")
}

// once reads a text, so that equal texts share memory.
func (d *lineReader) once(m member, to *string) error {
	if plain, ok := m.plain(); ok {
		if kept, known := d.texts[string(plain)]; known {
			*to = kept
			return nil
		}
	}
	if err := m.text(to); err != nil {
		return err
	}
	d.texts[*to] = *to
	return nil
}

// saw reports whether the line had a member of that name.
func (d *lineReader) saw(name string) bool {
	for _, seen := range d.seen {
		if string(seen) == name {
			return true
		}
	}
	return false
}

// maxSeen bounds the members of a line that are remembered: more than any line may have.
const maxSeen = 16

// object reads a line that is one flat JSON object, member by member.
func (d *lineReader) object(text []byte, take func(member) error) (ok bool) {
	d.seen = d.seen[:0]
	if !utf8.Valid(text) {
		d.refuse("line", string(text), "UTF-8")
		return false
	}
	if !json.Valid(text) {
		var any json.RawMessage
		d.wrong.Add(fields.Because("line", string(text), json.Unmarshal(text, &any), "one JSON object").At(d.line, 0))
		return false
	}
	rest := bytes.TrimLeft(text, space)
	if rest[0] != '{' {
		d.refuse("line", string(text), "one JSON object")
		return false
	}
	ok = true
	for rest = rest[1:]; ; {
		var m member
		if m, rest = nextMember(rest); m.name == nil {
			return ok
		}
		if err := d.take(m, take); err != nil {
			err.Line = d.line
			d.wrong.Add(err)
			ok = false
		}
	}
}

func (d *lineReader) take(m member, take func(member) error) *FieldError {
	if d.saw(string(m.name)) {
		return m.refused("each member once")
	}
	if len(d.seen) < maxSeen {
		d.seen = append(d.seen, m.name)
	}
	var wrong *FieldError
	errors.As(take(m), &wrong)
	return wrong
}

const space = " \t\r\n"

// A member is a name and its value, as they stand in a line of valid JSON.
type member struct{ name, value []byte }

// nextMember cuts the first member off the rest of a valid object. Its name is nil
// if there is none.
func nextMember(text []byte) (m member, rest []byte) {
	if text = bytes.TrimLeft(text, space+","); text[0] == '}' {
		return member{}, nil
	}
	n := jsonedit.After(text, 0)
	if m.name = text[1 : n-1]; bytes.IndexByte(m.name, '\\') >= 0 {
		m.name = []byte(jsonedit.Unquote(text[:n]))
	}
	text = bytes.TrimLeft(text[n:], space+":")
	n = jsonedit.After(text, 0)
	return member{m.name, text[:n]}, text[n:]
}

func (m member) refused(allowed string) *FieldError {
	value := string(m.value)
	var text string
	if json.Unmarshal(m.value, &text) == nil && m.value[0] == '"' {
		value = text
	}
	return fields.Wrong(string(m.name), value, allowed)
}

// plain returns a text without escapes as it is.
func (m member) plain() ([]byte, bool) {
	if m.value[0] != '"' || bytes.IndexByte(m.value, '\\') >= 0 {
		return nil, false
	}
	return m.value[1 : len(m.value)-1], true
}

func (m member) text(to *string) error {
	if plain, ok := m.plain(); ok {
		*to = string(plain)
		return nil
	}
	if m.value[0] != '"' || json.Unmarshal(m.value, to) != nil {
		return m.refused("a string")
	}
	return nil
}

func (m member) bool(to *bool) error {
	switch string(m.value) {
	case "true":
		*to = true
	case "false":
		*to = false
	default:
		return m.refused("true or false")
	}
	return nil
}

func (m member) duration(to *time.Duration) error {
	n, err := strconv.ParseInt(string(m.value), 10, 64)
	if err != nil {
		return m.refused("an integer of nanoseconds since the epoch")
	}
	*to = time.Duration(n)
	return nil
}

func (m member) int(to *int) error {
	n, err := strconv.ParseInt(string(m.value), 10, strconv.IntSize)
	if err != nil {
		return m.refused("an integer")
	}
	*to = int(n)
	return nil
}

func (m member) key(to *uint64) error {
	plain, _ := m.plain()
	n, err := strconv.ParseUint(string(plain), 10, 64)
	if err != nil {
		return m.refused("a string of decimal digits, below 2^64")
	}
	*to = n
	return nil
}
