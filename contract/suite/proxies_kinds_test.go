package suite_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/contract/suite"
)

// behindAProxy answers as tools and models do, with something that each lie can change.
func behindAProxy(t *testing.T) http.Handler {
	model := modeltest.New(t, modeltest.Script(modeltest.Answer{Text: "Shall I?",
		Calls: []modeltest.Call{{Name: "refund", Args: `{"order":"1042","amount":7}`}}}))
	calls := 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "completions"):
			model.ServeHTTP(w, r)
		case r.URL.Path == "/events":
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range 5 {
				fmt.Fprintf(w, "data: {\"n\": %d}\n\n", i)
				_ = http.NewResponseController(w).Flush()
			}
		default:
			calls++
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"status": "paid", "call": %d, "asked": %q, "currency": "EUR", "amount": 12.5, "weight": "3 kg",
				"note": "Zürich is not far, and the parcel was paid by card.", "date": "2026-03-04", "id": "A-1042", "customer_id": "C-7", "name": "Ann",
				"inner": "{\"amount\": 3.25}", "rows": [{"id": "A-1", "total": 3}, {"id": "A-2", "total": 4}, {"id": "A-3", "total": 9}]}`,
				calls, strings.ToUpper(string(body)))
		}
	})
}

func planOf(fault string) string {
	return `{"seed": "1", "rules": [{"target": "*", "fault": ` + fault + `}]}`
}

// delivers reports whether a fault of a kind, with the parameters of its example, is delivered on
// some request to a proxy.
func delivers(t *testing.T, fault string) (delivered bool) {
	plan, err := planjson.Decode([]byte(planOf(fault)), nil)
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		in := plan.Injector("cell", &chaos.InjectorOptions{RecordAll: true})
		handler := chaoshttp.InProcess(chaoshttp.Handler(behindAProxy(t), &chaoshttp.Options{Injector: in,
			Target: func(r *http.Request) string { return strings.Trim(r.URL.Path, "/") }}))
		client := &http.Client{Transport: handler}
		send := func(path, body string) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			r, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://tools.test/"+path, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			if answer, err := client.Do(r); err == nil {
				_, _ = io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			}
		}
		for range 3 {
			send("refund", `{"order": "1042"}`)
			send("orders.set", `{"order": "1043"}`)
			send("lookup", `{"order": "1043"}`)
			send("events", "{}")
			for _, stream := range []string{"true", "false"} {
				send("v1/chat/completions", `{"model": "m", "stream": `+stream+`, "messages": [{"role": "user", "content": "hi"}],
					"tools": [{"type": "function", "function": {"name": "refund", "parameters": {"type": "object"}}}]}`)
			}
		}
		synctest.Wait()
		for e := range slices.Values(in.Events()) {
			delivered = delivered || e.Delivered
		}
		_ = handler.Close()
	})
	return delivered
}

// Load refuses the kinds that no request to a proxy meets, and no others.
func TestKindsThatAProxyDelivers(t *testing.T) {
	other := map[string]string{ // kinds that these requests do not show, with the reason
		"ignored_cancellation": "nobody gives up",
		"token_budget":         "they use too few tokens",
		"time_budget":          "they take no time",
		"concurrency_limit":    "they come one after the other",
		"tool_removed":         "it is about a tool of another name",
		"stale_approval":       "none is an approval",
		"crossed_result":       "they are equal",
	}
	for _, row := range planjson.Rows() {
		fault := fmt.Sprintf(`{"kind": %q, "params": %s}`, row.Kind, cmp.Or(row.Example, "{}"))
		if _, err := planjson.Decode([]byte(planOf(fault)), nil); err != nil {
			continue // a trigger, or a fault that holds code
		}
		s := shopBehindProxy(t, "{type: completes}", "{name: one, rules: [{target: payments.refund, fault: "+fault+"}]}", stubborn)
		_, err := suite.Load(written(t, "s.yaml", s.text), nil)
		if err != nil {
			assert.Contains(t, err.Error(), fmt.Sprintf("the fault %q cannot be delivered through a proxy: ", row.Kind))
		}
		if row.Kind == "panic" {
			assert.Error(t, err, "it would end a handler, and no agent has that")
			continue
		}
		assert.Equal(t, delivers(t, fault) || other[row.Kind] != "", err == nil, row.Kind)
	}
}
