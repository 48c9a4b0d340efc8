package habits_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract/habits"
)

func TestRememberReads(t *testing.T) {
	get, other := "get "+order, `get {"order":"8"}`
	zero, one := `{"refunds":0}`, `{"refunds":1}`
	for _, tt := range []trial{
		{why: "an equal read is answered", ask: []string{get, get, `get {"order":"\u0037"}`}, want: []string{zero, zero, zero}, calls: []string{"get"}},
		{why: "an effect forgets all", ask: []string{get, other, "refund " + order, get, other}, want: []string{zero, zero, `"refunded"`, one, zero},
			calls: []string{"get", "get", "refund", "get", "get"}, done: []string{"refund 7"}},
		{why: "also one that fails", script: map[string][]step{"refund": {lost(errOdd)}}, ask: []string{get, "refund " + order, get},
			want: []string{zero, "error: something went wrong", one}, done: []string{"refund 7"}},
		{why: "and a call of which nothing is declared, or that is not listed", ask: []string{get, "note " + order, get, `made-up {"order":"7"}`, get},
			want: []string{zero, `"noted"`, one, ``, `{"refunds":2}`}, done: []string{"note 7", "made-up 7"}},
		{why: "a failure is not remembered", script: map[string][]step{"get": {down(errOdd), says(`{"error":"busy"}`)}}, ask: []string{get, get, get},
			want: []string{"error: something went wrong", `{"error":"busy"}`, zero}, calls: []string{"get", "get", "get"}},
	} {
		t.Run(tt.why, func(t *testing.T) { tt.run(t, habits.RememberReads(nil)) })
	}
	t.Run("for a time", func(t *testing.T) {
		r := inBubble(t, nil, func(ctx context.Context, tools chaos.ToolRegistry, _ *run) {
			for range 3 {
				ask(ctx, tools, "get", order)
				time.Sleep(40 * time.Second)
			}
		}, habits.RememberReads(nil))
		assert.Len(t, r.calls(), 2)
	})
	t.Run("a read during an effect shows what may not last", func(t *testing.T) {
		for name, script := range map[string]map[string][]step{
			"the read is longer":   {"get": {slow(2*time.Second, says(zero))}, "refund": {slow(time.Second, fine)}},
			"the effect is longer": {"get": {slow(time.Second, says(zero))}, "refund": {slow(2*time.Second, fine)}},
		} {
			inBubble(t, script, func(ctx context.Context, tools chaos.ToolRegistry, _ *run) {
				var both sync.WaitGroup
				both.Go(func() { ask(ctx, tools, "refund", order) })
				both.Go(func() { assert.Equal(t, zero, ask(ctx, tools, "get", order)) })
				both.Wait()
				assert.Equal(t, one, ask(ctx, tools, "get", order), name)
			}, habits.RememberReads(nil))
		}
	})
	t.Run("whoever changes a result changes his own", func(t *testing.T) {
		tools := habits.Around(habits.RememberReads(nil))(newDesk(nil))
		for range 3 {
			result, err := tools.CallTool(t.Context(), "get", json.RawMessage(order))
			require.NoError(t, err)
			assert.Equal(t, zero, string(result))
			result[0] = '!'
		}
	})
}

func TestStopWhenPermanent(t *testing.T) {
	gone := down(errors.New("404 not found"))
	get, first, again := "get "+order, "error: 404 not found", "error: not called again: 404 not found"
	for _, tt := range []trial{
		{why: "an equal call is not made again", script: map[string][]step{"get": {gone}}, ask: []string{get, get, get}, want: []string{first, again, again}, calls: []string{"get"}},
		{why: "after any other failure too", script: map[string][]step{"get": {down(errOdd), down(fault.ErrUnavailable)}}, ask: []string{get, get, get},
			want: []string{"error: something went wrong", "error: service unavailable", `{"refunds":0}`}},
		{why: "a result that says so", script: map[string][]step{"get": {says(`{"error":"no such order"}`)}}, ask: []string{get, get},
			want: []string{`{"error":"no such order"}`, `{"error":"no such order"}`}, calls: []string{"get"}},
		{why: "an effect may mend it", script: map[string][]step{"get": {gone}}, ask: []string{get, "refund " + order, get},
			want: []string{first, `"refunded"`, `{"refunds":1}`}, done: []string{"refund 7"}},
		{why: "a tool that does not exist", script: map[string][]step{"made-up": {down(chaos.ErrUnknownTool)}}, ask: []string{"made-up " + order, "made-up " + order},
			want: []string{"error: chaos: unknown tool", "error: not called again: chaos: unknown tool"}, calls: []string{"made-up"}},
	} {
		t.Run(tt.why, func(t *testing.T) { tt.run(t, habits.StopWhenPermanent(nil)) })
	}
	t.Run("for a time", func(t *testing.T) {
		r := inBubble(t, map[string][]step{"get": {gone}}, func(ctx context.Context, tools chaos.ToolRegistry, _ *run) {
			ask(ctx, tools, "get", order)
			time.Sleep(time.Minute)
			ask(ctx, tools, "get", order)
		}, habits.StopWhenPermanent(nil))
		assert.Len(t, r.calls(), 2)
	})
}

