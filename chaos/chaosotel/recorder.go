package chaosotel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/shakedown-go/shakedown/chaos"
)

// Scope is the name of the instrumentation scope of the spans and metrics.
const Scope = "github.com/shakedown-go/shakedown/chaos/chaosotel"

// FaultEvent is the name of the span event, and that of the span where the caller's span has ended.
const FaultEvent = "shakedown.fault"

// Options are the settings of [New]; nil and the zero value work.
type Options struct {
	_ struct{}
	// Tracer makes the spans of faults whose caller's span has ended; nil: the global provider.
	Tracer trace.TracerProvider
	// Meter makes the metrics; nil: the global provider.
	Meter metric.MeterProvider
}

// A Recorder makes telemetry of events. It is safe for concurrent use.
type Recorder struct {
	tracer       trace.Tracer
	faults, held metric.Int64Counter
	wait         metric.Float64Histogram

	mu      sync.Mutex // guards what follows
	watched map[*chaos.Injector]*watch
	labels  map[labels]metric.MeasurementOption
}

// labels are those of faults; their number is bounded by the plan.
type labels struct {
	target, kind string
	layer        chaos.Layer
	delivered    bool
}

// New makes a recorder and its instruments. Errors are those of the meter provider.
func New(o *Options) (*Recorder, error) {
	if o == nil {
		o = &Options{}
	}
	tracers, meters := o.Tracer, o.Meter
	if tracers == nil {
		tracers = otel.GetTracerProvider()
	}
	if meters == nil {
		meters = otel.GetMeterProvider()
	}
	meter := meters.Meter(Scope)
	r := &Recorder{tracer: tracers.Tracer(Scope), watched: map[*chaos.Injector]*watch{},
		labels: map[labels]metric.MeasurementOption{}}
	var errs [4]error
	r.faults, errs[0] = meter.Int64Counter("shakedown.faults", metric.WithUnit("{fault}"),
		metric.WithDescription("Faults that were injected, delivered or not."))
	r.held, errs[1] = meter.Int64Counter("shakedown.held_back", metric.WithUnit("{fault}"),
		metric.WithDescription("Faults that a limit, a cool-down or a safeguard held back."))
	r.wait, errs[2] = meter.Float64Histogram("shakedown.fault.wait", metric.WithUnit("s"),
		metric.WithDescription("How long faults made their callers wait."))
	_, errs[3] = meter.Int64ObservableUpDownCounter("shakedown.armed", metric.WithUnit("{injector}"),
		metric.WithDescription("Watched injectors whose rules may act."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(r.armed())
			return nil
		}))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("chaosotel: %w", err)
	}
	return r, nil
}

func (r *Recorder) armed() (n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for in := range r.watched {
		if in.Armed() {
			n++
		}
	}
	return n
}

// A watch is an injector that is watched, once however often that was asked for.
type watch struct {
	times int
	end   func()
}

// Watch records the events of a live injector, also of calls that are bound to it, and counts it in
// shakedown.armed, until stop is called. stop may be called several times. Who watches an injector twice records its
// events once, until both have stopped.
func (r *Recorder) Watch(in *chaos.Injector) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.watched[in]
	if w == nil {
		w = &watch{end: in.Watch(func(ctx context.Context, e chaos.Event) { r.record(ctx, in, &e) })}
		r.watched[in] = w
	}
	w.times++
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if w.times--; w.times == 0 {
			w.end()
			delete(r.watched, in)
		}
	})
}

// Record records an event: use it as [chaos.InjectorOptions].OnEvent, or as that of a matrix. An event of a call
// without a fault costs nothing. The seed is that of the context's injector.
func (r *Recorder) Record(ctx context.Context, e chaos.Event) {
	r.record(ctx, chaos.FromContext(ctx), &e)
}

func (r *Recorder) record(ctx context.Context, in *chaos.Injector, e *chaos.Event) {
	for _, rule := range e.HeldBack {
		r.held.Add(ctx, 1, metric.WithAttributes(attribute.String("rule", rule)))
	}
	if e.Rule == "" {
		return
	}
	labelled := r.labelled(labels{e.Pattern, e.Fault, e.Layer, e.Delivered})
	r.faults.Add(ctx, 1, labelled)
	if e.Spent > 0 {
		r.wait.Record(ctx, e.Spent.Seconds(), labelled)
	}
	span := trace.SpanFromContext(ctx)
	switch its := span.SpanContext(); {
	case span.IsRecording():
		span.AddEvent(FaultEvent, trace.WithAttributes(attributes(in, e)...))
	case its.IsSampled() && !its.IsRemote(): // it has ended
		_, own := r.tracer.Start(ctx, FaultEvent, trace.WithLinks(trace.Link{SpanContext: its}),
			trace.WithAttributes(attributes(in, e)...))
		own.End()
	}
}

// labelled has a set of labels once, because hashing it takes longer than counting.
func (r *Recorder) labelled(l labels) metric.MeasurementOption {
	r.mu.Lock()
	defer r.mu.Unlock()
	o, known := r.labels[l]
	if !known {
		o = metric.WithAttributeSet(attribute.NewSet(attribute.String("target", l.target), attribute.String("kind", l.kind),
			attribute.String("layer", string(l.layer)), attribute.Bool("delivered", l.delivered)))
		r.labels[l] = o
	}
	return o
}

// attributes are those of a fault; the package's documentation has their meaning.
func attributes(in *chaos.Injector, e *chaos.Event) []attribute.KeyValue {
	const prefix = FaultEvent + "."
	all := make([]attribute.KeyValue, 0, 13)
	all = append(all, attribute.String(prefix+"kind", e.Fault), attribute.String(prefix+"rule", e.Rule),
		attribute.String(prefix+"target", e.Target), attribute.Bool(prefix+"delivered", e.Delivered),
		attribute.String(prefix+"outcome", string(e.Outcome)), attribute.String(prefix+"effect", string(e.Effect)),
		attribute.Int(prefix+"attempt", e.Attempt))
	text := func(name, value string) {
		if value != "" {
			all = append(all, attribute.String(name, value))
		}
	}
	text(prefix+"layer", string(e.Layer))
	text(prefix+"class", string(e.Class))
	text(prefix+"cell", e.Cell)
	if e.Asked > 0 {
		all = append(all, attribute.Float64(prefix+"asked_ms", milliseconds(e.Asked)))
	}
	if e.Spent > 0 {
		all = append(all, attribute.Float64(prefix+"spent_ms", milliseconds(e.Spent)))
	}
	if in != nil {
		all = append(all, seed(in))
	}
	return all
}

// seed is a number, or a text where OpenTelemetry, whose numbers are signed, has none for it.
func seed(in *chaos.Injector) attribute.KeyValue {
	const name = FaultEvent + ".seed"
	if in.Seed() > math.MaxInt64 {
		return attribute.String(name, fmt.Sprint(in.Seed()))
	}
	return attribute.Int64(name, int64(in.Seed()))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
