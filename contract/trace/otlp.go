package trace

import (
	"cmp"
	"io"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/otlp"
)

// ReadOptions bound the input of [ReadOTLP]. The zero value, and nil, give the defaults.
type ReadOptions struct {
	_ struct{}
	// MaxBytes is the largest length of an input, in bytes; 0: 64 MiB.
	MaxBytes int64
	// MaxSpans is the largest number of spans; 0: 1,048,576.
	MaxSpans int
	// ClassBy is the key of the attribute with the class, first of the span, then of its
	// resource. "": shakedown.class.
	ClassBy string
}

const (
	defaultMaxBytes = 64 << 20
	largestMaxBytes = 1 << 40
	defaultMaxSpans = 1 << 20
	defaultClassBy  = "shakedown.class"
)

func (o *ReadOptions) withDefaults() (ReadOptions, error) {
	c := *cmp.Or(o, &ReadOptions{})
	wrong := fields.List()
	if c.MaxBytes < 0 || c.MaxBytes > largestMaxBytes {
		wrong.Wrong("maxBytes", c.MaxBytes, "at most 1 TiB, or 0 for 64 MiB")
	}
	wrong.Demand(c.MaxSpans >= 0, "maxSpans", c.MaxSpans, "a number of spans, or 0 for 1048576")
	c.MaxBytes = cmp.Or(c.MaxBytes, defaultMaxBytes)
	c.MaxSpans = cmp.Or(c.MaxSpans, defaultMaxSpans)
	c.ClassBy = cmp.Or(c.ClassBy, defaultClassBy)
	return c, wrong.Err()
}

// ReadOTLP reads OpenTelemetry spans in OTLP JSON: one ExportTraceServiceRequest,
// or several, one after the other, as the collector's file exporter writes them.
// Each span becomes a sample:
//
//   - Target is "service.node". The service is service.name, its dots replaced by
//     underscores; without it there is no prefix. The node is gen_ai.tool.name for tools,
//     gen_ai.agent.name for agents, gen_ai.request.model for models, server.address for
//     outgoing HTTP, and else, or where that is missing, the name of the span.
//   - Type follows gen_ai.operation.name, gen_ai.tool.name, mcp.method.name and
//     http.request.method (the OpenTelemetry semantic conventions), then
//     openinference.span.kind and traceloop.span.kind; else it is point.
//   - Caller is the target of the parent span, "agent" at the root, "(missing)"
//     where the parent is not among the spans.
//   - Failed is the status code ERROR; where the status is unset, an error.type.
//   - Class is the attribute [ReadOptions].ClassBy.
//   - Lane is the parent span; Key hashes gen_ai.tool.call.arguments; Attempt is
//     1 + http.request.resend_count, else counted ([SampleList.NumberAttempts]).
//
// The epoch is the earliest start, rounded down to a second. A tool's span inside
// a span of the same tool (two instrumentations of one call) is not counted again,
// nor is a span that was exported twice; notes say how many. A pause of more than 12
// hours is an error that names the services: one clock that is years wrong would make
// the bins of a run years long.
//
// Members of unknown names are ignored, as the protocol demands. All other problems
// are joined, the first 16 as a [*FieldError] with its place. With an error the
// list is nil.
func ReadOTLP(r io.Reader, o *ReadOptions) (*SampleList, error) {
	options, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r, options.MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > options.MaxBytes {
		return nil, fields.Wrong("input", fielderror.Found("too long"), "at most MaxBytes bytes in all")
	}
	t := trace{options: options, byID: make(map[otlp.ID]int), wrong: fields.ListUpTo(maxReported)}
	in := otlp.Reader{Fields: fields, Wrong: t.wrong, MaxSpans: options.MaxSpans}
	in.Read(text, t.span)
	t.refuseCycles()
	t.refuseGaps()
	if err := t.wrong.Err(); err != nil {
		return nil, err
	}
	return t.samples(), nil
}
