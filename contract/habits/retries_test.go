package habits_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract/habits"
)

var errOdd = errors.New("something went wrong")

func TestRetries(t *testing.T) {
	const again = "bounded-retries: "
	busy := &chaoshttp.HTTPError{StatusCode: 503, Header: http.Header{"Retry-After": {"2"}}}
	notDone := func(err error) step { return down(fmt.Errorf("%w: %w", habits.ErrNotDone, err)) }
	for _, tt := range []trial{
		{why: "a read is tried again", script: map[string][]step{"get": {down(fault.ErrUnavailable), down(errOdd)}},
			ask: []string{"get " + order}, want: []string{`{"refunds":0}`}, calls: []string{"get", again + "get", again + "get"}},
		{why: "but not for ever", script: map[string][]step{"get": {down(errOdd), down(errOdd), down(errOdd), down(errOdd)}},
			ask: []string{"get " + order}, want: []string{"error: something went wrong"},
			calls: []string{"get", again + "get", again + "get", again + "get"}},
		{why: "not after a permanent failure", script: map[string][]step{"get": {down(errors.New("order not found"))}},
			ask: []string{"get " + order}, want: []string{"error: order not found"}, calls: []string{"get"}},
		{why: "an effect of unknown outcome is not repeated", script: map[string][]step{"refund": {lost(fault.ErrTimeout)}},
			ask: []string{"refund " + order}, want: []string{"error: i/o timeout"}, calls: []string{"refund"}, done: []string{"refund 7"}},
		{why: "an effect that was not done is, if the tool says so", script: map[string][]step{"refund": {notDone(fault.ErrConnectionRefused),
			notDone(fault.ErrRateLimited), notDone(busy)}}, ask: []string{"refund " + order}, want: []string{`"refunded"`},
			calls: []string{"refund", again + "refund", again + "refund", again + "refund"}, done: []string{"refund 7"}},
		{why: "and one with the key that the tool declares", script: map[string][]step{"charge": {lost(fault.ErrTimeout)}},
			ask: []string{`charge {"amount":"5","key":"k"}`}, want: []string{`"charged"`},
			calls: []string{"charge", again + "charge"}, done: []string{"charge 5"}},
	} {
		t.Run(tt.why, func(t *testing.T) { tt.run(t, habits.Retries(nil)) })
	}
}

// A pause doubles, less at most a quarter; it is as long as the callee asks for, the same in each run, and is not begun
// when the caller's deadline comes first or the callee asks for too much.
func TestRetriesPause(t *testing.T) {
	asks := func(text string) step { return down(errors.New(text)) }
	header := func(value string) step {
		return down(&chaoshttp.HTTPError{StatusCode: 429, Header: http.Header{"Retry-After": {value}}})
	}
	odd, long := down(errOdd), &habits.Options{MaxWait: 24 * time.Hour}
	pauses := func(steps []step, o *habits.Options) (all []time.Duration) {
		patience := time.Minute
		if o == long {
			patience = 365 * 24 * time.Hour
		}
		r := inBubble(t, map[string][]step{"get": steps}, func(ctx context.Context, tools chaos.ToolRegistry, _ *run) {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			ask(ctx, tools, "get", order)
		}, habits.Retries(o))
		events := r.in.Events()
		for i := range events[1:] {
			all = append(all, events[i+1].Start-events[i].End)
		}
		return all
	}
	for _, tt := range []struct {
		why   string
		steps []step
		o     *habits.Options
		most  []time.Duration
		exact bool
	}{
		{"the defaults", []step{odd, odd, odd, odd}, nil, []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second}, false},
		{"a bound", []step{odd, odd, odd, odd}, &habits.Options{Wait: 2 * time.Second, MaxWait: 3 * time.Second},
			[]time.Duration{2 * time.Second, 3 * time.Second, 3 * time.Second}, false},
		{"in words", []step{asks("try again in 1m30s")}, nil, nil, true},
		{"in words, near enough", []step{asks("busy, try again in 1.5s")}, nil, []time.Duration{1500 * time.Millisecond}, true},
		{"in seconds", []step{asks("retry after 7 seconds")}, nil, []time.Duration{7 * time.Second}, true},
		{"in seconds, in short", []step{asks("retry in 7 secs.")}, nil, []time.Duration{7 * time.Second}, true},
		{"a header that nobody can wait for", []step{header("99999999999999")}, nil, nil, true},
		{"a header that says nothing", []step{header("soon")}, nil, []time.Duration{250 * time.Millisecond}, false},
		{"without a unit", []step{asks("Retry-After: 7")}, nil, []time.Duration{7 * time.Second}, true},
		{"in another unit: unknown, so the usual pause", []step{asks("try again in 7 sprints")}, nil, []time.Duration{250 * time.Millisecond}, false},
		{"in minutes", []step{asks("busy, try again in 2 minutes")}, long, []time.Duration{2 * time.Minute}, true},
		{"in short minutes", []step{asks("retry after 5 min")}, long, []time.Duration{5 * time.Minute}, true},
		{"in one minute", []step{asks("please try again in 1 minute.")}, long, []time.Duration{time.Minute}, true},
		{"in an hour", []step{asks("retry in 1 hour")}, long, []time.Duration{time.Hour}, true},
		{"in milliseconds", []step{asks("retry after 20000 ms")}, nil, []time.Duration{20 * time.Second}, true},
		{"before a full stop", []step{asks("busy. Try again in 2s."), asks("Retry after 7.")}, nil, []time.Duration{2 * time.Second, 7 * time.Second}, true},
		{"in capitals", []step{asks("TRY AGAIN IN 1M30S")}, long, []time.Duration{90 * time.Second}, true},
		{"a member of a result", []step{says(`{"error":"busy","retry_after":20}`)}, nil, []time.Duration{20 * time.Second}, true},
		{"a member of the error of a result", []step{says(`{"error":{"message":"busy","retryAfter":"20s"}}`)}, nil, []time.Duration{20 * time.Second}, true},
		{"a member with its unit", []step{says(`{"error":"busy","retry_after_ms": 20000}`)}, nil, []time.Duration{20 * time.Second}, true},
		{"a member of a text", []step{says(`{"isError":true,"content":[{"type":"text","text":"{\"error\":\"busy\",\"retry_after\":20}"}]}`)}, nil,
			[]time.Duration{20 * time.Second}, true},
		{"minutes are longer than the bound", []step{asks("try again in 2 minutes")}, nil, nil, true},
		{"days are longer than any", []step{asks("try again in 7 days")}, long, nil, true},
		{"nobody can wait that long", []step{asks("try again in 99999999999s")}, long, nil, true},
		{"a header with a date", []step{header("Sat, 01 Jan 2000 00:00:12 GMT")}, nil, []time.Duration{12 * time.Second}, true},
		{"longer than the bound", []step{header("31")}, nil, nil, true},
		{"longer than the caller has", []step{header("61")}, &habits.Options{MaxWait: time.Hour}, nil, true},
		{"a budget that says when", []step{down(&fault.BudgetError{Resource: "rate", Limit: 5, RetryAfter: 3 * time.Second})}, nil,
			[]time.Duration{3 * time.Second}, true},
	} {
		t.Run(tt.why, func(t *testing.T) {
			got := pauses(tt.steps, tt.o)
			assert.Equal(t, got, pauses(tt.steps, tt.o), "the same in each run")
			if !assert.Len(t, got, len(tt.most)) {
				return
			}
			for i, most := range tt.most {
				least := most
				if !tt.exact {
					least = most * 3 / 4
				}
				assert.True(t, least <= got[i] && got[i] <= most, "pause %d is %v, not %v to %v", i, got[i], least, most)
			}
		})
	}
}

