package chaoshttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
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

// The error of a fault is that of the real failure.
func ExampleRefused() {
	in := chaos.NewInjector(1, nil)
	if err := in.Register(chaos.Rule{Target: "* 10.0.0.7:8080/*", Fault: chaoshttp.Refused()}); err != nil {
		fmt.Println(err)
		return
	}
	client := &http.Client{Transport: chaoshttp.NewTransport(nil, &chaoshttp.Options{Injector: in})}
	_, err := client.Get("http://10.0.0.7:8080/health")
	fmt.Println(err)
	fmt.Println(errors.Is(err, syscall.ECONNREFUSED))
	// Output:
	// Get "http://10.0.0.7:8080/health": dial tcp 10.0.0.7:8080: connect: connection refused
	// true
}

// A handler without sockets, whose answer is read while it is written. In a
// bubble of testing/synctest the hours would take no time.
func ExampleServe() {
	server := chaoshttp.InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, word := range []string{"first", "second"} {
			fmt.Fprintln(w, word)
			http.NewResponseController(w).Flush()
		}
	}))
	resp, err := (&http.Client{Transport: server}).Get("http://example.com/words")
	if err != nil {
		fmt.Println(err)
		return
	}
	words, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	fmt.Printf("%q %v %v\n", words, err, server.Close())
	// Output: "first\nsecond\n" <nil> <nil>
}
