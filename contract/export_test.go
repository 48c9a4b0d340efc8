package contract

import "time"

// For the tests of stack traces.
var (
	BubbleNumber = bubbleNumber
	NameStrays   = strays
	NameHolders  = holders

	StandardLibrary = standardLibrary
)

// Stillness is how long a bubble has waited for the same I/O.
type Stillness = stillness

// Looks is how many looks must show the same.
const Looks = looks

func (s *stillness) Look(now time.Time, waiting string, limit time.Duration) bool {
	return s.look(now, waiting, limit)
}

// WithIOPatience sets how long nothing but real I/O may keep a bubble's clock from moving.
func WithIOPatience(o *RunOptions, d time.Duration) *RunOptions {
	o.ioPatience = d
	return o
}
