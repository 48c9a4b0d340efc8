package faulthub_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/faultevent"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/faulthub"
)

var (
	armed  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("CET", 3600))
	origin = faulthub.Origin{SubscriptionID: "sub-1", Cluster: "shop", Armed: armed}
	failed = chaos.Event{Target: "orders.get", Layer: chaos.LayerTool, Fault: "error", Rule: "r", Ordinal: 3, Start: 2 * time.Second,
		Outcome: chaos.OutcomeInjected, Delivered: true, Err: "unavailable"}
)

func TestBothShapes(t *testing.T) {
	flat, err := json.Marshal(faulthub.NewPayload("resource-faults", failed, origin))
	require.NoError(t, err)
	assert.JSONEq(t, `{"subscriptionId":"sub-1","cluster":"shop","faultType":"error","severity":"error",
		"resource":{"kind":"Tool","name":"orders.get","namespace":"orders"},"context":"unavailable","timestamp":"2026-03-01T11:00:02Z"}`, string(flat))
	nested, err := json.Marshal(faulthub.NewPayload("faults", failed, origin))
	require.NoError(t, err)
	assert.JSONEq(t, `{"subscriptionId":"sub-1","cluster":"shop","logs":[],
		"event":{"namespace":"orders","timestamp":"2026-03-01T11:00:02Z","type":"error","reason":"error","message":"unavailable","count":4,
		"involvedObject":{"kind":"Tool","name":"orders.get","namespace":"orders"}}}`, string(nested))
}

func TestWhatIsSaidOfAnEvent(t *testing.T) {
	for _, tc := range []struct {
		e                                  chaos.Event
		severity, eventType, kind, context string
	}{
		{failed, "error", "error", "Tool", "unavailable"},
		{chaos.Event{Target: "a", Layer: chaos.LayerLLM, Delivered: true, Outcome: chaos.OutcomePanicked, Err: "oh"}, "critical", "critical", "LLM", "oh"},
		{chaos.Event{Target: "a", Layer: chaos.LayerHTTP, Delivered: true, Outcome: chaos.OutcomeOK, Spent: time.Second}, "warning", "Warning", "HTTP", "the call took 1s longer"},
		{chaos.Event{Target: "a", Layer: chaos.LayerTool, Delivered: true, Outcome: chaos.OutcomeOpen, Spent: time.Second}, "error", "error", "Tool", "the call was still open when the injector ended"},
		{chaos.Event{Target: "a", Layer: chaos.LayerStream, Delivered: true, Changes: []chaos.Change{{}}}, "warning", "Warning", "Stream", "the result was changed at its root"},
		{chaos.Event{Target: "a", Note: "nothing to change"}, "info", "Normal", "Point", "nothing to change"},
		{chaos.Event{Target: "a"}, "info", "Normal", "Point", "a fault was injected into the call"},
	} {
		p := faulthub.NewPayload("resource-faults", tc.e, origin)
		assert.Equal(t, tc.severity, p.Severity, tc.context)
		assert.Equal(t, tc.eventType, faulthub.NewPayload("faults", tc.e, origin).Event.Type, tc.context)
		assert.Equal(t, tc.kind, p.Resource.Kind, tc.context)
		assert.Equal(t, tc.context, p.Context)
	}
	panicked := faulthub.NewPayload("faults", chaos.Event{Target: "a", Outcome: chaos.OutcomePanicked, Err: "oh"}, origin)
	assert.Equal(t, []faultevent.Log{{Container: "a", HasPanic: true, Sample: "oh"}}, panicked.Logs)
}
