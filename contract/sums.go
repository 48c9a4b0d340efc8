package contract

import (
	"math"
	"time"
)

// Sums of counts and of times stop at the largest value of their type. An
// int may have 32 bits, and a cell that hung counts thirty days.

// plus adds two durations that are not negative.
func plus(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// add adds to a count.
func add(count *int, n int) {
	if *count > math.MaxInt-n {
		*count = math.MaxInt
		return
	}
	*count += n
}

// toInt makes an int of a counter.
func toInt(n uint64) int { return int(min(n, math.MaxInt)) }
