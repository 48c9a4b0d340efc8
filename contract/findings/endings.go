package findings

import "container/heap"

// endings is a heap of calls by when they end, then by their numbers.
type endings []*call

func (e endings) Len() int { return len(e) }
func (e endings) Less(i, k int) bool {
	return e[i].end < e[k].end || e[i].end == e[k].end && e[i].number < e[k].number
}
func (e endings) Swap(i, k int) { e[i], e[k] = e[k], e[i] }
func (e *endings) Push(c any)   { *e = append(*e, c.(*call)) }
func (e *endings) Pop() any {
	last := len(*e) - 1
	c := (*e)[last]
	(*e)[last], *e = nil, (*e)[:last]
	return c
}

// add adds a call. It takes one step if the call is the last to end.
func (e *endings) add(c *call) { heap.Push(e, c) }

// before removes the calls that had ended when c began, and calls visit with each.
func (e *endings) before(c *call, visit func(*call)) {
	for len(*e) > 0 && (*e)[0].end <= c.begin {
		visit(heap.Pop(e).(*call))
	}
}

// waiting has heaps of calls, by what they wait for.
type waiting[K comparable] map[K]endings

func (w waiting[K]) add(key K, c *call) {
	e := w[key]
	e.add(c)
	w[key] = e
}

// before is that of the heap of a key.
func (w waiting[K]) before(key K, c *call, visit func(*call)) {
	e := w[key]
	if len(e) == 0 || e[0].end > c.begin {
		return
	}
	if e.before(c, visit); len(e) == 0 {
		delete(w, key)
		return
	}
	w[key] = e
}
