// Package probe has ready-made probes for the hypothesis of an experiment.
//
//	Probes: []experiment.Activity{
//		{Name: "the shop answers", Run: probe.HTTPStatus(url, nil), Tolerance: tolerance.Equal(200)},
//		{Name: "the database listens", Run: probe.TCP("localhost:5432")},
//		{Name: "the worker lives", Run: probe.Alive(worker)},
//		{Name: "the queue is short", Run: probe.Call(queue.Len), Tolerance: tolerance.Range(0, 10)},
//		{Name: "99 % in 300 ms", Run: probe.SLO(probe.Events(in), probe.Objective{Share: 0.99, Within: 300 * time.Millisecond}),
//			Tolerance: tolerance.Member("met", tolerance.Equal(true))},
//	}
//
// The output of a probe without a tolerance must be true. All probes are safe for
// concurrent use, and end with the context, which has the activity's deadline.
package probe
