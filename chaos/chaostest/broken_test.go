package chaostest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaostest"
	"github.com/shakedown-go/shakedown/chaos/when"
)

type match func(chaos.Call) bool

func (f match) Match(c chaos.Call) bool { return f(c) }

// reading is an ArgsWhen that may write to the arguments.
type reading struct {
	match
	read func(args any) bool
}

func (w reading) MatchArgs(_ chaos.Call, args any) bool { return w.read(args) }

// likely is a trigger that claims a probability.
type likely struct {
	match
	p func() float64
}

func (w likely) Probability() float64 { return w.p() }

// counting is a trigger that claims to look at the ordinal alone.
type counting struct {
	match
	of func(ordinal uint64) bool
}

func (w counting) MatchOrdinal(ordinal uint64) bool { return w.of(ordinal) }

// kindly is a Described trigger.
type kindly struct {
	match
	d chaos.Description
}

func (w kindly) Describe() chaos.Description { return w.d }

type brokenWhen struct {
	why   string
	check chaostest.Check
	make  func() chaos.When
	o     *chaostest.WhenOptions
}

func brokenWhens() []brokenWhen {
	never := match(func(chaos.Call) bool { return false })
	is := func(w chaos.When) func() chaos.When { return func() chaos.When { return w } }
	count := func(f func(n int64) bool) func() chaos.When {
		return func() chaos.When {
			var n atomic.Int64
			return match(func(chaos.Call) bool { return f(n.Add(1)) })
		}
	}
	return []brokenWhen{
		{why: "no trigger", check: chaostest.Present, make: is(nil)},
		{why: "refused by its own Check", check: chaostest.Checked, make: is(when.First(0))},
		{why: "a bad one that passes", check: chaostest.Checked, make: is(never), o: &chaostest.WhenOptions{Bad: []chaos.When{never}}},
		{why: "no kind", check: chaostest.Described, make: is(kindly{match: never})},
		{why: "parameters that are no object", check: chaostest.Described, make: is(kindly{never, chaos.Description{Kind: "x", Params: json.RawMessage(`null`)}})},
		{why: "counts for itself", check: chaostest.Pure, make: count(func(n int64) bool { return n%2 == 0 })},
		{why: "grows tired", check: chaostest.Pure, make: count(func(n int64) bool { return n > 300 })},
		{why: "grows tired among many", check: chaostest.Concurrent, make: count(func(n int64) bool { return n > 410 })},
		{why: "panics on a late call", check: chaostest.Panics, make: is(match(func(c chaos.Call) bool { return []bool{true}[c.Ordinal/1000] }))},
		{why: "panics without arguments", check: chaostest.Panics, make: is(reading{never, func(args any) bool { return len(args.(json.RawMessage)) > 0 }})},
		{why: "writes to the arguments", check: chaostest.Arguments, make: is(reading{never, func(args any) bool {
			if doc, ok := args.(json.RawMessage); ok {
				doc[0] = '['
			}
			return false
		}})},
		{why: "leaves a goroutine behind", check: chaostest.Goroutines, make: is(match(func(c chaos.Call) bool {
			if c.Ordinal == 7 {
				go time.Sleep(10_000 * time.Hour)
			}
			return false
		}))},
		{why: "does not match as it says", check: chaostest.Probable, make: is(likely{never, func() float64 { return 0.5 }})},
		{why: "counts from one in one way and from none in the other", check: chaostest.Ordinal, make: is(counting{
			func(c chaos.Call) bool { return c.Ordinal+1 == 4 }, func(ordinal uint64) bool { return ordinal == 4 }})},
		{why: "looks at the key too", check: chaostest.Ordinal, make: is(counting{
			func(c chaos.Call) bool { return c.Ordinal > 9 && c.Key == 1 }, func(ordinal uint64) bool { return ordinal > 9 }})},
		{why: "panics on a late ordinal", check: chaostest.Panics, make: is(counting{never, func(n uint64) bool { return []bool{false}[n/1000] }})},
		{why: "has no probability", check: chaostest.Probable, make: is(likely{never, func() float64 { return 2 }})},
	}
}

// Each check fails on a trigger that does not meet it, and no other check does.
func TestBrokenTriggers(t *testing.T) {
	for _, c := range brokenWhens() {
		t.Run(c.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := chaostest.When(c.make(), c.o)
				time.Sleep(20_000 * time.Hour)
				require.Error(t, err)
				for _, check := range checks(err) {
					assert.Equal(t, c.check, check, "%v", err)
				}
			})
		})
	}
}

// shop is a registry that can be made to fail any check.
type shop struct {
	tools []chaos.Tool
	call  func(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error)
	fail  error
}

func (s shop) Tools(context.Context) ([]chaos.Tool, error) {
	return append([]chaos.Tool(nil), s.tools...), s.fail
}

func (s shop) CallTool(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	if s.call != nil {
		return s.call(ctx, name, args)
	}
	if name != "refund" {
		return nil, fmt.Errorf("unknown tool %q", name)
	}
	var in struct{ Order int }
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, err
	}
	return json.RawMessage(`{"refunded":true}`), nil
}

// sharing returns its own list, which callers may change.
type sharing struct{ shop }

func (s sharing) Tools(context.Context) ([]chaos.Tool, error) { return s.tools, nil }

type brokenRegistry struct {
	why   string
	check chaostest.Check
	make  func() chaos.ToolRegistry
	args  map[string]json.RawMessage
}

func brokenRegistries() []brokenRegistry {
	refund := chaos.Tool{Name: "refund"}
	one := []chaos.Tool{refund}
	args := map[string]json.RawMessage{"refund": json.RawMessage(`{"order":1042}`)}
	is := func(r chaos.ToolRegistry) func() chaos.ToolRegistry { return func() chaos.ToolRegistry { return r } }
	tool := func(change func(*chaos.Tool)) func() chaos.ToolRegistry {
		broken := refund
		change(&broken)
		return is(shop{tools: []chaos.Tool{broken}})
	}
	// handling, if set, takes the well-formed calls of the tool.
	handling := func(handle func(ctx context.Context, args json.RawMessage) (json.RawMessage, error)) chaos.ToolRegistry {
		return shop{tools: one, call: func(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
			if name != "refund" || !json.Valid(args) {
				return nil, errAny
			}
			return handle(ctx, args)
		}}
	}
	return []brokenRegistry{
		{"no registry", chaostest.Present, is(nil), nil},
		{"arguments for no tool", chaostest.Present, is(shop{}), args},
		{"a listing that fails", chaostest.Listing, is(shop{fail: errAny}), nil},
		{"a tool without a name", chaostest.Listing, tool(func(t *chaos.Tool) { t.Name = "" }), nil},
		{"a name twice", chaostest.Listing, is(shop{tools: []chaos.Tool{refund, refund}}), nil},
		{"a schema that is no JSON", chaostest.Listing, tool(func(t *chaos.Tool) { t.InputSchema = json.RawMessage(`{`) }), nil},
		{"a schema of a list", chaostest.Listing, tool(func(t *chaos.Tool) { t.InputSchema = json.RawMessage(`{"type":"array"}`) }), nil},
		{"a property without a schema", chaostest.Listing, tool(func(t *chaos.Tool) { t.InputSchema = json.RawMessage(`{"properties":{"order":7}}`) }), nil},
		{"a null schema", chaostest.Listing, tool(func(t *chaos.Tool) { t.InputSchema = json.RawMessage(`null`) }), nil},
		{"an effect that there is not", chaostest.Listing, tool(func(t *chaos.Tool) { t.Effect = "magic" }), nil},
		{"a key that is no pointer", chaostest.Listing, tool(func(t *chaos.Tool) { t.IdempotencyKey = "key" }), nil},
		{"a list that callers share", chaostest.Listing, func() chaos.ToolRegistry { return sharing{shop{tools: []chaos.Tool{refund}}} }, nil},
		{"any name will do", chaostest.UnknownTool, is(shop{tools: one, call: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{}`), nil
		}}), nil},
		{"any arguments will do", chaostest.Malformed, is(shop{tools: one, call: func(_ context.Context, name string, _ json.RawMessage) (json.RawMessage, error) {
			if name != "refund" {
				return nil, errAny
			}
			return json.RawMessage(`{}`), nil
		}}), args},
		{"results that are text", chaostest.Results, is(handling(func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`refunded`), nil
		})), args},
		{"a tool that fails", chaostest.Results, is(handling(func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, errAny })), args},
		{"writes to the arguments", chaostest.Arguments, is(handling(func(_ context.Context, args json.RawMessage) (json.RawMessage, error) {
			args[0] = ' '
			return json.RawMessage(`{}`), nil
		})), args},
		{"panics", chaostest.Panics, is(handling(func(context.Context, json.RawMessage) (json.RawMessage, error) { panic("boom") })), args},
		{"ignores its context", chaostest.Cancelled, is(handling(func(context.Context, json.RawMessage) (json.RawMessage, error) {
			time.Sleep(time.Second)
			return json.RawMessage(`{}`), nil
		})), args},
		{"never returns", chaostest.Cancelled, is(handling(func(context.Context, json.RawMessage) (json.RawMessage, error) {
			time.Sleep(5000 * time.Hour)
			return json.RawMessage(`{}`), nil
		})), args},
		{"leaves a goroutine behind", chaostest.Goroutines, is(handling(func(context.Context, json.RawMessage) (json.RawMessage, error) {
			go time.Sleep(time.Second)
			return json.RawMessage(`{}`), nil
		})), args},
		{"serves one at a time", chaostest.Concurrent, func() chaos.ToolRegistry {
			var busy sync.Mutex
			return handling(func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
				if !busy.TryLock() {
					return nil, errBusy
				}
				defer busy.Unlock()
				select {
				case <-ctx.Done():
					return nil, ctx.Err()
				case <-time.After(time.Second):
					return json.RawMessage(`{}`), nil
				}
			})
		}, args},
	}
}

// Each check fails on a registry that does not meet it, and few others do.
func TestBrokenRegistries(t *testing.T) {
	for _, c := range brokenRegistries() {
		t.Run(c.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := chaostest.Registry(t.Context(), c.make(), &chaostest.RegistryOptions{Args: c.args})
				time.Sleep(20_000 * time.Hour)
				require.Error(t, err)
				assert.Contains(t, checks(err), c.check, "%v", err)
				assert.Subset(t, []chaostest.Check{c.check, chaostest.Goroutines}, checks(err), "%v", err)
			})
		})
	}
}

// A registry made of functions passes, wrapped or not.
func TestRegistriesKeepTheRules(t *testing.T) {
	type in struct {
		Order int `json:"order"`
	}
	r, err := chaos.NewRegistry(
		chaos.Func(chaos.Tool{Name: "refund", InputSchema: json.RawMessage(`{"type":"object","properties":{"order":{"type":"integer"}},"required":["order"]}`),
			Effect: chaos.EffectDone, IdempotencyKey: "/order"}, func(context.Context, in) (string, error) { return "refunded", nil }),
		chaos.Func(chaos.Tool{Name: "wait"}, func(ctx context.Context, _ struct{}) (int, error) {
			return 0, chaos.Sleep(ctx, 10*time.Millisecond)
		}))
	require.NoError(t, err)
	for name, r := range map[string]chaos.ToolRegistry{"plain": r, "wrapped": chaos.WrapRegistry(r, nil), "shop": shop{tools: []chaos.Tool{{Name: "refund"}}}} {
		o := &chaostest.RegistryOptions{Args: map[string]json.RawMessage{"refund": json.RawMessage(`{"order":7}`)}}
		if name != "shop" {
			o.Args["wait"] = json.RawMessage(`{}`)
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { assert.NoError(t, chaostest.Registry(t.Context(), r, o)) })
			assert.NoError(t, chaostest.Registry(t.Context(), r, o))
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, chaostest.Registry(ended, r, nil), context.Canceled)
}

// Every check can fail: some fake does not meet it.
func TestEveryCheckCanFail(t *testing.T) {
	seen := map[chaostest.Check]bool{}
	for _, c := range brokenFaults() {
		seen[c.check] = true
	}
	for _, c := range brokenWhens() {
		seen[c.check] = true
	}
	for _, c := range brokenRegistries() {
		seen[c.check] = true
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), "violation.go", nil, 0)
	require.NoError(t, err)
	n := 0
	ast.Inspect(parsed, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		require.NoError(t, err)
		assert.True(t, seen[chaostest.Check(text)], "no fake breaks %q", text)
		n++
		return true
	})
	assert.Equal(t, len(seen), n)
}
