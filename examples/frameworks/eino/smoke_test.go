package eino

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

func TestSmoke(t *testing.T) {
	for _, rule := range []chaos.Rule{
		{Target: "nothing", Fault: fault.Panic("boom")},
		{Target: "refund", Fault: fault.Fail(fault.ErrUnavailable)},
		{Target: "refund", Fault: fault.Panic("boom")},
		{Target: "POST api.openai.example/*", When: when.First(3), Fault: chaoshttp.CutStream(1)},
		{Target: "POST api.openai.example/*", When: when.First(3), Fault: chaoshttp.CutStream(4)},
		{Target: "POST api.openai.example/*", Fault: chaoshttp.MalformToolCall()},
		{Target: "POST api.openai.example/*", Fault: chaoshttp.APIError(chaoshttp.OpenAI, chaoshttp.KindRateLimit, nil)},
	} {
		for _, streaming := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				plan, err := chaos.NewPlan(1, rule)
				require.NoError(t, err)
				in := plan.Injector("smoke", &chaos.InjectorOptions{RecordAll: true})
				ctx := chaos.NewContext(t.Context(), in)
				r, err := chaos.NewRegistry(
					chaos.Func(chaos.Tool{Name: "look_up", InputSchema: []byte(`{"type":"object","properties":{"order":{"type":"string"}}}`)}, func(context.Context, map[string]any) (string, error) { return "paid", nil }),
					chaos.Func(chaos.Tool{Name: "refund"}, func(context.Context, map[string]any) (string, error) { return "done", nil }))
				require.NoError(t, err)
				tools, err := Tools(ctx, chaos.WrapRegistry(r, nil))
				require.NoError(t, err)
				m := chaoshttp.InProcess(modeltest.New(t, modeltest.Script(
					modeltest.Answer{Calls: []modeltest.Call{{Name: "look_up", Args: `{"order":"1042"}`}}},
					modeltest.Answer{Calls: []modeltest.Call{{Name: "refund", Args: `{"order":"1042"}`}}},
					modeltest.Answer{Text: "All of it is refunded."})))
				defer m.Close()
				answer, err := Agent{Model: chaoshttp.NewTransport(m, nil), Tools: tools, Streaming: streaming}.Ask(ctx, "refund?")
				t.Log(rule.Target, rule.Fault, streaming, answer, err)
				for _, e := range in.Events() {
					t.Log(e.Target, e.Outcome, e.Delivered)
				}
			})
		}
	}
}
