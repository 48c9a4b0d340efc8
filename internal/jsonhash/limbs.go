package jsonhash

import (
	"encoding/binary"

	"github.com/shakedown-go/shakedown/internal/hash"
)

// limbs hashes a whole number of any length after the state h. The digits are pushed in parts, the highest first and without
// leading zeros. A number of up to limb digits costs one step.
type limbs struct {
	h     uint64
	chunk uint64
	n     int
	total uint64
}

func (l *limbs) push(number []byte) {
	for len(number) > 0 {
		if l.n == limb {
			l.h, l.chunk, l.n = hash.Combine(l.h, l.chunk), 0, 0
		}
		k := min(limb-l.n, len(number))
		part := number[:k]
		for ; len(part) >= 8; part = part[8:] {
			l.chunk = l.chunk*100_000_000 + eight(part)
		}
		l.chunk, _ = digits(part, 0, l.chunk)
		l.n += k
		l.total += uint64(k)
		number = number[k:]
	}
}

// eight returns the number whose digits are the first eight bytes of b. It joins neighbours, all at once in one word: digits
// to pairs, pairs to fours, and fours to the number.
func eight(b []byte) uint64 {
	w := binary.LittleEndian.Uint64(b) - ones*'0'
	w = w*10 + w>>8
	w = w&0x00FF00FF00FF00FF*100 + w>>16&0x00FF00FF00FF00FF
	return w&0xFFFF*10_000 + w>>32&0xFFFF
}

// pushNext pushes number + 1: the nines at its end become zeros, and the digit before them grows.
func (l *limbs) pushNext(number []byte) {
	k := len(number)
	for k > 0 && number[k-1] == '9' {
		k--
	}
	before := byte('0')
	if k > 0 {
		before = number[k-1]
		l.push(number[:k-1])
	}
	l.push([]byte{before + 1})
	for range number[k:] {
		l.push([]byte{'0'})
	}
}

// pushPrevious pushes number - 1, which is nothing for a number of 1: the zeros at its end become nines.
func (l *limbs) pushPrevious(number []byte) {
	k := len(number)
	for number[k-1] == '0' {
		k--
	}
	if k > 1 || number[0] > '1' {
		l.push(number[:k-1])
		l.push([]byte{number[k-1] - 1})
	}
	for range number[k:] {
		l.push([]byte{'9'})
	}
}

// sum ends the number. The count of digits tells a last limb of 05 from one of 5.
func (l *limbs) sum() uint64 {
	h := hash.Combine(l.h, l.chunk)
	if l.total > limb {
		h = hash.Combine(h, l.total)
	}
	return h
}
