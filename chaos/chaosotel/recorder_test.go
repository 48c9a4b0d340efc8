package chaosotel_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaosotel"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// A telemetry is the SDK with its exporters in memory.
type telemetry struct {
	spans   *tracetest.SpanRecorder
	tracers *sdktrace.TracerProvider
	reader  *sdkmetric.ManualReader
	*chaosotel.Recorder
}

func newTelemetry(t testing.TB, o ...sdktrace.TracerProviderOption) *telemetry {
	all := &telemetry{spans: tracetest.NewSpanRecorder(), reader: sdkmetric.NewManualReader()}
	all.tracers = sdktrace.NewTracerProvider(append(o, sdktrace.WithSpanProcessor(all.spans))...)
	r, err := chaosotel.New(&chaosotel.Options{Tracer: all.tracers, Meter: sdkmetric.NewMeterProvider(sdkmetric.WithReader(all.reader))})
	require.NoError(t, err)
	all.Recorder = r
	return all
}

// metrics has the sums, and the counts of histograms, by name and labels.
func (all *telemetry) metrics(t testing.TB) map[string]map[attribute.Set]float64 {
	var read metricdata.ResourceMetrics
	require.NoError(t, all.reader.Collect(context.Background(), &read))
	found := map[string]map[attribute.Set]float64{}
	for _, scope := range read.ScopeMetrics {
		assert.Equal(t, chaosotel.Scope, scope.Scope.Name)
		for _, m := range scope.Metrics {
			points := map[attribute.Set]float64{}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					points[p.Attributes] = float64(p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					points[p.Attributes] = p.Sum
				}
			default:
				t.Errorf("%s has %T", m.Name, m.Data)
			}
			found[m.Name] = points
		}
	}
	return found
}

func attributesOf(list []attribute.KeyValue) map[string]any {
	found := map[string]any{}
	for _, a := range list {
		found[string(a.Key)] = a.Value.AsInterface()
	}
	return found
}

func charge(ctx context.Context, in *chaos.Injector) error {
	_, err := chaos.Wrap("payments.charge", func(context.Context, int) (int, error) { return 1, nil })(chaos.NewContext(ctx, in), 42)
	return err
}

func planned(t testing.TB, o *chaos.InjectorOptions, rules ...chaos.Rule) *chaos.Injector {
	plan, err := chaos.NewPlan(7, rules...)
	require.NoError(t, err)
	return plan.Injector("desk/1", o)
}

func TestAFaultIsOnTheSpanOfItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newTelemetry(t)
		in := planned(t, &chaos.InjectorOptions{OnEvent: all.Record},
			chaos.Rule{Name: "slow", Target: "payments.*", When: when.Nth(1), Fault: fault.Delay(2 * time.Second)},
			chaos.Rule{Name: "lost", Target: "payments.*", When: when.Nth(2), Fault: fault.Fail(errors.New("secret text"))})
		ctx, span := all.tracers.Tracer("agent").Start(t.Context(), "tool call")
		require.NoError(t, charge(ctx, in))
		require.Error(t, charge(ctx, in))
		require.NoError(t, charge(ctx, in), "without a fault")
		span.End()

		ended := all.spans.Ended()
		require.Len(t, ended, 1, "no span is made where the caller has one")
		events := ended[0].Events()
		require.Len(t, events, 2)
		slow := attributesOf(events[0].Attributes)
		assert.Equal(t, map[string]any{
			"shakedown.fault.kind": "latency", "shakedown.fault.rule": "slow", "shakedown.fault.target": "payments.charge",
			"shakedown.fault.class": "timing", "shakedown.fault.layer": "point", "shakedown.fault.delivered": true,
			"shakedown.fault.outcome": "ok", "shakedown.fault.effect": "unknown", "shakedown.fault.attempt": int64(1),
			"shakedown.fault.asked_ms": 2000., "shakedown.fault.spent_ms": 2000.,
			"shakedown.fault.cell": "desk/1", "shakedown.fault.seed": int64(7),
		}, slow)
		lost := attributesOf(events[1].Attributes)
		assert.Equal(t, "injected", lost["shakedown.fault.outcome"])
		assert.NotContains(t, lost, "shakedown.fault.asked_ms")
		for _, e := range events {
			assert.Equal(t, "shakedown.fault", e.Name)
			for name, value := range attributesOf(e.Attributes) {
				assert.NotEqual(t, "secret text", value, name)
			}
		}
	})
}

