package invariant

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
)

// endless is a weak agent that is given its context.
type endless struct {
	weak
	own contract.Agent // nil: that of weak
}

func (w endless) run(t *testing.T) *contract.Report {
	return w.in(t, func(ctx context.Context) (*contract.World, error) {
		world, err := w.world(ctx)
		if w.own != nil && err == nil {
			world.Agent = w.own
		}
		return world, err
	}, "Refund order 1042.")
}

func allWeakAgents() map[string]endless {
	all := weakEnds()
	for name, w := range weakAgents() {
		all[name] = endless{weak: w}
	}
	return all
}

// weakEnds are agents that do not look at the end of a context, of an answer or of a stream.
func weakEnds() map[string]endless {
	const high = contract.High
	slow := chaos.Wrap("slow", func(context.Context, int) (int, error) { time.Sleep(time.Minute); return 0, nil })
	tokens := chaos.WrapStream("tokens", func(context.Context, int) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			for word := range strings.FieldsSeq("shipped on Monday") {
				if !yield(word, nil) {
					return
				}
			}
		}
	})
	first := func(target string, f chaos.Fault) chaos.Rule {
		return chaos.Rule{Target: target, When: when.Nth(1), Fault: f}
	}
	return map[string]endless{
		"CallsWithin": {weak: weak{inv: CallsWithin("x", high, time.Second, "slow"), rule: down("orders.get")},
			own: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				if _, err := tools.CallTool(ctx, "orders.get", nil); err != nil {
					_, _ = slow(ctx, 1)
				}
				return "done", nil
			}},
		"NothingAfterEnd": {weak: weak{inv: NothingAfterEnd("x", high), rule: first("orders.get", fault.Hang())},
			own: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				for _, err := tools.CallTool(ctx, "orders.get", nil); err != nil; _, err = tools.CallTool(ctx, "orders.get", nil) {
					time.Sleep(time.Second)
				}
				return "done", nil
			}},
		"NoCutAnswer": {weak: weak{inv: NoCutAnswer("x", high, nil), rule: first("POST *", chaoshttp.CutCompletion(8))},
			own: func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
				model := modeltest.New(nil, modeltest.Script(modeltest.Answer{Text: "Order 1042 was shipped."}))
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://model.example/v1/chat/completions",
					strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"Where?"}]}`))
				if err != nil {
					return "", err
				}
				resp, err := chaoshttp.NewTransport(model, nil).RoundTrip(req)
				if err != nil {
					return "", err
				}
				defer resp.Body.Close()
				var said struct {
					Choices []struct{ Message struct{ Content string } }
				}
				err = json.NewDecoder(resp.Body).Decode(&said)
				return said.Choices[0].Message.Content, err
			}},
		"EmitsOnce": {weak: weak{inv: EmitsOnce("x", high, "tokens", func(s shop) []string { return slices.Clone(s.Refunds) }), rule: first("tokens", fault.CutAfter(2))},
			own: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
				for range 2 {
					var broken error
					for _, err := range tokens(ctx, 1) {
						if broken = err; err == nil {
							_, _ = tools.CallTool(ctx, "refund", nil) // it passes a part on
						}
					}
					if broken == nil {
						break
					}
				}
				return "done", nil
			}},
	}
}
