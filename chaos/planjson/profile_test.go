package planjson_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/planjson"
)

// seen are the answers that a condition holds for.
func seen(got []answer, holds func(answer) bool) (n int) {
	for _, a := range got {
		if holds(a) {
			n++
		}
	}
	return n
}

func failed(like error) func([]answer, *world) int {
	return func(got []answer, _ *world) int {
		return seen(got, func(a answer) bool { return errors.Is(a.err, like) && errors.Is(a.err, chaos.ErrInjected) })
	}
}

func late(d time.Duration) func([]answer, *world) int {
	return func(got []answer, _ *world) int { return seen(got, func(a answer) bool { return a.took >= d }) }
}

func saying(text string) func([]answer, *world) int {
	return func(got []answer, _ *world) int {
		return seen(got, func(a answer) bool { return a.err != nil && strings.Contains(a.err.Error(), text) })
	}
}

func like(parts ...string) func([]answer, *world) int {
	return func(got []answer, _ *world) int {
		return seen(got, func(a answer) bool {
			return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(a.result, part) })
		})
	}
}

// profileChecks say what the caller must notice of each profile, and how often:
// at least and at most, of 25 calls of tools, 8 streams or 24 completions.
func profileChecks() map[string][]check {
	gaveUp := func(a answer) bool { return errors.Is(a.err, context.DeadlineExceeded) && a.took == time.Minute }
	return map[string][]check{
		"high-latency":  {{"some seconds", late(time.Second), 6, 20}, {"half a minute", late(30 * time.Second), 1, 4}},
		"flaky-network": {{"resets", failed(fault.ErrConnectionReset), 3, 12}, {"time-outs", failed(fault.ErrTimeout), 1, 6}, {"late", late(time.Millisecond), 4, 16}},
		"api-outage":    {{"unavailable", failed(fault.ErrUnavailable), 8, 8}},
		"partition":     {{"unreachable", failed(fault.ErrNetworkPartition), 23, 23}},
		"cascading-failure": {{"slow", late(2 * time.Second), 6, 6}, {"time-outs", failed(fault.ErrTimeout), 3, 3},
			{"exhausted", failed(fault.ErrResourceExhausted), 16, 16}},
		"rate-limited":     {{"refused", failed(fault.ErrRateLimited), 21, 21}},
		"auth-expired":     {{"expired", saying("401"), 15, 15}},
		"budget-exhausted": {{"spent", failed(fault.ErrResourceExhausted), 16, 16}},
		"lost-replies":     {{"time-outs", failed(fault.ErrTimeout), 3, 14}, {"work that was done all the same", func(_ []answer, w *world) int { return len(w.refunds) }, 6, 6}},
		"repeated-calls":   {{"paid back twice", like("was paid back 2 times"), 1, 5}},
		"hanging-tools":    {{"gave up", func(got []answer, _ *world) int { return seen(got, gaveUp) }, 2, 12}},
		"wrong-data":       {{"another total", differs("orders.total", `"total":129.5`), 1, 6}, {"another order", differs("orders.get", `"paid_at":"2026-03-01T10:00:00Z"`), 1, 8}},
		"stale-data":       {{"shipped, though paid back", func(got []answer, _ *world) int { return countStale(got) }, 6, 6}},
		"partial-results":  {{"cut results", func(got []answer, _ *world) int { return seen(got, short) }, 8, 24}},
		"malformed-results": {{"no JSON", func(got []answer, _ *world) int {
			return seen(got, func(a answer) bool { return !json.Valid([]byte(a.result)) })
		}, 5, 18}, {"errors under success", like(`"code":503`), 1, 12}},
		"schema-drift":  {{"version 2", like(`"version":"v2"`), 15, 15}},
		"hostile-tools": {{"attacks", like("assistant", "Assistant", "SYSTEM", "system>", "administrator", "task", "key ", "code ", "ref="), 10, 25}},
		"degraded-llm": {{"late", late(15 * time.Second), 4, 16}, {"refusals", like("refusal"), 2, 10}, {"stopped early", like(`"length"`), 2, 12},
			{"other arguments", differs("http", `{\"order\":\"A1\",\"amount\":129}`, `"arguments"`), 1, 10}},
		"llm-outage":   {{"503", like("status 503: retry after 20"), 16, 16}},
		"slow-streams": {{"a late beginning", late(5 * time.Second), 8, 8}, {"broken off", failed(io.ErrUnexpectedEOF), 1, 4}, {"stalled", late(time.Minute), 1, 5}},
		"garbled-streams": {{"another text", func(got []answer, _ *world) int {
			return seen(got, func(a answer) bool { return a.result != sentence })
		}, 5, 8}},
	}
}

