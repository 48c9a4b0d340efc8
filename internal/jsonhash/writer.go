package jsonhash

import (
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/hash"
)

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

// writeReplacing writes b with each byte of invalid UTF-8 replaced, as encoding/json does.
func (w *writer) writeReplacing(b []byte) {
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		w.writeRune(r)
		b = b[size:]
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

func (w *writer) sum() uint64 {
	w.flush()
	return w.h
}
