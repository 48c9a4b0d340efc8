package jsonhash

import "bytes"

// Same reports whether two documents have the same value. Unlike [Sum] it distinguishes null and {}. Two texts that are
// not JSON, such as white space alone, are the same only if their bytes are equal. It is safe for concurrent use.
func Same(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if Sum(a) != Sum(b) {
		return false
	}
	x, y := first(a), first(b)
	return x != 0 && x == y || !ambiguous(x) && !ambiguous(y)
}

// first returns the first byte of a value; 0: there is none.
func first(doc []byte) byte {
	if i := space(doc, 0); i < len(doc) {
		return doc[i]
	}
	return 0
}

// ambiguous reports whether a value that begins with this byte may be one of those that have one Sum.
func ambiguous(first byte) bool { return first == 0 || first == '{' || first == 'n' }
