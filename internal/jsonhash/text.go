package jsonhash

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
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
			r, size := jsonedit.Escape(d[i:])
			if size == 0 {
				return 0, invalid
			}
			w.writeRune(r)
			i += size
			continue
		}
		end, ascii := plain(d, i)
		if ascii || utf8.Valid(d[i:end]) {
			w.write(d[i:end])
		} else {
			for b := d[i:end]; len(b) > 0; { // each wrong byte is replaced, as encoding/json does
				r, size := utf8.DecodeRune(b)
				w.writeRune(r)
				b = b[size:]
			}
		}
		if end == len(d) || d[end] < ' ' {
			return 0, invalid
		}
		if i = end; d[i] == '"' {
			w.flush()
			return w.h, i + 1
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

// A writer hashes bytes that are written in parts; its sum is that of blocks over all of them. It stays on the stack.
type writer struct {
	buf   [block]byte
	n     int
	h     uint64
	later bool
}

func (w *writer) write(b []byte) {
	for len(b) > 0 {
		if w.n == block {
			w.flush()
		}
		c := copy(w.buf[w.n:], b)
		w.n += c
		b = b[c:]
	}
}

func (w *writer) writeRune(r rune) {
	if r < utf8.RuneSelf && w.n < block {
		w.buf[w.n] = byte(r)
		w.n++
		return
	}
	var b [utf8.UTFMax]byte
	w.write(b[:utf8.EncodeRune(b[:], r)])
}

// flush hashes the buffer. A full buffer is flushed only when more is written, since it may be the last block.
func (w *writer) flush() {
	x := hash.Bytes(w.buf[:w.n])
	if w.later {
		x = hash.Combine(w.h, x)
	}
	w.h, w.n, w.later = x, 0, true
}