// What is out of date is dropped, so that a memory holds no more than about twice what it may still answer.
func TestMemoriesDropWhatIsOutOfDate(t *testing.T) {
	inBubble(t, map[string][]step{}, func(ctx context.Context, _ chaos.ToolRegistry, r *run) {
		tools := habits.Around(habits.StopWhenPermanent(nil), habits.RememberReads(nil))(r.desk)
		var kept []weak.Pointer[chaoshttp.HTTPError]
		for i := range 1000 {
			gone := &chaoshttp.HTTPError{StatusCode: 404, Message: fmt.Sprint(i)}
			kept = append(kept, weak.Make(gone))
			r.desk.script["get"] = []step{down(gone)}
			ask(ctx, tools, "get", fmt.Sprintf(`{"order":"%d"}`, i))
			time.Sleep(time.Minute)
		}
		runtime.GC()
		n := 0
		for _, p := range kept {
			if p.Value() != nil {
				n++
			}
		}
		assert.Less(t, n, 200)
		runtime.KeepAlive(tools)
	})
}

func TestOneAtATime(t *testing.T) {
	slowly := slow(time.Second, fine)
	atOnce := func(ctx context.Context, tools chaos.ToolRegistry, n int, name, args string) (got []string) {
		var all sync.WaitGroup
		got = make([]string, n)
		for i := range n {
			all.Go(func() {
				defer func() {
					if recover() != nil {
						got[i] = "panic"
					}
				}()
				ctx, cancel := context.WithTimeout(ctx, time.Duration(i+1)*time.Minute)
				defer cancel()
				got[i] = ask(ctx, tools, name, args)
			})
			time.Sleep(time.Millisecond)
		}
		all.Wait()
		return got
	}
	for _, tt := range []struct {
		why        string
		script     map[string][]step
		tool, args string
		want       []string
		done       int
	}{
		{"equal effects are one", map[string][]step{"refund": {slowly}}, "refund", order, []string{`"refunded"`, `"refunded"`, `"refunded"`}, 1},
		{"also if it fails", map[string][]step{"refund": {slow(time.Second, down(errOdd))}}, "refund", order,
			[]string{"error: something went wrong", "error: something went wrong", "error: something went wrong"}, 0},
		{"not of a tool that declares nothing", map[string][]step{"note": {slowly, slowly, slowly}}, "note", order, []string{`"noted"`, `"noted"`, `"noted"`}, 3},
		{"after a panic the second is made", map[string][]step{"refund": {slow(time.Second, bursts), slowly}}, "refund", order,
			[]string{"panic", `"refunded"`, `"refunded"`}, 1},
		{"if the first caller gave up, too", map[string][]step{"refund": {slow(time.Hour, fine), slowly}}, "refund", order,
			[]string{"error: context deadline exceeded", `"refunded"`, `"refunded"`}, 1},
	} {
		t.Run(tt.why, func(t *testing.T) {
			r := inBubble(t, tt.script, func(ctx context.Context, tools chaos.ToolRegistry, _ *run) {
				assert.Equal(t, tt.want, atOnce(ctx, tools, 3, tt.tool, tt.args))
			}, habits.OneAtATime(nil))
			assert.Len(t, r.done, tt.done)
		})
	}
	inBubble(t, map[string][]step{"refund": {slow(time.Hour, fine)}}, func(ctx context.Context, tools chaos.ToolRegistry, r *run) {
		var first sync.WaitGroup
		first.Go(func() { assert.Equal(t, `"refunded"`, ask(ctx, tools, "refund", order)) })
		time.Sleep(time.Second)
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		assert.Equal(t, "error: context deadline exceeded", ask(short, tools, "refund", order))
		assert.Equal(t, 2*time.Second, time.Since(r.began), "who gives up does not wait")
		first.Wait()
	}, habits.OneAtATime(nil))
	inBubble(t, map[string][]step{"refund": {calls("refund", order), fine}}, func(ctx context.Context, tools chaos.ToolRegistry, r *run) {
		assert.Equal(t, `"refunded"`, ask(within(ctx, tools), tools, "refund", order))
		assert.Zero(t, time.Since(r.began), "a call within one that is equal does not wait")
		assert.Equal(t, []string{"refund 7", "refund 7"}, r.done)
		assert.Equal(t, `"refunded"`, ask(ctx, tools, "refund", order))
	}, habits.OneAtATime(nil))
	(&trial{why: "one after another are two", ask: []string{"refund " + order, "refund " + order}, want: []string{`"refunded"`, `"refunded"`},
		done: []string{"refund 7", "refund 7"}}).run(t, habits.OneAtATime(nil))
}

