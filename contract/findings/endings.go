package findings

// endings is a heap of calls by when they end, then by their numbers.
type endings []*call

func (e endings) less(i, k int) bool {
	return e[i].end < e[k].end || e[i].end == e[k].end && e[i].number < e[k].number
}

// add adds a call. It takes one step if the call is the last to end.
func (e *endings) add(c *call) {
	*e = append(*e, c)
	list := *e
	for i := len(list) - 1; i > 0; {
		up := (i - 1) / 2
		if !list.less(i, up) {
			return
		}
		list[i], list[up] = list[up], list[i]
		i = up
	}
}

// before removes the calls that had ended when c began, and calls visit with each.
func (e *endings) before(c *call, visit func(*call)) {
	for len(*e) > 0 && (*e)[0].end <= c.begin {
		visit(e.first())
	}
}

// first removes and returns the first to end.
func (e *endings) first() *call {
	list := *e
	first, last := list[0], len(list)-1
	list[0], list[last] = list[last], nil
	list = list[:last]
	*e = list
	for i := 0; ; {
		least := i
		for down := 2*i + 1; down <= 2*i+2 && down < len(list); down++ {
			if list.less(down, least) {
				least = down
			}
		}
		if least == i {
			return first
		}
		list[i], list[least] = list[least], list[i]
		i = least
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
