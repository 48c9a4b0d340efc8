package planjson_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lies"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// step is one call of the agent of these tests.
type step struct {
	target string
	order  uint64
}

// walk makes the calls of each lane one after the other, the lanes at once, and
// returns what the callers got.
func walk(t *testing.T, in *chaos.Injector, lanes map[string][]step) map[string][]string {
	got := make(map[string][]string)
	var mu sync.Mutex
	synctest.Test(t, func(t *testing.T) {
		in.Arm()
		call := func(target string) func(context.Context, uint64) (uint64, error) {
			return chaos.WrapWith(target, func(_ context.Context, order uint64) (uint64, error) { return order, nil },
				&chaos.WrapOptions[uint64]{Key: func(order uint64) uint64 { return order }})
		}
		var group sync.WaitGroup
		for lane, steps := range lanes {
			group.Go(func() {
				ctx := chaos.WithLane(chaos.NewContext(t.Context(), in), lane)
				for _, s := range steps {
					ctx, stop := context.WithTimeout(ctx, time.Minute)
					start := time.Now()
					result, err := call(s.target)(ctx, s.order)
					stop()
					mu.Lock()
					got[lane] = append(got[lane], fmt.Sprint(result, err, time.Since(start)))
					mu.Unlock()
				}
			})
		}
		group.Wait()
	})
	return got
}

// sorted are the events as text, without the times that they measure and
// without the rules that were held back, of which a replay has none.
func sorted(events []chaos.Event) []string {
	var lines []string
	for _, e := range events {
		e.Start, e.End = 0, 0
		if len(e.HeldBack) > 0 {
			e.HeldBack, e.Note = nil, heldBack.ReplaceAllString(e.Note, "")
		}
		line, _ := json.Marshal(e)
		lines = append(lines, string(line))
	}
	slices.Sort(lines)
	return lines
}

var heldBack = regexp.MustCompile(`(; )?rule "[^"]*" was held back by the safeguards: \w+`)

// anySafeguards may hold back any fault, or bound nothing.
func anySafeguards(t *rapid.T) *chaos.Safeguards {
	return &chaos.Safeguards{
		Budget: rapid.IntRange(0, 6).Draw(t, "budget"), Share: rapid.SampledFrom([]float64{0, 0.2, 0.5}).Draw(t, "share"),
		Rate: rapid.SampledFrom([]float64{0, 0.01, 1}).Draw(t, "rate"), Concurrent: rapid.IntRange(0, 2).Draw(t, "concurrent"),
	}
}

// Whatever the plan, the safeguards and the calls: what was captured is repeated,
// from the capture's JSON too, and the callers get the same.
func TestACapturedRunReplays(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		plan, lanes := anyPlan(rt), anyLanes(rt)
		in := plan.Injector("cell/7", &chaos.InjectorOptions{RecordAll: true, Safeguards: anySafeguards(rt)})
		got := walk(t, in, lanes)
		kept, err := planjson.CaptureOf(plan, in.Events())
		require.NoError(rt, err)
		doc, err := kept.Encode(nil)
		require.NoError(rt, err)
		back, err := planjson.DecodeCapture(doc, nil)
		require.NoError(rt, err, string(doc))
		again, err := back.Encode(nil)
		require.NoError(rt, err)
		require.Equal(rt, string(doc), string(again))

		replay := back.Injector(nil)
		require.Equal(rt, got, walk(t, replay, lanes), "what the callers get")
		require.NoError(rt, back.Check(replay.Events()))
		require.Equal(rt, sorted(in.Events()), sorted(replay.Events()))
	})
}

// Faults that remember are given what they were given: in one lane they
// remember the same.
func TestACapturedRunOfFaultsThatRememberReplays(t *testing.T) {
	remember := []chaos.Fault{
		lies.Stale(1), lies.Frozen(), lies.Crossed(), lies.Replayed(), lies.Contradict(), fault.SilentNoOp(), fault.ReplayRequest(), fault.CallBudget(4, 0),
		fault.RateLimit(2, time.Minute), fault.DelayedVisibility("orders.pay", time.Minute, 7), fault.LateResult("orders.pay", time.Second, 2*time.Second),
	}
	rapid.Check(t, func(rt *rapid.T) {
		var rules []chaos.Rule
		for i := range rapid.IntRange(1, 4).Draw(rt, "rules") {
			rules = append(rules, chaos.Rule{Name: fmt.Sprint("rule ", i), Target: rapid.SampledFrom([]string{"*", "orders.*"}).Draw(rt, "target"),
				When: when.Prob(0.7), Fault: rapid.SampledFrom(remember).Draw(rt, "fault"), Limit: rapid.IntRange(0, 3).Draw(rt, "limit")})
		}
		plan, err := chaos.NewPlan(rapid.Uint64().Draw(rt, "seed"), rules...)
		require.NoError(rt, err)
		lanes := map[string][]step{"": anyLanes(rt)[""]}
		in := plan.Injector("cell", &chaos.InjectorOptions{RecordAll: true, Safeguards: anySafeguards(rt)})
		got := walk(t, in, lanes)
		kept, err := planjson.CaptureOf(plan, in.Events())
		require.NoError(rt, err)
		replay := kept.Injector(nil)
		require.Equal(rt, got, walk(t, replay, lanes), "what the callers get")
		require.NoError(rt, kept.Check(replay.Events()))
		require.Equal(rt, sorted(in.Events()), sorted(replay.Events()))
	})
}

