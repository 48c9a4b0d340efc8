// Package tolerance has ready-made tolerances for the outputs of probes.
//
//	Tolerance: tolerance.Equal(200)                                  // exactly this
//	Tolerance: tolerance.Range(0, 250)                               // a number between two
//	Tolerance: tolerance.Func(ready)                                 // a function, which sees the Go value
//
// An output is judged by its JSON, as in a journal. So an int, an int64 and a
// json.Number of the same value are equal, and so are a struct and the map with its
// members. An output without JSON cannot be judged, which is an error.
//
// All tolerances are immutable and safe for concurrent use.
// [experiment.Experiment.Validate] reports one that is invalid.
package tolerance
