package chaoshttp_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
)

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
