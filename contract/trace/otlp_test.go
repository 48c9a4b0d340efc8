package trace_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

const (
	traceID = "5b8efff798038103d269b633813fc60c"
	epochNs = 1767323045 * int64(time.Second)
)

// aSpan is the JSON of a span: number n, called by parent (0: none), from
// start for length ms, and the members of more.
func aSpan(n, parent int, name string, start, length int64, more string) string {
	by := ""
	if parent > 0 {
		by = fmt.Sprintf(`"parentSpanId":"%016x",`, parent)
	}
	if more != "" {
		more = "," + more
	}
	from := epochNs + start*int64(ms)
	return fmt.Sprintf(`{"traceId":"%s","spanId":"%016x",%s"name":%q,"startTimeUnixNano":"%d","endTimeUnixNano":"%d"%s}`,
		traceID, n, by, name, from, from+length*int64(ms), more)
}

// attrs makes the attributes member of keys and text values.
func attrs(pairs ...string) string {
	var all []string
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, fmt.Sprintf(`{"key":%q,"value":{"stringValue":%q}}`, pairs[i], pairs[i+1]))
	}
	return `"attributes":[` + strings.Join(all, ",") + "]"
}

func request(resource string, spans ...string) string {
	return fmt.Sprintf(`{"resourceSpans":[{"resource":{%s},"scopeSpans":[{"scope":{"name":"lib"},"spans":[%s]}]}]}`, resource, strings.Join(spans, ","))
}

// spans are the samples of an input.
type spans struct {
	Epoch   time.Time
	Samples []timeline.Sample
	Notes   []string
}

func readOTLP(t *testing.T, text string, o *trace.ReadOptions) (r spans) {
	t.Helper()
	if o == nil {
		o = &trace.ReadOptions{}
	}
	var err error
	r.Epoch, r.Samples, r.Notes, err = trace.ReadSpans(text, o)
	require.NoError(t, err)
	return r
}

