package tape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

// What is written is read back: every byte of an answer, every pause, a request's body
// by its value. Written once more it is the same bytes.
func TestReadGivesBackWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &File{rapid.SliceOfN(exchanges(), 0, 8).Draw(t, "exchanges")}
		want := slices.Clone(f.Exchanges)
		data, err := f.Bytes()
		require.NoError(t, err)
		got, err := Read(data)
		require.NoError(t, err, "%s", data)
		(&File{want}).Sort()
		require.Len(t, got.Exchanges, len(want))
		for i, e := range got.Exchanges {
			say := fmt.Sprintf("exchange %d of\n%s", i+1, data)
			assert.True(t, bytes.Equal(want[i].Request.Body, e.Request.Body) ||
				jsonhash.Same(want[i].Request.Body, e.Request.Body), say)
			e.Request.Body = want[i].Request.Body
			assert.Equal(t, want[i], e, say)
		}
		again, err := got.Bytes()
		require.NoError(t, err)
		assert.Equal(t, string(data), string(again), "loaded and saved it is the same bytes")
	})
}

// exchanges draws what a recorder may hand over: few cells and lanes, so that several
// fall together, and bodies that others begin with.
func exchanges() *rapid.Generator[Exchange] {
	return rapid.Custom(func(t *rapid.T) Exchange {
		return Exchange{
			Cell: rapid.SampledFrom([]string{"", "calm/1", "lost/1"}).Draw(t, "cell"),
			Lane: rapid.SampledFrom([]string{"", "a"}).Draw(t, "lane"),
			Request: Request{
				Method: rapid.SampledFrom([]string{"GET", "POST"}).Draw(t, "method"),
				URL:    rapid.SampledFrom([]string{"https://a.example/v1?x=1", "http://b.example/"}).Draw(t, "url"),
				Body:   requestBodies().Draw(t, "body"),
			},
			Response: responses().Draw(t, "response"),
		}
	})
}

func requestBodies() *rapid.Generator[[]byte] {
	conversation := rapid.Custom(func(t *rapid.T) []byte {
		messages := []string{`{"role":"user","content":"\u003cb>\ud83d\ude00"}`, `{"content": 1.50, "role":"tool"}`, `"x"`, `[1]`}
		n := rapid.IntRange(0, len(messages)).Draw(t, "turns")
		tools := rapid.SampledFrom([]string{`[]`, `[{"name":"refund"}]`, `[{"name":"refund"}, 2]`}).Draw(t, "tools")
		return []byte(`{"tools":` + tools + `,"me~s/s": [` + strings.Join(messages[:n], ", ") + `]}`)
	})
	odd := rapid.SampledFrom([]string{`{"a":1,"a":[2]}`, `{"a":[1],"a":[2,3]}`, `null`, ` 1 `, `plain`, "\xff", `"\ud800"`, "{",
		strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1)})
	return rapid.OneOf(rapid.Just[[]byte](nil), conversation,
		rapid.Map(odd, func(s string) []byte { return []byte(s) }), documents())
}

// documents draws JSON in the layouts that servers write, and in others.
func documents() *rapid.Generator[[]byte] {
	leaf := rapid.OneOf(
		rapid.Map(rapid.Float64Range(-1e9, 1e9), func(f float64) any { return f }),
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.SampledFrom([]any{nil, []any{}, map[string]any{}}))
	list := rapid.Map(rapid.SliceOfN(leaf, 0, 3), func(l []any) any { return l })
	value := rapid.MapOfN(rapid.StringMatching(`[a-z"\\]{0,3}`), rapid.OneOf(leaf, list), 0, 4)
	return rapid.Custom(func(t *rapid.T) []byte {
		doc, err := json.Marshal(value.Draw(t, "document"))
		require.NoError(t, err)
		var b bytes.Buffer
		switch rapid.SampledFrom([]string{"compact", "indented", "tabs", "spaced"}).Draw(t, "layout") {
		case "indented":
			require.NoError(t, json.Indent(&b, doc, "", "  "))
		case "tabs":
			require.NoError(t, json.Indent(&b, doc, "", "\t"))
		case "spaced":
			b.Write(jsonedit.Compact(nil, doc, " "))
		default:
			b.Write(doc)
		}
		b.WriteString(rapid.SampledFrom([]string{"", "\n", "\r\n", "\n\n", " "}).Draw(t, "end"))
		return b.Bytes()
	})
}

