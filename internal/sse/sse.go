// Package sse reads and writes streams of server-sent events, as the HTML
// standard defines them ("9.2.5 Parsing an event stream"). A stream of lines, each a JSON
// document (NDJSON), is read as one whose events are the lines.
//
// The [Reader] returns the bytes of every event with its fields, so that a stream
// can be passed on with one event changed. It returns an event as soon as its last
// byte has arrived, and never keeps more than a bounded part of the stream.
package sse

import "strings"

// An Event is one block of a stream: the lines up to and with a blank line.
type Event struct {
	Line    bool   // the block is a line, of a stream of lines: Data is its text
	Type    string // of the field "event"
	Data    string // of the fields "data", joined by line feeds
	HasData bool   // there was such a field: without one, clients do not see the event
	ID      string // of the field "id"
	HasID   bool   // there was such a field: an empty one resets the last
	Retry   string // of the field "retry": decimal digits, in milliseconds

	// Raw is the block as it was read, the byte order mark and comments included.
	// The Raws of a stream, one after the other, are the stream.
	Raw []byte
	// Ended reports whether the block ended in a blank line. Clients drop the
	// last block of a stream if it did not. A line ends with the stream too, unless
	// that broke off.
	Ended bool
	// Part reports whether the block was longer than the Reader's max: Raw is then
	// a part of it, and the fields above are empty.
	Part bool
	// Marked reports whether Raw begins with the byte order mark of the stream.
	Marked bool
}

// Seen reports whether clients get the event.
func (e Event) Seen() bool { return e.HasData && e.Ended && !e.Part }

// Whole returns the block in a form that may precede and follow any other. It adds
// the last line feed to Raw if it is missing, and drops the byte order mark, which
// counts only at the beginning of a stream.
func (e Event) Whole() []byte {
	if e.Ended && len(e.Raw) > 0 && e.Raw[len(e.Raw)-1] == '\n' {
		if e.Marked {
			return e.Raw[len(mark):]
		}
		return e.Raw
	}
	return Append(nil, e)
}

// Append appends the event to dst, with line feeds as line ends. Line ends of any kind
// in Data become line feeds; in Type, ID and Retry, and in a line, they become spaces.
func Append(dst []byte, e Event) []byte {
	if e.Line {
		return append(append(dst, strings.ReplaceAll(unify(e.Data), "\n", " ")...), '\n')
	}
	dst = field(dst, "event", e.Type, e.Type != "")
	dst = field(dst, "id", e.ID, e.HasID)
	dst = field(dst, "retry", e.Retry, e.Retry != "")
	if e.HasData {
		for line := range strings.SplitSeq(unify(e.Data), "\n") {
			dst = field(dst, "data", line, true)
		}
	}
	return append(dst, '\n')
}

func field(dst []byte, name, value string, given bool) []byte {
	if !given {
		return dst
	}
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, strings.ReplaceAll(unify(value), "\n", " ")...)
	return append(dst, '\n')
}

// unify turns all three kinds of line end into line feeds.
func unify(s string) string {
	if strings.IndexByte(s, '\r') < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}
