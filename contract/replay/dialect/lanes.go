package dialect

import (
	"strconv"

	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

// lanes gives each call a lane: the one of the call that it lies in, or else the first
// one, unless another call is under way there. Then it gets the first lane that is
// free, or, where it repeats a call, the lane of that one if it is free: a repetition is
// told from other calls by its lane. So calls get lanes of their own only where they
// overlap. The first lane is "", the others are "2", "3", and so on.
//
// A call whose end was not recorded counts as ended when it began: whether others
// overlap it is unknown.
func (t *tree) lanes(order []int) map[int]string {
	l := laneMaker{tree: t, of: make([]int, len(t.nodes)), last: make(map[request]int)}
	names := make(map[int]string, len(order))
	for _, at := range order {
		l.of[at] = l.enter(at)
		if lane := l.of[at]; lane > 0 {
			names[at] = strconv.Itoa(lane + 1)
		}
	}
	return names
}

// maxLanes bounds the time that finding a free lane takes. Calls beyond share the last lane.
const maxLanes = 1000

type laneMaker struct {
	*tree
	of   []int           // the lane of a node
	open [][]int         // per lane, the calls under way, outer before inner; those that ended before an inner one stay
	last map[request]int // the lane of the last call of a tool with its arguments
}

type request struct {
	tool string
	args uint64
}

func (l *laneMaker) enter(at int) (lane int) {
	n := &l.nodes[at]
	several := len(l.open) > 1 || len(l.open) == 1 && len(l.underWay(0, n.start)) > 0 // one lane is enough for most
	var own request
	if several && n.kind == tool && !n.noArgs {
		own = request{n.name, jsonhash.Sum(n.args)}
	}
	lane = l.within(at)
	if before, repeats := l.last[own]; lane < 0 && repeats && len(l.underWay(before, n.start)) == 0 {
		lane = before
	}
	if lane < 0 {
		lane = l.free(n.start)
	}
	if own.tool != "" {
		l.last[own] = lane
	}
	if n.end > n.start {
		l.open[lane] = append(l.open[lane], at)
	}
	return lane
}

// within is the lane of the call that a call lies in, if no other one is under way there; else -1.
func (l *laneMaker) within(at int) int {
	above := l.above[at]
	if above < 0 {
		return -1
	}
	if open := l.underWay(l.of[above], l.nodes[at].start); len(open) == 0 || open[len(open)-1] != above {
		return -1
	}
	return l.of[above]
}

// free is the first lane in which no call is under way.
func (l *laneMaker) free(now int64) int {
	for lane := range l.open {
		if len(l.underWay(lane, now)) == 0 {
			return lane
		}
	}
	if len(l.open) < maxLanes {
		l.open = append(l.open, nil)
	}
	return len(l.open) - 1
}

// underWay are the calls of a lane without the last ones that have ended.
func (l *laneMaker) underWay(lane int, now int64) []int {
	open := l.open[lane]
	for len(open) > 0 && l.nodes[open[len(open)-1]].end <= now {
		open = open[:len(open)-1]
	}
	l.open[lane] = open
	return open
}