// Who gives up during a pause does not wait for its end, and gets the failure.
func TestRetriesEndWithTheCaller(t *testing.T) {
	inBubble(t, map[string][]step{"get": {down(errOdd)}}, func(ctx context.Context, tools chaos.ToolRegistry, r *run) {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(100*time.Millisecond, cancel)
		assert.Equal(t, "error: something went wrong", ask(ctx, tools, "get", order))
		assert.Equal(t, 100*time.Millisecond, time.Since(r.began))
	}, habits.Retries(nil))
}

// A tool of two steps may return the error of the second, as it is: the first is done. So no error of a part tells that
// nothing was done, whatever it is; only the tool itself does.
func TestWhatWasNotDone(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for undone, steps := range map[bool][]step{
		true: {down(habits.ErrNotDone), down(fmt.Errorf("the desk is closed: %w", habits.ErrNotDone)), down(errors.Join(refused, habits.ErrNotDone))},
		false: {
			lost(refused), lost(&url.Error{Op: "Post", URL: "https://mail.example", Err: refused}), lost(fault.ErrConnectionRefused),
			lost(&chaoshttp.HTTPError{StatusCode: 429}), lost(&chaoshttp.HTTPError{StatusCode: 503, Header: http.Header{"Retry-After": {"2"}}}),
			lost(&fault.BudgetError{Resource: "rate", Limit: 5, RetryAfter: time.Second}), lost(errors.New("nothing was done")),
			lost(errors.New("429 Too Many Requests")), says(`{"error":{"code":429,"message":"slow down"}}`),
		},
	} {
		for i, s := range steps {
			var got string
			r := inBubble(t, map[string][]step{"note": {s}}, func(ctx context.Context, tools chaos.ToolRegistry, _ *run) {
				got = ask(ctx, tools, "note", order)
			}, habits.Retries(nil))
			assert.Equal(t, undone, len(r.calls()) == 2, "%v %d: %v", undone, i, got)
			assert.Len(t, r.done, 1)
			told := inBubble(t, map[string][]step{"note": {s}}, func(ctx context.Context, tools chaos.ToolRegistry, _ *run) {
				got = ask(ctx, tools, "note", order)
			}, habits.TellFailures(nil))
			if strings.HasPrefix(got, `{"error":{"tool":`) {
				assert.Equal(t, undone, strings.Contains(got, `"done":"no"`), "%v", got)
			}
			assert.Len(t, told.calls(), 1)
		}
	}
}
