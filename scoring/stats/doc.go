// Package stats has the statistics of repeated trials: how sure a share is, what a
// promise of a rate is worth, whether two builds differ, and how many trials it
// takes to know. All functions are pure: they read only their arguments, keep
// nothing, and may be called from several goroutines at once.
//
// # Concept
//
// An agent on a model is random. Its trials are counted as a [Tally]: so many passed
// of so many. What the counts say depends on how the trials came about, and a
// function for each way states its assumptions:
//
//   - one task, the number of trials fixed: [scoring.Wilson], [ClopperPearson];
//   - one task, stopped at will: [AnyTime];
//   - several scenarios, with trials that are alike within each: [Clustered];
//   - several tasks, each tried k times: [PassAt], [PassEvery];
//   - a promised rate, decided as early as possible: [SPRT]; with passes alone: [Needed];
//   - two builds under equal conditions: [McNemar], [PairedDifference]; not paired:
//     [FisherExact]; over scenarios: [SignFlip]; many comparisons at once: [Holm];
//   - before the first trial: [Trials], [Detectable], [SPRT.Law].
//
// # The smallest program
//
//	iv, err := stats.ClopperPearson(19, 20, 0.95)
//	fmt.Printf("19 of 20; %.2f to %.2f, %v", iv.Low, iv.High, err) // 19 of 20; 0.75 to 1.00, <nil>
//
// # What all share
//
// Results do not depend on the order of the arguments' elements. None is NaN or
// infinite, for any arguments: those that are not allowed are a [*FieldError] each,
// joined, and the result is then the zero value. Chances within rounding (1e-9) of a
// bound count as having reached it.
//
// No function knows whether its assumptions hold. Trials that are copies of each
// other, as those of an agent that repeats itself under equal faults, count as one.
//
// # Costs
//
// Intervals and decisions take nanoseconds to microseconds, [PassAt] some ten
// nanoseconds a task, [Trials] up to some seconds for drops of two points.
//
// Stability: may change.
package stats
