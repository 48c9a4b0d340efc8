//go:build race

package invariant

// Under the race detector pools drop at random what they keep, so allocations say nothing of the work.
const raceDetector = true
