package sse_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/internal/sse"
)

// all reads the events of a stream, and checks that their Raws are the stream.
func all(t require.TestingT, src io.Reader, stream string, max int) []sse.Event {
	r := sse.NewReader(src, max)
	var events []sse.Event
	var raw strings.Builder
	for {
		e, err := r.Next()
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			_, again := r.Next()
			require.ErrorIs(t, again, io.EOF, "the end lasts")
			break
		}
		require.NotEmpty(t, e.Raw)
		raw.Write(e.Raw)
		events = append(events, e)
	}
	require.Equal(t, stream, raw.String())
	return events
}

// seen returns the events that a client gets, with only the fields that it sees.
func seen(events []sse.Event) []sse.Event {
	var out []sse.Event
	for _, e := range events {
		if e.Seen() {
			e.Raw, e.Marked = nil, false
			out = append(out, e)
		}
	}
	return out
}

func data(s string) sse.Event { return sse.Event{Data: s, HasData: true, Ended: true} }

func TestReader(t *testing.T) {
	for _, tc := range []struct {
		name, stream string
		want         []sse.Event
	}{
		{"nothing", "", nil},
		{"one event", "data: a\n\n", []sse.Event{data("a")}},
		{"no space behind the colon", "data:a\n\n", []sse.Event{data("a")}},
		{"of two spaces one is content", "data:  a\n\n", []sse.Event{data(" a")}},
		{"carriage returns", "data: a\r\rdata: b\r\r", []sse.Event{data("a"), data("b")}},
		{"both", "data: a\r\n\r\ndata: b\r\n\r\n", []sse.Event{data("a"), data("b")}},
		{"a mixture", "data: a\rdata: b\n\r\ndata: c\n\n", []sse.Event{data("a\nb"), data("c")}},
		{"several lines", "data: a\ndata:\ndata: b\n\n", []sse.Event{data("a\n\nb")}},
		{"a field without a colon is empty", "data\n\n", []sse.Event{data("")}},
		{"an empty field is data all the same", "data:\n\n", []sse.Event{data("")}},
		{"a byte order mark", "\ufeffdata: a\n\n", []sse.Event{data("a")}},
		{"only one", "\ufeff\ufeffdata: a\n\n", nil},
		{"a mark on a line of its own", "\ufeff\ndata: a\n\n", []sse.Event{data("a")}},
		{"comments", ": ping\n\n:\ndata: a\n: x\n\n", []sse.Event{data("a")}},
		{"a type without data is not an event", "event: a\n\ndata: b\n\n", []sse.Event{data("b")}},
		{"all fields", "event: e\nid: 7\nretry: 1500\ndata: a\n\n",
			[]sse.Event{{Type: "e", ID: "7", HasID: true, Retry: "1500", Data: "a", HasData: true, Ended: true}}},
		{"an empty id", "id\ndata: a\n\n", []sse.Event{{HasID: true, Data: "a", HasData: true, Ended: true}}},
		{"an id with a zero byte", "id: a\x00b\ndata: a\n\n", []sse.Event{data("a")}},
		{"a retry that is no number", "retry: 1s\ndata: a\n\n", []sse.Event{data("a")}},
		{"names have a case", "Data: a\n\n", nil},
		{"unknown fields", "foo: a\ndata: b\n\n", []sse.Event{data("b")}},
		{"the last one without its blank line", "data: a\n\ndata: b\n", []sse.Event{data("a")}},
		{"the last one without its line end", "data: a\n\ndata: b", []sse.Event{data("a")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, tc.want, seen(all(t, strings.NewReader(tc.stream), tc.stream, 0)))
			slow := iotest.OneByteReader(strings.NewReader(tc.stream))
			assert.Equal(t, tc.want, seen(all(t, slow, tc.stream, 0)), "byte by byte")
		})
	}
}

func TestLongBlocksPassInParts(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, stream := range []string{
		"data: a\n\ndata: " + long + "\n\ndata: b\n\n",
		"data: a\n\n" + strings.Repeat("data: xxxxx\n", 9) + "\ndata: b\n\n",
		"data: a\n\ndata: xxxxxxxxx\n\n" + "data: b\n\n", // 16 bytes with its first line end
	} {
		events := all(t, strings.NewReader(stream), stream, 16)
		for _, e := range events {
			assert.LessOrEqual(t, len(e.Raw), 17)
		}
		assert.Equal(t, []sse.Event{data("a"), data("b")}, seen(events))
	}
}