type check struct {
	what        string
	counts      func([]answer, *world) int
	least, most int
}

// differs counts the calls whose result does not hold a text, of those that
// hold the others.
func differs(call, text string, others ...string) func([]answer, *world) int {
	return func(got []answer, _ *world) int {
		return seen(got, func(a answer) bool {
			for _, other := range others {
				if !strings.Contains(a.result, other) {
					return false
				}
			}
			return a.call == call && !strings.Contains(a.result, text)
		})
	}
}

// countStale counts the orders that look shipped right after they were paid back.
func countStale(got []answer) (n int) {
	for i := 1; i < len(got); i++ {
		if got[i-1].call == "orders.refund" && strings.Contains(got[i].result, "shipped") {
			n++
		}
	}
	return n
}

// short reports whether a result has less in it than it should.
func short(a answer) bool {
	whole := map[string]int{"orders.get": 290, "orders.total": 28, "orders.refund": 27}[a.call]
	return len(a.result) < whole
}

// No profile is calm: under each the agent notices what the profile is for.
func TestProfiles(t *testing.T) {
	options := planjson.ProfileOptions{Tools: []string{"orders.*"}, Streams: []string{"tokens"}, Models: []string{"POST api.openai.com/*"}}
	for _, name := range planjson.ProfileNames() {
		t.Run(name, func(t *testing.T) {
			checks := profileChecks()[name]
			require.NotEmpty(t, checks)
			rules, err := planjson.Profile(name, &options)
			require.NoError(t, err)
			plan, err := chaos.NewPlan(7, rules...)
			require.NoError(t, err)
			doc, err := planjson.Encode(plan, nil)
			require.NoError(t, err)
			assert.NoError(t, validate(resolved(t, []byte(planjson.Schema())), doc))
			plan, err = planjson.Decode(doc, nil) // the profile as it comes from a file
			require.NoError(t, err)
			synctest.Test(t, func(t *testing.T) {
				in, w := plan.Injector("weather", &chaos.InjectorOptions{RecordAll: true}), newWorld(t)
				ctx := chaos.NewContext(t.Context(), in)
				var got []answer
				switch {
				case strings.Contains(name, "stream"):
					got = w.stream(ctx, 8)
				case strings.Contains(name, "llm"):
					got = w.model(ctx, 24, false)
				default:
					got = w.tools(ctx, 6)
				}
				assert.Empty(t, in.Undelivered(), "every rule was delivered")
				for _, c := range checks {
					n := c.counts(got, w)
					assert.GreaterOrEqual(t, n, c.least, "%s: %+v", c.what, got)
					assert.LessOrEqual(t, n, c.most, "%s: %+v", c.what, got)
				}
			})
		})
	}
}

// A profile without targets, or that does not exist, is refused.
func TestProfilesNeedTargets(t *testing.T) {
	_, err := planjson.Profile("api-outage", &planjson.ProfileOptions{})
	assert.ErrorContains(t, err, "missing Tools of the profile api-outage")
	_, err = planjson.Profile("api-outrage", &planjson.ProfileOptions{Tools: []string{"a"}})
	assert.ErrorContains(t, err, `unknown kind profile "api-outrage"`)
	assert.ErrorContains(t, err, "did you mean api-outage?")
	rules, err := planjson.Profile("partition", &planjson.ProfileOptions{Tools: []string{`a,b`, `c\,d`, `{e,f}*`}})
	require.NoError(t, err)
	plan, err := chaos.NewPlan(1, rules...)
	require.NoError(t, err)
	for target, want := range map[string]bool{"a,b": true, "c,d": true, "e1": true, "f": true, "a": false, "b": false} {
		assert.Equal(t, want, plan.CheckTargets(target) == nil, target)
	}
}
