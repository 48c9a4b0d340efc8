package fault_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// shop has a state that calls write and read, and a history of what reached it.
type shop struct {
	mu      sync.Mutex
	state   map[string]string
	reached []string
	write   func(context.Context, string) (string, error)
	read    func(context.Context, string) (string, error)
	tools   chaos.ToolRegistry
}

type entry struct {
	ID     string `json:"id"`
	Status string `json:"status,omitempty"`
}

// newShop has orders.set and orders.get, as keyed functions and as tools.
func newShop(t testing.TB) *shop {
	s := &shop{state: map[string]string{}}
	o := &chaos.WrapOptions[string]{Key: func(arg string) uint64 { return uint64(len(arg))<<32 | uint64(arg[len(arg)-1]) }}
	s.write = chaos.WrapWith("orders.set", func(_ context.Context, arg string) (string, error) {
		id, status, _ := strings.Cut(arg, "=")
		return s.do("set "+arg, func() string { s.state[id] = status; return "ok " + arg }), nil
	}, o)
	s.read = chaos.WrapWith("orders.get", func(_ context.Context, id string) (string, error) {
		return s.do("get "+id, func() string { return s.state[id] }), nil
	}, o)
	r, err := chaos.NewRegistry(
		chaos.Func(chaos.Tool{Name: "orders.set", Effect: chaos.EffectDone}, func(_ context.Context, e entry) (string, error) {
			return s.do("set "+e.ID+"="+e.Status, func() string { s.state[e.ID] = e.Status; return "ok" }), nil
		}),
		chaos.Func(chaos.Tool{Name: "orders.get", Effect: chaos.EffectNone}, func(_ context.Context, e entry) (entry, error) {
			return entry{e.ID, s.do("get "+e.ID, func() string { return s.state[e.ID] })}, nil
		}))
	require.NoError(t, err)
	s.tools = chaos.WrapRegistry(r, nil)
	return s
}

func (s *shop) do(what string, work func() string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reached = append(s.reached, what)
	return work()
}

// everyOrder is withRules over all calls to the shop.
func everyOrder(t testing.TB, f chaos.Fault) (context.Context, *chaos.Injector) {
	return withRules(t, chaos.Rule{Target: "orders.*", Fault: f})
}

// told are the deliveries and notes of the events in order.
func told(in *chaos.Injector) (lines []string) {
	for _, e := range in.Events() {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %v %s", strings.TrimPrefix(e.Target, "orders."), e.Delivered, e.Note)))
	}
	return lines
}

func TestLoseRequest(t *testing.T) {
	everywhere(t, func(t *testing.T, _ string, d *desk, call ask) {
		ctx, in := withRules(t, chaos.Rule{Fault: fault.LoseRequest(time.Second)})
		assert.Equal(t, time.Second, took(func() {
			_, err := call(ctx)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, fault.ErrTimeout.Error(), err.Error(), "as a lost reply reads")
		}))
		assert.Zero(t, d.calls)
		assert.Equal(t, "lost_request", onlyEvent(t, in).Fault)
	})
}

// Delivered twice, a callee sees two requests and its caller the second reply.
func TestDeliverTwice(t *testing.T) {
	for name, point := range points() {
		if name == "WrapStream" {
			continue // its items went out with the first execution
		}
		t.Run(name, func(t *testing.T) {
			d := &desk{reply: []string{"shipped", "already shipped"}}
			ctx, in := withRules(t, chaos.Rule{Fault: fault.DeliverTwice()})
			status, err := point(t, d)(ctx)
			assert.NoError(t, err)
			assert.Equal(t, "already shipped", status)
			assert.Equal(t, 2, d.calls)
			assert.True(t, onlyEvent(t, in).Delivered)
		})
	}
}

