package otlp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// whole has every member that is read.
const whole = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"desk"}}]},"scopeSpans":[{"scope":{"name":"lib"},
	"spans":[{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"00F067AA0BA902B7","parentSpanId":"","name":"a \u00e9\n","kind":3,
	"startTimeUnixNano":"1","endTimeUnixNano":2,"status":{"code":2,"message":"no"},"events":[{"name":"exception","attributes":[]}],
	"attributes":[{"key":"a","value":{"intValue":"7"}},{"key":"b","value":{"boolValue":true}},{"key":"c","value":{"doubleValue":1.5}},
	{"key":"d","value":{"kvlistValue":{"values":[{"key":"x","value":{"stringValue":"5"}},{"key":"y","value":{}}]}}},
	{"key":"e","value":{"arrayValue":{"values":[{"intValue":1},{"boolValue":false},{"arrayValue":{"values":[]}}]}}},{"key":"f"}]}]}]}]}`

// Whatever the text, each span is given or its problem is told.
func FuzzRead(f *testing.F) {
	f.Add(whole)
	for _, change := range []string{`"resourceSpans":null`, `"resourcespans":[]`, `"resourceSpans":[null]`,
		`"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":[],"attributes":[{"key":"\ud800"}]}]}]}]`} {
		f.Add("{" + change + "}")
	}
	f.Fuzz(func(t *testing.T, text string) {
		wrong := fielderror.Package("test").List()
		r := Reader{Fields: "test", Wrong: wrong}
		r.Read([]byte(text), func(at *Place, s *Span) {
			if !at.Bad() {
				require.LessOrEqual(t, s.Start, s.End)
			}
		})
		var q request
		if wrong.Count() == 0 {
			require.NoError(t, json.NewDecoder(strings.NewReader(text)).Decode(&q))
		}
	})
}

func TestRead(t *testing.T) {
	wrong := fielderror.Package("test").List()
	r := Reader{Fields: "test", Wrong: wrong}
	var spans []Span
	r.Read([]byte(whole), func(at *Place, s *Span) {
		assert.False(t, at.Bad())
		spans = append(spans, *s)
	})
	require.NoError(t, wrong.Err())
	require.Len(t, spans, 1)
	s := &spans[0]
	assert.Equal(t, []any{"lib", true, int64(1), int64(2), "desk", true}, []any{s.Scope, s.Root, s.Start, s.End, s.Resource.Text("service.name"), s.Failed()})
	for key, want := range map[string][2]string{
		"a": {"7", `7`}, "b": {"true", `true`}, "c": {"1.5", `1.5`}, "d": {"", `{"x":"5","y":null}`}, "e": {"", `[1,false,[]]`}, "f": {"", ""}, "g": {"", ""},
	} {
		assert.Equal(t, want, [2]string{s.Attributes.Text(key), string(s.Attributes.Find(key).JSON())}, key)
	}
	assert.Equal(t, "7", s.Attributes.First("g", "a", "b"))

	open := strings.Replace(whole, `"endTimeUnixNano":2,`, "", 1)
	r.Read([]byte(open), func(*Place, *Span) {})
	assert.EqualError(t, wrong.Err(), "test: line 1: resourceSpans[0].scopeSpans[0].spans[0].endTimeUnixNano is missing; allowed: nanoseconds since 1970, above 0 and below 2^63, as a string or a number")
	wrong = fielderror.Package("test").List()
	r = Reader{Fields: "test", Wrong: wrong, Open: true}
	r.Read([]byte(open), func(_ *Place, s *Span) { assert.Zero(t, s.End) })
	assert.NoError(t, wrong.Err())
}

func TestWhatASpanCalls(t *testing.T) {
	for _, tt := range []struct{ attributes, name, kind string }{
		{"", "span", ""},
		{"gen_ai.tool.name=x", "x", "tool"}, {"gen_ai.operation.name=execute_tool", "span", "tool"},
		{"gen_ai.operation.name=execute_tool tool.name=y", "y", "tool"}, {"mcp.method.name=tools/list", "tools/list", "tool"},
		{"gen_ai.operation.name=invoke_agent gen_ai.agent.name=a", "a", "agent"}, {"gen_ai.operation.name=chat gen_ai.request.model=m", "m", "model"},
		{"openinference.span.kind=TOOL tool.name=x", "x", "tool"}, {"openinference.span.kind=LLM llm.model_name=m", "m", "model"},
		{"openinference.span.kind=EMBEDDING embedding.model_name=m", "m", "model"}, {"openinference.span.kind=AGENT", "span", "agent"},
		{"openinference.span.kind=CHAIN", "span", ""}, {"openinference.span.kind=CHAIN http.method=GET", "span", "http"},
		{"traceloop.span.kind=tool traceloop.entity.name=x", "x", "tool"}, {"traceloop.span.kind=workflow traceloop.entity.name=w", "w", "agent"},
		{"traceloop.span.kind=task", "span", ""}, {"gen_ai.request.model=m", "m", "model"},
		{"gen_ai.operation.name=execute_tool openinference.span.kind=LLM gen_ai.tool.name=x", "x", "tool"},
		{"http.request.method=GET server.address=shop", "shop", "http"},
	} {
		s := Span{Name: "span", Kind: KindClient}
		for pair := range strings.FieldsSeq(tt.attributes) {
			key, value, _ := strings.Cut(pair, "=")
			s.Attributes = append(s.Attributes, Attribute{key, Value{String: &value}})
		}
		name, kind := s.Node()
		assert.Equal(t, []string{tt.name, tt.kind}, []string{name, string(kind)}, tt.attributes)
	}
}

// Of each ring of nodes one is found, and none that is in no ring.
func TestCycles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		parents := rapid.SliceOfN(rapid.IntRange(-1, n-1), n, n).Draw(t, "parents")
		inRing := func(i int) (ring []int) {
			for at, steps := parents[i], 0; at >= 0 && steps <= n; at, steps = parents[at], steps+1 {
				if ring = append(ring, at); at == i {
					return ring
				}
			}
			return nil
		}
		found := map[int]bool{}
		Cycles(n, func(i int) (int, bool) { return parents[i], parents[i] >= 0 }, func(i int) {
			require.NotNil(t, inRing(i))
			found[i] = true
		})
		for i := range n {
			if ring := inRing(i); ring != nil {
				times := 0
				for _, at := range ring {
					if found[at] {
						times++
					}
				}
				require.Equal(t, 1, times)
			}
		}
	})
}
