// Package jsonhash hashes a JSON document by its value, so that two spellings of the same arguments get the same draw.
//
// A model that repeats a tool call seldom repeats its bytes: keys change places, 1 becomes 1.0, a quote is escaped
// another way. A draw keyed by the bytes would treat the retry as another call. Sum ignores these differences:
//
//	jsonhash.Sum([]byte(`{"id": 7, "name": "A"}`)) == jsonhash.Sum([]byte(`{"name":"\u0041","id":7.0}`))
//
// What counts as equal:
//
//   - White space between tokens and the order of an object's members do not matter; the order of an array does.
//   - Numbers are compared as exact decimals of any length: 1, 1.0, 10e-1 and 0.1E+1 are one value, and so are 0 and
//     -0. Nothing is rounded: 0.1 and 0.1000000000000000000000001 differ. An exponent of more than 17 digits counts as
//     it is written.
//   - Strings are compared as encoding/json decodes them: escapes decoded, a lone surrogate and each byte of invalid
//     UTF-8 replaced by U+FFFD. They are not normalised.
//   - A repeated key counts as often as it occurs, in any order: {"a":1,"a":2} equals {"a":2,"a":1}, but not {"a":2}.
//     Callees disagree on which occurrence counts, so none is dropped.
//   - At the top level alone an empty document (nil, or white space), null and {} are one value, since clients use all
//     three for "no arguments". Inside a document null, {} and an absent member stay distinct.
//   - Text that encoding/json refuses (nesting deeper than 10,000 included) is hashed as raw bytes, and has other
//     hashes than valid documents.
//
// Sum makes one pass, and no allocation unless a number has more than 128 digits. It takes half to nine tenths of the
// time of json.Valid on the same bytes, and about the same time where hundreds of brackets are open at once. It is not
// cryptographic: a caller who chooses the
// documents can construct collisions. The values are stable across releases and architectures.
package jsonhash

import (
	"bytes"

	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// maxDepth is the nesting that encoding/json accepts.
const maxDepth = 10000

// A tag starts the hash of one type of value, so that "1", 1 and [1] differ. All are below numberStep, which leaves
// room for a power of ten beside the tag of a number.
const (
	tagNull uint64 = iota + 1
	tagFalse
	tagTrue
	tagNumber
	tagNegative
	tagHuge
	tagText
	tagArray
	tagObject
	tagInvalid
)

// invalid is the position that a parsing function returns for a document that is not JSON.
const invalid = -1

// Sum hashes the value of doc. It is never 0, which callers keep for "no key". It accepts any bytes, does not keep doc,
// and is safe for concurrent use.
func Sum(doc []byte) uint64 {
	h := document(doc)
	if h == 0 {
		return 1
	}
	return h
}

func document(doc []byte) uint64 {
	switch h, ok := whole(doc); {
	case ok && h == hash.Mix(tagNull), jsonedit.Space(doc, 0) == len(doc):
		return hash.Mix(tagObject)
	case ok:
		return h
	}
	return hash.Combine(tagInvalid, hash.Bytes(doc))
}

// whole hashes the one value that a document has; ok is false if it is not JSON.
func whole(doc []byte) (h uint64, ok bool) {
	h, i := value(doc, jsonedit.Space(doc, 0), 0)
	return h, i != invalid && jsonedit.Space(doc, i) == len(doc)
}

// scalar hashes the string, number or literal at d[i] and returns the position after it.
func scalar(d []byte, i int) (uint64, int) {
	switch c := d[i]; {
	case c == '"':
		h, next := text(d, i+1)
		return h + tagText, next
	case c == '-' || '0' <= c && c <= '9':
		return number(d, i)
	case c == 't':
		return literal(d, i, "true", tagTrue)
	case c == 'f':
		return literal(d, i, "false", tagFalse)
	case c == 'n':
		return literal(d, i, "null", tagNull)
	}
	return 0, invalid
}

func literal(d []byte, i int, word string, tag uint64) (uint64, int) {
	end := i + len(word)
	if end > len(d) || string(d[i:end]) != word {
		return 0, invalid
	}
	return hash.Mix(tag), end
}

// value hashes the value at d[i], which may be past the end, and returns the position after it.
func value(d []byte, i, depth int) (uint64, int) {
	if i >= len(d) {
		return 0, invalid
	}
	if d[i] != '{' && d[i] != '[' {
		return scalar(d, i)
	}
	if depth == maxDepth {
		return 0, invalid
	}
	// In ASCII the code of a closing bracket is that of its opening one plus two.
	object, end := d[i] == '{', d[i]+2
	sum := hash.Mix(tagArray)
	if object {
		sum = hash.Mix(tagObject)
	}
	if i = jsonedit.Space(d, i+1); i < len(d) && d[i] == end {
		return sum, i + 1
	}
	for i < len(d) {
		var key, h uint64
		if object {
			if key, i = name(d, i); i == invalid {
				break
			}
		}
		if h, i = value(d, i, depth+1); i == invalid {
			break
		}
		if object {
			sum += hash.Combine(key, h) // whatever the order of the members is
		} else {
			sum = hash.Combine(sum, h)
		}
		if i = jsonedit.Space(d, i); i == len(d) {
			break
		}
		if d[i] == end {
			return sum, i + 1
		}
		if d[i] != ',' {
			break
		}
		i = jsonedit.Space(d, i+1)
	}
	return 0, invalid
}

// name hashes the key at d[i] and returns the position of the member's value.
func name(d []byte, i int) (uint64, int) {
	if d[i] != '"' {
		return 0, invalid
	}
	h, i := text(d, i+1)
	if i == invalid {
		return 0, invalid
	}
	if i = jsonedit.Space(d, i); i == len(d) || d[i] != ':' {
		return 0, invalid
	}
	return h, jsonedit.Space(d, i+1)
}

// Same reports whether two documents have the same value. Unlike [Sum] it distinguishes null and {}. Two texts that are
// not JSON, such as white space alone, are the same only if their bytes are equal. It is safe for concurrent use.
func Same(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, isJSON := whole(a)
	y, isToo := whole(b)
	return isJSON && isToo && x == y
}
