// Package otelmatrix has the run of a matrix as OpenTelemetry spans: a span for the run (test.suite.name), below it
// one for each cell (test.case.name, test.case.result.status), which has an event gen_ai.evaluation.result for its
// invariant and the spans that the agent makes.
//
//	run := otelmatrix.Start(ctx, "order desk", nil)
//	report := contracttest.Run(t, matrix, &contracttest.Options{
//		OnRun: run.OnRun, OnCell: run.OnCell, OnEvent: faults.Record, // of a chaosotel.Recorder
//	})
//	run.End(report)
//
// # Time
//
// Cells in virtual time begin in the year 2000, all at the same instant. Spans that are made by [Run.Tracer], and
// that of the cell, have real times: the beginning of the cell, plus the virtual time since. So a cell that waited
// an hour in virtual time is an hour long, and may end in the future. Give that provider to the agent; one that the
// agent has from elsewhere stamps its spans with virtual times. Runs that are no cells, such as calm runs, have no
// spans. Metrics have real times, but for their exemplars: the SDK stamps those by the clock of the cell.
//
// Stability: may change.
package otelmatrix

import (
	"cmp"
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/shakedown-go/shakedown/chaos/chaosotel"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/scoring"
)

// Options are the settings of [Start]; nil and the zero value work.
type Options struct {
	_ struct{}
	// Tracer makes the spans; nil: the global provider.
	Tracer trace.TracerProvider
}

// A Run has the spans of one run of a matrix. Its methods are safe for concurrent use.
type Run struct {
	provider trace.TracerProvider
	tracer   trace.Tracer
	begun    time.Time
	span     trace.Span // of the run

	mu    sync.Mutex // guards what follows
	open  map[contract.Cell]*clocked
	units map[unit]*clocked // the last run of each, which other cells may share
}

// A unit is what cells that may share a run have in common.
type unit struct {
	scenario string
	trial    int
}

// Start begins the span of a run. name is that of the suite; empty: "matrix".
func Start(ctx context.Context, name string, o *Options) *Run {
	r := &Run{provider: otel.GetTracerProvider(), begun: time.Now(),
		open: map[contract.Cell]*clocked{}, units: map[unit]*clocked{}}
	if o != nil && o.Tracer != nil {
		r.provider = o.Tracer
	}
	r.tracer = r.provider.Tracer(chaosotel.Scope)
	name = cmp.Or(name, "matrix")
	_, r.span = r.tracer.Start(ctx, name, trace.WithAttributes(attribute.String("test.suite.name", name),
		attribute.String("test.suite.run.status", "in_progress")))
	return r
}

// Tracer makes spans for the agent, whose times are real: see the documentation of the package.
func (r *Run) Tracer() trace.TracerProvider { return &provider{r.provider, r.begun} }

// OnRun begins the span of a cell: it is [contract.RunOptions].OnRun.
func (r *Run) OnRun(ctx context.Context, c contract.Cell) context.Context {
	cell := r.begin(ctx, c, &clock{begun: time.Now()})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[c], r.units[unit{c.Scenario, c.Trial}] = cell, cell
	return trace.ContextWithSpan(context.WithValue(ctx, clockKey{}, cell.clock), cell)
}

func (r *Run) begin(ctx context.Context, c contract.Cell, k *clock, o ...trace.SpanStartOption) *clocked {
	_, span := r.tracer.Start(trace.ContextWithSpan(ctx, r.span), c.String(), append(o, trace.WithTimestamp(k.begun),
		trace.WithAttributes(attribute.String("test.case.name", c.String())))...)
	return &clocked{span, k, r.Tracer()}
}

// OnCell ends the span of a cell: it is [contract.RunOptions].OnCell. A cell that shared the run of another has a
// span as long, with a link to that one's. A cell that was not run, or that is known from an earlier run, has none.
func (r *Run) OnCell(c *contract.CellReport) {
	r.mu.Lock()
	cell, ran := r.open[c.Cell], r.units[unit{c.Cell.Scenario, c.Cell.Trial}]
	delete(r.open, c.Cell)
	r.mu.Unlock()
	switch {
	case cell != nil:
	case ran == nil || c.State == contract.NotRun && !c.DoesNotApply:
		return
	default:
		first := trace.Link{SpanContext: ran.SpanContext()}
		cell = r.begin(context.Background(), c.Cell, ran.clock, trace.WithLinks(first))
	}
	end := trace.WithTimestamp(cell.clock.end(c.Elapsed))
	status, value := statusOf(c)
	own := []attribute.KeyValue{attribute.String("gen_ai.evaluation.name", c.Cell.Invariant),
		attribute.String("gen_ai.evaluation.score.label", c.State.String())}
	if value != nil {
		own = append(own, attribute.Float64("gen_ai.evaluation.score.value", *value))
	}
	if c.Why != "" {
		own = append(own, attribute.String("gen_ai.evaluation.explanation", c.Why))
	}
	cell.Span.AddEvent("gen_ai.evaluation.result", end, trace.WithAttributes(own...))
	cell.SetAttributes(attribute.String("test.case.result.status", status),
		attribute.String("shakedown.severity", c.Severity.String()), attribute.Int("shakedown.faults.delivered", c.Delivered))
	if c.Violated {
		cell.SetStatus(codes.Error, c.Why)
	}
	cell.Span.End(end)
}

// statusOf is pass or fail, as the conventions have it, and else the word for the state. value is 1, 0, or nil where
// nothing was decided.
func statusOf(c *contract.CellReport) (status string, value *float64) {
	switch {
	case c.State == contract.Held:
		return "pass", new(1.0)
	case c.Violated:
		return "fail", new(0.0)
	}
	return c.State.String(), nil
}

// End ends the span of the run, and those of cells that have no report, as after a cancelled run. report may be nil.
func (r *Run) End(report *contract.Report) {
	r.mu.Lock()
	left := r.open
	r.open, r.units = map[contract.Cell]*clocked{}, map[unit]*clocked{}
	r.mu.Unlock()
	for _, cell := range left {
		cell.SetAttributes(attribute.String("test.case.result.status", "aborted"))
		cell.Span.End(trace.WithTimestamp(cell.clock.end(0)))
	}
	defer r.span.End()
	status := "aborted"
	if report != nil {
		switch {
		case report.Score.Verdict == scoring.Pass:
			status = "success"
		case report.Score.Verdict == scoring.Fail:
			status = "failure"
			r.span.SetStatus(codes.Error, report.Score.Why)
		case !report.Cancelled:
			status = "inconclusive"
		}
		r.span.SetAttributes(attribute.String("shakedown.verdict", report.Score.Verdict.String()), attribute.String("shakedown.why", report.Score.Why))
	}
	r.span.SetAttributes(attribute.String("test.suite.run.status", status))
}
