package trace

import (
	"io"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/otlp"
)

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
//   - Class is the attribute [ReadOptions].ClassBy; Fault and Rule are shakedown.fault and shakedown.rule.
//   - Lane is the parent span; Key hashes gen_ai.tool.call.arguments; Attempt is
//     1 + http.request.resend_count, else counted ([SampleList.NumberAttempts]).
//
// The epoch is the earliest start that is kept, rounded down to a second. A tool's span inside
// a span of the same tool (two instrumentations of one call) is not counted again,
// nor is a span that was exported twice; notes say how many. Spans far from the
// others in time are left out ([ReadOptions].MaxGap). Notes also name clocks that
// disagree: a span that begins before its parent in another service shows that.
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
	in := otlp.Reader{Fields: fields, Wrong: t.wrong, MaxSpans: options.MaxSamples}
	in.Read(text, t.span)
	t.refuseCycles()
	if err := t.wrong.Err(); err != nil {
		return nil, err
	}
	return t.samples(), nil
}
