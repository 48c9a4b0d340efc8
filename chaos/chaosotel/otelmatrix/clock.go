package otelmatrix

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// bubbleBegin is when each bubble of testing/synctest begins, by its own clock.
func bubbleBegin() time.Time { return time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC) }

type clockKey struct{}

// virtual reports whether a time is by the clock of a bubble, which is decades behind the real one.
func virtual(t, real time.Time) bool { return t.Before(real.AddDate(-10, 0, 0)) }

// A clock maps the times of one cell to real ones.
type clock struct {
	begun time.Time    // by the real clock
	last  atomic.Int64 // the latest time that a span had, after begun
}

// real is the real time of a time by the clock of the cell.
func (c *clock) real(t time.Time) time.Time {
	if virtual(t, c.begun) {
		t = c.begun.Add(t.Sub(bubbleBegin()))
	}
	since := int64(t.Sub(c.begun))
	for {
		last := c.last.Load()
		if since <= last || c.last.CompareAndSwap(last, since) {
			return t
		}
	}
}

// at is the real time of a time that was given, or of now.
func (c *clock) at(given time.Time) trace.SpanEventOption {
	if given.IsZero() {
		given = time.Now()
	}
	return trace.WithTimestamp(c.real(given))
}

// end is when a cell ended that took some time for its answers, and not before a span in it did.
func (c *clock) end(elapsed time.Duration) time.Time {
	return c.begun.Add(max(elapsed, time.Duration(c.last.Load())))
}

// A provider makes spans with the times of the clock in their context. Without one it makes none in virtual time:
// those of runs that are no cells, such as calm runs, belong to nothing, and are of the year 2000.
type provider struct {
	trace.TracerProvider
	begun time.Time // by the real clock
}

func (p *provider) Tracer(name string, o ...trace.TracerOption) trace.Tracer {
	return &tracer{Tracer: p.TracerProvider.Tracer(name, o...), from: p}
}

type tracer struct {
	trace.Tracer
	from *provider
}

func (t *tracer) Start(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	if ctx == nil {
		ctx = context.Background()
	}
	c, ok := ctx.Value(clockKey{}).(*clock)
	switch {
	case ok:
	case virtual(time.Now(), t.from.begun):
		return noop.NewTracerProvider().Tracer("").Start(ctx, name)
	default:
		return t.Tracer.Start(ctx, name, o...)
	}
	config := trace.NewSpanStartConfig(o...)
	ctx, inner := t.Tracer.Start(ctx, name, append(o, c.at(config.Timestamp()))...)
	span := &clocked{inner, c, t.from}
	return trace.ContextWithSpan(ctx, span), span
}

// clocked is a span whose times are those of a clock.
type clocked struct {
	trace.Span
	clock *clock
	from  trace.TracerProvider
}

func (s *clocked) End(o ...trace.SpanEndOption) {
	config := trace.NewSpanEndConfig(o...)
	s.Span.End(append(o, s.clock.at(config.Timestamp()))...)
}

func (s *clocked) AddEvent(name string, o ...trace.EventOption) {
	config := trace.NewEventConfig(o...)
	s.Span.AddEvent(name, append(o, s.clock.at(config.Timestamp()))...)
}

func (s *clocked) RecordError(err error, o ...trace.EventOption) {
	config := trace.NewEventConfig(o...)
	s.Span.RecordError(err, append(o, s.clock.at(config.Timestamp()))...)
}

// TracerProvider is the one that made the span, so that what is made of it has the times of the clock too.
func (s *clocked) TracerProvider() trace.TracerProvider { return s.from }
