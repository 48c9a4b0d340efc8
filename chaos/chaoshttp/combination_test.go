package chaoshttp_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lies"
)

// onHTTP are the faults that an HTTP call can meet: of each family one and
// of those that spoil bodies all.
func onHTTP() map[string]chaos.Fault {
	faults := map[string]chaos.Fault{
		"SlowFirstEvent": chaoshttp.SlowFirstEvent(time.Minute), "SlowEvents": chaoshttp.SlowEvents(time.Second), "CutEvent": chaoshttp.CutEvent(1),
		"CutStream": chaoshttp.CutStream(1), "MalformEvent": chaoshttp.MalformEvent(1), "DuplicateEvent": chaoshttp.DuplicateEvent(1),
		"SwapEvents": chaoshttp.SwapEvents(1), "DropTerminator": chaoshttp.DropTerminator(),
		"ErrorEvent":     chaoshttp.ErrorEvent(chaoshttp.OpenAI, chaoshttp.KindServer, 1),
		"CutCompletion":  chaoshttp.CutCompletion(3),
		"CutCompletion9": chaoshttp.CutCompletion(999), "GarbleCompletion": chaoshttp.GarbleCompletion(),
		"OnBody": onBody(fault.Replace(json.RawMessage(`{"id":8}`))), "OnBodyOfNothing": onBody(lies.FlipSign("$.absent")),
		"Delay": fault.Delay(time.Second), "Fail": fault.Fail(errors.New("down")), "Timeout": fault.Timeout(time.Second),
		"LoseReply": fault.LoseReply(), "Duplicate": fault.Duplicate(), "DeliverTwice": fault.DeliverTwice(),
		"SilentNoOp": fault.SilentNoOp(), "SilentNoOpWith": fault.SilentNoOpWith(json.RawMessage(`{"id":9}`)),
		"Replace": fault.Replace(json.RawMessage(`{"id":9}`)), "LateResult": fault.LateResult("POST *", time.Second, time.Second),
		"IgnoreCancel": fault.IgnoreCancel(), "DelayedVisibility": fault.DelayedVisibility("GET *", time.Hour, nil),
		"TokenBudget": fault.TokenBudget(1<<30, fault.OpenAIUsage(), 0), "FlipSign": lies.FlipSign(), "Stale": lies.Stale(1), "HTMLPageLie": lies.HTMLPage(),
	}
	for _, r := range catalogue() {
		if !strings.HasPrefix(r.name, "Status ") || r.name == "Status Bad Gateway" {
			faults[r.name] = r.fault
		}
	}
	return faults
}

// rulesOf are the names that an event knows.
func rulesOf(e chaos.Event) []string {
	names := slices.Concat(e.Also, e.Idle, e.Masked)
	if e.Rule != "" {
		names = append(names, e.Rule)
	}
	slices.Sort(names)
	return names
}

// A fault whose answer another one replaced was not seen, whatever its header
// said.
func TestAnAnswerThatWasReplacedIsNotDelivered(t *testing.T) {
	for name, f := range map[string]chaos.Fault{
		"HTMLPage": chaoshttp.HTMLPage(), "ShortBody": chaoshttp.ShortBody(3), "CutBody": chaoshttp.CutBody(1),
		"OnBody": onBody(fault.Replace(json.RawMessage(`{"id":8}`))), "TokenBudget": fault.TokenBudget(1, fault.OpenAIUsage(), 0),
	} {
		in := injectorOf(t, chaos.Rule{Name: "inner", Fault: f, Limit: 1}, chaos.Rule{Name: "outer", Fault: fault.Replace(json.RawMessage(`{"id":9}`))})
		g := ask(chaos.NewContext(t.Context(), in), t, inProcess(t, desk), "https://example.com/", "{}")
		require.NoError(t, g.err, name)
		assert.Equal(t, `{"id":9}`, g.body, name)
		assert.Equal(t, []string{"inner"}, in.Undelivered(), name)
		assert.Equal(t, "outer", onlyEvent(t, in).Rule, name)
	}
}

// A change of a document that an outer fault takes back is not delivered, with or
// without a length in the answer.
func TestChangesThatCancelOutAreNotDelivered(t *testing.T) {
	longer := onBody(fault.Mutate("longer", func(v map[string]any) map[string]any { return map[string]any{"n": v["n"], "more": true} }))
	back := onBody(fault.Mutate("back", func(v map[string]any) map[string]any { return map[string]any{"n": v["n"]} }))
	for name, rules := range map[string][2]chaos.Fault{
		"the same length": {lies.FlipSign("$.n"), lies.FlipSign("$.n")}, "another length": {longer, back},
	} {
		for _, declared := range []bool{true, false} {
			in := injectorOf(t, chaos.Rule{Name: "a", Fault: rules[0], Limit: 1}, chaos.Rule{Name: "b", Fault: rules[1], Limit: 1})
			client := inProcess(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if !declared {
					_ = http.NewResponseController(w).Flush()
				}
				_, _ = io.WriteString(w, `{"n":5}`)
			})
			for range 2 { // what was not delivered is injected again
				g := ask(chaos.NewContext(t.Context(), in), t, client, "https://example.com/", "{}")
				require.NoError(t, g.err)
				require.NoError(t, g.cut)
				e := in.Events()[len(in.Events())-1]
				assert.Equal(t, `{"n":5}`, g.body, name)
				assert.False(t, e.Delivered, "%s, %v: %+v", name, declared, e)
				assert.Equal(t, []string{"a", "b"}, in.Undelivered(), name)
				if declared {
					assert.EqualValues(t, len(g.body), g.resp.ContentLength)
				}
			}
		}
	}
}
