package findings_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/contract/findings"
)

// drawCalls draws calls of few tools with few arguments, so that they repeat each other,
// some of them at the same time.
func drawCalls(t *rapid.T) []findings.Call {
	var now time.Duration
	calls := make([]findings.Call, rapid.IntRange(0, 40).Draw(t, "calls"))
	overlap := rapid.Bool().Draw(t, "overlap")
	for i := range calls {
		c := &calls[i]
		c.Tool = rapid.SampledFrom([]string{"refund", "refund", "get", "pay"}).Draw(t, "tool")
		c.Lane = rapid.SampledFrom([]string{"", "", "", "b"}).Draw(t, "lane")
		key := ""
		if c.Tool == "pay" {
			key = fmt.Sprintf(`,"key":"%d"`, rapid.IntRange(0, 2).Draw(t, "key"))
		}
		c.Args = json.RawMessage(fmt.Sprintf(`{"order":%d%s}`, rapid.IntRange(1, 2).Draw(t, "order"), key))
		if rapid.IntRange(0, 2).Draw(t, "failed") > 0 {
			c.Error = &findings.CallError{Text: rapid.SampledFrom([]string{timeout, gone}).Draw(t, "error")}
			c.Effect = rapid.SampledFrom([]findings.Effect{findings.NotDone, findings.Done}).Draw(t, "effect")
		} else if c.Tool != "get" {
			c.Effect = findings.Done
		}
		c.At = now
		if c.Took = time.Duration(rapid.IntRange(0, 3).Draw(t, "took")) * ms; overlap {
			now += time.Duration(rapid.IntRange(0, 2).Draw(t, "gap")) * ms
		} else {
			now += c.Took
		}
	}
	return calls
}

// The oracles are the definitions of docs/matrices.md, written without thought of cost.

func after(a, b findings.Call) bool { return a.At+a.Took <= b.At } // b is after a

func sameArgs(a, b findings.Call, without string) bool {
	var x, y map[string]any
	_, _ = json.Unmarshal(a.Args, &x), json.Unmarshal(b.Args, &y)
	delete(x, without)
	delete(y, without)
	return a.Tool == b.Tool && reflect.DeepEqual(x, y)
}

// retriesOf lists, for each operation, its rows of retries with the failed call before.
func retriesOf(calls []findings.Call) (rows [][]int) {
	done := map[[2]string]bool{}
	for _, first := range calls {
		operation := [2]string{first.Tool, first.Lane}
		if done[operation] {
			continue
		}
		done[operation] = true
		var row []int
		for i, c := range calls {
			if c.Tool != first.Tool || c.Lane != first.Lane {
				continue
			}
			before := -1 // the last to end of those that had ended
			for k := range i {
				b := calls[k]
				if b.Tool == c.Tool && b.Lane == c.Lane && after(b, c) &&
					(before < 0 || b.At+b.Took >= calls[before].At+calls[before].Took) {
					before = k
				}
			}
			switch {
			case before < 0 || calls[before].Error == nil:
				if row != nil {
					rows = append(rows, row)
				}
				row = nil
			case row == nil:
				row = []int{before + 1, i + 1}
			default:
				row = append(row, i+1)
			}
		}
		if row != nil {
			rows = append(rows, row)
		}
	}
	return rows
}

func TestRetriesAndStormsAgreeWithTheirDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls := drawCalls(t)
		r, err := findings.Find(calls, nil)
		require.NoError(t, err)
		var retries, storms []string
		worst := map[string]int{}
		for _, row := range retriesOf(calls) {
			worst[calls[row[1]-1].Tool+"/"+calls[row[1]-1].Lane] += len(row) - 1
			if len(row)-1 >= 3 {
				storms = append(storms, fmt.Sprint(row))
			} else {
				retries = append(retries, fmt.Sprint(row))
			}
		}
		require.ElementsMatch(t, retries, callsOf(r, findings.Retry))
		require.ElementsMatch(t, storms, callsOf(r, findings.Storm))
		most := 0
		for _, n := range worst {
			most = max(most, n)
		}
		want := findings.Stopped
		if most > 2 {
			want = findings.Runaway
		} else if most > 0 {
			want = findings.Retried
		}
		if len(calls) == 0 {
			require.Nil(t, r.Verdict)
			return
		}
		require.Equal(t, want, *r.Verdict)
		for _, o := range r.Operations {
			require.Equal(t, worst[o.Tool+"/"+o.Lane], *o.Retries)
		}
	})
}

func callsOf(r *findings.Report, kind findings.Kind) (list []string) {
	for _, f := range r.Of(kind) {
		list = append(list, fmt.Sprint(f.Calls))
	}
	return list
}

