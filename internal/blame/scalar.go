package blame

import (
	"bytes"

	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

// disjointScalars reports whether each change replaced a number or literal by
// another, no two in the same place. Then all changes are seen: names and order are
// unchanged, and each place has the value that its change wrote. Most changes are
// like that, and comparing bytes is enough to find it. If the result is false, the
// documents have to be parsed.
func disjointScalars(values [][]byte) bool {
	type span struct{ from, to int }
	var changed []span // in the last value so far
	for k := range len(values) - 1 {
		a, b := values[k], values[k+1]
		from := Common(a, b)
		same := commonEnd(a[from:], b[from:])
		if InString(a[:from]) {
			return false
		}
		for from > 0 && InScalar(a[from-1]) {
			from--
		}
		for same > 0 && InScalar(a[len(a)-same]) {
			same--
		}
		x, y := a[from:len(a)-same], b[from:len(b)-same]
		if !isScalar(x) || !isScalar(y) || jsonhash.Sum(x) == jsonhash.Sum(y) {
			return false
		}
		for i := range changed {
			switch c := &changed[i]; {
			case c.from >= from+len(x):
				c.from, c.to = c.from+len(y)-len(x), c.to+len(y)-len(x)
			case c.to > from:
				return false // the same place
			}
		}
		changed = append(changed, span{from, from + len(y)})
	}
	return true
}

// Common is the length of the longest common prefix of two texts.
func Common(a, b []byte) (n int) {
	const step = 64
	for n+step <= min(len(a), len(b)) && bytes.Equal(a[n:n+step], b[n:n+step]) {
		n += step
	}
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// InString reports whether the beginning of a document ends within a string.
func InString(beginning []byte) (in bool) {
	for {
		i := bytes.IndexAny(beginning, `"\`)
		if i < 0 {
			return in
		}
		if beginning[i] == '"' {
			in = !in
			beginning = beginning[i+1:]
			continue
		}
		beginning = beginning[min(i+2, len(beginning)):]
	}
}

func isScalar(text []byte) bool {
	for _, c := range text {
		if !InScalar(c) {
			return false
		}
	}
	return len(text) > 0
}

// InScalar reports whether a character may stand in a number or a literal.
func InScalar(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E'
}
