package chaos_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

func TestEventsOfARuleHaveItsPatternAndClass(t *testing.T) {
	var events []chaos.Event
	in := chaos.NewInjector(5, &chaos.InjectorOptions{RecordAll: true, OnEvent: func(_ context.Context, e chaos.Event) { events = append(events, e) }})
	require.NoError(t, in.Register(chaos.Rule{Name: "down", Target: "pay.*", Fault: fault.Fail(errors.New("key sk-1"))}))
	assert.Equal(t, uint64(5), in.Seed())
	assert.Equal(t, []uint64{1, 2, 1}, []uint64{in.Count("a"), in.Count("a"), in.Count("b")})
	call := func(target string) {
		_, _ = chaos.Wrap(target, func(context.Context, int) (int, error) { return 1, nil })(chaos.NewContext(t.Context(), in), 1)
	}
	call("pay.refund")
	call("mail.send")
	require.Len(t, events, 2)
	assert.Equal(t, []any{"pay.*", chaos.ClassCrash}, []any{events[0].Pattern, events[0].Class})
	assert.Equal(t, []any{"", chaos.Class("")}, []any{events[1].Pattern, events[1].Class}, "no rule acted")
}

func TestEventsAsLogValues(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	log.Info("call", "event", chaos.Event{Target: "pay.refund", Rule: "slow", Fault: "latency", Class: chaos.ClassTiming, Layer: chaos.LayerTool,
		Start: 1e9, End: 3e9, Asked: 2e9, Spent: 2e9, Outcome: chaos.OutcomeOK, Delivered: true, Attempt: 1, Effect: chaos.EffectDone,
		Err: "key sk-1", Args: []byte(`{"card":1}`)})
	log.Info("call", "event", chaos.Event{Target: "mail.send", Outcome: chaos.OutcomeOK, Attempt: 1, HeldBack: []string{"a", "b"}})
	assert.Equal(t, `level=INFO msg=call event.target=pay.refund event.outcome=ok event.took=2s event.attempt=1 event.delivered=true event.layer=tool event.rule=slow event.fault=latency event.class=timing event.effect=done event.asked=2s event.spent=2s
level=INFO msg=call event.target=mail.send event.outcome=ok event.took=0s event.attempt=1 event.delivered=false event.heldBack="a, b"
`, out.String(), "without what may be secret: values and errors")
}

func TestArmed(t *testing.T) {
	kill := make(chan struct{})
	for _, row := range []struct {
		why  string
		o    *chaos.InjectorOptions
		do   func(*chaos.Injector)
		want bool
	}{
		{"a live injector is", nil, func(*chaos.Injector) {}, true},
		{"disarmed", nil, (*chaos.Injector).Disarm, false},
		{"armed again", nil, func(in *chaos.Injector) { in.Disarm(); in.Arm() }, true},
		{"it waits for Arm", &chaos.InjectorOptions{AwaitArm: true}, func(*chaos.Injector) {}, false},
		{"closed", nil, (*chaos.Injector).Close, false},
		{"killed", &chaos.InjectorOptions{Safeguards: &chaos.Safeguards{Kill: kill}}, func(*chaos.Injector) { close(kill) }, false},
	} {
		in := chaos.NewInjector(1, row.o)
		row.do(in)
		assert.Equal(t, row.want, in.Armed(), row.why)
	}
}