func TestWhatASpanMeans(t *testing.T) {
	const failed, fine, unset = `"status":{"code":2}`, `"status":{"code":1}`, `"status":{}`
	for _, tt := range []struct {
		why, resource, more string
		target              string
		is                  timeline.NodeType
		change              func(*timeline.Sample)
	}{
		{why: "a span of which nothing is known is a point", target: "work", is: timeline.NodePoint},
		{why: "the service is the subsystem", resource: attrs("service.name", "shop"), target: "shop.work", is: timeline.NodePoint},
		{why: "a service with dots is one subsystem", resource: attrs("service.name", "com.example.shop"), target: "com_example_shop.work", is: timeline.NodePoint},
		{why: "a tool has its own name", more: attrs("gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "lookup"), target: "lookup", is: timeline.NodeTool},
		{why: "a tool without one has the span's", more: attrs("gen_ai.operation.name", "execute_tool"), target: "work", is: timeline.NodeTool},
		{why: "a tool called over MCP", more: attrs("mcp.method.name", "tools/call", "gen_ai.tool.name", "lookup"), target: "lookup", is: timeline.NodeTool},
		{why: "tools listed over MCP", more: attrs("mcp.method.name", "tools/list"), target: "tools/list", is: timeline.NodeTool},
		{why: "another MCP request", more: attrs("mcp.method.name", "ping"), target: "work", is: timeline.NodePoint},
		{why: "a model", more: attrs("gen_ai.operation.name", "chat", "gen_ai.request.model", "small-1"), target: "small-1", is: timeline.NodeLLM},
		{why: "embeddings are a model's too", more: attrs("gen_ai.operation.name", "embeddings"), target: "work", is: timeline.NodeLLM},
		{why: "a plan is no call of a model: that has a span of its own", more: attrs("gen_ai.operation.name", "plan", "gen_ai.request.model", "small-1"), target: "plan", is: timeline.NodePoint},
		{why: "nor is a retrieval", more: attrs("gen_ai.operation.name", "retrieval", "gen_ai.data_source.id", "handbook"), target: "handbook", is: timeline.NodePoint},
		{why: "nor a memory", more: attrs("gen_ai.operation.name", "search_memory"), target: "search_memory", is: timeline.NodePoint},
		{why: "an agent", more: attrs("gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "planner"), target: "planner", is: timeline.NodeAgent},
		{why: "HTTP out", more: `"kind":3,` + attrs("http.request.method", "GET", "server.address", "orders"), target: "orders", is: timeline.NodeHTTP},
		{why: "HTTP out, by the older convention", more: `"kind":3,` + attrs("http.method", "GET", "net.peer.name", "orders"), target: "orders", is: timeline.NodeHTTP},
		{why: "HTTP in", more: `"kind":2,` + attrs("http.request.method", "GET", "server.address", "orders"), target: "work", is: timeline.NodeHTTP},

		{why: "status error", more: failed, target: "work", is: timeline.NodePoint, change: func(s *timeline.Sample) { s.Failed = true }},
		{why: "status unset", more: unset, target: "work", is: timeline.NodePoint},
		{why: "status unset, with a type of error", more: attrs("error.type", "timeout"), target: "work", is: timeline.NodePoint, change: func(s *timeline.Sample) { s.Failed = true }},
		{why: "status ok outweighs it", more: fine + "," + attrs("error.type", "timeout"), target: "work", is: timeline.NodePoint},

		{why: "class", more: attrs("shakedown.class", "vip"), target: "work", is: timeline.NodePoint,
			change: func(s *timeline.Sample) { s.Class = "vip" }},
		{why: "a class of the resource", resource: attrs("shakedown.class", "vip"), target: "work", is: timeline.NodePoint, change: func(s *timeline.Sample) { s.Class = "vip" }},
		{why: "members of unknown names are ignored", more: `"flags":257,"links":[],"futureMember":{"a":1}`, target: "work", is: timeline.NodePoint},
	} {
		t.Run(tt.why, func(t *testing.T) {
			r := readOTLP(t, request(tt.resource, aSpan(1, 0, "work", 250, 100, tt.more)), nil)
			want := timeline.Sample{Target: tt.target, Type: tt.is, Lane: traceID, Start: 250 * ms, End: 350 * ms, Attempt: 1}
			if tt.change != nil {
				tt.change(&want)
			}
			assert.Equal(t, []timeline.Sample{want}, r.Samples)
			assert.Equal(t, time.Unix(0, epochNs).UTC(), r.Epoch, "the whole second")
			assert.Empty(t, r.Notes)
		})
	}
}

// A model is called once, although the plan that it makes, and the retrieval that embeds a question, are spans too.
func TestStepsAroundModelsAreNotCountedTwice(t *testing.T) {
	model := func(operation string) string {
		return attrs("gen_ai.operation.name", operation, "gen_ai.request.model", "small-1")
	}
	run, err := trace.ReadOTLP(strings.NewReader(request("",
		aSpan(1, 0, "plan trip", 0, 50, model("plan")), aSpan(2, 1, "chat small-1", 10, 30, model("chat")),
		aSpan(3, 0, "retrieval", 60, 50, model("retrieval")), aSpan(4, 3, "embeddings small-1", 70, 30, model("embeddings")))), nil)
	require.NoError(t, err)
	assert.Equal(t, []timeline.Edge{
		{From: "agent", To: "plan", Attempts: 1}, {From: "agent", To: "retrieval", Attempts: 1},
		{From: "plan", To: "small-1", Attempts: 1}, {From: "retrieval", To: "small-1", Attempts: 1},
	}, run.Graph(timeline.GraphQuery{}).Edges)
}

func TestParentsAreCallers(t *testing.T) {
	tool := attrs("gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "lookup")
	text := request(attrs("service.name", "shop"),
		aSpan(3, 2, "query", 20, 5, ""), // children may stand before their parents
		aSpan(2, 1, "execute_tool lookup", 10, 30, tool),
		aSpan(1, 0, "handle", 0, 50, ""),
		aSpan(4, 2, "tools/call lookup", 11, 28, tool), // the same call seen by another instrumentation
		aSpan(5, 4, "POST", 12, 3, ""),
		aSpan(6, 99, "lost", 30, 5, ""),
	) + "\n" + request(attrs("service.name", "db"), aSpan(7, 3, "serve", 21, 3, ""), aSpan(7, 3, "serve", 21, 3, ""))
	run, err := trace.ReadOTLP(strings.NewReader(text), nil)
	require.NoError(t, err)
	assert.Equal(t, []timeline.Edge{
		{From: "(missing)", To: "shop.lost", Attempts: 1},
		{From: "agent", To: "shop.handle", Attempts: 1},
		{From: "shop.handle", To: "shop.lookup", Attempts: 1},
		{From: "shop.lookup", To: "shop.POST", Attempts: 1},
		{From: "shop.lookup", To: "shop.query", Attempts: 1},
		{From: "shop.query", To: "db.serve", Attempts: 1},
	}, run.Graph(timeline.GraphQuery{}).Edges)
	assert.Equal(t, []string{
		"spans exported again, counted once: 1",
		"spans of a tool directly inside a span of the same tool, not counted again: 1",
		`spans whose parent is not there, called by "(missing)": 1`,
	}, run.Notes())
}

func TestRetriesAmongSpans(t *testing.T) {
	const failed = `"status":{"code":2}`
	args := func(text, status string) string {
		return attrs("gen_ai.tool.name", "lookup", "gen_ai.tool.call.arguments", text) + "," + status
	}
	r := readOTLP(t, request("",
		aSpan(1, 0, "handle", 0, 900, ""),
		aSpan(2, 1, "a", 0, 10, args(`{"order":1,"full":true}`, failed)),
		aSpan(3, 1, "a", 50, 10, args(`{"order":2}`, failed)),
		aSpan(4, 1, "a", 100, 10, args(`{"full":true, "order":1.0}`, failed)),
		aSpan(5, 1, "a", 200, 10, args(`{"full":true, "order":1.0}`, `"status":{}`)),
		aSpan(6, 1, "a", 300, 10, args(`{"full":true, "order":1.0}`, `"status":{}`)),
	), nil)
	var attempts []int
	for _, s := range r.Samples {
		attempts = append(attempts, s.Attempt)
	}
	assert.Equal(t, []int{1, 1, 1, 2, 3, 1}, attempts, "equal arguments, however they are spelled, after a failure")

	apart := readOTLP(t, request("",
		aSpan(1, 0, "handle", 0, 10, failed),
		`{"traceId":"00000000000000000000000000000001",`+aSpan(2, 0, "handle", 50, 10, "")[len(`{"traceId":"`+traceID+`",`):],
	), nil)
	assert.Equal(t, 1, apart.Samples[1].Attempt, "another trace is another wish")
}

// Only arguments that are a text or a structure have a key.
func TestKeysOfSpans(t *testing.T) {
	var keyed []bool
	for _, value := range []string{`{}`, `{"intValue":"1"}`, `{"stringValue":"{}"}`, `{"kvlistValue":{"values":[]}}`,
		`{"arrayValue":{"values":[]}}`} {
		more := `"attributes":[{"key":"gen_ai.tool.call.arguments","value":` + value + `}]`
		keyed = append(keyed, readOTLP(t, request("", aSpan(1, 0, "lookup", 0, 10, more)), nil).Samples[0].Key != 0)
	}
	assert.Equal(t, []bool{false, false, true, true, true}, keyed)
}

// The example that opentelemetry-proto gives of its encoding: ids in capitals,
// times as numbers, a parent that is elsewhere.
func TestSpansAsOthersWriteThem(t *testing.T) {
	r := readOTLP(t, `{"resourceSpans": [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "my.service"}}]},
		"scopeSpans": [{"scope": {"name": "my.library"}, "spans": [{
			"traceId": "5B8EFFF798038103D269B633813FC60C", "spanId": "EEE19B7EC3C1B174", "parentSpanId": "EEE19B7EC3C1B173",
			"name": "serve", "startTimeUnixNano": 1544712660000000000, "endTimeUnixNano": 1544712661000000000, "kind": 2}]}]}]}`, nil)
	assert.Equal(t, []timeline.Sample{{Caller: "(missing)", Target: "my_service.serve", Lane: "eee19b7ec3c1b173", Type: timeline.NodePoint, End: sec, Attempt: 1}}, r.Samples)
	assert.Equal(t, "2018-12-13T14:51:00Z", r.Epoch.Format(time.RFC3339))
}

func TestWrongSpansAreLocated(t *testing.T) {
	span := func(change ...string) string {
		return request("", strings.NewReplacer(change...).Replace(aSpan(1, 2, "work", 0, 10, `"status":{"code":0}`)))
	}
	const at = "trace: line 1: resourceSpans[0].scopeSpans[0].spans[0]."
	for _, tt := range []struct{ why, text, want string }{
		{"nothing", "", "trace: line 1: resourceSpans is missing; allowed: an ExportTraceServiceRequest"},
		{"another document", `{"spans":[]}`, "trace: line 1: resourceSpans is missing; allowed: an array"},
		{"metrics", `{"resourceMetrics":[]}`, "trace: line 1: resourceSpans is missing"},
		{"a list", `[]`, `trace: line 1: input is "array"; allowed: an ExportTraceServiceRequest`},
		{"cut short", "{\n\"resourceSpans\":[\n{", "trace: line 3: input: unexpected EOF; allowed: OTLP JSON"},
		{"not JSON", "{\n\"resourceSpans\":x}", "trace: line 2: input: invalid character 'x' looking for beginning of value"},
		{"not JSON, in the second request", `{"resourceSpans":[]}` + "\n\n{\n:", "trace: line 4: input: invalid character ':'"},
		{"a wrong type, in the second request", `{"resourceSpans":[]}` + "\n\n" + `{"resourceSpans":[{"scopeSpans":` + "\n" + `7}]}`, `trace: line 4: resourceSpans.scopeSpans is "number"`},
		{"no trace", span(traceID, ""), at + "traceId is missing; allowed: 32 hexadecimal digits, not all 0"},
		{"a trace in base64, too short", span(traceID, "W47/95gDgQPSabYzgT8="), at + `traceId is "W47/95gDgQPSabYzgT8=";`},
		{"a span of zeros", span("0000000000000001", "0000000000000000"), at + `spanId is "0000000000000000"; allowed: 16 hexadecimal digits, not all 0`},
		{"a parent that is none", span("0000000000000002", "xyz"), at + `parentSpanId is "xyz"`},
		{"its own parent", span("0000000000000002", "0000000000000001"), at + `parentSpanId is "0000000000000001"; allowed: the id of another span`},
		{"no name", span("work", ""), at + "name is missing; allowed: a name that is not empty"},
		{"no start", span("startTimeUnixNano", "start"), at + "startTimeUnixNano is missing; allowed: nanoseconds since 1970"},
		{"a span that has not ended", span(`"endTimeUnixNano":"1767323045010000000"`, `"endTimeUnixNano":"0"`), at + `endTimeUnixNano is "0"`},
		{"a time in words", span("1767323045000000000", "noon"), at + `startTimeUnixNano is "noon"`},
		{"a time in the year 2500", span("1767323045010000000", "16767323045010000000"), at + `endTimeUnixNano is "16767323045010000000"`},
		{"ended before it began", span("1767323045000000000", "1767323046000000000"), at + `endTimeUnixNano is "1767323045010000000"; allowed: not before startTimeUnixNano, which is 1767323046000000000`},
		{"an unknown status", span(`"code":0`, `"code":9`), at + "status.code is 9; allowed: 0 (unset), 1 (ok) or 2 (error)"},
		{"an enum in words that it does not have", span(`"code":0`, `"code":"STATUS_CODE_ODD"`), at + "status.code is a name that is not known; allowed: 0 (unset), 1 (ok) or 2 (error)"},
		{"two spans of one id", request("", aSpan(1, 0, "a", 0, 1, ""), aSpan(1, 0, "b", 0, 1, "")), "spans[1].spanId is \"0000000000000001\"; allowed: an id of its own"},
		{"its parent's parent", request("", aSpan(1, 2, "a", 0, 1, ""), aSpan(2, 1, "a", 0, 1, "")),
			`trace: parentSpanId is "0000000000000002"; allowed: the id of a span that is not inside span 0000000000000001 itself`},
		{"inside three that are inside each other", request("", aSpan(4, 3, "d", 0, 1, ""), aSpan(1, 2, "a", 0, 1, ""), aSpan(2, 3, "b", 0, 1, ""), aSpan(3, 1, "c", 0, 1, "")),
			`trace: parentSpanId is "0000000000000001"; allowed: the id of a span that is not inside span 0000000000000003 itself`},
		{"two problems", span("work", "", traceID, ""), at + "traceId is missing; allowed: 32 hexadecimal digits, not all 0\n" + at + "name is missing"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			r, err := trace.ReadOTLP(strings.NewReader(tt.text), nil)
			assert.Nil(t, r)
			require.ErrorContains(t, err, tt.want)
			var input *trace.FieldError
			assert.ErrorAs(t, err, &input)
		})
	}
}

func TestLimitsOfSpans(t *testing.T) {
	text := request("", aSpan(1, 0, "a", 0, 1, ""), aSpan(2, 0, "a", 5, 1, ""))
	assert.Len(t, readOTLP(t, text, &trace.ReadOptions{MaxBytes: int64(len(text))}).Samples, 2)
	_, err := trace.ReadOTLP(strings.NewReader(text), &trace.ReadOptions{MaxBytes: int64(len(text)) - 1})
	assert.ErrorContains(t, err, "trace: input is too long; allowed: at most MaxBytes bytes in all")
	_, err = trace.ReadOTLP(strings.NewReader(text), &trace.ReadOptions{MaxBytes: math.MaxInt64})
	assert.ErrorContains(t, err, "trace: maxBytes is 9223372036854775807; allowed: at most 1 TiB")
	r := readOTLP(t, `{"resourceSpans":[]}`, nil)
	assert.Empty(t, r.Samples)
}

func FuzzReadOTLP(f *testing.F) {
	f.Add(request(attrs("service.name", "shop"), aSpan(1, 2, "a", 0, 1, attrs("gen_ai.tool.name", "x", "gen_ai.tool.call.arguments", "{")), aSpan(2, 1, "b", 0, 5, `"status":{"code":2}`)))
	f.Add(request("", aSpan(1, 0, "a", 0, 1, `"attributes":[{"key":"shakedown.class","value":{"intValue":3}},{"key":"x"},{"value":{"kvlistValue":{}}}]`)) + "\n{}")
	f.Add(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":1e9,"endTimeUnixNano":null}]}]}]}`)
	f.Add(`[`)
	f.Fuzz(func(t *testing.T, text string) {
		run, err := trace.ReadOTLP(strings.NewReader(text), &trace.ReadOptions{Run: timeline.RunOptions{MaxBins: 4}})
		if err != nil {
			assert.Nil(t, run)
			return
		}
		_, samples, _, err := trace.ReadSpans(text, &trace.ReadOptions{})
		require.NoError(t, err)
		for _, s := range samples {
			require.Positive(t, s.Attempt)
		}
	})
}

func TestAClockThatIsWrongMakesNoBinsOfHours(t *testing.T) {
	const hour = 60 * 60 * 1000 // ms
	shop := request(attrs("service.name", "shop"), aSpan(1, 0, "handle", 0, 50, ""), aSpan(2, 0, "handle", 9*hour, 50, ""))
	for _, tt := range []struct {
		why   string
		spans []string
		apart string // empty: nothing is wrong
	}{
		{"a span of 1970", []string{aSpan(3, 0, "call", 1000-epochNs/1_000_000, 10, "")}, `"phone" and "shop", 490923h4m4s`},
		{"spans of a day ahead", []string{aSpan(3, 0, "call", 24*hour, 10, ""), aSpan(4, 0, "call", 24*hour+1, 10, "")}, `"shop" and "phone", 15h0m0s`},
		{"a span that ends in a year", []string{aSpan(3, 0, "call", 10, 365*24*hour, "")}, `"phone" and "shop", 8751h0m0.01s`},
		{"spans that began a year ago", []string{aSpan(3, 0, "call", -365*24*hour, 365*24*hour, "")}, `"phone" and "shop", 8760h0m0s`},
		{"a quiet night", []string{aSpan(3, 0, "call", 18*hour, 10, "")}, ""},
	} {
		run, err := trace.ReadOTLP(strings.NewReader(shop+"\n"+request(attrs("service.name", "phone"), tt.spans...)), nil)
		if tt.apart != "" {
			assert.EqualError(t, err, "trace: input is spans of "+tt.apart+" apart; "+
				"allowed: spans of one run, without a pause of more than 12h0m0s: one clock may be wrong", tt.why)
			continue
		}
		require.NoError(t, err, tt.why)
		assert.Equal(t, 128*sec, run.BinSize(), tt.why)
	}
}
