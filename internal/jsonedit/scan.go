package jsonedit

import "bytes"

// Space returns the index of the first byte from i on that is not white space;
// len(doc): there is none.
func Space(doc []byte, i int) int {
	for i < len(doc) && isSpace(doc[i]) {
		i++
	}
	return i
}

// After returns the index after the value that begins at i; -1: doc ends before
// the value is known to have ended. A number or a word is known to end only at
// the byte after it. After looks at brackets and quotes alone: use it on valid
// JSON, or on the beginning of a document that may be.
func After(doc []byte, i int) int {
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

// quoted returns the index of the quote that ends the string at i; -1: there is
// none.
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

// Compact appends valid JSON without the white space between its tokens, but with gap behind each colon and comma.
func Compact(dst, doc []byte, gap string) []byte {
	for i := 0; i < len(doc); {
		from := i
		switch c := doc[i]; {
		case isSpace(c):
			i++
			continue
		case c == '"':
			i = quoted(doc, i) + 1
		case gap != "" && (c == ',' || c == ':'):
			dst = append(append(dst, c), gap...)
			i++
			continue
		default:
			for i < len(doc) && doc[i] != '"' && !isSpace(doc[i]) && (gap == "" || doc[i] != ',' && doc[i] != ':') {
				i++
			}
		}
		dst = append(dst, doc[from:i]...)
	}
	return dst
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }
