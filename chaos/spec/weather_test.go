package spec_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/spec"
)

// shop are two tools with a memory: what an agent asks and what it changes.
type shop struct{ refunds []string }

func (s *shop) tools(t *testing.T) chaos.ToolRegistry {
	t.Helper()
	type order struct {
		Order string `json:"order"`
	}
	type row struct {
		ID     string  `json:"id"`
		Status string  `json:"status"`
		Total  float64 `json:"total"`
		Paid   string  `json:"paidAt"`
	}
	r, err := chaos.NewRegistry(
		chaos.Func(chaos.Tool{Name: "orders.get", Description: "One order.", Effect: chaos.EffectNone}, func(_ context.Context, o order) (row, error) {
			return row{o.Order, "shipped", 129.5, "2026-03-01T10:00:00Z"}, nil
		}),
		chaos.Func(chaos.Tool{Name: "orders.refund", Description: "Pays an order back.", Effect: chaos.EffectDone}, func(_ context.Context, o order) (map[string]any, error) {
			s.refunds = append(s.refunds, o.Order)
			return map[string]any{"refunded": o.Order, "count": len(s.refunds)}, nil
		}),
	)
	require.NoError(t, err)
	return chaos.WrapRegistry(r, nil)
}

// answer is what the agent got of one call.
type answer struct {
	tool, order, result string
	err                 error
	took                time.Duration
}

// work is a day of the agent: it looks at each of twelve orders and pays it back.
func (s *shop) work(t *testing.T, ctx context.Context) (got []answer) {
	tools := s.tools(t)
	for n := range 24 {
		a := answer{tool: []string{"orders.get", "orders.refund"}[n%2], order: fmt.Sprint("A", n/2)}
		ctx, stop := context.WithTimeout(chaos.Turn(ctx, n), time.Minute)
		start := time.Now()
		result, err := tools.CallTool(ctx, a.tool, json.RawMessage(fmt.Sprintf(`{"order":%q}`, a.order)))
		stop()
		a.result, a.err, a.took = string(result), err, time.Since(start)
		got = append(got, a)
	}
	return got
}

// read is a stream of six items, eight times.
func read(ctx context.Context) (got []answer) {
	tokens := chaos.WrapStream("tokens", func(context.Context, int) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			for _, word := range strings.Fields("your order will be there tomorrow") {
				if !yield(word, nil) {
					return
				}
			}
		}
	})
	for n := range 8 {
		ctx, stop := context.WithTimeout(ctx, time.Minute)
		a, start := answer{}, time.Now()
		for word, err := range tokens(ctx, n) {
			if a.result, a.err = a.result+" "+word, err; err != nil {
				a.result = strings.TrimSuffix(a.result, " "+word)
			}
		}
		stop()
		a.took = time.Since(start)
		got = append(got, a)
	}
	return got
}

// seen are the answers that a condition holds for.
func seen(got []answer, holds func(answer) bool) (n int) {
	for _, a := range got {
		if holds(a) {
			n++
		}
	}
	return n
}

func failed(like error) func([]answer, *shop) int {
	return func(got []answer, _ *shop) int {
		return seen(got, func(a answer) bool { return errors.Is(a.err, like) && errors.Is(a.err, chaos.ErrInjected) })
	}
}

func late(d time.Duration) func([]answer, *shop) int {
	return func(got []answer, _ *shop) int { return seen(got, func(a answer) bool { return a.took >= d }) }
}

func saying(text string) func([]answer, *shop) int {
	return func(got []answer, _ *shop) int {
		return seen(got, func(a answer) bool { return a.err != nil && strings.Contains(a.err.Error(), text) })
	}
}

// weatherChecks say what the caller must notice, at least, of each weather: how
// often something is so.
var weatherChecks = map[string][]struct {
	what   string
	counts func([]answer, *shop) int
	least  int
	most   int // 0: any number
}{
	"high-latency":  {{"some seconds", late(time.Second), 8, 20}, {"half a minute", late(30 * time.Second), 1, 4}},
	"flaky-network": {{"resets", failed(fault.ErrConnectionReset), 3, 12}, {"time-outs", failed(fault.ErrTimeout), 1, 6}, {"late", late(time.Millisecond), 4, 16}},
	"api-outage":    {{"unavailable", failed(fault.ErrUnavailable), 8, 8}},
	"partition":     {{"unreachable", failed(fault.ErrNetworkPartition), 23, 23}},
	"cascading-failure": {{"slow", late(2 * time.Second), 6, 6}, {"time-outs", failed(fault.ErrTimeout), 3, 3},
		{"exhausted", failed(fault.ErrResourceExhausted), 16, 16}},
	"rate-limited":     {{"refused", failed(fault.ErrRateLimited), 8, 8}},
	"auth-expired":     {{"expired", saying("401"), 18, 18}},
	"budget-exhausted": {{"spent", failed(fault.ErrResourceExhausted), 16, 16}},
	"lost-replies":     {{"time-outs", failed(fault.ErrTimeout), 3, 14}, {"the work was done all the same", func(_ []answer, s *shop) int { return len(s.refunds) }, 12, 12}},
	"repeated-calls":   {{"more refunds than asked for", func(_ []answer, s *shop) int { return len(s.refunds) - 12 }, 1, 9}},
	"hanging-tools": {{"gave up", func(got []answer, _ *shop) int {
		return seen(got, func(a answer) bool { return errors.Is(a.err, context.DeadlineExceeded) && a.took == time.Minute })
	}, 2, 12}},
	"slow-streams": {{"a late beginning", late(5 * time.Second), 8, 8}, {"broken off", failed(io.ErrUnexpectedEOF), 1, 4},
		{"stalled", func(got []answer, _ *shop) int {
			return seen(got, func(a answer) bool { return a.took == time.Minute })
		}, 1, 5}},
	"garbled-streams": {{"another text", func(got []answer, _ *shop) int {
		return seen(got, func(a answer) bool { return a.result != " your order will be there tomorrow" })
	}, 5, 8}},
}

// No weather is calm: under each the agent notices what the weather is there for.
func TestWeather(t *testing.T) {
	options := spec.WeatherOptions{Tools: []string{"orders.get", "orders.refund"}, Streams: []string{"tokens"}}
	for _, name := range spec.WeatherNames() {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, weatherChecks, name)
			rules, err := spec.Weather(name, options)
			require.NoError(t, err)
			plan, err := chaos.NewPlan(7, rules...)
			require.NoError(t, err)
			doc, err := spec.Encode(plan, nil)
			require.NoError(t, err)
			assert.NoError(t, validate(resolved(t, []byte(spec.Schema())), doc))
			plan, err = spec.Decode(doc, nil) // the weather as it comes from a file
			require.NoError(t, err)
			synctest.Test(t, func(t *testing.T) {
				in, s := plan.Injector("weather", &chaos.InjectorOptions{Record: true}), &shop{}
				ctx := chaos.NewContext(t.Context(), in)
				var got []answer
				if strings.Contains(name, "stream") {
					got = read(ctx)
				} else {
					got = s.work(t, ctx)
				}
				assert.Empty(t, in.Unfired(), "every rule was delivered")
				for _, c := range weatherChecks[name] {
					n := c.counts(got, s)
					assert.GreaterOrEqual(t, n, c.least, "%s: %+v", c.what, got)
					if c.most > 0 {
						assert.LessOrEqual(t, n, c.most, "%s: %+v", c.what, got)
					}
				}
			})
		})
	}
}

// Weather that would strike nothing, or does not exist, is refused.
func TestWeatherNeedsTargets(t *testing.T) {
	_, err := spec.Weather("api-outage", spec.WeatherOptions{})
	assert.ErrorContains(t, err, "missing Tools of the weather api-outage")
	_, err = spec.Weather("api-outrage", spec.WeatherOptions{Tools: []string{"a"}})
	assert.ErrorContains(t, err, `unknown kind weather "api-outrage"`)
	assert.ErrorContains(t, err, "did you mean api-outage?")
	rules, err := spec.Weather("partition", spec.WeatherOptions{Tools: []string{`a,b`, `c\,d`, `{e,f}*`}})
	require.NoError(t, err)
	plan, err := chaos.NewPlan(1, rules...)
	require.NoError(t, err)
	for target, want := range map[string]bool{"a,b": true, "c,d": true, "e1": true, "f": true, "a": false, "b": false} {
		assert.Equal(t, want, plan.CheckTargets(target) == nil, target)
	}
}