func responses() *rapid.Generator[Response] {
	media := rapid.SampledFrom([]string{"", "application/json", "text/event-stream", "text/event-stream; charset=utf-8",
		"application/x-ndjson", "audio/mpeg", "text/plain"})
	return rapid.Custom(func(t *rapid.T) Response {
		r := Response{Status: rapid.IntRange(200, 599).Draw(t, "status"), After: pauses().Draw(t, "after")}
		if m := media.Draw(t, "media"); m != "" {
			r.Header = http.Header{"Content-Type": {m}}
			if rapid.Bool().Draw(t, "more") {
				r.Header["X-Request-Id"] = []string{"a\tb", "ü"}
			}
		}
		for _, piece := range rapid.SliceOfN(pieces(), 0, 5).Draw(t, "pieces") {
			r.Chunks = append(r.Chunks, Chunk{pauses().Draw(t, "pause"), piece})
		}
		if rapid.Bool().Draw(t, "framed") {
			body := string(r.Body())
			r.Frame()
			require.Equal(t, packed(body), packed(string(r.Body())), "Frame leaves all but white space")
		}
		return r
	})
}

// packed is a text without white space, and without the names of the lines on which an event has JSON.
func packed(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), ""), "data:", "")
}

func pauses() *rapid.Generator[time.Duration] {
	return rapid.OneOf(rapid.Just(time.Duration(0)), rapid.Map(rapid.Int64Range(0, 5e9),
		func(n int64) time.Duration { return time.Duration(n) }))
}

// pieces draws pieces of bodies: events with all kinds of line ends, whole and cut,
// lines, documents, and bytes that are no text.
func pieces() *rapid.Generator[[]byte] {
	text := rapid.SampledFrom([]string{
		"data: {\"a\":1}\n\n", "data: {\"a\": 1}\n\n", "data: [DONE]\n\n", "event: ping\ndata: {}\n\n", "data: x\r\n\r\n", "data: x\r\r",
		"data:x\n\n", ": comment\n\n", "\ufeffdata: x\n\n", "data: a\ndata: b\n\n", "id\ndata: x\n\n", "id: 7\nretry: 10\ndata: x\n\n",
		"retry: 10\nid: 7\n\n", "data: {\"a\":", "1}\n", "\n", "data\n\n", "data:  x\n\n", "data: {\ndata: }\n\n", "event: e\n\n", "\r\n",
		"{\"a\":1}\n", "{\"a\": 1}\n", "{\"a\": 1}\r\n", "x\n", "x", "[\n  1\n]", "[\n  1\n]\n", "\xff\xfe", "ü"[:1], "ü"[1:], "",
	})
	return rapid.OneOf(rapid.Map(text, func(s string) []byte { return []byte(s) }), documents())
}

// Read never panics. What it accepts is written to bytes that read to the same file.
func FuzzRead(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte(`{"format":"shakedown/cassette","version":1,"exchanges":[{}{},{}]}`)) // no comma, also behind the first
	f.Add([]byte(`{"format":"shakedown/cassette","version":1,"\u0065xchanges":[{"request":{"method":"GET","url":"http://a/",` +
		`"body":{"exchanges":[{"request":{"method":"GET","url":"http://b/"},"response":{"status":200}}]}},"response":{"status":200}}]}`))
	for _, row := range badFiles {
		file, _ := unmarked(row.file, "")
		f.Add([]byte(file))
	}
	seeds := rapid.SliceOfN(exchanges(), 1, 5)
	for seed := range 20 {
		data, err := (&File{seeds.Example(seed)}).Bytes()
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Read(data)
		if err != nil {
			return
		}
		want := &File{slices.Clone(file.Exchanges)}
		want.Sort() // in the order in which it is written
		written, err := file.Bytes()
		require.NoError(t, err)
		again, err := Read(written)
		require.NoError(t, err, "%s", written)
		require.Equal(t, want, again, "%s", written)
		twice, err := again.Bytes()
		require.NoError(t, err)
		require.Equal(t, string(written), string(twice))
	})
}
