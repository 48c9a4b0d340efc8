// Package timeline judges a run by its calls. It reports who called whom, what was
// served when, outages, recovery times, the other nodes affected, and how the run
// compares with a calm run.
//
// # Concept
//
// A [Sample] is one call that has ended. A [Run] adds up samples: for every node
// and class it keeps counters and latencies in bins of time. All answers are pure
// functions of those bins. The same samples give the same answers, whether they
// come from injected faults or from production traces.
//
// Each call is an attempt, and an operation is made of one or more attempts.
// Arrivals, served and errors count operations; attempts and failures count calls.
// An operation that succeeds at its third attempt is one arrival, one served, three
// attempts and two failures.
//
// # Smallest program
//
//	r, err := timeline.NewRun(nil)
//	…
//	err = r.Add(timeline.Sample{Target: "search", Start: 0, End: 80 * time.Millisecond})
//	…
//	incidents, err := r.DetectOutages(timeline.Query{}, timeline.OutageRule{})
//
// The first example of this package is that program with its output.
//
// [Run.Graph], [Run.StateWindow], [Run.RecoveryTime], [Run.Impact] and [Compare] answer
// other questions. A [Query] narrows each to a window, nodes and classes. An undefined
// number, such as served/arrivals where nothing arrived, is a [Value] that is null
// in JSON, never 0. Answers marshal to JSON with the field names of the MCP tools.
//
// # Costs
//
// Adding a sample takes about 100 ns, in a batch ([Run.AddAll]) about half of that,
// and allocates only for new bins. There are at most [RunOptions].MaxBins bins, and
// the latencies of a bin are a histogram from 1024 on, so memory does not grow with the
// number of samples. A window of 1000 bins takes less than a millisecond. Nothing runs in
// the background.
//
// Stability: may change.
package timeline
