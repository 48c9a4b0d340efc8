package modeltest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/sse"
)

// A wire is the form in which a provider speaks.
type wire struct {
	name string
	ends []string // of its paths, since gateways add prefixes
	// read fills in q from its body, or returns why it is refused.
	read   func(q *query) *problem
	refuse func(p *problem) any // the provider's form of an error
	whole  func(r *reply) any   // the answer that is not streamed
	stream func(r *reply, s *stream)
}

func wires() []wire {
	chat := func(ollama bool) func(*query) *problem {
		return func(q *query) *problem { return q.readChat(ollama) }
	}
	return []wire{
		{"chat", []string{"/chat/completions"}, chat(false), openAIError, wholeChat, streamChat},
		{"responses", []string{"/responses"}, readResponses, openAIError, wholeResponses, streamResponses},
		{"anthropic", []string{"/v1/messages"}, readAnthropic, refuseAnthropic, wholeAnthropic, streamAnthropic},
		{"gemini", []string{":generateContent", ":streamGenerateContent"},
			readGemini, refuseGemini, wholeGemini, streamGemini},
		{"ollama", []string{"/api/chat"}, chat(true), refuseOllama, wholeOllama, streamOllama},
	}
}

// An object is a JSON object: names and values in turn, in the provider's order.
type object []any

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	doc := []byte{'{'}
	for i := 0; i < len(o); i += 2 {
		if i > 0 {
			doc = append(doc, ',')
		}
		doc = append(append(append(doc, encode(o[i])...), ':'), encode(o[i+1])...)
	}
	return append(doc, '}'), nil
}

// wireOf returns the form of a request by the end of its path. For another path it
// returns the provider's that is likely meant.
func wireOf(r *http.Request) (_ wire, known bool) {
	path, likely := r.URL.Path, "chat"
	switch {
	case r.Header.Get("Anthropic-Version") != "":
		likely = "anthropic"
	case strings.Contains(path, "/v1beta/"), strings.Contains(path, "/models/") && strings.Contains(path, ":"):
		likely = "gemini"
	case strings.Contains(path, "/api/"):
		likely = "ollama"
	}
	var other wire
	for _, w := range wires() {
		if slices.ContainsFunc(w.ends, func(end string) bool { return strings.HasSuffix(path, end) }) {
			return w, true
		}
		if w.name == likely {
			other = w
		}
	}
	return other, false
}

func refused(api wire, p *problem) response {
	return response{status: p.status, header: http.Header{"Content-Type": {"application/json"}},
		pieces: [][]byte{encode(api.refuse(p))}}
}

// A reply is an answer with all that a provider adds to it. It is a function of
// the request and the answer.
type reply struct {
	Answer
	asked   *query
	model   string
	sum     uint64
	created int64 // seconds since 1970
}

// firstTurn is when answers are made: this, and a second later for each turn.
const firstTurn = 1_735_689_600 // 2025-01-01

func newReply(q *query, r Request, a Answer) *reply {
	sum := hash.String(r.API + " " + r.Model)
	mix := func(s string) { sum = hash.Combine(sum, hash.String(s)) }
	chars := 0
	count := func(s string) { mix(s); chars += utf8.RuneCountInString(s) }
	for _, m := range r.Messages {
		mix(m.Role)
		mix(m.CallID)
		count(m.Text)
		for _, c := range m.Calls {
			mix(c.ID)
			count(c.Name)
			count(c.Args)
		}
	}
	if a.InputTokens == 0 {
		a.InputTokens = (chars + 3) / 4
	}
	chars = 0
	count(a.Text)
	calls := make([]Call, len(a.Calls))
	for i, c := range a.Calls {
		if c.Args == "" {
			c.Args = "{}"
		}
		count(c.Name)
		count(c.Args)
		calls[i] = c
	}
	if a.OutputTokens == 0 {
		a.OutputTokens = (chars + 3) / 4
	}
	a.Calls = calls
	said := &reply{Answer: a, asked: q, model: r.Model, sum: sum, created: firstTurn + int64(r.Turn)}
	for i := range calls {
		if calls[i].ID == "" {
			calls[i].ID = said.id(map[string]string{"anthropic": "toolu_"}[r.API], i+1)
		}
	}
	return said
}

func (r *reply) id(prefix string, of ...int) string {
	if prefix == "" {
		prefix = "call_"
	}
	sum := hash.Combine(r.sum, hash.String(prefix))
	for _, n := range of {
		sum = hash.Combine(sum, uint64(n))
	}
	return fmt.Sprintf("%s%016x", prefix, sum)
}

// reason is why the model stopped, in the words of the provider.
func (r *reply) reason(calls, otherwise string) string {
	if len(r.Calls) > 0 {
		return calls
	}
	return otherwise
}

func (r *reply) response(api wire) response {
	name := "X-Request-Id"
	if api.name == "anthropic" {
		name = "Request-Id"
	}
	header := http.Header{"Content-Type": {"application/json"}, name: {r.id("req_")}}
	if !r.asked.stream {
		return response{status: http.StatusOK, header: header, pieces: [][]byte{encode(api.whole(r))}}
	}
	s := &stream{kind: "text/event-stream"}
	api.stream(r, s)
	header.Set("Content-Type", s.kind)
	return response{status: http.StatusOK, header: header, pieces: s.pieces, streamed: true}
}

// A stream collects the pieces of a streamed answer.
type stream struct {
	kind   string
	pieces [][]byte
}

// event sends a server-sent event; its type may be empty.
func (s *stream) event(kind string, doc any) { s.data(kind, encode(doc)) }

func (s *stream) data(kind string, data []byte) {
	s.pieces = append(s.pieces, sse.Append(nil, sse.Event{Type: kind, Data: string(data), HasData: true, Ended: true}))
}

func (s *stream) line(doc any) { s.pieces = append(s.pieces, append(encode(doc), '\n')) }

// words splits a text as it is streamed; an empty one has none.
func words(text string) []string {
	if text == "" {
		return nil
	}
	return strings.SplitAfter(text, " ")
}

// bits splits arguments as they are streamed.
func bits(args string) (all []string) {
	for piece := range slices.Chunk([]rune(args), 6) {
		all = append(all, string(piece))
	}
	return all
}

// encode writes & and < as they are, as the providers do.
func encode(doc any) []byte {
	body, err := jsonedit.Marshal(doc)
	if err != nil {
		panic("modeltest: " + err.Error()) // made of plain values and of arguments that were checked
	}
	return body
}
