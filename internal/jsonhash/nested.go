package jsonhash

import "github.com/shakedown-go/shakedown/internal/hash"

// levels is how many open containers a call of value keeps; for deeper ones it calls itself. A call for each level
// would be simpler. But a processor predicts returns only up to some depth, and beyond it each return costs as much as
// a value.
const levels = 8

// A container is an array or an object that is being read.
type container struct {
	h     uint64 // of the elements or members so far
	key   uint64 // of the member whose value comes next
	close byte
}

func open(bracket byte) container {
	// In ASCII the code of a closing bracket is that of its opening one plus two.
	c := container{h: hash.Mix(tagArray), close: bracket + 2}
	if bracket == '{' {
		c.h = hash.Mix(tagObject)
	}
	return c
}

// add appends an element, whose order matters, or adds up a member, whose order does not.
func (c *container) add(h uint64) {
	if c.close == '}' {
		c.h += hash.Combine(c.key, h)
	} else {
		c.h = hash.Combine(c.h, h)
	}
}

// value hashes the value at d[i], which may be past the end, and returns the position after it.
func value(d []byte, i, depth int) (uint64, int) {
	var stack [levels]container
	n := 0
values:
	for uint(i) < uint(len(d)) {
		var h uint64
		switch c := d[i]; {
		case c != '{' && c != '[':
			h, i = scalar(d, i)
		case depth+n == maxDepth:
			return 0, invalid
		case n == levels:
			h, i = value(d, i, depth+n)
		default:
			top := &stack[n]
			*top = open(c)
			if i = space(d, i+1); i == len(d) || d[i] != top.close {
				i = top.before(d, i)
				n++
				continue values
			}
			h, i = top.h, i+1
		}
		for n > 0 && i != invalid {
			top := &stack[n-1]
			top.add(h)
			if i = space(d, i); i == len(d) {
				return 0, invalid
			}
			if d[i] == ',' {
				i = top.before(d, space(d, i+1))
				continue values
			}
			if d[i] != top.close {
				return 0, invalid
			}
			h, i = top.h, i+1
			n--
		}
		return h, i
	}
	return 0, invalid
}

// before returns the position of the next value, whose key it reads first in an object; d[i] is where they begin.
func (c *container) before(d []byte, i int) int {
	if c.close == '}' {
		c.key, i = name(d, i)
	}
	return i
}

// name hashes the key at d[i] and returns the position of the member's value.
func name(d []byte, i int) (uint64, int) {
	if i == len(d) || d[i] != '"' {
		return 0, invalid
	}
	h, i := text(d, i+1)
	if i == invalid {
		return 0, invalid
	}
	if i = space(d, i); i == len(d) || d[i] != ':' {
		return 0, invalid
	}
	return h, space(d, i+1)
}
