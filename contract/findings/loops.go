package findings

import (
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/text"
)

const (
	loopLength = 8 // the most calls of a sequence that is repeated
	loopTimes  = 3 // the least times
)

// A repetition is a part of a sequence that repeats its first period elements.
type repetition struct{ from, to, period int } // to is behind the last

// repetitions calls found with each longest part of a sequence that repeats up to
// loopLength elements at least loopTimes times; the last time may be cut. The repeated
// elements are no repetition themselves. It takes loopLength steps an element.
func repetitions(sequence []uint64, found func(repetition)) {
	for period := 1; period <= loopLength; period++ {
		from := 0 // of the longest part up to here that has the period
		for to := period; to <= len(sequence); to++ {
			if to < len(sequence) && sequence[to] == sequence[to-period] {
				continue
			}
			if to-from >= loopTimes*period && primitive(sequence[from:from+period]) {
				found(repetition{from, to, period})
			}
			from = to - period + 1
		}
	}
}

// primitive reports whether a sequence is not a shorter one several times.
func primitive(sequence []uint64) bool {
	for period := 1; period < len(sequence); period++ {
		if len(sequence)%period == 0 && slices.Equal(sequence[period:], sequence[:len(sequence)-period]) {
			return false
		}
	}
	return true
}

// findLoops finds loops in the calls of each lane that were made within the same call.
func (f *finder) findLoops() {
	type strand struct {
		lane   string
		within int
	}
	strands := make(map[strand][]*call)
	var order []strand
	for i := range f.calls {
		c := &f.calls[i]
		if c.ofHabit {
			continue // the agent asked once
		}
		at := strand{c.Lane, c.within}
		if strands[at] == nil {
			order = append(order, at)
		}
		strands[at] = append(strands[at], c)
	}
	for _, at := range order {
		f.findLoopsOf(strands[at])
	}
}

// findLoopsOf finds the loops of a list of calls. One without arguments in the record is like no
// other. If calls of the same tools are a loop, it may be one.
func (f *finder) findLoopsOf(calls []*call) {
	exact, tools := make([]uint64, len(calls)), make([]uint64, len(calls))
	holes := 0
	before := make([]int, len(calls)+1) // the number of holes before each call
	for i, c := range calls {
		before[i] = holes
		exact[i], tools[i] = c.args.hash, hash.String(c.Tool)
		if !c.args.known {
			exact[i] = hash.Combine(hash.Combine(c.args.hash, 3), uint64(c.number))
			holes++
		}
	}
	before[len(calls)] = holes
	repetitions(exact, func(r repetition) {
		numbers := make([]int, 0, r.to-r.from)
		for _, c := range calls[r.from:r.to] {
			numbers = append(numbers, c.number)
		}
		what := calls[r.from].name() + " was called"
		if r.period > 1 {
			what = fmt.Sprintf("a sequence of %d calls that begins with %s was made", r.period, calls[r.from].name())
		}
		f.found(Loop, numbers, "%s %s times in a row with equal arguments.", what, text.Number((r.to-r.from)/r.period))
	})
	if holes == 0 {
		return
	}
	repetitions(tools, func(r repetition) {
		if before[r.to] > before[r.from] {
			f.doubt(Loop, "Arguments of "+calls[r.from].name()+" and of the calls after it were not recorded, "+
				"so they may be a loop.")
		}
	})
}
