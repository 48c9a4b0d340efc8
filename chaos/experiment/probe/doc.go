// Package probe has ready-made probes for the hypothesis of an experiment, and guards
// that stop it.
//
//	Probes: []experiment.Activity{
//		{Name: "the shop answers", Run: probe.HTTPStatus(url, nil), Tolerance: tolerance.Equal(200)},
//		{Name: "the database listens", Run: probe.TCP("localhost:5432")},
//		{Name: "the queue is short", Run: probe.Call(queue.Len), Tolerance: tolerance.Range(0, 10)},
//	}
//
//	Guards: []experiment.Guard{
//		probe.StopOnErrorRate(0.5, 20, probe.Outcomes(in)),
//		probe.StopUnless(experiment.Activity{Name: "payments answer", Run: probe.TCP("payments:443")}),
//	}
//
// A guard is polled while the method runs, every second unless its Every says
// otherwise. When its condition is met, the run is aborted and rolled back. A guard
// that cannot judge, because a probe fails or a measure is not a number, aborts the
// run too.
//
// The output of a probe without a tolerance must be true. All probes are safe for
// concurrent use, and end with the context, which has the activity's deadline.
package probe