func anyLanes(t *rapid.T) map[string][]step {
	lanes := make(map[string][]step)
	for i := range rapid.IntRange(1, 3).Draw(t, "lanes") {
		lanes[[]string{"", "a", "b"}[i]] = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
			return step{rapid.SampledFrom([]string{"orders.get", "orders.pay", "mail"}).Draw(t, "target"), rapid.Uint64Range(0, 3).Draw(t, "order")}
		}), 1, 12).Draw(t, "steps")
	}
	return lanes
}

// anyPlan has faults of every phase under triggers of every sort. Limits and
// cool-downs depend on which lane comes first, so they are given a lane each.
func anyPlan(t *rapid.T) *chaos.Plan {
	whens := []chaos.When{
		nil, when.Prob(0.5), when.Nth(1, 3), when.After(2), when.Turn(0), when.Between(time.Second, time.Minute),
		when.All(when.Prob(0.7), when.Not(when.Every(2))),
	}
	faults := []chaos.Fault{
		fault.Fail(fault.ErrUnavailable), fault.Uniform(time.Second, time.Minute), fault.Normal(time.Second, time.Second), fault.Timeout(time.Second),
		fault.LoseReply(), fault.Replace(json.RawMessage(`7`)), fault.Replace(json.RawMessage(`1`)), fault.Duplicate(), fault.Delay(2 * time.Minute),
	}
	rules := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) chaos.Rule {
		r := chaos.Rule{
			Target: rapid.SampledFrom([]string{"*", "orders.*", "mail"}).Draw(t, "target"),
			When:   rapid.SampledFrom(whens).Draw(t, "when"), Fault: rapid.SampledFrom(faults).Draw(t, "fault"),
			Group: rapid.SampledFrom([]string{"", "", "shared"}).Draw(t, "group"),
		}
		if lane := rapid.SampledFrom([]string{"", "-", "a"}).Draw(t, "lane"); lane != "-" && r.Group == "" {
			r.Limit, r.CoolDown = rapid.IntRange(0, 3).Draw(t, "limit"), time.Duration(rapid.IntRange(0, 90).Draw(t, "coolDown"))*time.Second
			only := []chaos.When{when.Lane(lane)}
			if r.When != nil {
				only = append(only, r.When)
			}
			r.When = when.All(only...)
		}
		return r
	}), 0, 5).Draw(t, "rules")
	for i := range rules {
		rules[i].Name = fmt.Sprint("rule ", i)
	}
	p, err := chaos.NewPlan(rapid.Uint64().Draw(t, "seed"), rules...)
	require.NoError(t, err)
	return p
}

// What a limit, a cool-down or safeguards held back is not injected in the replay: case by case.
func TestWhatWasHeldBackIsNotInjectedAgain(t *testing.T) {
	down := func(r chaos.Rule) chaos.Rule {
		r.Name, r.Target, r.Fault = "down", "get", fault.Fail(fault.ErrUnavailable)
		return r
	}
	for _, c := range []struct {
		why        string
		safeguards *chaos.Safeguards
		rule       chaos.Rule
		want       []bool
	}{
		{"a budget", &chaos.Safeguards{Budget: 1}, down(chaos.Rule{}), []bool{true, false, false, false}},
		{"a share", &chaos.Safeguards{Share: 0.5}, down(chaos.Rule{}), []bool{false, true, false, true}},
		{"a limit", nil, down(chaos.Rule{Limit: 2}), []bool{true, true, false, false}},
		{"a cool-down", nil, down(chaos.Rule{CoolDown: time.Hour}), []bool{true, false, false, false}},
		{"nothing", nil, down(chaos.Rule{}), []bool{true, true, true, true}},
	} {
		t.Run(c.why, func(t *testing.T) {
			plan, err := chaos.NewPlan(1, c.rule)
			require.NoError(t, err)
			run := func(in *chaos.Injector) (failed []bool) {
				for range c.want {
					failed = append(failed, chaos.Point(chaos.NewContext(t.Context(), in), "get") != nil)
				}
				return failed
			}
			in := plan.Injector("c", &chaos.InjectorOptions{RecordAll: true, Safeguards: c.safeguards})
			require.Equal(t, c.want, run(in))
			kept, err := planjson.CaptureOf(plan, in.Events())
			require.NoError(t, err)
			assert.Equal(t, c.want, run(kept.Injector(nil)))
		})
	}
}

