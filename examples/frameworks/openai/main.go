// Command openai runs an agent on OpenAI's Go client while the provider fails.
//
//	go run .
//
// Only the line that makes the client changes: its transport is an injection
// point (chaoshttp.NewTransport), so every wire attempt meets the rules of the
// injector in the request's context. The agent, with its loop over tool calls,
// is unchanged, and so is the client, which tries again twice by itself:
// attempts on the wire are not calls of the model.
//
// The provider is a scripted model in the same process (chaoshttp/modeltest): no
// key is needed and nothing is sent. With your own key, leave WithBaseURL out and
// put http.DefaultTransport in its place.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/when"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// newClient makes a client whose calls are injection points.
func newClient(base http.RoundTripper) openai.Client {
	return openai.NewClient(
		option.WithAPIKey("sk-none"), option.WithBaseURL("https://api.openai.example/v1/"),
		option.WithHTTPClient(&http.Client{Transport: chaoshttp.NewTransport(base, nil)}),
	)
}

// run asks the same question in several scenarios.
func run(ctx context.Context, out io.Writer) error {
	for _, w := range []struct {
		name string
		rule chaos.Rule
	}{
		{"one rate limit",
			chaos.Rule{When: when.Nth(1),
				Fault: chaoshttp.APIError(chaoshttp.OpenAI, chaoshttp.KindRateLimit,
					&chaoshttp.StatusOptions{RetryAfter: time.Second})}},
		{"the answer is cut", chaos.Rule{When: when.Nth(2), Fault: chaoshttp.CutCompletion(12)}},
		{"a tool that is none", chaos.Rule{When: when.Nth(1), Fault: chaoshttp.HallucinateToolCall("orders_find")}},
		{"the model refuses", chaos.Rule{Fault: chaoshttp.RefuseCompletion("")}},
	} {
		w.rule.Target = "POST api.openai.example/*"
		plan, err := chaos.NewPlan(1, w.rule)
		if err != nil {
			return err
		}
		in := plan.Injector(w.name, &chaos.InjectorOptions{RecordAll: true})
		answer, err := runOnce(chaos.NewContext(ctx, in))
		fmt.Fprintf(out, "%s, %d attempts on the wire: %q %v\n", w.name, len(in.Events()), answer, err)
	}
	return nil
}

// runOnce asks one question, with a provider of its own.
func runOnce(ctx context.Context) (string, error) {
	return ask(ctx, newClient(newProvider()), "Where is order 1042?")
}
