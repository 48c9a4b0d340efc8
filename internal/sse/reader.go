package sse

import (
	"bufio"
	"bytes"
	"io"
	"strings"
)

// DefaultMax is the usual bound on the length of a block: 1 MiB, some hundred
// times the longest event of a chat completion.
const DefaultMax = 1 << 20

// A Reader splits a stream into its events. It is not safe for concurrent use.
type Reader struct {
	src     *bufio.Reader
	max     int
	lines   bool  // each is an event
	begun   bool  // something was returned: a byte order mark cannot follow
	afterCR bool  // a line feed that follows belongs to the last line end
	long    bool  // parts of the current block were returned
	column  int   // how many bytes of the current line were in those parts
	err     error // of src, kept
}

// NewReader reads events from src. A block of more than max bytes is returned
// in parts; a max of 0 or less is [DefaultMax].
func NewReader(src io.Reader, max int) *Reader {
	if max <= 0 {
		max = DefaultMax
	}
	return &Reader{src: bufio.NewReader(src), max: max}
}

// NewLineReader is [NewReader] for a stream of lines, each of which is an event. Those that
// are blank have no data.
func NewLineReader(src io.Reader, max int) *Reader {
	r := NewReader(src, max)
	r.lines = true
	return r
}

// Next returns the next event. At the end of the stream it first returns the block
// that no blank line ended, if there is one, then always [io.EOF]. It does the same
// for any other error of the source.
func (r *Reader) Next() (Event, error) {
	if r.lines {
		return r.nextLine()
	}
	var raw []byte
	line := -r.column // the index in raw where the line began
	for {
		b, err := r.read()
		if err != nil {
			if len(raw) > 0 {
				return r.event(raw, false), nil
			}
			return Event{}, err
		}
		raw = append(raw, b)
		switch second := r.afterCR && b == '\n'; {
		case second:
			r.afterCR = false
			line = len(raw)
		case b == '\n' || b == '\r':
			r.afterCR = b == '\r'
			if blank := r.blank(raw, line); blank {
				return r.event(r.feed(raw), true), nil
			}
			line = len(raw)
		default:
			r.afterCR = false
		}
		if len(raw) >= r.max {
			r.long, r.begun, r.column = true, true, len(raw)-line
			return Event{Raw: raw, Part: true}, nil
		}
	}
}

func (r *Reader) nextLine() (Event, error) {
	var raw []byte
	for {
		b, err := r.read()
		if err != nil && len(raw) == 0 {
			return Event{}, err
		}
		if err == nil {
			raw = append(raw, b)
		}
		switch ended := err != nil || b == '\n'; {
		case ended && r.long:
			r.long = false
			return Event{Raw: raw, Line: true, Part: true}, nil
		case ended:
			data := strings.TrimRight(string(raw), "\r\n")
			return Event{Raw: raw, Line: true, Data: data, HasData: strings.TrimSpace(data) != "",
				Ended: err == nil || err == io.EOF}, nil
		case len(raw) >= r.max:
			r.long = true
			return Event{Raw: raw, Line: true, Part: true}, nil
		}
	}
}

// read reads a byte. It keeps an error, which a bufio.Reader returns once only.
func (r *Reader) read() (b byte, err error) {
	if r.err == nil {
		b, r.err = r.src.ReadByte()
	}
	return b, r.err
}

// blank reports whether the line that ends with raw is empty.
func (r *Reader) blank(raw []byte, line int) bool {
	if line < 0 {
		return false // it began in an earlier part
	}
	content := raw[line : len(raw)-1]
	return len(content) == 0 || !r.begun && line == 0 && string(content) == mark
}

// feed appends the line feed of the last line end if it has arrived. One that
// arrives later is part of the next block: waiting for it could take for ever.
func (r *Reader) feed(raw []byte) []byte {
	if !r.afterCR || r.src.Buffered() == 0 {
		return raw
	}
	if b, err := r.src.Peek(1); err != nil || b[0] != '\n' {
		return raw
	}
	_, _ = r.src.Discard(1)
	r.afterCR = false
	return append(raw, '\n')
}

// mark is the byte order mark that a stream may begin with.
const mark = "\ufeff"

// event makes the event of a block.
func (r *Reader) event(raw []byte, ended bool) Event {
	e := Event{Raw: raw, Ended: ended, Part: r.long}
	text := raw
	if !r.begun {
		text, e.Marked = bytes.CutPrefix(raw, []byte(mark))
	}
	r.begun, r.column = true, 0
	if r.long {
		r.long = !ended
		return e
	}
	var data []string
	for line := range strings.SplitSeq(unify(string(text)), "\n") {
		e.line(line, &data)
	}
	e.Data, e.HasData = strings.Join(data, "\n"), len(data) > 0
	return e
}

// line reads one line: a comment, a field, or a field without a value.
func (e *Event) line(line string, data *[]string) {
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimPrefix(value, " ")
	switch name {
	case "event":
		e.Type = value
	case "data":
		*data = append(*data, value)
	case "id":
		if strings.IndexByte(value, 0) < 0 {
			e.ID, e.HasID = value, true
		}
	case "retry":
		if value != "" && strings.Trim(value, "0123456789") == "" {
			e.Retry = value
		}
	}
}
