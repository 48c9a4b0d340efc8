package tape

import (
	"bytes"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/internal/sse"
)

// A kind of body decides in what pieces a file keeps it.
type kind int

const (
	other        kind = iota
	jsonBody          // JSON: one piece, whatever the pauses
	streamEvents      // server-sent events
	streamLines       // NDJSON
)

func kindOf(h http.Header) kind {
	media, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	switch media {
	case "text/event-stream":
		return streamEvents
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines",
		"application/jsonlines", "application/x-jsonl", "application/json-seq", "application/stream+json":
		return streamLines
	case "application/json":
		return jsonBody
	}
	if strings.HasSuffix(media, "+json") {
		return jsonBody
	}
	return other
}

// tick is what pauses are rounded to.
const tick = 10 * time.Millisecond

// Frame turns the chunks as they were received into what a file keeps: a chunk an
// event, a chunk a line of NDJSON, one chunk of a JSON document, whose pauses count as
// the answer's, and of anything else the chunks that have pauses between them. Pauses
// are rounded to 10 ms, their sum at most 10 ms off. Well-known forms of keys are
// masked, as by [Mask], also those that the documents of a stream say in pieces. JSON, also
// of an event or a line, loses the white space between its tokens, so that a file has it as
// JSON; all other bytes stay. Call it once, when the body was read to its end.
func (r *Response) Frame() {
	chunks, body := r.Chunks, r.Body()
	r.After = r.After.Round(tick)
	r.Chunks = nil
	var ends []int
	switch kindOf(r.Header) {
	case streamEvents:
		ends = eventEnds(body)
	case streamLines:
		ends = lineEnds(body)
	case jsonBody:
		for _, c := range chunks {
			r.After += c.After
		}
		r.After = r.After.Round(tick)
		if len(body) > 0 {
			r.Chunks = []Chunk{{Data: tight(Mask(body))}}
		}
		return
	default:
		ends = pauseEnds(chunks)
	}
	pieces := make([][]byte, 0, len(ends))
	start, read := 0, 0 // bytes
	var arrived, before time.Duration
	for _, end := range ends {
		for ; len(chunks) > 0 && read < end; chunks = chunks[1:] {
			arrived += chunks[0].After
			read += len(chunks[0].Data)
		}
		at := arrived.Round(tick)
		r.Chunks = append(r.Chunks, Chunk{After: at - before})
		pieces = append(pieces, body[start:end:end])
		start, before = end, at
	}
	for i, data := range keysOnly().Pieces(pieces) {
		r.Chunks[i].Data = kindOf(r.Header).tight(Mask(data))
	}
}

// tight is a piece of a stream whose JSON has no white space between its tokens. An event that a
// file keeps raw stays as it is.
func (k kind) tight(piece []byte) []byte {
	switch k {
	case streamLines:
		line := bytes.TrimSuffix(piece, []byte("\n"))
		return slices.Concat(tight(line), piece[len(line):])
	case streamEvents:
		if e, ok := plainEvent(piece); ok {
			e.Data = string(tight([]byte(e.Data)))
			return sse.Append(nil, e)
		}
	}
	return piece
}

// plainEvent is the event of a block whose fields give back its bytes.
func plainEvent(block []byte) (e sse.Event, ok bool) {
	e, err := sse.NewReader(bytes.NewReader(block), len(block)+1).Next()
	return e, err == nil && bytes.Equal(sse.Append(nil, e), block)
}

func eventEnds(body []byte) (ends []int) {
	events := sse.NewReader(bytes.NewReader(body), len(body)+1)
	for end := 0; ; {
		e, err := events.Next()
		if err != nil {
			return ends
		}
		end += len(e.Raw)
		ends = append(ends, end)
	}
}

func lineEnds(body []byte) (ends []int) {
	end := 0
	for line := range bytes.Lines(body) {
		end += len(line)
		ends = append(ends, end)
	}
	return ends
}

// pauseEnds are the ends of the chunks that a pause follows, and of the last.
func pauseEnds(chunks []Chunk) (ends []int) {
	end := 0
	var at, last time.Duration
	for _, c := range chunks {
		at += c.After
		if end > 0 && at.Round(tick) > last {
			ends = append(ends, end)
		}
		last = at.Round(tick)
		end += len(c.Data)
	}
	if end > 0 {
		ends = append(ends, end)
	}
	return ends
}

// Redact applies f to what a framed answer says: to the data of each event, to each line of
// NDJSON, and to any other body as a whole, which comes in one piece if f changed it.
func (r *Response) Redact(f func(doc []byte) []byte) {
	redact := func(text []byte) []byte {
		doc := bytes.TrimRight(text, "\r\n")
		if len(doc) == 0 {
			return text
		}
		return append(bytes.Clone(f(bytes.Clone(doc))), text[len(doc):]...)
	}
	switch kindOf(r.Header) {
	case streamEvents:
		for i := range r.Chunks {
			r.Chunks[i].Data = redactEvents(r.Chunks[i].Data, f)
		}
	case streamLines:
		for i := range r.Chunks {
			r.Chunks[i].Data = redact(r.Chunks[i].Data)
		}
	default:
		body := r.Body()
		clean := redact(body)
		if bytes.Equal(clean, body) {
			return
		}
		for _, c := range r.Chunks {
			r.After += c.After
		}
		r.Chunks = []Chunk{{Data: clean}}
	}
}

func redactEvents(data []byte, f func(doc []byte) []byte) (out []byte) {
	for r := sse.NewReader(bytes.NewReader(data), len(data)+1); ; {
		e, err := r.Next()
		if err != nil {
			return out
		}
		if doc := []byte(e.Data); e.HasData && len(doc) > 0 {
			if clean := f(bytes.Clone(doc)); !bytes.Equal(clean, doc) {
				e.Data = string(clean)
				out = sse.Append(out, e)
				continue
			}
		}
		out = append(out, e.Raw...)
	}
}