// keepsCount is a user's fault that fails every other call that it is given.
type keepsCount struct{ n *int }

func (f keepsCount) Fresh() chaos.Fault { return keepsCount{new(int)} }
func (f keepsCount) Fail(chaos.Call) error {
	if *f.n++; *f.n%2 == 0 {
		return fault.ErrUnavailable
	}
	return nil
}
func (f keepsCount) Inject(context.Context, chaos.Call, any, chaos.Next) (any, error) {
	return nil, f.Fail(chaos.Call{})
}

// A failure that made no error was given the call all the same: where it counts, the replay counts with it.
func TestAFailureThatCountsIsGivenTheSameCalls(t *testing.T) {
	plan, err := chaos.NewPlan(1, chaos.Rule{Name: "down", Target: "get", When: when.Prob(0.6), Fault: keepsCount{}})
	require.NoError(t, err)
	run := func(in *chaos.Injector) (marks string) {
		for range 20 {
			marks += map[bool]string{true: "x", false: "."}[chaos.Point(chaos.NewContext(t.Context(), in), "get") != nil]
		}
		return marks
	}
	in := plan.Injector("c", &chaos.InjectorOptions{RecordAll: true})
	marks := run(in)
	kept, err := planjson.CaptureOf(plan, in.Events())
	require.NoError(t, err)
	assert.Contains(t, marks, "x")
	assert.Equal(t, marks, run(kept.Injector(nil)))
}

// Zero values are a plan and a capture of nothing.
func TestZeroValues(t *testing.T) {
	p, err := (&planjson.Plan{Seed: 7}).Build(nil)
	require.NoError(t, err)
	assert.Empty(t, p.Rules())
	assert.EqualValues(t, 7, p.Seed())
	for _, plan := range []any{planjson.Plan{}, &planjson.Plan{}} {
		doc, err := json.Marshal(plan)
		require.NoError(t, err)
		_, err = planjson.Decode(doc, nil)
		require.NoError(t, err, "its JSON is the form that Decode reads")
	}
	in := (&planjson.Capture{}).Injector(nil)
	require.NoError(t, chaos.Point(chaos.NewContext(t.Context(), in), "get"))
	assert.Len(t, in.Events(), 1)
	var diverged *planjson.DivergedError
	assert.ErrorAs(t, (&planjson.Capture{}).Check(in.Events()), &diverged)
	_, err = (&planjson.Capture{}).Encode(nil)
	assert.Error(t, err, "there is no plan to write")
}

// A count that an int of the platform does not hold is refused, not cut off.
func TestCountsAboveTheRangeOfAnInt(t *testing.T) {
	p, err := planjson.Decode([]byte(`{"seed":"1","rules":[{"target":"t","fault":{"kind":"hang"},"limit":3000000000}]}`), nil)
	if strconv.IntSize == 32 {
		assert.ErrorContains(t, err, `/rules/0/limit: bad value 3000000000; allowed: an integer of at most 32 bits`)
		return
	}
	require.NoError(t, err)
	assert.EqualValues(t, int64(3_000_000_000), p.Rules()[0].Limit)
}

