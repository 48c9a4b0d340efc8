// Package chaosotel shows injected faults in OpenTelemetry: on the spans of the calls that they hit, and as metrics.
//
// A [Recorder] gets events. In a live program it watches an injector, in a matrix it is an option of the run:
//
//	faults, err := chaosotel.New(nil)         // the global providers
//	stop := faults.Watch(injector)            // a live program
//	o := &contracttest.Options{OnEvent: faults.Record} // a matrix
//
// # Spans
//
// A call with a fault adds the span event shakedown.fault to the span of its context, which is the caller's, such as
// that of a tool call. If that span has ended, as with a call that outlives its caller, the event is a span of the
// same name, in the same trace and with a link to it. Where the trace is not sampled, nothing is made. The
// attributes, each with shakedown.fault. before it:
//
//	kind        of the fault, such as lost_reply
//	rule        its name
//	target      the injection point
//	layer       of the injection point; absent: not known
//	class       of the fault, such as timing; absent: not declared
//	delivered   whether the caller got something else: see package chaos
//	outcome     ok, failed, injected, panicked or open
//	effect      of the callee: none, done or unknown
//	asked_ms    the delay that was asked for, in milliseconds; absent: none
//	spent_ms    the time that the fault waited, in milliseconds; absent: none
//	attempt     of the call, 1 and up
//	cell, seed  of the injector; cell is absent in a live program
//
// Nothing is added to what the model or a tool could see: no header, no argument, no text. The events have no values
// of calls and no texts of errors.
//
// # Metrics
//
//	shakedown.faults      counter, {fault}: injected faults by target (the rule's pattern), kind, layer and delivered
//	shakedown.fault.wait  histogram, s: how long a fault waited, by the same
//	shakedown.held_back   counter, {fault}: faults that a limit, a cool-down or a safeguard held back, by rule
//	shakedown.armed       up-down counter, {injector}: watched injectors whose rules may act
//
// Labels are what a plan names, never the name of a call, a cell or a key, so their number is bounded by the plan.
// Prometheus and others read them through the exporters of the metrics SDK.
//
// Package otelmatrix, below, has the runs of a matrix as spans.
//
// Stability: may change.
package chaosotel
