package tape

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

const ms = time.Millisecond

// delta is an event as OpenAI writes them.
func delta(text string) []byte {
	return []byte(`data: {"choices":[{"index":0,"delta":{"content":"` + text + `"},"finish_reason":null}]}` + "\n\n")
}

func TestFrame(t *testing.T) {
	const events, lines, doc = "text/event-stream; charset=utf-8", "application/x-ndjson", "application/problem+json"
	for _, row := range []struct {
		why, media string
		after      time.Duration
		got        []Chunk
		wantAfter  time.Duration
		want       []Chunk
	}{
		{"events that came together and in parts", events, 844 * ms,
			[]Chunk{{3 * ms, []byte("data: 1\n\ndata: ")}, {41 * ms, []byte("2\n")}, {20 * ms, []byte("\ndata: 3\n\n")}},
			840 * ms, []Chunk{{0, []byte("data: 1\n\n")}, {60 * ms, []byte("data: 2\n\n")}, {0, []byte("data: 3\n\n")}}},
		{"pauses do not drift", events, 0,
			[]Chunk{{4 * ms, []byte("data: 1\n\n")}, {4 * ms, []byte("data: 2\n\n")}, {4 * ms, []byte("data: 3\n\n")}, {4 * ms, []byte("data: 4\n\n")}},
			0, []Chunk{{0, []byte("data: 1\n\n")}, {10 * ms, []byte("data: 2\n\n")}, {0, []byte("data: 3\n\n")}, {10 * ms, []byte("data: 4\n\n")}}},
		{"an event that did not end", events, 0, []Chunk{{0, []byte("data: 1\n\nda")}}, 0, []Chunk{{0, []byte("data: 1\n\n")}, {0, []byte("da")}}},
		{"lines", lines, 0, []Chunk{{0, []byte("{}\n{")}, {50 * ms, []byte("}\nx")}},
			0, []Chunk{{0, []byte("{}\n")}, {50 * ms, []byte("{}\n")}, {0, []byte("x")}}},
		{"a document, whose pauses are the answer's", doc, 16 * ms, []Chunk{{13 * ms, []byte("{")}, {10 * ms, []byte("}")}}, 40 * ms, []Chunk{{0, []byte("{}")}}},
		{"anything else without pauses", "", 0, []Chunk{{0, []byte("a")}, {2 * ms, []byte("b")}}, 0, []Chunk{{0, []byte("ab")}}},
		{"anything else with pauses", "audio/mpeg", 0, []Chunk{{0, []byte("a")}, {2 * ms, []byte("b")}, {30 * ms, []byte("c")}},
			0, []Chunk{{0, []byte("ab")}, {30 * ms, []byte("c")}}},
		{"nothing", events, 0, nil, 0, nil},
		{"an empty document", doc, 0, []Chunk{{0, []byte{}}}, 0, nil},
		{"a key across two chunks", events, 0, []Chunk{{0, []byte("data: \"sk-abcdefgh")}, {0, []byte("ijklmnopqrst\"\n\n")}},
			0, []Chunk{{0, []byte("data: \"[redacted]\"\n\n")}}},
		{"a key in pieces", events, 0, []Chunk{{0, delta("Use it: ghp_01234")}, {0, delta("56789abcd")}, {10 * ms, delta("ef0123, and")}},
			0, []Chunk{{0, delta("Use it: [redacted], and")}, {0, delta("")}, {10 * ms, delta("")}}},
	} {
		r := Response{Header: http.Header{"Content-Type": {row.media}}, After: row.after, Chunks: row.got}
		r.Frame()
		assert.Equal(t, row.wantAfter, r.After, row.why)
		assert.Equal(t, row.want, r.Chunks, row.why)
	}
}

// What a server wrote is kept as JSON where it says that it is, and all else as it came.
func TestAnswersOfServersAreKeptAsJSON(t *testing.T) {
	const doc, indented = "application/json", "{\n  \"id\": \"a\",\n  \"tools\": [],\n  \"n\": [1, 2.50]\n}\n"
	for _, row := range []struct{ why, media, body, played, want string }{
		{"Anthropic", doc, `{"id":"a","content":[{"text":"\u003cb>"}]}`, `{"id":"a","content":[{"text":"\u003cb>"}]}`,
			`"body": {"id": "a", "content": [{"text": "\u003cb>"}]}`},
		{"OpenAI", doc, indented, `{"id":"a","tools":[],"n":[1,2.50]}`, `"body": {"id": "a", "tools": [], "n": [1, 2.50]}`},
		{"Python", "application/problem+json", `{"id": "a", "n": 1}`, `{"id":"a","n":1}`, `"body": {"id": "a", "n": 1}`},
		{"an event", "text/event-stream", "data: {\"a\": 1}\n\n", "data: {\"a\":1}\n\n", `"events": [{"data": {"a": 1}}]`},
		{"JSON on lines of an event", "text/event-stream", "data: {\ndata: }\n\n", "data: {}\n\n", `"events": [{"data": {}}]`},
		{"an event with a comment", "text/event-stream", ": x\ndata: { }\n\n", ": x\ndata: { }\n\n", `"events": [{"raw": ": x\ndata: { }\n\n"}]`},
		{"a line", "application/jsonl", "{\"a\": 1}\r\n", "{\"a\":1}\n", `"lines": [{"data": {"a": 1}}]`},
		{"JSON that does not say so", "", `{"a":1,"a":2}`, `{"a":1,"a":2}`, `"body": {"a": 1, "a": 2}`},
		{"with white space, it is a text", "text/plain", "{ }\n", "{ }\n", `"text": "{ }\n"`},
		{"no JSON", doc, `{"a":`, `{"a":`, `"text": "{\"a\":"`},
		{"bytes", doc, "\xff\x00", "\xff\x00", `"base64": "/wA="`},
	} {
		f := fileWith(row.body)
		r := &f.Exchanges[0].Response
		if row.media != "" {
			r.Header = http.Header{"Content-Type": {row.media}}
		}
		r.Frame()
		data, err := f.Bytes()
		assert.NoError(t, err)
		assert.Contains(t, packed(string(data)), packed(row.want)+"}", row.why)
		f, err = Read(data)
		assert.NoError(t, err)
		assert.Equal(t, row.played, string(f.Exchanges[0].Response.Body()), row.why)
	}
}

func TestAStreamIsKeptInItsPieces(t *testing.T) {
	for _, row := range []struct{ why, media, want string }{
		{"events", "text/event-stream", `"events": [{"data": {"a": 1}}, {"after": "40ms", "raw": "data: x\r\n\r\n"}]`},
		{"lines", "application/jsonl", `"lines": [{"raw": "data: {\"a\":1}\n\n"}, {"after": "40ms", "raw": "data: x\r\n\r\n"}]`},
		{"anything else", "text/plain", `"chunks": [{"text": "data: {\"a\":1}\n\n"}, {"after": "40ms", "text": "data: x\r\n\r\n"}]`},
	} {
		f := fileWith("data: {\"a\":1}\n\n")
		r := &f.Exchanges[0].Response
		r.Header = http.Header{"Content-Type": {row.media}}
		r.Chunks = append(r.Chunks, Chunk{40 * ms, []byte("data: x\r\n\r\n")})
		data, err := f.Bytes()
		assert.NoError(t, err)
		assert.Contains(t, packed(string(data)), packed(row.want), row.why)
		again, err := Read(data)
		assert.NoError(t, err)
		assert.Equal(t, f, again, row.why)
	}
}