// Two tools that call each other, both called at once, do not wait for each other, whichever habits each of them has.
// Calls of one work wait for each other as those of an agent do.
func TestTurnsOfCallsWithin(t *testing.T) {
	other, reads := `{"order":"8"}`, map[string]string{"charge": "get", "refund": "get"}
	for _, all := range [][]*habits.Habit{
		{habits.OneAtATime(nil)}, {habits.LookFirst(&habits.Options{Reads: reads})}, {habits.OneAtATime(nil), habits.LookFirst(&habits.Options{Reads: reads})},
		{habits.OneAtATime(nil).Only("charge"), habits.LookFirst(&habits.Options{Reads: reads}).Only("refund")},
	} {
		r := inBubble(t, map[string][]step{"charge": {slow(time.Second, calls("refund", other))}, "refund": {slow(time.Second, calls("charge", order))}},
			func(ctx context.Context, tools chaos.ToolRegistry, _ *run) {
				ctx = within(ctx, tools)
				var both sync.WaitGroup
				both.Go(func() { assert.Equal(t, `"charged"`, ask(ctx, tools, "charge", order)) })
				both.Go(func() { assert.Equal(t, `"refunded"`, ask(ctx, tools, "refund", other)) })
				both.Wait()
			}, all...)
		assert.ElementsMatch(t, []string{"charge 7", "charge 7", "refund 8", "refund 8"}, r.done, "each once by the agent and once by the other tool")
	}
	delegate := func(ctx context.Context, _ func() string) (json.RawMessage, error) {
		tools := ctx.Value(toolsKey{}).(chaos.ToolRegistry)
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { assert.Equal(t, `"refunded"`, ask(ctx, tools, "refund", order)) })
		}
		both.Wait()
		return json.RawMessage(`"asked"`), nil
	}
	r := inBubble(t, map[string][]step{"note": {delegate}, "refund": {slow(time.Second, fine)}}, func(ctx context.Context, tools chaos.ToolRegistry, _ *run) {
		assert.Equal(t, `"asked"`, ask(within(ctx, tools), tools, "note", order))
	}, habits.OneAtATime(nil))
	assert.Equal(t, []string{"refund 7"}, r.done)
}

func TestDeadlines(t *testing.T) {
	late := func(ctx context.Context, _ func() string) (json.RawMessage, error) {
		<-ctx.Done()
		return json.RawMessage(`"late, but here"`), nil
	}
	r := inBubble(t, map[string][]step{"get": {slow(time.Hour, fine), slow(9*time.Second, fine), late, down(errOdd), slow(time.Hour, fine)}},
		func(ctx context.Context, tools chaos.ToolRegistry, r *run) {
			_, err := tools.CallTool(ctx, "get", json.RawMessage(order))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.EqualError(t, err, "get did not answer within 10s: context deadline exceeded")
			assert.Equal(t, 10*time.Second, time.Since(r.began))
			assert.Equal(t, `{"refunds":0}`, ask(ctx, tools, "get", order), "in time")
			assert.Equal(t, `"late, but here"`, ask(ctx, tools, "get", order), "an answer is an answer")
			assert.Equal(t, "error: something went wrong", ask(ctx, tools, "get", order), "another failure")
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			assert.Equal(t, "error: context deadline exceeded", ask(short, tools, "get", order), "the caller's own deadline")
		}, habits.Deadlines(nil))
	assert.Len(t, r.calls(), 5)
}

