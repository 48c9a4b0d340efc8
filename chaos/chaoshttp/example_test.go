package chaoshttp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// twice asks a model, and once more when that fails.
func twice(ctx context.Context, client *http.Client) (string, error) {
	var failed error
	for range 2 {
		const question = `{"model":"gpt-4o","messages":[{"role":"user","content":"Where is order 7?"}]}`
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.openai.com/v1/chat/completions", strings.NewReader(question))
		if err != nil {
			return "", err
		}
		resp, err := client.Do(req)
		if err != nil {
			failed = err
			continue
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		switch {
		case err != nil:
			failed = err
		case resp.StatusCode != http.StatusOK:
			failed = fmt.Errorf("%s, retry after %s s", resp.Status, resp.Header.Get("Retry-After"))
		default:
			return string(body), nil
		}
		fmt.Println(failed)
	}
	return "", failed
}

// A provider that limits the first call, and is simulated in the same process.
func ExampleNewTransport() {
	provider := chaoshttp.InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "It was shipped.") }))
	defer provider.Close()
	client := &http.Client{Transport: chaoshttp.NewTransport(provider, nil)}

	plan, err := chaos.NewPlan(1, chaos.Rule{
		Name: "limited", Target: "POST api.openai.com/v1/chat/completions", When: when.Nth(1),
		Fault: chaoshttp.APIError(chaoshttp.OpenAI, chaoshttp.KindRateLimit, &chaoshttp.StatusOptions{RetryAfter: 20 * time.Second}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	in := plan.Injector("example", &chaos.InjectorOptions{RecordAll: true})
	fmt.Println(twice(chaos.NewContext(context.Background(), in), client))
	for _, e := range in.Events() {
		fmt.Println(e.Attempt, e.Outcome, e.Layer, e.Target)
	}
	// Output:
	// 429 Too Many Requests, retry after 20 s
	// It was shipped. <nil>
	// 1 injected llm POST api.openai.com/v1/chat/completions#gpt-4o
	// 2 ok llm POST api.openai.com/v1/chat/completions#gpt-4o
}

// A real server whose second answer breaks off: its client knows nothing of that.
func ExampleHandler() {
	plan, err := chaos.NewPlan(1, chaos.Rule{Target: "GET */report", When: when.Nth(2), Fault: chaoshttp.CutBody(6)})
	if err != nil {
		fmt.Println(err)
		return
	}
	report := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "first, second, third") })
	server := httptest.NewServer(chaoshttp.Handler(report, &chaoshttp.Options{Injector: plan.Injector("example", nil)}))
	defer server.Close()
	for range 2 {
		resp, err := http.Get(server.URL + "/report")
		if err != nil {
			fmt.Println(err)
			return
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Printf("%q %v\n", body, err)
	}
	// Output:
	// "first, second, third" <nil>
	// "first," unexpected EOF
}

// A quota, and a login that expires, are a status with a trigger.
func ExampleStatus() {
	plan, err := chaos.NewPlan(1,
		chaos.Rule{Target: "* api.example.com/*", When: when.After(2), Fault: chaoshttp.Status(429, &chaoshttp.StatusOptions{RetryAfter: time.Hour})},
		chaos.Rule{Target: "* login.example.com/*", When: when.After(1), Fault: chaoshttp.Status(401, nil)},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	server := chaoshttp.InProcess(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	client := &http.Client{Transport: chaoshttp.NewTransport(server, &chaoshttp.Options{Injector: plan.Injector("example", nil)})}
	for _, host := range []string{"api", "api", "api", "login", "login"} {
		resp, err := client.Get("https://" + host + ".example.com/")
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
		fmt.Printf("%s: %s %q\n", host, resp.Status, resp.Header.Get("Retry-After"))
	}
	// Output:
	// api: 200 OK ""
	// api: 200 OK ""
	// api: 429 Too Many Requests "3600"
	// login: 200 OK ""
	// login: 401 Unauthorized ""
}

// complete sends a chat request to a provider in the same process, and prints the
// events of the answer.
func complete(rule chaos.Rule) {
	provider := chaoshttp.InProcess(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, word := range []string{"The", " order", " was", " shipped."} {
			fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%q},\"finish_reason\":null}]}\n\n", word)
		}
		fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer provider.Close()
	plan, err := chaos.NewPlan(1, rule)
	if err != nil {
		fmt.Println(err)
		return
	}
	in := plan.Injector("example", nil)
	client := &http.Client{Transport: chaoshttp.NewTransport(provider, &chaoshttp.Options{Injector: in})}
	resp, err := client.Post("https://llm.example/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	for line := range strings.Lines(string(body)) {
		if line != "\n" {
			fmt.Print(line)
		}
	}
	fmt.Println("error:", err)
	for _, e := range in.Events() {
		fmt.Println(e.Fault, e.Delivered, len(e.Changes))
	}
}

// A proxy whose own upstream broke ends the stream in good order. What is
// missing is all that tells.
func ExampleCutStream() {
	complete(chaos.Rule{Target: "POST llm.example/*", Fault: chaoshttp.CutStream(2)})
	// Output:
	// data: {"choices":[{"delta":{"content":"The"},"finish_reason":null}]}
	// data: {"choices":[{"delta":{"content":" order"},"finish_reason":null}]}
	// error: <nil>
	// cut_stream true 1
}

// The limit of tokens is met. The same value serves an answer that is not
// streamed, and the messages of Anthropic.
func ExampleCutCompletion() {
	complete(chaos.Rule{Target: "POST llm.example/*#m", Fault: chaoshttp.CutCompletion(6)})
	// Output:
	// data: {"choices":[{"delta":{"content":"The"},"finish_reason":null}]}
	// data: {"choices":[{"delta":{"content":" or"},"finish_reason":null}]}
	// data: {"choices":[{"delta":{"content":""},"finish_reason":null}]}
	// data: {"choices":[{"delta":{"content":""},"finish_reason":null}]}
	// data: {"choices":[{"delta":{},"finish_reason":"length"}]}
	// data: [DONE]
	// error: <nil>
	// cut_completion true 4
}
