package suite_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
	"github.com/shakedown-go/shakedown/contract"
)

// asksModel is an agent that says what a model says, and may look why that stopped.
func asksModel(looks bool) contract.Agent {
	return func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
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
			Choices []struct {
				Message struct{ Content string }
				Reason  string `json:"finish_reason"`
			}
		}
		err = json.NewDecoder(resp.Body).Decode(&said)
		if looks && err == nil && said.Choices[0].Reason != "stop" {
			err = errors.New("the answer was cut")
		}
		return said.Choices[0].Message.Content, err
	}
}

// waits is an agent that gives a call a second, which heeds it or not.
func waits(heeds bool) contract.Agent {
	slow := chaos.Wrap("slow", func(ctx context.Context, _ int) (int, error) {
		if heeds {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		time.Sleep(time.Minute)
		return 0, nil
	})
	return func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, _ = slow(ctx, 1)
		return "done", nil
	}
}

// goesOn is an agent that calls a target when its time is over.
func goesOn(target string) contract.Agent {
	return func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return "done", chaos.Point(ctx, target)
	}
}

// passesOn is an agent that refunds, item by item, what a stream brings, and asks for it so often.
func passesOn(times int) contract.Agent {
	tokens := chaos.WrapStream("tokens", func(context.Context, int) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			_ = yield("1", nil) && yield("2", nil) && yield("3", nil)
		}
	})
	return func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
		for range times {
			var broken error
			for order, err := range tokens(ctx, 1) {
				if broken = err; err == nil {
					_, _ = calls(0, order)(ctx, prompt, tools)
				}
			}
			if broken == nil {
				break
			}
		}
		return "done", nil
	}
}
