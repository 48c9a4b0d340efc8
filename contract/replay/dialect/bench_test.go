package dialect_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shakedown-go/shakedown/contract/replay/dialect"
)

// tracesOf is about n spans of 1.5 KB each, as the collector's file exporter writes them:
// traces of 100 calls.
func tracesOf(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"resourceSpans":[{"scopeSpans":[{"spans":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		from := began.Add(time.Duration(i) * time.Second).UnixNano()
		doc := func(member, text string, times int) string {
			quoted, _ := json.Marshal(fmt.Sprintf(`{"order":%d,"%s":"%s"}`, i, member, strings.Repeat(text, times)))
			return string(quoted)
		}
		fmt.Fprintf(&b, `{"traceId":"4bf92f3577b34da6a3ce929d%08x","spanId":"%016x","parentSpanId":"%016x","name":"execute_tool lookup","kind":1,`+
			`"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"execute_tool"}},`+
			`{"key":"gen_ai.tool.name","value":{"stringValue":"lookup"}},{"key":"gen_ai.tool.call.id","value":{"stringValue":"call_%d"}},`+
			`{"key":"gen_ai.tool.call.arguments","value":{"stringValue":%s}},{"key":"gen_ai.tool.call.result","value":{"stringValue":%s}},`+
			`{"key":"server.address","value":{"stringValue":"shop.example.com"}}],"status":{}}`,
			i/100+1, i+1, 0xffff, from, from+int64(time.Millisecond), i, doc("reason", "wrong size ", 22), doc("note", "it was sent back ", 30))
	}
	b.WriteString("]}]}]}")
	return b.Bytes()
}

// The time of an import, as a multiple of json.Valid of the same bytes, in one run.
func BenchmarkImport(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		spans := tracesOf(n)
		b.Run(fmt.Sprintf("spans=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(spans)))
			valid, read := time.Hour, time.Hour // the shortest of each: others share the machine
			for b.Loop() {
				from := time.Now()
				if !json.Valid(spans) {
					b.Fatal("no JSON")
				}
				mid := time.Now()
				sessions, err := dialect.Import(bytes.NewReader(spans), nil)
				if err != nil || len(sessions) != n/100 {
					b.Fatal(len(sessions), err)
				}
				valid, read = min(valid, mid.Sub(from)), min(read, time.Since(mid))
			}
			b.ReportMetric(float64(read)/float64(valid), "×Valid")
			b.ReportMetric(float64(read.Microseconds())/float64(n), "µs/span")
			b.ReportMetric(float64(len(spans))/float64(n), "B/span")
		})
	}
}
