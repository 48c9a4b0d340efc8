package findings_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/findings"
)

// fuzzedCalls makes calls of bytes, four each, and of a text: also calls that no record has.
func fuzzedCalls(script []byte, text string) []findings.Call {
	var calls []findings.Call
	for len(script) >= 4 && len(calls) < 500 {
		a, b, c, d := script[0], script[1], script[2], script[3]
		script = script[4:]
		call := findings.Call{
			Tool: []string{"refund", "pay", "get", "write", text}[int(a)%5], Lane: []string{"", "b", text}[int(a>>3)%3],
			Type: []findings.Type{"", findings.Tool, findings.Model}[int(a>>5)%3], Parent: int(b) % (len(calls) + 2),
			Effect:    []findings.Effect{"", findings.Done, findings.NotDone, findings.Unknown}[int(b>>5)%4],
			Truncated: c&1 != 0, Suspected: c&2 != 0,
			At: time.Duration(int8(d)) * ms, Took: time.Duration(int8(c)) << (d % 60),
		}
		switch c >> 2 % 8 {
		case 0:
			call.Args = json.RawMessage(text)
		case 1:
			call.ArgsHash = text
		case 2:
			call.Missing = []findings.Part{findings.Args, findings.End}
		default:
			call.Args = fmt.Appendf(nil, `{"order":%d,"key":%q}`, d%4, text)
		}
		if c&64 != 0 {
			call.Error = &findings.CallError{Text: text, Status: int(d) * 3, RetryAfter: time.Duration(b%2) * ms}
		}
		calls = append(calls, call)
	}
	return calls
}

func FuzzFind(f *testing.F) {
	f.Add([]byte("refund refund refund get get get pay pay"), "order 1042", "Order 1042 was refunded.")
	f.Add([]byte{0, 0, 64, 1, 0, 0, 64, 1, 0, 0, 64, 1, 0, 0, 64, 1}, `{"a":[1,{"b":null}]}`, "")
	f.Fuzz(func(t *testing.T, script []byte, text, answer string) {
		calls := fuzzedCalls(script, text)
		before := slices.Clone(calls)
		o := &findings.Options{Tools: append(tools(), chaos.Tool{Name: text, IdempotencyKey: "/" + text}), Answer: answer,
			Prompts: []string{text}, Claims: []findings.Claim{{Says: `order (\d+) was|done`, Tool: "*"}}, NotImported: len(text) % 2}
		r, err := findings.Find(calls, o)
		if err != nil {
			var wrong *findings.FieldError
			require.ErrorAs(t, err, &wrong)
			return
		}
		require.Equal(t, before, calls, "the calls are not changed")
		again, err := findings.Find(calls, o)
		require.NoError(t, err)
		require.Equal(t, r, again, "the same calls, the same report")
		for kind := range r.Counts {
			o.Kinds = []findings.Kind{kind}
			alone, err := findings.Find(calls, o)
			require.NoError(t, err)
			require.Equal(t, r.Of(kind), alone.Of(kind))
			require.Equal(t, r.Unjudged[kind], alone.Unjudged[kind])
		}
		total := 0
		for _, op := range r.Operations {
			total += op.Calls
			require.LessOrEqual(t, op.Failures, op.Calls)
			if op.Retries != nil {
				require.Less(t, *op.Retries, op.Calls)
			}
		}
		require.Equal(t, len(calls), total+r.Models)
		rests := 0
		for _, found := range r.Findings {
			require.NotEmpty(t, found.Text)
			require.True(t, slices.IsSorted(found.Calls))
			for _, number := range found.Calls {
				require.True(t, number >= 1 && number <= len(calls) && calls[number-1].Type != findings.Model)
			}
			rests += len(found.Calls)
		}
		require.LessOrEqual(t, rests, 40*len(calls), "what findings rest on is linear in the calls")
		for kind, n := range r.Counts {
			require.Equal(t, n == nil, r.Unjudged[kind] != "")
		}
		_, err = json.Marshal(r)
		require.NoError(t, err)
	})
}