// A silent no-op reads as a success, and nothing was done.
func TestSilentNoOp(t *testing.T) {
	t.Run("with a result", func(t *testing.T) {
		for name, point := range points() {
			if name == "WrapStream" {
				continue // see below
			}
			d := &desk{}
			ctx, in := withRules(t, chaos.Rule{Fault: fault.SilentNoOpWith("delivered")})
			status, err := point(t, d)(ctx)
			assert.NoError(t, err)
			assert.Equal(t, "delivered", status)
			assert.Zero(t, d.calls)
			e := onlyEvent(t, in)
			assert.True(t, e.Delivered)
			assert.Equal(t, chaos.EffectNone, e.Effect)
			assert.Equal(t, chaos.OutcomeOK, e.Outcome)
		}
	})
	t.Run("with nothing", func(t *testing.T) {
		everywhere(t, func(t *testing.T, _ string, d *desk, call ask) {
			ctx, in := withRules(t, chaos.Rule{Fault: fault.SilentNoOpWith(nil)})
			status, err := call(ctx)
			assert.NoError(t, err)
			assert.Empty(t, status)
			assert.Zero(t, d.calls)
			assert.True(t, onlyEvent(t, in).Delivered)
		})
	})
	t.Run("learned", func(t *testing.T) {
		s := newShop(t)
		ctx, in := everyOrder(t, fault.SilentNoOp())
		for _, arg := range []string{`{"id":"7","status":"open"}`, `{"id":"7","status":"paid"}`} {
			doc, err := s.tools.CallTool(ctx, "orders.set", json.RawMessage(arg))
			assert.NoError(t, err)
			assert.JSONEq(t, `"ok"`, string(doc))
			clear(doc) // what a caller does to its result is its own affair
		}
		doc, err := s.tools.CallTool(ctx, "orders.set", json.RawMessage(`{"id":"7","status":"sent"}`))
		assert.NoError(t, err)
		assert.JSONEq(t, `"ok"`, string(doc))
		assert.Equal(t, "open", s.state["7"], "only the first was executed")
		assert.Equal(t, []string{"set false the call went through, to learn what a success looks like", "set true", "set true"}, told(in))
	})
	t.Run("nothing is learned from a failure", func(t *testing.T) {
		d := &desk{fail: context.Canceled}
		ctx, in := withRules(t, chaos.Rule{Fault: fault.SilentNoOp()})
		for range 2 {
			_, err := wrapped(t, d)(ctx)
			assert.ErrorIs(t, err, context.Canceled)
		}
		assert.Equal(t, 2, d.calls)
		assert.Len(t, in.Undelivered(), 1)
	})
}

// A request whose caller has gone is executed before a later call, its retry is
// executed too, and a read finds both.
func TestLateResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		ctx, in := everyOrder(t, fault.LateResult("orders.set", time.Second, 5*time.Second))
		assert.Equal(t, time.Second, took(func() {
			_, err := s.write(ctx, "7=open")
			assert.ErrorIs(t, err, context.DeadlineExceeded)
		}))
		_, err := s.write(ctx, "7=open") // the retry
		assert.NoError(t, err)
		assert.Equal(t, []string{"set 7=open"}, s.reached, "of the retry")
		_, _ = s.read(ctx, "7")
		time.Sleep(4 * time.Second)
		got, err := s.read(ctx, "7")
		assert.NoError(t, err)
		assert.Equal(t, "open", got)
		assert.Equal(t, []string{"set 7=open", "get 7", "set 7=open", "get 7"}, s.reached, "the late one came before the read")
		assert.Equal(t, []string{"set true", "set false", "get false",
			"get false before it, a late call of orders.set was executed"}, told(in))
		assert.Equal(t, chaos.EffectUnknown, in.Events()[0].Effect, "it may arrive yet")
	})
}

