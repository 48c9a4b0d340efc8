package sse_test

import (
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/internal/sse"
)

// FuzzReader compares the reader, at any split of the stream into reads, with the
// procedure of the standard on the whole text.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		"", "data: a\n\n", "data: a\r\n\r\ndata: b\r\r\n", "\ufeffevent: x\nid: 1\ndata\ndata: y\n\n",
		": c\n\nretry: 10\ndata: z\n\n", "data: a\n\rdata: b", "\ufeff\n\n", "id: \x00\ndata:\n\n",
	} {
		f.Add(seed, 64)
	}
	f.Fuzz(func(t *testing.T, stream string, max int) {
		want := reference(stream)
		assert.Equal(t, want, seen(all(t, strings.NewReader(stream), stream, 0)))
		assert.Equal(t, want, seen(all(t, iotest.OneByteReader(strings.NewReader(stream)), stream, 0)))
		assert.Equal(t, want, seen(all(t, iotest.HalfReader(strings.NewReader(stream)), stream, 0)))
		bound := 1 + max&63
		for _, e := range all(t, strings.NewReader(stream), stream, bound) {
			assert.LessOrEqual(t, len(e.Raw), bound+1, "the bound, and a line feed")
		}
	})
}

// reference follows the steps of the standard line by line.
func reference(stream string) []sse.Event {
	stream = strings.TrimPrefix(stream, "\ufeff")
	stream = strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(stream, "\n")
	var out []sse.Event
	var e sse.Event
	for _, line := range lines[:len(lines)-1] { // what follows the last line end is no line
		name, value, colon := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if e.HasData {
				e.Data, e.Ended = strings.TrimSuffix(e.Data, "\n"), true
				out = append(out, e)
			}
			e = sse.Event{}
		case colon && name == "":
		case name == "event":
			e.Type = value
		case name == "data":
			e.Data, e.HasData = e.Data+value+"\n", true
		case name == "id" && !strings.Contains(value, "\x00"):
			e.ID, e.HasID = value, true
		case name == "retry" && digits(value):
			e.Retry = value
		}
	}
	return out
}

func digits(s string) bool {
	for _, r := range s {
		if r < '0' || r > '9' {
			return false
		}
	}
	return s != ""
}
