package modeltest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
)

// Whatever a client sends, it gets an answer or the provider's error, the same one
// each time, and the function sees a conversation in order.
func FuzzRequest(f *testing.F) {
	all := dialects()
	for i, d := range all {
		c := conversation{tools: []string{"a"}, messages: []message{{Role: "user", Text: "Hi"}, {Role: "assistant", Calls: []call{{"c1", "a", "{}"}}}, {Role: "tool", CallID: "c1", Text: "{}"}}}
		f.Add(uint(i), true, document(d.ask(c, true)))
		f.Add(uint(i), false, document(d.ask(c, false)))
		for _, row := range refusals()[d.api] {
			f.Add(uint(i), false, row.body)
		}
	}
	f.Fuzz(func(t *testing.T, which uint, stream bool, body string) {
		d := all[which%uint(len(all))]
		var asked *modeltest.Request
		m := modeltest.New(t, func(_ context.Context, r modeltest.Request) (answer, error) {
			asked = &r
			a := answer{Text: "Hello there."}
			for _, tool := range r.Tools {
				a.Calls = append(a.Calls, call{Name: tool.Name})
			}
			return a, nil
		})
		status, _, got := post(t, m, d.path(stream), body)
		again, _, same := post(t, m, d.path(stream), body)
		require.Equal(t, status, again)
		require.Equal(t, got, same)
		if status != http.StatusOK {
			require.Nil(t, asked)
			require.Equal(t, http.StatusBadRequest, status)
			var doc obj
			require.NoError(t, unmarshal(got, &doc))
			require.NotNil(t, doc["error"])
			return
		}
		require.True(t, json.Valid([]byte(body)), "only JSON is answered")
		if !asked.Stream {
			require.True(t, json.Valid([]byte(got)))
		}
		require.True(t, strings.Contains(got, "Hello "))
		requireOrder(t, asked)
	})
}

// requireOrder holds that every call has one result, behind it, and the turn is
// counted from the assistant's messages.
func requireOrder(t *testing.T, r *modeltest.Request) {
	results, turn := map[string]int{}, 1
	for _, m := range r.Messages {
		switch m.Role {
		case "assistant":
			turn++
			for _, c := range m.Calls {
				_, known := results[c.ID]
				require.False(t, known, "ID %q is there twice", c.ID)
				results[c.ID] = 0
			}
		case "tool":
			_, known := results[m.CallID]
			require.True(t, known, "the result %q comes before its call", m.CallID)
			results[m.CallID]++
		default:
			require.Contains(t, []string{"system", "user"}, m.Role)
			require.Empty(t, m.Calls)
		}
	}
	for id, n := range results {
		require.Equal(t, 1, n, id)
	}
	require.Equal(t, turn, r.Turn)
	require.NotEmpty(t, r.Messages)
}
