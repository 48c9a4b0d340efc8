package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/replay"
)

// What a model's calls came to is what a client gets again from a model that always
// answers in full: over either provider's wire, and not from another model.
func TestFaultsOfAModel(t *testing.T) {
	for _, p := range []struct {
		url, model, result, filtered, failed string
		overloaded                           int
	}{
		{"https://api.openai.com/v1/chat/completions", "gpt-5.2",
			`{"choices":[{"finish_reason":%q,"message":{"content":"The t"}}]}`, "content_filter", `"type":"server_error"`, 503},
		{"https://api.anthropic.com/v1/messages", "claude-sonnet-4-5",
			`{"stop_reason":%q,"content":[{"type":"text","text":"The t"}]}`, "refusal", `"type":"overloaded_error"`, 529},
	} {
		t.Run(p.model, func(t *testing.T) {
			call := func(ending string) findings.Call {
				return findings.Call{Type: findings.Model, Tool: p.model, Result: json.RawMessage(fmt.Sprintf(p.result, ending))}
			}
			lost := func(e findings.CallError) findings.Call {
				return findings.Call{Type: findings.Model, Tool: p.model, Took: 9 * time.Second, Error: &e}
			}
			s := &replay.Session{Calls: []findings.Call{
				call("stop"), lost(findings.CallError{Status: p.overloaded, RetryAfter: 7 * time.Second}), call("length"),
				lost(findings.CallError{Text: "dial tcp: connect: connection refused"}), call(p.filtered),
				lost(findings.CallError{Text: "context deadline exceeded"}), lost(findings.CallError{Status: 418}), call("end_turn"),
				{Type: findings.Model, Tool: p.model + "-mini"},
			}}
			for i := range s.Calls {
				s.Calls[i].At = time.Duration(i) * time.Minute
			}
			rules, err := s.Faults(nil)
			require.NoError(t, err)
			got := askedTimes(t, throughJSON(t, rules), p.url, p.model, 8)
			assert.Equal(t, "200", got[0].status)
			assert.NotContains(t, got[0].text, `"length"`)
			assert.Equal(t, fmt.Sprint(p.overloaded)+" wait 7", got[1].status)
			assert.Contains(t, got[1].text, p.failed, "in the provider's words")
			cut := strings.Contains(got[2].text, `"length"`) || strings.Contains(got[2].text, `"max_tokens"`)
			assert.True(t, cut && strings.Contains(got[2].text, `"The t"`), got[2].text)
			assert.ErrorIs(t, got[3].err, syscall.ECONNREFUSED)
			assert.Contains(t, got[4].text, `"`+p.filtered+`"`)
			var timeout interface{ Timeout() bool }
			assert.True(t, errors.As(got[5].err, &timeout) && timeout.Timeout())
			assert.Equal(t, 9*time.Second, got[5].took)
			assert.Equal(t, "418", got[6].status)
			assert.Equal(t, got[0].text, got[7].text, "and nowhere else")
			for i, a := range askedTimes(t, throughJSON(t, rules), p.url, p.model+"-mini", 8) {
				assert.Equal(t, "200", a.status, "call %d of another model", i)
			}
		})
	}
}

type asked struct {
	status, text string
	err          error
	took         time.Duration
}

// askedTimes asks a model times times, one after the other.
func askedTimes(t *testing.T, plan *chaos.Plan, url, model string, times int) (all []asked) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		answers := modeltest.New(t, func(context.Context, modeltest.Request) (modeltest.Answer, error) {
			return modeltest.Answer{Text: "The teapot was refunded."}, nil
		})
		client := &http.Client{Transport: chaoshttp.NewTransport(answers, nil)}
		ctx := chaos.NewContext(t.Context(), plan.Injector("model/1", nil))
		for range times {
			body := fmt.Sprintf(`{"model":%q,"max_tokens":99,"messages":[{"role":"user","content":"Refund it."}]}`, model)
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
			require.NoError(t, err)
			begun := time.Now()
			response, err := client.Do(r)
			a := asked{err: err, took: time.Since(begun)}
			if err == nil {
				text, err := io.ReadAll(response.Body)
				require.NoError(t, errors.Join(err, response.Body.Close()))
				a.text, a.status = string(text), fmt.Sprint(response.StatusCode)
				if wait := response.Header.Get("Retry-After"); wait != "" {
					a.status += " wait " + wait
				}
			}
			all = append(all, a)
		}
	})
	return all
}