// Every kind of injection point can be late, a stream too.
func TestLateResultEverywhere(t *testing.T) {
	everywhere(t, func(t *testing.T, _ string, d *desk, call ask) {
		ctx, _ := withRules(t, chaos.Rule{Fault: fault.LateResult(target, time.Second, 2*time.Second)})
		_, err := call(ctx)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Zero(t, d.calls)
		time.Sleep(time.Minute)
		status, err := call(ctx)
		assert.NoError(t, err)
		assert.Equal(t, "shipped", status)
		assert.Equal(t, 2, d.calls)
	})
}

// A late request does not enter a cell that has ended, and is not late after
// all where the injector is disarmed.
func TestLateResultAtTheEnd(t *testing.T) {
	everywhere(t, func(t *testing.T, _ string, d *desk, call ask) {
		ctx, in := withRules(t, chaos.Rule{Fault: fault.LateResult(target, time.Hour, 2*time.Hour)})
		time.AfterFunc(moment, in.Disarm)
		assert.Equal(t, moment, took(func() {
			_, err := call(ctx)
			assert.NoError(t, err)
		}))
		assert.Equal(t, 1, d.calls)
		in.Close()
		_, err := call(ctx)
		assert.ErrorIs(t, err, chaos.ErrCellEnded)
		assert.Equal(t, 1, d.calls)
	})
}

// Late requests of many callers at once are executed once each, by whoever comes.
func TestLateResultsOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		ctx, _ := everyOrder(t, fault.LateResult("orders.set", time.Second, time.Second+1))
		var callers sync.WaitGroup
		for i := range 20 {
			callers.Go(func() {
				lane := chaos.WithLane(ctx, fmt.Sprint(i))
				_, err := s.write(lane, fmt.Sprintf("%d=open", i))
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				time.Sleep(time.Duration(i%3) * time.Millisecond)
				_, err = s.read(lane, fmt.Sprint(i))
				assert.NoError(t, err)
			})
		}
		callers.Wait()
		time.Sleep(time.Minute)
		_, _ = s.read(ctx, "0")
		assert.Len(t, s.state, 20)
		assert.Len(t, s.reached, 41)
	})
}

// A callee that does not notice its cancellation works on, and its caller waits.
func TestIgnoreCancel(t *testing.T) {
	for _, c := range []struct {
		why       string
		patience  time.Duration
		delivered bool
	}{{"the caller gives up first", time.Second, true}, {"the callee is done first", time.Hour, false}} {
		t.Run(c.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				work := chaos.Wrap(target, func(ctx context.Context, _ int) (string, error) {
					select {
					case <-ctx.Done():
						return "", ctx.Err()
					case <-time.After(time.Minute):
						return "done", nil
					}
				})
				ctx, in := withRules(t, chaos.Rule{Fault: fault.IgnoreCancel()})
				ctx, cancel := context.WithTimeout(ctx, c.patience)
				defer cancel()
				assert.Equal(t, time.Minute, took(func() {
					got, err := work(ctx, 0)
					assert.NoError(t, err)
					assert.Equal(t, "done", got)
				}))
				assert.Equal(t, c.delivered, onlyEvent(t, in).Delivered)
			})
		})
	}
}

// The source of a stream may not notice; its consumer's waits do.
func TestIgnoreCancelOnAStream(t *testing.T) {
	for _, other := range []chaos.Fault{fault.HangAtItem(1), fault.LoseReplyAfter(time.Hour)} {
		synctest.Test(t, func(t *testing.T) {
			src := &source{words: strings.Split(strings.Repeat("a", 1000), "")}
			slow := func(ctx context.Context, n int) iter.Seq2[string, error] {
				return func(yield func(string, error) bool) {
					for w, err := range src.stream(ctx, n) {
						if time.Sleep(time.Second); !yield(w, err) {
							return
						}
					}
				}
			}
			ctx, _ := withRules(t, chaos.Rule{Name: "deaf", Fault: fault.IgnoreCancel()}, chaos.Rule{Name: "other", Fault: other})
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			_, err := consume(chaos.WrapStream(target, slow)(ctx, 0), all)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Less(t, src.taken, 5)
		})
	}
}

