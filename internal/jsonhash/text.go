package jsonhash

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/hash"
)

// block is how many decoded bytes are hashed at once. A string with escapes is decoded into a buffer of that size on
// the stack. A string without escapes is hashed in place, in the same blocks, so that both give the same number.
const block = 512

// text hashes the decoded string that starts at d[i], after the quote, and returns the position after the closing
// quote.
func text(d []byte, i int) (uint64, int) {
	end, ascii := plain(d, i)
	if end == len(d) || d[end] != '"' || !ascii && !utf8.Valid(d[i:end]) {
		return rewritten(d, i)
	}
	return blocks(d[i:end]), end + 1
}

func blocks(b []byte) uint64 {
	if len(b) <= block {
		return hash.Bytes(b)
	}
	h := hash.Bytes(b[:block])
	for b = b[block:]; len(b) > block; b = b[block:] {
		h = hash.Combine(h, hash.Bytes(b[:block]))
	}
	return hash.Combine(h, hash.Bytes(b))
}

// rewritten hashes a string whose decoded bytes are not the ones in the document.
func rewritten(d []byte, i int) (uint64, int) {
	var w writer
	for i < len(d) {
		if d[i] == '\\' {
			r, next := escape(d, i)
			if next == invalid {
				return 0, invalid
			}
			w.writeRune(r)
			i = next
			continue
		}
		end, ascii := plain(d, i)
		if ascii || utf8.Valid(d[i:end]) {
			w.write(d[i:end])
		} else {
			w.writeReplacing(d[i:end])
		}
		if end == len(d) || d[end] < ' ' {
			return 0, invalid
		}
		if i = end; d[i] == '"' {
			return w.sum(), i + 1
		}
	}
	return 0, invalid
}

// plain returns the position of the first quote, backslash or control character at or after i, or the length of d, and
// whether all bytes before it are ASCII.
func plain(d []byte, i int) (end int, ascii bool) {
	var seen uint64
	for ; i+8 <= len(d); i += 8 {
		w := binary.LittleEndian.Uint64(d[i:])
		if m := special(w); m != 0 {
			seen |= w & (m&-m - 1)
			return i + bits.TrailingZeros64(m)/8, seen&tops == 0
		}
		seen |= w
	}
	for ; i < len(d) && d[i] >= ' ' && d[i] != '"' && d[i] != '\\'; i++ {
		seen |= uint64(d[i])
	}
	return i, seen&tops == 0
}

const (
	ones = 0x0101010101010101
	tops = ones << 7
)

// special sets the top bit of the lowest byte of w that is a quote, a backslash or below a space, and is 0 if there is
// none. The bits above that byte have no meaning, since a subtraction may borrow from the byte above.
func special(w uint64) uint64 {
	quote, backslash := w^ones*'"', w^ones*'\\'
	return ((w-ones*' ')&^w | (quote-ones)&^quote | (backslash-ones)&^backslash) & tops
}

// escape decodes the escape sequence whose backslash is d[i].
func escape(d []byte, i int) (rune, int) {
	if i+1 == len(d) {
		return 0, invalid
	}
	switch c := d[i+1]; c {
	case '"', '\\', '/':
		return rune(c), i + 2
	case 'b':
		return '\b', i + 2
	case 'f':
		return '\f', i + 2
	case 'n':
		return '\n', i + 2
	case 'r':
		return '\r', i + 2
	case 't':
		return '\t', i + 2
	}
	r := unit(d, i)
	if r < 0 {
		return 0, invalid
	}
	if !utf16.IsSurrogate(r) {
		return r, i + 6
	}
	if pair := utf16.DecodeRune(r, unit(d, i+6)); pair != utf8.RuneError {
		return pair, i + 12
	}
	return utf8.RuneError, i + 6
}

// unit reads the UTF-16 code unit written at d[i] as a backslash, a u and four hexadecimal digits; -1 if none is there.
func unit(d []byte, i int) rune {
	if i+6 > len(d) || d[i] != '\\' || d[i+1] != 'u' {
		return -1
	}
	return hex(d[i+2])<<12 | hex(d[i+3])<<8 | hex(d[i+4])<<4 | hex(d[i+5])
}

// hex is the value of a hexadecimal digit, or -1, which stays negative through the shifts and the union above.
func hex(c byte) rune {
	if c -= '0'; c <= 9 {
		return rune(c)
	}
	if c = (c + '0') | 0x20 - 'a'; c <= 5 {
		return rune(c) + 10
	}
	return -1
}
