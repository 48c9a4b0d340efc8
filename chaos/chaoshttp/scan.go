package chaoshttp

import (
	"bytes"
	"encoding/json"
)

// firstMember is the value of a member of a JSON object, as it is written: the first
// of that name. It looks no further than that, and takes no more trouble over
// what stands before than to find its end; nil: there is none, or doc ends
// before it does.
func firstMember(doc []byte, name string) []byte {
	i := space(doc, 0)
	if i == len(doc) || doc[i] != '{' {
		return nil
	}
	for i++; ; i++ {
		i = space(doc, i)
		from := i
		if i = value(doc, i); i < 0 || doc[from] != '"' {
			return nil
		}
		found := called(doc[from:i], name)
		if i = space(doc, i); i == len(doc) || doc[i] != ':' {
			return nil
		}
		from = space(doc, i+1)
		if i = value(doc, from); i < 0 {
			return nil
		}
		if found {
			return doc[from:i]
		}
		if i = space(doc, i); i == len(doc) || doc[i] != ',' {
			return nil
		}
	}
}

// called reports whether a JSON string is the name.
func called(quoted []byte, name string) bool {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1:len(quoted)-1]) == name
	}
	var text string
	return json.Unmarshal(quoted, &text) == nil && text == name
}

// space is the place behind white space.
func space(doc []byte, i int) int {
	for i < len(doc) && (doc[i] == ' ' || doc[i] == '\n' || doc[i] == '\r' || doc[i] == '\t') {
		i++
	}
	return i
}

// value is the place behind a value, which is well formed as far as brackets and
// quotes go; -1: doc ends before it does.
func value(doc []byte, i int) int {
	if i == len(doc) {
		return -1
	}
	if doc[i] != '"' && doc[i] != '{' && doc[i] != '[' {
		n := bytes.IndexAny(doc[i:], ",]} \n\r\t")
		if n <= 0 {
			return -1
		}
		return i + n
	}
	for depth := 0; i < len(doc); i++ {
		switch doc[i] {
		case '"':
			if i = quoted(doc, i); i < 0 {
				return -1
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
	return -1
}

// quoted is the place of the quote that ends a string which begins at i; -1: none does.
func quoted(doc []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(doc[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		back := i
		for doc[back-1] == '\\' {
			back--
		}
		if (i-back)%2 == 0 {
			return i
		}
	}
}