// loopsOf tries every part of every lane as three or more times a sequence of up to 8.
func loopsOf(calls []findings.Call) (loops []string) {
	for _, lane := range []string{"", "b"} {
		var list []int
		for i, c := range calls {
			if c.Lane == lane {
				list = append(list, i)
			}
		}
		repeats := func(from, to, period int) bool {
			for i := from + period; i < to; i++ {
				if !sameArgs(calls[list[i]], calls[list[i-period]], "") {
					return false
				}
			}
			return true
		}
		for from := range list {
			for to := from + 1; to <= len(list); to++ {
				for period := 1; period <= 8 && 3*period <= to-from; period++ {
					longer := from > 0 && repeats(from-1, to, period) || to < len(list) && repeats(from, to+1, period)
					if !repeats(from, to, period) || longer {
						continue
					}
					shorter := false // the sequence is itself a shorter one several times
					for part := 1; part < period; part++ {
						shorter = shorter || period%part == 0 && repeats(from, from+period, part)
					}
					if !shorter {
						numbers := []int{}
						for _, i := range list[from:to] {
							numbers = append(numbers, i+1)
						}
						loops = append(loops, fmt.Sprint(numbers))
					}
				}
			}
		}
	}
	return loops
}

func TestLoopsAgreeWithTheirDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls := drawCalls(t)
		if len(calls) > 0 { // repeat a part, so that long sequences occur too
			part := calls[:rapid.IntRange(1, min(9, len(calls))).Draw(t, "part")]
			for range rapid.IntRange(0, 3).Draw(t, "times") {
				calls = append(slices.Clone(part), calls...)
			}
		}
		r, err := findings.Find(calls, nil)
		require.NoError(t, err)
		require.ElementsMatch(t, loopsOf(calls), callsOf(r, findings.Loop))
	})
}

// duplicatesOf groups the calls whose effect is their own and that ask for the same.
func duplicatesOf(calls []findings.Call) (groups []string) {
	grouped := map[int]bool{}
	for i := range calls {
		if grouped[i] || calls[i].Tool == "get" {
			continue
		}
		numbers, keys := []int{}, map[string]bool{}
		for k := i; k < len(calls); k++ {
			if !sameArgs(calls[i], calls[k], "key") {
				continue
			}
			grouped[k] = true
			var args struct{ Key string }
			_ = json.Unmarshal(calls[k].Args, &args)
			if calls[k].Effect != findings.Done || args.Key != "" && keys[args.Key] {
				continue
			}
			keys[args.Key] = true
			numbers = append(numbers, k+1)
		}
		if len(numbers) > 1 {
			groups = append(groups, fmt.Sprint(numbers))
		}
	}
	return groups
}

func TestDuplicateEffectsAgreeWithTheirDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls := drawCalls(t)
		r, err := findings.Find(calls, &findings.Options{Tools: tools()})
		require.NoError(t, err)
		require.NotNil(t, r.Counts[findings.DuplicateEffect], "every effect is known")
		require.ElementsMatch(t, duplicatesOf(calls), callsOf(r, findings.DuplicateEffect))
	})
}

// An effect is left when its call failed and was done, nothing equal but for the key came
// after it, and no successful look-up of its order did.
func TestAbandonedEffectsAgreeWithTheirDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls := drawCalls(t)
		r, err := findings.Find(calls, &findings.Options{Tools: tools()})
		require.NoError(t, err)
		var left []string
		for i, c := range calls {
			if c.Error == nil || c.Effect != findings.Done || c.Tool == "get" {
				continue
			}
			closed, perhaps := false, false
			for _, later := range calls[i+1:] {
				if !after(c, later) {
					continue
				}
				same := sameArgs(c, withTool(later, c.Tool), "key")
				lookup := later.Tool == "get" || later.Effect != findings.Done // a call without effects
				if later.Tool == c.Tool && same || lookup && later.Error == nil && sharesOrder(c, later) {
					closed = true
				}
				perhaps = perhaps || later.Tool == c.Tool || lookup
			}
			if !closed && !perhaps {
				left = append(left, fmt.Sprint([]int{i + 1}))
			}
		}
		require.ElementsMatch(t, left, callsOf(r, findings.Abandoned))
	})
}

func withTool(c findings.Call, tool string) findings.Call {
	c.Tool = tool
	return c
}

func sharesOrder(a, b findings.Call) bool {
	var x, y struct{ Order int }
	_, _ = json.Unmarshal(a.Args, &x), json.Unmarshal(b.Args, &y)
	return x.Order == y.Order
}

// Equal reports come of equal calls, and findings are sorted.
func TestFindingsAreInOneOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls := drawCalls(t)
		o := &findings.Options{Tools: tools(), Answer: "Order 1 was refunded.", Prompts: []string{"Refund order 1"},
			Claims: []findings.Claim{{Says: `order (\d+) was refunded`, Tool: "refund"}}}
		a, err := findings.Find(calls, o)
		require.NoError(t, err)
		b, err := findings.Find(slices.Clone(calls), o)
		require.NoError(t, err)
		x, err := json.Marshal(a)
		require.NoError(t, err)
		y, err := json.Marshal(b)
		require.NoError(t, err)
		require.Equal(t, string(x), string(y))
		require.True(t, slices.IsSortedFunc(a.Findings, func(a, b findings.Finding) int {
			if len(a.Calls) == 0 || len(b.Calls) == 0 {
				return len(b.Calls) - len(a.Calls)
			}
			return a.Calls[0] - b.Calls[0]
		}))
		for _, f := range a.Findings {
			require.True(t, slices.IsSorted(f.Calls))
		}
	})
}
