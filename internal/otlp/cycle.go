package otlp

// Cycles calls found for one of each group of nodes that are inside each other.
// parent returns the number of the node that a node, one of n, is directly in; false:
// it is in none.
func Cycles(n int, parent func(int) (int, bool), found func(int)) {
	const open, done = 1, 2
	state := make([]uint8, n)
	for i := range n {
		at, there := i, true
		for there && state[at] == 0 {
			state[at] = open
			at, there = parent(at)
		}
		if there && state[at] == open {
			found(at)
		}
		for at, there = i, true; there && state[at] == open; at, there = parent(at) {
			state[at] = done
		}
	}
}
