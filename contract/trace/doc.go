// Package trace turns chaos events and OpenTelemetry spans into timeline samples:
// the input of package [timeline]. It also keeps runs, and runs a workload again under
// changed conditions.
//
// # Recording
//
//	rec, err := trace.NewRecorder(nil)
//	…
//	in := plan.Injector("checkout", &chaos.InjectorOptions{RecordAll: true, OnEvent: rec.Record})
//	… // the agent runs with chaos.NewContext(ctx, in)
//	incidents, err := rec.Run().DetectOutages(timeline.Query{}, timeline.OutageRule{})
//
// Every call through an injection point becomes a sample. Its caller is the enclosing injection
// point, known from the context, or "agent" at the top. [ReadOTLP] makes such a run of OpenTelemetry
// spans in OTLP JSON.
//
// # What if
//
// [Runs] keeps runs by id. With a [Workload] registered, [Runs.RunScenario] runs it
// again with the seed and the faults of an earlier run, but with other concurrency
// limits, other retry delays, or a node that is down for some bins. In virtual time
// the same request gives the same series.
//
// # Costs
//
// Converting an event takes about 50 ns and allocates nothing. Adding the sample to
// the run takes 70 to 150 ns, also from many goroutines. Memory is that of a
// [timeline.Run]. Nothing runs in the background. docs/live.md has the limits.
//
// Stability: may change.
package trace