// A read within the lag does not see its own write; later it does.
func TestDelayedVisibility(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		ctx, in := everyOrder(t, fault.DelayedVisibility("*.set", time.Second, nil))
		get := func(id string) string {
			doc, err := s.tools.CallTool(ctx, "orders.get", json.RawMessage(`{"id":"`+id+`"}`))
			require.NoError(t, err)
			var e entry
			require.NoError(t, json.Unmarshal(doc, &e))
			return e.Status
		}
		set := func(id, status string) {
			_, err := s.tools.CallTool(ctx, "orders.set", json.RawMessage(`{"id":"`+id+`","status":"`+status+`"}`))
			require.NoError(t, err)
		}
		assert.Equal(t, "", get("7"))
		set("7", "open")
		assert.Equal(t, "", get("7"), "not seen yet")
		assert.Equal(t, "", get("9"), "never read before: as it is")
		time.Sleep(time.Second)
		assert.Equal(t, "open", get("7"), "seen")
		set("7", "open")
		assert.Equal(t, "open", get("7"), "nothing changed, so nothing is hidden")
		assert.Equal(t, []string{"get false", "set false", "get true", "get false", "get false", "set false", "get false"}, told(in))
	})
}

// What was never read before the write shows as what the plan says.
func TestDelayedVisibilityOfNewThings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		ctx, in := everyOrder(t, fault.DelayedVisibility("orders.set", time.Second, "no such order"))
		_, _ = s.write(ctx, "7=open")
		got, err := s.read(ctx, "7")
		assert.NoError(t, err)
		assert.Equal(t, "no such order", got)
		time.Sleep(time.Second)
		got, _ = s.read(ctx, "7")
		assert.Equal(t, "open", got)
		change := in.Events()[1].Changes[0]
		assert.Equal(t, `"open" "no such order"`, fmt.Sprintf("%s %s", change.Before, change.After))
	})
}

// Of two calls at once the second is executed first; a call alone waits its time.
func TestReorderCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		ctx, in := everyOrder(t, fault.ReorderCalls(time.Second))
		var callers sync.WaitGroup
		for i := range 4 {
			callers.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				_, err := s.write(ctx, fmt.Sprintf("%d=open", i))
				assert.NoError(t, err)
			})
		}
		callers.Wait()
		assert.Equal(t, []string{"set 1=open", "set 0=open", "set 3=open", "set 2=open"}, s.reached)
		assert.Equal(t, time.Second, took(func() { _, _ = s.write(ctx, "8=open") }))
		assert.Equal(t, []string{"set true", "set false", "set true", "set false", "set true not overtaken within 1s"}, told(in))
	})
}

// A call that is overtaken at the very instant it came has not waited at all, and
// the fault is delivered all the same.
func TestReorderCallsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		ctx, in := everyOrder(t, fault.ReorderCalls(time.Second))
		go func() { _, _ = s.write(ctx, "0=open") }()
		synctest.Wait() // it is held
		_, err := s.write(ctx, "1=open")
		assert.NoError(t, err)
		synctest.Wait()
		assert.Equal(t, []string{"set 1=open", "set 0=open"}, s.reached)
		assert.Equal(t, []string{"set true", "set false"}, told(in))
	})
}

// A held call ends with its context, and the next one waits in its turn.
func TestReorderCallsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		ctx, in := everyOrder(t, fault.ReorderCalls(time.Hour))
		ending, cancel := context.WithTimeout(ctx, moment)
		defer cancel()
		_, err := s.write(ending, "7=open")
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		time.AfterFunc(moment, in.Disarm)
		assert.Equal(t, moment, took(func() {
			_, err := s.write(ctx, "7=paid")
			assert.NoError(t, err)
		}))
		assert.Equal(t, []string{"set 7=paid"}, s.reached)
	})
}