func TestAFaultAfterItsSpanIsALinkedSpan(t *testing.T) {
	for name, row := range map[string]struct {
		sampler sdktrace.Sampler
		ended   bool
		spans   int // besides the caller's
	}{
		"the span is open":         {sdktrace.AlwaysSample(), false, 0},
		"the span has ended":       {sdktrace.AlwaysSample(), true, 1},
		"the trace is not sampled": {sdktrace.NeverSample(), true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			all := newTelemetry(t, sdktrace.WithSampler(row.sampler))
			in := planned(t, &chaos.InjectorOptions{OnEvent: all.Record}, chaos.Rule{Target: "*", Fault: fault.Fail(errors.New("down"))})
			ctx, span := all.tracers.Tracer("agent").Start(t.Context(), "tool call")
			if row.ended {
				span.End()
			}
			require.Error(t, charge(ctx, in))
			var own []sdktrace.ReadOnlySpan
			for _, s := range all.spans.Ended() {
				if s.Name() == chaosotel.FaultEvent {
					own = append(own, s)
				}
			}
			require.Len(t, own, row.spans)
			for _, s := range own {
				assert.Equal(t, span.SpanContext().TraceID(), s.SpanContext().TraceID())
				assert.Equal(t, span.SpanContext().SpanID(), s.Links()[0].SpanContext.SpanID())
				assert.Equal(t, "payments.charge", attributesOf(s.Attributes())["shakedown.fault.target"])
			}
		})
	}
	t.Run("there is no span", func(t *testing.T) {
		all := newTelemetry(t)
		in := planned(t, &chaos.InjectorOptions{OnEvent: all.Record}, chaos.Rule{Target: "*", Fault: fault.Fail(errors.New("down"))})
		require.Error(t, charge(t.Context(), in))
		assert.Empty(t, all.spans.Ended())
		assert.Len(t, all.metrics(t)["shakedown.faults"], 1, "it is counted all the same")
	})
}

func TestMetricsHaveWhatThePlanNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newTelemetry(t)
		in := planned(t, nil,
			chaos.Rule{Name: "slow", Target: "payments.*", Limit: 2, Fault: fault.Delay(time.Second)},
			chaos.Rule{Name: "lie", Target: "nothing.else", Fault: fault.Fail(errors.New("down"))})
		stop := all.Watch(in)
		for range 5 {
			require.NoError(t, charge(t.Context(), in))
		}
		labels := attribute.NewSet(attribute.String("target", "payments.*"), attribute.String("kind", "latency"),
			attribute.String("layer", "point"), attribute.Bool("delivered", true))
		got := all.metrics(t)
		assert.Equal(t, map[attribute.Set]float64{labels: 2}, got["shakedown.faults"])
		assert.Equal(t, map[attribute.Set]float64{labels: 2}, got["shakedown.fault.wait"], "in seconds")
		assert.Equal(t, map[attribute.Set]float64{attribute.NewSet(): 1}, got["shakedown.armed"])

		in.Disarm()
		assert.Equal(t, map[attribute.Set]float64{attribute.NewSet(): 0}, all.metrics(t)["shakedown.armed"])
		in.Arm()
		again := all.Watch(in)
		require.NoError(t, in.Register(chaos.Rule{Name: "once", Target: "payments.*", Limit: 1, Fault: fault.Fail(errors.New("down"))}))
		require.Error(t, charge(t.Context(), in))
		counted := 0.
		for _, n := range all.metrics(t)["shakedown.faults"] {
			counted += n
		}
		assert.Equal(t, 3., counted, "watched twice, each fault is counted once")
		stop()
		stop()
		assert.Equal(t, map[attribute.Set]float64{attribute.NewSet(): 1}, all.metrics(t)["shakedown.armed"], "watched twice, stopped once")
		again()
		assert.Equal(t, map[attribute.Set]float64{attribute.NewSet(): 0}, all.metrics(t)["shakedown.armed"])
	})
}