// A run that makes other calls is no replay, and the error says where they part.
func TestARunWithOtherCallsIsNoReplay(t *testing.T) {
	lanes := map[string][]step{"a": {{"get", 1}, {"pay", 1}, {"mail", 2}}, "b": {{"get", 5}}}
	plan, err := chaos.NewPlan(3, chaos.Rule{Name: "down", Target: "pay", Fault: fault.Fail(fault.ErrUnavailable)})
	require.NoError(t, err)
	in := plan.Injector("c", &chaos.InjectorOptions{RecordAll: true})
	walk(t, in, lanes)
	kept, err := planjson.CaptureOf(plan, in.Events())
	require.NoError(t, err)
	for _, c := range []struct {
		why   string
		lanes map[string][]step
		want  string
	}{
		{"the same calls", lanes, ""},
		{"other arguments", map[string][]step{"a": {{"get", 1}, {"pay", 9}, {"mail", 2}}, "b": {{"get", 5}}},
			`lane "a", call 1: expected pay, key 1, occurrence 0, delivered: [down]; got pay, key 9, occurrence 0 (missing: 1, additional: 1, altered: 0)`},
		{"a call too few", map[string][]step{"a": {{"get", 1}, {"pay", 1}}, "b": {{"get", 5}}},
			`lane "a", call 2: expected mail, key 2, occurrence 0; got no call (missing: 1, additional: 0, altered: 0)`},
		{"a retry more", map[string][]step{"a": {{"get", 1}, {"pay", 1}, {"pay", 1}, {"mail", 2}}, "b": {{"get", 5}}},
			`lane "a", call 2: expected no call; got pay, key 1, occurrence 1 (missing: 0, additional: 1, altered: 0)`},
		{"another lane", map[string][]step{"a": {{"get", 1}, {"pay", 1}, {"mail", 2}}, "c": {{"get", 5}}},
			`expected`},
		{"another order of the same calls, whose faults are the same", map[string][]step{"a": {{"mail", 2}, {"pay", 1}, {"get", 1}}, "b": {{"get", 5}}}, ""},
	} {
		t.Run(c.why, func(t *testing.T) {
			again := kept.Injector(nil)
			walk(t, again, c.lanes)
			err := kept.Check(again.Events())
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			var diverged *planjson.DivergedError
			require.ErrorAs(t, err, &diverged)
			assert.ErrorContains(t, err, c.want)
		})
	}
	altered := in.Events()
	for i := range altered {
		altered[i].Delivered = false
	}
	assert.ErrorContains(t, kept.Check(altered), `expected pay, key 1, occurrence 0, delivered: [down]; got pay, key 1, occurrence 0 (missing: 0, additional: 0, altered: 1)`)
	altered[0].Cell = "d"
	assert.ErrorContains(t, kept.Check(altered), `cell "d"`)
}

// What is not a whole run is not captured, and all reasons are given.
func TestWhatCannotBeCaptured(t *testing.T) {
	plan, err := chaos.NewPlan(3, chaos.Rule{Name: "down", Target: "pay", Fault: fault.Fail(errors.New("down"))})
	require.NoError(t, err)
	_, err = planjson.CaptureOf(nil, nil)
	assert.ErrorContains(t, err, "the plan of the run")
	_, err = planjson.CaptureOf(plan, []chaos.Event{
		{Cell: "a", Target: "get", Layer: chaos.LayerPoint, Ordinal: 1},
		{Cell: "b", Target: "pay", Layer: chaos.LayerPoint, Rule: "other", Delivered: true},
		{Cell: "a", Target: "down", Rule: "down"},
	})
	for _, want := range []string{"ordinal 0 in lane", `of cell "b"`, `rule "other"`, "Injector.InjectNow"} {
		assert.ErrorContains(t, err, want)
	}
	calm, err := planjson.CaptureOf(plan, nil)
	require.NoError(t, err, "a run without calls is one")
	doc, err := calm.Encode(nil)
	require.NoError(t, err)
	_, err = planjson.DecodeCapture(doc, nil)
	require.NoError(t, err)
	twice := strings.Replace(string(doc), `"calls": []`, `"calls": [{"target":"a","key":"1","occurrence":"0"},{"target":"a","key":"1","occurrence":"0"},{"target":7}]`, 1)
	_, err = planjson.DecodeCapture([]byte(twice), nil)
	for _, want := range []string{"/calls/1: duplicate", "/calls/2/target: wrong type", "/calls/2/key: missing"} {
		assert.ErrorContains(t, err, want)
	}
}

// A capture that was written by hand: names in any order, but of rules that are there.
func TestDeliveredNamesRulesOfThePlan(t *testing.T) {
	doc := func(delivered string) []byte {
		rule := func(name string) string {
			return `{"name":"` + name + `","target":"pay","fault":{"kind":"latency","params":{"distribution":"fixed","duration":"1ns"}}}`
		}
		return []byte(`{"cell":"c","plan":{"seed":"1","rules":[` + rule("first") + `,` + rule("second") + `]},` +
			`"calls":[{"target":"pay","key":"0","occurrence":"0","delivered":` + delivered + `}]}`)
	}
	_, err := planjson.DecodeCapture(doc(`["first","secnod"]`), nil)
	assert.ErrorContains(t, err, `/calls/0/delivered/1: bad value "secnod"; allowed: the name of a rule of the plan; did you mean second?`)
	capture, err := planjson.DecodeCapture(doc(`["second","first"]`), nil)
	require.NoError(t, err)
	in := capture.Injector(nil)
	require.NoError(t, chaos.Point(chaos.NewContext(t.Context(), in), "pay"))
	assert.NoError(t, capture.Check(in.Events()), "in another order than events have them")
}
