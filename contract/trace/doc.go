// Package trace is the bridge from calls to their timeline: it turns chaos
// events into samples of package [timeline], reads samples from outside, keeps
// runs, and runs a workload again under changed conditions.
//
// # Recording
//
//	rec, err := trace.NewRecorder(nil)
//	…
//	in := plan.Injector("checkout", &chaos.InjectorOptions{RecordAll: true, OnEvent: rec.Record})
//	… // the agent runs with chaos.NewContext(ctx, in)
//	incidents, err := rec.Run().DetectOutages(timeline.Query{}, timeline.OutageRule{})
//
// Every call that an injection point sees becomes a sample: who called (the
// enclosing injection point, known from the context; "agent" at the top), what was
// called, its class, when it began and ended, whether it failed, which attempt it
// was, and which fault it saw. A fault that was not delivered is not there.
// The samples go straight into a run, in bounded memory; [Options].Keep keeps the
// newest of them besides. The first example of this package is that program.
//
// # Reading
//
// [ReadLines] reads the JSON lines that [Recording.WriteLines] writes, strictly;
// [ReadOTLP] reads OpenTelemetry spans as OTLP JSON. Both give a [Recording], whose
// [Recording.Run] is judged by the same rules as a recorded one.
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
// Turning an event into a sample takes some 50 ns and allocates nothing; adding it
// to the run, 70 to 150 ns, also from many goroutines; keeping it besides, some 30 ns
// under a lock that all callers share. Memory is that of a [timeline.Run], plus about
// 200 bytes for each sample kept. Nothing runs in the background. docs/traces.md
// has the formats and the limits.
package trace