func TestLines(t *testing.T) {
	line := func(data string) sse.Event { return sse.Event{Line: true, Data: data, HasData: true, Ended: true} }
	for stream, want := range map[string][]sse.Event{
		"":                                nil,
		"a\nb\n":                          {line("a"), line("b")},
		"a\r\n\r\n \nb":                   {line("a"), line("b")},
		"\ufeffa\n":                       {line("\ufeffa")},
		strings.Repeat("x", 40) + "\nb\n": {line("b")},
		"data: a\n":                       {line("data: a")},
	} {
		for _, src := range []io.Reader{strings.NewReader(stream), iotest.OneByteReader(strings.NewReader(stream))} {
			r := sse.NewLineReader(src, 16)
			var got []sse.Event
			raw := ""
			for {
				e, err := r.Next()
				if err != nil {
					require.ErrorIs(t, err, io.EOF)
					break
				}
				raw += string(e.Raw)
				if e.Seen() {
					e.Raw = nil
					got = append(got, e)
				}
			}
			assert.Equal(t, stream, raw)
			assert.Equal(t, want, got, stream)
		}
	}
	assert.Equal(t, "a b\n", string(sse.Append(nil, sse.Event{Line: true, Data: "a\r\nb", HasData: true})))
	assert.Equal(t, "a\n", string(sse.Event{Line: true, Data: "a", Ended: true, Raw: []byte("a")}.Whole()))
}

func TestEventsComeAtOnce(t *testing.T) {
	for _, stream := range []string{"data: a\n\n", "data: a\r\n\r\n", "data: a\r\r"} {
		src, dst := io.Pipe()
		go func() { _, _ = io.WriteString(dst, stream) }()
		e, err := sse.NewReader(src, 0).Next()
		require.NoError(t, err, "more never comes")
		assert.True(t, e.Seen())
		require.NoError(t, src.Close())
	}
}

func TestReaderPassesErrorsOn(t *testing.T) {
	broken := errors.New("broken")
	r := sse.NewReader(io.MultiReader(strings.NewReader("data: a"), iotest.ErrReader(broken)), 0)
	e, err := r.Next()
	require.NoError(t, err)
	assert.Equal(t, "data: a", string(e.Raw))
	assert.False(t, e.Seen())
	for range 2 {
		_, err = r.Next()
		assert.Equal(t, broken, err)
	}
}

func TestWholeBlocksMayChangePlaces(t *testing.T) {
	stream := "data: a\r\n\r\ndata: b\r\n\r\n"
	var swapped []byte
	for _, e := range all(t, iotest.OneByteReader(strings.NewReader(stream)), stream, 0) {
		swapped = append(e.Whole(), swapped...)
	}
	assert.Equal(t, []sse.Event{data("b"), data("a")}, seen(all(t, bytes.NewReader(swapped), string(swapped), 0)))
}

func TestAppendKeepsEventsApart(t *testing.T) {
	e := sse.Event{Type: "a\r\ndata: x", Data: "b\r\n\rc", HasData: true}
	assert.Equal(t, "event: a data: x\ndata: b\ndata: \ndata: c\n\n", string(sse.Append(nil, e)))
}

// events draws events as a reader returns them.
func events() *rapid.Generator[sse.Event] {
	line := rapid.StringMatching(`[ -~é]{0,6}`)
	return rapid.Custom(func(t *rapid.T) sse.Event {
		e := sse.Event{Type: line.Draw(t, "type"), Ended: true}
		if e.HasID = rapid.Bool().Draw(t, "hasID"); e.HasID {
			e.ID = line.Draw(t, "id")
		}
		e.Retry = rapid.StringMatching(`[0-9]{0,4}`).Draw(t, "retry")
		if e.HasData = rapid.Bool().Draw(t, "hasData"); e.HasData {
			e.Data = strings.Join(rapid.SliceOfN(line, 1, 3).Draw(t, "data"), "\n")
		}
		return e
	})
}

func TestWritingAndReadingIsIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(events()).Draw(t, "events")
		var stream []byte
		for _, e := range want {
			stream = sse.Append(stream, e)
		}
		got := all(t, bytes.NewReader(stream), string(stream), 0)
		require.Len(t, got, len(want))
		for i := range got {
			got[i].Raw = nil
			require.Equal(t, want[i], got[i])
		}
	})
}

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
