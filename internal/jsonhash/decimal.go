package jsonhash

import (
	"bytes"
	"encoding/binary"

	"github.com/shakedown-go/shakedown/internal/hash"
)

// decimal hashes a number of any length. mantissa has its digits, with the decimal point at index point, or none if
// point is its length. exp is the exponent as it is written, or empty. The time is linear in the text, whatever the
// exponent is.
func decimal(tag uint64, mantissa []byte, point int, exp []byte) uint64 {
	first, end := 0, len(mantissa)
	for first < end && (mantissa[first] == '0' || mantissa[first] == '.') {
		first++
	}
	if first == end {
		return zero()
	}
	for mantissa[end-1] == '0' || mantissa[end-1] == '.' {
		end--
	}
	shift := point - end
	if end > point {
		shift++
	}
	n := limbs{h: power(tag, exp, int64(shift))}
	n.push(mantissa[first:max(first, min(point, end))])
	n.push(mantissa[min(max(point+1, first), end):end])
	return n.sum()
}

// power starts the hash of a number whose power of ten is the written exponent plus shift.
func power(tag uint64, exp []byte, shift int64) uint64 {
	negative, exp := magnitude(exp)
	if negative {
		shift = -shift
	}
	high := exp[:max(0, len(exp)-limb)]
	low, _ := digits(exp, len(high), 0)
	carry := 0
	switch shift += int64(low); {
	case shift >= limbBase:
		carry = 1
	case shift < 0 && len(high) > 0:
		carry = -1
	}
	if shift -= int64(carry) * limbBase; negative {
		shift = -shift
	}
	if len(high) == 0 && carry == 0 {
		return scaled(tag, shift)
	}
	var room [128]byte // enough for all exponents but those of attackers
	n := limbs{h: hash.Combine(tagHuge, tag)}
	n.push(carried(append(append(room[:0], '0'), high...), carry))
	if n.total == 0 { // it was 1, and the carry took it
		return scaled(tag, shift)
	}
	if negative {
		n.h++
	}
	return hash.Combine(n.sum(), uint64(shift))
}

// carried adds 1, 0 or -1 to a number with a zero before it, and returns its digits from the first other than 0.
func carried(number []byte, carry int) []byte {
	for i := len(number) - 1; carry != 0; i-- {
		switch d := int(number[i]-'0') + carry; d {
		case 10:
			number[i] = '0'
		case -1:
			number[i] = '9'
		default:
			number[i], carry = '0'+byte(d), 0
		}
	}
	return bytes.TrimLeft(number, "0")
}

// magnitude splits the text of an exponent into its sign and its digits without leading zeros.
func magnitude(exp []byte) (negative bool, rest []byte) {
	for i, c := range exp {
		switch c {
		case '-':
			negative = true
		case 'e', 'E', '+', '0':
		default:
			return negative, exp[i:]
		}
	}
	return negative, nil
}

// limbs hashes a whole number of any length, given in pieces from the top and without leading zeros, after the state h.
// A number of up to limb digits costs one step.
type limbs struct {
	h     uint64
	chunk uint64
	n     int
	total uint64
}

func (l *limbs) push(number []byte) {
	l.total += uint64(len(number))
	for len(number) > 0 {
		if l.n == limb {
			l.h, l.chunk, l.n = hash.Combine(l.h, l.chunk), 0, 0
		}
		k := min(limb-l.n, len(number))
		piece := number[:k]
		for ; len(piece) >= 8; piece = piece[8:] {
			l.chunk = l.chunk*100_000_000 + eight(piece)
		}
		l.chunk, _ = digits(piece, 0, l.chunk)
		l.n += k
		number = number[k:]
	}
}

// eight is the number that the first eight bytes of b spell, all of them digits. It adds up neighbours: digits to
// pairs, pairs to fours, fours to the whole, each time all at once in one word.
func eight(b []byte) uint64 {
	w := binary.LittleEndian.Uint64(b) - ones*'0'
	w = w*10 + w>>8
	w = w&0x00FF00FF00FF00FF*100 + w>>16&0x00FF00FF00FF00FF
	return w&0xFFFF*10_000 + w>>32&0xFFFF
}

// sum ends the number. The count of digits tells a last limb of 05 from one of 5.
func (l *limbs) sum() uint64 {
	h := hash.Combine(l.h, l.chunk)
	if l.total > limb {
		h = hash.Combine(h, l.total)
	}
	return h
}
