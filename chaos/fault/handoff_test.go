package fault_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// task is what one agent hands to another.
type task struct {
	To    string `json:"to"`
	Order int64  `json:"order,omitempty"`
	Note  string `json:"note,omitempty"`
}

// Each fault of hand-offs, at a Go callable and at a tool, seen from both sides.
func TestHandoffs(t *testing.T) {
	const big = 9007199254740993 // not a float64
	patch := func(s string) chaos.Fault { return fault.CorruptHandoff(json.RawMessage(s)) }
	asked := task{To: "refunds", Order: big, Note: "please"}
	for _, c := range []struct {
		why       string
		fault     chaos.Fault
		got       []task // by the other agent
		reply     string
		is        error
		delivered bool
		spent     time.Duration
	}{
		{"corrupt: another order", patch(`{"order":1}`), []task{{"refunds", 1, "please"}}, "refunded 1", nil, true, 0},
		{"corrupt: a member removed, numbers as they are", patch(`{"note":null}`), []task{{"refunds", big, ""}}, "refunded 9007199254740993", nil, true, 0},
		{"corrupt: as it was", patch(`{"note":"please"}`), []task{asked}, "refunded 9007199254740993", nil, false, 0},
		{"dropped", fault.As("handoff_dropped", fault.SilentNoOpWith("queued")), nil, "queued", nil, true, 0},
		{"a cycle", fault.CycleHandoff("back to support"), nil, "back to support", nil, true, 0},
		{"delayed", fault.As("handoff_delayed", fault.Delay(time.Second)), []task{asked}, "refunded 9007199254740993", nil, true, time.Second},
		{"misrouted by name", fault.Misroute("to", "billing"), []task{{"billing", big, "please"}}, "refunded 9007199254740993", nil, true, 0},
		{"a storm", fault.As("message_storm", fault.Repeat(3)), []task{asked, asked, asked}, "refunded 9007199254740993", nil, true, 0},
		{"rejected", fault.As("delegation_rejected", fault.Fail(fault.ErrDeclined)), nil, "", fault.ErrDeclined, true, 0},
	} {
		for _, tool := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/tool=%v", c.why, tool), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var got []task
					refunds := func(_ context.Context, w task) (string, error) {
						got = append(got, w)
						return fmt.Sprint("refunded ", w.Order), nil
					}
					ctx, in := withRules(t, chaos.Rule{Target: "handoff", Fault: c.fault})
					var reply string
					var err error
					assert.Equal(t, c.spent, took(func() { reply, err = handOver(t, ctx, tool, refunds, asked) }))
					assert.ErrorIs(t, err, c.is)
					assert.Equal(t, c.reply, reply)
					assert.Equal(t, c.got, got)
					e := onlyEvent(t, in)
					assert.Equal(t, c.delivered, e.Delivered, e.Note)
					_, err = json.Marshal(e)
					assert.NoError(t, err)
				})
			})
		}
	}
}

func handOver(t testing.TB, ctx context.Context, tool bool, to func(context.Context, task) (string, error), w task) (reply string, err error) {
	if !tool {
		return chaos.Wrap("handoff", to)(ctx, w)
	}
	r, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "handoff"}, to))
	require.NoError(t, err)
	args, err := json.Marshal(w)
	require.NoError(t, err)
	doc, err := chaos.WrapRegistry(r, nil).CallTool(ctx, "handoff", args)
	if err == nil {
		require.NoError(t, json.Unmarshal(doc, &reply))
	}
	return reply, err
}

// A patch that the other agent's type does not hold is not delivered; a tool
// takes any JSON, and refuses it itself.
func TestPatchThatDoesNotFit(t *testing.T) {
	refunds := func(_ context.Context, w task) (string, error) { return fmt.Sprint("refunded ", w.Order), nil }
	ctx, in := withRules(t, chaos.Rule{Target: "handoff", Fault: fault.CorruptHandoff(json.RawMessage(`{"order":"seven"}`))})
	reply, err := handOver(t, ctx, false, refunds, task{Order: 7})
	assert.NoError(t, err)
	assert.Equal(t, "refunded 7", reply)
	e := onlyEvent(t, in)
	assert.False(t, e.Delivered)
	assert.Contains(t, e.Note, "were not changed")

	ctx, in = withRules(t, chaos.Rule{Target: "handoff", Fault: fault.CorruptHandoff(json.RawMessage(`{"order":"seven"}`))})
	_, err = handOver(t, ctx, true, refunds, task{Order: 7})
	var wrong *chaos.ArgumentError
	assert.ErrorAs(t, err, &wrong)
	e = onlyEvent(t, in)
	assert.True(t, e.Delivered)
	assert.Equal(t, chaos.OutcomeFailed, e.Outcome, "the tool's own refusal")
}

// No patch on any document panics, and a patch of nothing changes nothing.
func FuzzCorruptHandoff(f *testing.F) {
	for _, doc := range []string{`{"a":{"b":1}}`, `[1]`, `null`, `1e400`, `{"a":1,"a":2}`, `{`, ``} {
		f.Add(doc, `{"a":{"b":null,"c":[1]}}`)
		f.Add(doc, `{}`)
	}
	f.Fuzz(func(t *testing.T, doc, patch string) {
		bend := fault.CorruptHandoff(json.RawMessage(patch))
		if bend.(chaos.Checked).Check() != nil {
			return
		}
		var got json.RawMessage
		call := chaos.Wrap("handoff", func(_ context.Context, args json.RawMessage) (int, error) {
			got = args
			return 0, nil
		})
		ctx, in := withRules(t, chaos.Rule{Target: "handoff", Fault: bend})
		_, err := call(ctx, json.RawMessage(doc))
		assert.NoError(t, err)
		e := onlyEvent(t, in)
		if !e.Delivered {
			assert.Equal(t, doc, string(got))
			return
		}
		assert.True(t, json.Valid(got))
	})
}
