package fault_test

import (
	"context"
	"encoding/json"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/stretchr/testify/require"
)

// target is the injection point of all tests here.
const target = "orders.status"

// desk is the callee: it counts how often it was reached.
type desk struct {
	calls int
	fail  error
	reply []string // one after the other, the last for ever
}

func (d *desk) status(context.Context, string) (string, error) {
	d.calls++
	if d.fail != nil {
		return "", d.fail
	}
	if len(d.reply) == 0 {
		return "shipped", nil
	}
	return d.reply[min(d.calls, len(d.reply))-1], nil
}

// ask is one way of asking the desk through an injection point.
type ask func(ctx context.Context) (string, error)

// points are the kinds of injection point that a fault must serve alike.
func points() map[string]func(testing.TB, *desk) ask {
	return map[string]func(testing.TB, *desk) ask{
		"Wrap": wrapped, "WrapDispatch": dispatched, "WrapRegistry": registered, "WrapStream": streamed,
	}
}

func wrapped(_ testing.TB, d *desk) ask {
	fn := chaos.Wrap(target, d.status)
	return func(ctx context.Context) (string, error) { return fn(ctx, "1042") }
}

func dispatched(_ testing.TB, d *desk) ask {
	fn := chaos.WrapDispatch(func(ctx context.Context, name string, args map[string]string) (string, error) {
		return d.status(ctx, args["order"])
	})
	return func(ctx context.Context) (string, error) {
		return fn(ctx, target, map[string]string{"order": "1042"})
	}
}

func registered(t testing.TB, d *desk) ask {
	type in struct {
		Order string `json:"order"`
	}
	r, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: target, Effect: chaos.EffectDone},
		func(ctx context.Context, v in) (string, error) { return d.status(ctx, v.Order) }))
	require.NoError(t, err)
	tools := chaos.WrapRegistry(r, nil)
	return func(ctx context.Context) (status string, err error) {
		doc, err := tools.CallTool(ctx, target, json.RawMessage(`{"order":"1042"}`))
		if err == nil {
			err = json.Unmarshal(doc, &status)
		}
		return status, err
	}
}

func streamed(_ testing.TB, d *desk) ask {
	fn := chaos.WrapStream(target, func(ctx context.Context, order string) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) { yield(d.status(ctx, order)) }
	})
	return func(ctx context.Context) (status string, err error) {
		for status, err = range fn(ctx, "1042") {
			if err != nil {
				return "", err
			}
		}
		return status, err
	}
}

// everywhere runs a test at each kind of injection point, in virtual time. A
// goroutine that is still there at its end fails it.
func everywhere(t *testing.T, test func(t *testing.T, point string, d *desk, call ask)) {
	for name, point := range points() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &desk{}
				test(t, name, d, point(t, d))
			})
		})
	}
}

// withRules makes an injector of rules over the target, in a context.
func withRules(t testing.TB, rules ...chaos.Rule) (context.Context, *chaos.Injector) {
	t.Helper()
	for i := range rules {
		if rules[i].Target == "" {
			rules[i].Target = target
		}
	}
	p, err := chaos.NewPlan(1, rules...)
	require.NoError(t, err)
	in := p.Injector("cell", &chaos.InjectorOptions{RecordAll: true, KeepValues: true})
	return chaos.NewContext(t.Context(), in), in
}

// onlyEvent is the event of the one call there was.
func onlyEvent(t testing.TB, in *chaos.Injector) chaos.Event {
	t.Helper()
	events := in.Events()
	require.Len(t, events, 1)
	return events[0]
}

// took tells how long fn takes.
func took(fn func()) time.Duration {
	start := time.Now()
	fn()
	return time.Since(start)
}

func add(suffix string) chaos.Fault {
	return fault.Mutate("add "+suffix, func(s string) string { return s + suffix })
}
