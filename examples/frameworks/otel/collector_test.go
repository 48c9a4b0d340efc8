// Package otel shows what an OpenTelemetry collector gets of a matrix: OTLP over HTTP, read by the collector's own decoder.
package otel

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaosotel"
	"github.com/shakedown-go/shakedown/chaos/chaosotel/otelmatrix"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/invariant"
)

// A collector keeps what it is sent, as a collector's OTLP receiver decodes it.
type collector struct {
	mu    sync.Mutex
	spans []ptrace.Span
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	request := ptraceotlp.NewExportRequest()
	if err == nil {
		err = request.UnmarshalProto(body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.Traces().ResourceSpans().All() {
		for _, scope := range resource.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				c.spans = append(c.spans, span)
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	answer, _ := ptraceotlp.NewExportResponse().MarshalProto()
	_, _ = w.Write(answer)
}

func (c *collector) named(t *testing.T, name string) ptrace.Span {
	for _, span := range c.spans {
		if span.Name() == name {
			return span
		}
	}
	t.Fatalf("the collector has no span %q", name)
	return ptrace.Span{}
}

// A desk's agent refunds again when it gets no reply, each time within a span of its own.
func desk(run *otelmatrix.Run) *contract.Matrix {
	tracer := run.Tracer().Tracer("desk")
	return &contract.Matrix{
		Prompts: []string{"Refund order 1042"}, Seed: 3, Points: []string{"payments.refund"},
		Scenarios:  []contract.Scenario{contract.Under("reply-lost", chaos.Rule{Target: "payments.refund", When: when.First(1), Fault: fault.LoseReply()})},
		Invariants: []contract.Invariant{invariant.Contains("says-so", contract.Low, "refunded")},
		NewWorld: func(context.Context) (*contract.World, error) {
			refund := chaos.Wrap("payments.refund", func(context.Context, string) (string, error) { return "R-1", nil })
			return &contract.World{Agent: func(ctx context.Context, _ string, _ chaos.ToolRegistry) (answer string, err error) {
				for _, name := range []string{"execute_tool refund, first", "execute_tool refund, again"} {
					own, span := tracer.Start(ctx, name)
					answer, err = refund(own, "1042")
					span.End()
					if err == nil {
						return "refunded: " + answer, nil
					}
				}
				return "", err
			}}, nil
		},
	}
}

func TestACollectorShowsWhichFaultHitASpan(t *testing.T) {
	got := &collector{}
	server := httptest.NewServer(got)
	defer server.Close()
	exporter, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(server.URL+"/v1/traces"))
	require.NoError(t, err)
	tracers := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
	faults, err := chaosotel.New(&chaosotel.Options{Tracer: tracers})
	require.NoError(t, err)
	run := otelmatrix.Start(t.Context(), "refunds", &otelmatrix.Options{Tracer: tracers})

	report := contracttest.Run(t, desk(run), &contracttest.Options{OnRun: run.OnRun, OnCell: run.OnCell, OnEvent: faults.Record})
	run.End(report)
	require.NoError(t, tracers.Shutdown(context.WithoutCancel(t.Context())))

	suite, cell := got.named(t, "refunds"), got.named(t, "reply-lost/says-so/1")
	first, again := got.named(t, "execute_tool refund, first"), got.named(t, "execute_tool refund, again")
	assert.Equal(t, suite.SpanID(), cell.ParentSpanID())
	assert.Equal(t, cell.SpanID(), first.ParentSpanID())
	assert.Zero(t, again.Events().Len(), "the second refund got its reply")
	require.Equal(t, 1, first.Events().Len())
	hit := first.Events().At(0)
	assert.Equal(t, "shakedown.fault", hit.Name())
	for name, want := range map[string]any{
		"shakedown.fault.kind": "lost_reply", "shakedown.fault.target": "payments.refund", "shakedown.fault.delivered": true,
		"shakedown.fault.outcome": "injected", "shakedown.fault.effect": "unknown", // the function declares none
		"shakedown.fault.seed": int64(3),
	} {
		value, ok := hit.Attributes().Get(name)
		require.True(t, ok, name)
		assert.Equal(t, want, value.AsRaw(), name)
	}
	assert.Equal(t, time.Second, first.EndTimestamp().AsTime().Sub(first.StartTimestamp().AsTime()), "the lost reply's second of waiting")
	assert.WithinDuration(t, time.Now(), first.StartTimestamp().AsTime(), time.Hour, "not the year 2000 of virtual time")
	status, _ := cell.Attributes().Get("test.case.result.status")
	assert.Equal(t, "pass", status.AsString())
}