func TestCheckResults(t *testing.T) {
	bad := `error: get answered, but the result does not fit its schema: `
	for _, tt := range []trial{
		{why: "what fits passes", ask: []string{"get " + order}, want: []string{`{"refunds":0}`}},
		{why: "a failure passes", script: map[string][]step{"get": {down(errOdd), says(`{"error":"busy"}`)}}, ask: []string{"get " + order, "get " + order},
			want: []string{"error: something went wrong", `{"error":"busy"}`}},
	} {
		t.Run(tt.why, func(t *testing.T) { tt.run(t, habits.CheckResults(nil)) })
	}
	for _, doc := range []string{`{}`, `{"refunds":"none"}`, `{"refunds":1`, `null`, ``} {
		_, err := habits.Around(habits.CheckResults(nil))(newDesk(map[string][]step{"get": {says(doc)}})).CallTool(t.Context(), "get", json.RawMessage(order))
		require.ErrorIs(t, err, habits.ErrResult, doc)
		assert.True(t, strings.HasPrefix("error: "+err.Error(), bad), err)
	}
	for schema, want := range map[string]string{
		"": "x: it declares no output schema", `{"$ref":"#"}`: "x: its output schema cannot be used", `{"type":7}`: "x: its output schema cannot be used",
		`{"$ref":"https://example.com/schema"}`: "x: its output schema cannot be used",
	} {
		_, why := habits.CheckResults(nil).On([]chaos.Tool{{Name: "x", OutputSchema: json.RawMessage(schema)}})
		assert.Contains(t, why, want)
	}
}

// A bad result of a read is worth another try; that of an effect is not, since its work was done.
func TestBadResultsAndTheirRepeats(t *testing.T) {
	script := map[string][]step{"get": {says(`{}`)}, "refund": {says(`{}`)}}
	refused := `error: refund answered, but the result does not fit its schema: `
	r := inBubble(t, script, func(ctx context.Context, tools chaos.ToolRegistry, _ *run) {
		assert.Equal(t, `{"refunds":0}`, ask(ctx, tools, "get", order))
		assert.Contains(t, ask(ctx, tools, "refund", order), refused)
	}, habits.LookFirst(nil), habits.Retries(nil), habits.CheckResults(nil))
	assert.Equal(t, []string{"get", "bounded-retries: get", "look-before-repeat: get", "refund"}, r.calls())
	assert.Equal(t, []string{"refund 7"}, r.done)
}

func TestTellFailures(t *testing.T) {
	for _, tt := range []struct {
		why, tool string
		step      step
		want      string
	}{
		{"refused, by whom nobody knows", "refund", down(fault.ErrConnectionRefused),
			`{"error":{"tool":"refund","kind":"refused","retry":"may help","done":"unknown","message":"connect: connection refused"}}`},
		{"not done, as the tool says", "refund", down(fmt.Errorf("%w: %w", habits.ErrNotDone, fault.ErrRateLimited)),
			`{"error":{"tool":"refund","kind":"other","retry":"may help","done":"no","message":"nothing was done: too many requests"}}`},
		{"a host that is not there", "note", down(errors.New(`Post "https://pay.example": dial tcp: lookup pay.example on 127.0.0.53:53: no such host`)),
			`{"error":{"tool":"note","kind":"no such host","retry":"does not help","done":"unknown","message":"Post \"https://pay.example\": dial tcp: lookup pay.example on 127.0.0.53:53: no such host"}}`},
		{"a bad result of an effect", "refund", says(`{}`),
			`{"error":{"tool":"refund","kind":"bad result","retry":"does not help","done":"yes","message":"refund answered, but the result does not fit its schema: validating root: type: map[] has type \"object\", want \"string\""}}`},
		{"a result stays", "get", says(`{"error":"busy"}`), `{"error":"busy"}`},
		{"the end of a cell is none of the tool's failures", "get", down(chaos.ErrCellEnded), "error: " + chaos.ErrCellEnded.Error()},
	} {
		t.Run(tt.why, func(t *testing.T) {
			inBubble(t, map[string][]step{tt.tool: {tt.step}}, func(ctx context.Context, tools chaos.ToolRegistry, _ *run) {
				assert.Equal(t, tt.want, ask(ctx, tools, tt.tool, order))
			}, habits.TellFailures(nil), habits.CheckResults(&habits.Options{Tools: "refund"}))
		})
	}
	inBubble(t, map[string][]step{"get": {slow(time.Hour, fine)}}, func(ctx context.Context, tools chaos.ToolRegistry, _ *run) {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		assert.Equal(t, "error: context deadline exceeded", ask(ctx, tools, "get", order), "who gave up reads no result")
	}, habits.TellFailures(nil))
}