func TestWhatIsHeldBackIsCounted(t *testing.T) {
	all := newTelemetry(t)
	in := planned(t, &chaos.InjectorOptions{OnEvent: all.Record, RecordAll: true, Safeguards: &chaos.Safeguards{Budget: 1}},
		chaos.Rule{Name: "down", Target: "*", Fault: fault.Fail(errors.New("down"))})
	for range 3 {
		_ = charge(t.Context(), in)
	}
	assert.Equal(t, map[attribute.Set]float64{attribute.NewSet(attribute.String("rule", "down")): 2}, all.metrics(t)["shakedown.held_back"])
}

func TestASeedThatNoSignedNumberHas(t *testing.T) {
	all := newTelemetry(t)
	in := chaos.NewInjector(math.MaxUint64, nil)
	require.NoError(t, in.Register(chaos.Rule{Target: "*", Fault: fault.Fail(errors.New("down"))}))
	defer all.Watch(in)()
	ctx, span := all.tracers.Tracer("agent").Start(t.Context(), "call")
	bound := chaos.WrapWith("charge", func(context.Context, int) (int, error) { return 1, nil }, &chaos.WrapOptions[int]{Injector: in})
	_, err := bound(ctx, 1)
	require.Error(t, err)
	span.End()
	got := attributesOf(all.spans.Ended()[0].Events()[0].Attributes)
	assert.Equal(t, "18446744073709551615", got["shakedown.fault.seed"], "also of a bound injector, which no context has")
	assert.NotContains(t, got, "shakedown.fault.cell")
}

// An event without a fault allocates nothing, whatever the context has.
func TestAllocations(t *testing.T) {
	all := newTelemetry(t)
	ctx, span := all.tracers.Tracer("agent").Start(t.Context(), "call")
	defer span.End()
	event := chaos.Event{Target: "charge", Outcome: chaos.OutcomeOK}
	assert.Zero(t, testing.AllocsPerRun(100, func() { all.Record(ctx, event) }))
}

func BenchmarkRecord(b *testing.B) {
	limits := sdktrace.NewSpanLimits()
	limits.EventCountLimit = 1 // else the SDK moves 128 events for each that is added
	all := newTelemetry(b, sdktrace.WithRawSpanLimits(limits))
	event := chaos.Event{Cell: "desk/1", Target: "payments.charge", Layer: chaos.LayerTool, Rule: "lost", Fault: "lost_reply", Pattern: "payments.*",
		Class: chaos.ClassOmission, Delivered: true, Outcome: chaos.OutcomeInjected, Effect: chaos.EffectDone, Asked: time.Second, Spent: time.Second, Attempt: 1}
	in := chaos.NewInjector(1, nil)
	b.Run("fault", func(b *testing.B) {
		ctx, span := all.tracers.Tracer("agent").Start(chaos.NewContext(b.Context(), in), "call")
		defer span.End()
		b.ReportAllocs()
		for b.Loop() {
			all.Record(ctx, event)
		}
	})
	b.Run("floor: the SDK's AddEvent with as many attributes", func(b *testing.B) {
		ctx, span := all.tracers.Tracer("agent").Start(b.Context(), "call")
		defer span.End()
		b.ReportAllocs()
		for b.Loop() {
			own := make([]attribute.KeyValue, 0, 13)
			for range 13 {
				own = append(own, attribute.String("shakedown.fault.rule", event.Rule))
			}
			trace.SpanFromContext(ctx).AddEvent(chaosotel.FaultEvent, trace.WithAttributes(own...))
		}
	})
	b.Run("fault, no span", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			all.Record(b.Context(), event)
		}
	})
	b.Run("no fault", func(b *testing.B) {
		ctx := trace.ContextWithSpan(b.Context(), trace.SpanFromContext(b.Context()))
		plain := event
		plain.Rule = ""
		for b.Loop() {
			all.Record(ctx, plain)
		}
	})
}
