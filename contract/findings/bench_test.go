package findings_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/shakedown-go/shakedown/contract/findings"
)

// manyCalls are those of a long session: 40 lanes, 12 tools, a fifth of the calls failed,
// some abandoned, a few at the same time.
func manyCalls(n int) []findings.Call {
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{"refund", "pay", "get", "write", "orders.list", "orders.get", "mail.send", "mail.read", "search", "ticket",
		"stock", "ship"}
	calls := make([]findings.Call, n)
	var now time.Duration
	for i := range calls {
		c := &calls[i]
		c.Tool = names[random.IntN(len(names))]
		c.Lane = fmt.Sprint("worker-", random.IntN(40))
		c.Args = fmt.Appendf(nil, `{"order":%d,"key":"k-%d","note":"please handle this today"}`, random.IntN(n/4+1), i)
		if random.IntN(5) == 0 {
			c.Error = &findings.CallError{Text: []string{timeout, gone, "oops"}[random.IntN(3)]}
		} else {
			c.Result = json.RawMessage(`{"ok":true,"total":59.9}`)
		}
		c.At, c.Took = now, time.Duration(random.IntN(3))*ms
		now += ms
	}
	return calls
}

// BenchmarkFind reports the time of each call, which must not grow with their number.
func BenchmarkFind(b *testing.B) {
	perCall := map[int]float64{}
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			calls := manyCalls(n)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := findings.Find(calls, &findings.Options{Tools: tools()}); err != nil {
					b.Fatal(err)
				}
			}
			perCall[n] = float64(b.Elapsed()) / float64(b.N) / float64(n)
			b.ReportMetric(perCall[n], "ns/call")
			if base := perCall[10_000]; base > 0 {
				b.ReportMetric(perCall[n]/base, "x-of-10^4")
			}
		})
	}
}
