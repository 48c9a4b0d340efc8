// Package timeline judges a run by its calls: who called whom, what was served
// when, where there were outages, how long recovery took, which other nodes felt
// it, and how the run compares with a calm one.
//
// # Concept
//
// A [Sample] is one call that has ended. A [Run] takes samples in and keeps, for
// every node and class, counters and latencies in bins of time. All answers are
// pure functions of those bins: the same samples give the same answers, wherever
// they came from: from injected faults or from the traces of production.
//
// Calls are attempts; attempts make operations. Arrivals, served and errors count
// operations, attempts and failures count calls. An operation that succeeds with
// its third attempt is one arrival, one served, three attempts, two failures.
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
// # Questions
//
//   - [Run.Graph]: nodes and calls
//   - [Run.StateWindow]: metrics, bin by bin; [Metric] defines each
//   - [Run.DetectOutages]: outages and degradations, by an [OutageRule]
//   - [Run.RecoveryTime]: when a node was well again
//   - [Run.Impact]: the nodes around it that failed or starved, for how long, with which delay
//   - [Run.Warnings]: what bodes ill
//   - [Run.Faults]: mean time to detect and to recover, per fault
//   - [Run.Budgets]: a service level objective and the burning of its error budget
//   - [Compare]: a scenario against its baseline
//   - [Run.Plot]: the timeline as a picture
//
// A [Query] narrows each of them to a window, nodes and classes. What is
// undefined, such as served/arrivals where nothing arrived, is a [Value] that is
// null in JSON, never 0. Answers marshal to JSON with the field names of the
// MCP tools.
//
// # Costs
//
// Adding a sample takes about 100 ns, in a batch ([Run.AddAll]) about half of
// that, and allocates only for new bins. A bin takes 128 bytes for each node and
// class, 4 bytes for each latency up to 1024 of them, and beyond that up to 12
// bytes for each occupied bucket of a histogram. There are at most
// [RunOptions].MaxBins bins, so that memory does not grow with the number of
// samples. A window of 1000 bins takes less than a millisecond. Nothing runs in
// the background.
package timeline
