package dialect

import (
	"cmp"
	"container/heap"
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
	n := len(t.nodes)
	l := laneMaker{tree: t, of: make([]int, n), over: make([]bool, n), last: make(map[request]int)}
	l.free.less, l.ends.less = cmp.Less[int], func(a, b end) bool { return a.at < b.at }
	names := make(map[int]string, len(order))
	for _, at := range order {
		l.of[at] = l.enter(at)
		if lane := l.of[at]; lane > 0 {
			names[at] = strconv.Itoa(lane + 1)
		}
	}
	return names
}

type laneMaker struct {
	*tree
	of   []int           // the lane of a node
	over []bool          // a node has ended
	open [][]int         // per lane, the calls under way, outer before inner; those that ended before an inner one stay
	free queue[int]      // lanes in which none is, and some that were taken since
	has  []bool          // a lane is in free
	last map[request]int // the lane of the last call of a tool with its arguments
	ends queue[end]      // of the calls under way
}

// A request is a tool and the hash of its arguments.
type request struct {
	tool string
	args uint64
}

// enter returns the lane of the next call.
func (l *laneMaker) enter(at int) int {
	n := &l.nodes[at]
	for l.ends.Len() > 0 && l.ends.list[0].at <= n.start {
		l.leave(heap.Pop(&l.ends).(end).node)
	}
	lane := -1
	if above := l.above[at]; above >= 0 {
		if open := l.open[l.of[above]]; len(open) > 0 && open[len(open)-1] == above {
			lane = l.of[above]
		}
	}
	var repeated request
	if several := len(l.open) > 1 || len(l.open) == 1 && len(l.open[0]) > 0; several && n.kind == tool && !n.noArgs {
		repeated = request{n.name, jsonhash.Sum(n.args)} // one lane is enough for most
	}
	if lane < 0 {
		lane = l.next(repeated)
	}
	if repeated.tool != "" {
		l.last[repeated] = lane
	}
	if n.end > n.start {
		l.open[lane] = append(l.open[lane], at)
		heap.Push(&l.ends, end{n.end, at})
	} else if len(l.open[lane]) == 0 {
		l.release(lane)
	}
	return lane
}

// next takes a free lane: that of the call that is repeated, else the first of them.
func (l *laneMaker) next(repeated request) int {
	if lane, there := l.last[repeated]; there && len(l.open[lane]) == 0 {
		return lane
	}
	for l.free.Len() > 0 {
		lane := heap.Pop(&l.free).(int)
		if l.has[lane] = false; len(l.open[lane]) == 0 {
			return lane
		}
	}
	l.open, l.has = append(l.open, nil), append(l.has, false)
	return len(l.open) - 1
}

// release notes that no call is under way in a lane.
func (l *laneMaker) release(lane int) {
	if !l.has[lane] {
		l.has[lane] = true
		heap.Push(&l.free, lane)
	}
}

// leave notes that a call has ended.
func (l *laneMaker) leave(at int) {
	l.over[at] = true
	lane := l.of[at]
	open := l.open[lane]
	for len(open) > 0 && l.over[open[len(open)-1]] {
		open = open[:len(open)-1]
	}
	if l.open[lane] = open; len(open) == 0 {
		l.release(lane)
	}
}

type end struct {
	at   int64
	node int
}

// A queue gives back the least of its elements, as package heap has it.
type queue[T any] struct {
	list []T
	less func(a, b T) bool
}

func (q *queue[T]) Len() int           { return len(q.list) }
func (q *queue[T]) Less(i, j int) bool { return q.less(q.list[i], q.list[j]) }
func (q *queue[T]) Swap(i, j int)      { q.list[i], q.list[j] = q.list[j], q.list[i] }
func (q *queue[T]) Push(x any)         { q.list = append(q.list, x.(T)) }
func (q *queue[T]) Pop() any {
	last := q.list[len(q.list)-1]
	q.list = q.list[:len(q.list)-1]
	return last
}
