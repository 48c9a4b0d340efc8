package planjson

import (
	"fmt"
	"maps"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// A DivergedError says that a run is not a replay of a capture, and where the
// two diverge: at the first captured call that was not made again or on which
// other rules were delivered. Calls are the same if lane, target, key and
// occurrence are; their order across lanes does not matter.
type DivergedError struct {
	Lane     string        // of the call
	Position int           // its place among the calls of the lane: 0, 1, 2…
	Expected *CapturedCall // the captured call; nil: all were made, and others too
	// the same call with other rules delivered, or the first that was not captured; nil: there is none
	Got        *CapturedCall
	Missing    int // captured calls that the run did not make
	Additional int // calls of the run that were not captured
	Altered    int // calls on which other rules were delivered than captured
}

// Error names the place, the expected call and the call that was made.
func (e *DivergedError) Error() string {
	show := func(c *CapturedCall) string {
		if c == nil {
			return "no call"
		}
		return c.String()
	}
	return fmt.Sprintf("planjson: the run is no replay of the capture: lane %q, call %d: expected %s; got %s (missing: %d, additional: %d, altered: %d)",
		e.Lane, e.Position, show(e.Expected), show(e.Got), e.Missing, e.Additional, e.Altered)
}

// Check compares the events of a run with the capture. It returns nil if the
// run made the same calls and the same rules were delivered on each, otherwise
// a [*DivergedError]. Events of another cell are an [*Error].
func (r *Capture) Check(events []chaos.Event) error {
	for i, e := range events {
		if e.Cell != r.Cell {
			return &Error{Reason: BadValue, Value: fmt.Sprintf("event %d, of cell %q", i, e.Cell),
				Allowed: fmt.Sprintf("events of cell %q, on which the draws depend", r.Cell)}
		}
	}
	want, got := strandsOf(r.Calls), strandsOf(capturedCalls(events))
	diverged, first := DivergedError{}, -1
	for _, lane := range want.lanes(got) {
		at, global := diverged.compare(want.byLane[lane], got.byLane[lane], want, got)
		if at != nil && (first < 0 || global < first) {
			first = global
			diverged.Lane, diverged.Position, diverged.Expected, diverged.Got = lane, at.Position, at.Expected, at.Got
		}
	}
	if first < 0 {
		return nil
	}
	return &diverged
}

// compare counts the differences of one lane and returns the first, with its
// position among all calls.
func (e *DivergedError) compare(captured, run []int, want, got *strands) (first *DivergedError, global int) {
	first = &DivergedError{}
	for i, at := range captured {
		call := &want.calls[at]
		again := got.find(call)
		switch {
		case again == nil:
			e.Missing++
		case !slices.Equal(again.Delivered, call.Delivered):
			e.Altered++
		default:
			continue
		}
		if first.Expected == nil {
			first.Position, first.Expected, first.Got, global = i, call, again, at
		}
	}
	for i, at := range run {
		call := &got.calls[at]
		if want.find(call) != nil {
			continue
		}
		e.Additional++
		switch {
		case first.Got != nil:
		case first.Expected == nil:
			first.Position, first.Got, global = i, call, at
		default:
			first.Position, first.Got = min(first.Position, i), call
		}
	}
	if first.Expected == nil && first.Got == nil {
		return nil, 0
	}
	return first, global
}

// strands are calls by lane, each lane in order.
type strands struct {
	calls  []CapturedCall
	byLane map[string][]int
	index  map[when.Coord]int
}

func strandsOf(calls []CapturedCall) *strands {
	s := &strands{calls: calls, byLane: make(map[string][]int), index: make(map[when.Coord]int, len(calls))}
	for i, c := range calls {
		s.byLane[c.Lane] = append(s.byLane[c.Lane], i)
		s.index[c.Coord] = i
	}
	return s
}

// find returns the call with the same coordinates, or nil.
func (s *strands) find(c *CapturedCall) *CapturedCall {
	if i, ok := s.index[c.Coord]; ok {
		return &s.calls[i]
	}
	return nil
}

// lanes lists the lanes of both, each once, sorted.
func (s *strands) lanes(other *strands) []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(s.byLane)), maps.Keys(other.byLane))
	slices.Sort(names)
	return slices.Compact(names)
}
