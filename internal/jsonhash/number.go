package jsonhash

import (
	"bytes"

	"github.com/shakedown-go/shakedown/internal/hash"
)

// limb is how many decimal digits are hashed at once. With 17, a power of ten below 10^limb, of either sign, leaves
// room for a tag in the same word.
const (
	limb       = 17
	numberStep = 16
)

// number hashes the number that starts at d[i] as an exact decimal: a sign, the significant digits without zeros at
// either end, and the power of ten of the last one.
func number(d []byte, i int) (uint64, int) {
	tag := tagNumber
	if d[i] == '-' {
		tag = tagNegative
		i++
	}
	start := i
	mantissa, i := digits(d, i, 0)
	if i == start || d[start] == '0' && i != start+1 {
		return 0, invalid
	}
	point, end := i, i
	if i < len(d) && d[i] == '.' {
		if mantissa, end = digits(d, i+1, mantissa); end == i+1 {
			return 0, invalid
		}
		i = end
	}
	var shift int64
	if i < len(d) && d[i]|0x20 == 'e' {
		if shift, i = exponent(d, i+1); i == invalid {
			return 0, invalid
		}
	}
	if end-start > limb || i-end > limb {
		fraction := d[min(point+1, end):end]
		return long(tag, d[start:point], fraction, d[end:i]), i
	}
	if mantissa == 0 {
		return zero(), i
	}
	if end > point {
		shift -= int64(end - point - 1)
	}
	for mantissa%10 == 0 {
		mantissa /= 10
		shift++
	}
	return hash.Combine(scaled(tag, shift), mantissa), i
}

// zero is the hash of 0, whatever its sign and exponent.
func zero() uint64 { return hash.Combine(tagNumber, 0) }

// scaled combines the tag with the power of ten, which must be smaller than 10^limb.
func scaled(tag uint64, power int64) uint64 { return tag + uint64(power)*numberStep }

// digits appends the decimal digits from d[i] to x, which overflows without an error after limb digits.
func digits(d []byte, i int, x uint64) (uint64, int) {
	for i < len(d) {
		c := d[i] - '0'
		if c > 9 {
			break
		}
		x = x*10 + uint64(c)
		i++
	}
	return x, i
}

// exponent reads the sign and the digits of the exponent at d[i], after its letter. The value is exact up to limb
// digits.
func exponent(d []byte, i int) (int64, int) {
	negative := i < len(d) && d[i] == '-'
	if negative || i < len(d) && d[i] == '+' {
		i++
	}
	x, end := digits(d, i, 0)
	if end == i {
		return 0, invalid
	}
	if negative {
		return -int64(x), end
	}
	return int64(x), end
}

// long hashes a number that has more digits, or more of them in its exponent, than fit into one word.
func long(tag uint64, whole, fraction, exp []byte) uint64 {
	var room [128]byte
	all := append(append(room[:0], whole...), fraction...)
	all = bytes.TrimLeft(all, "0")
	mantissa := bytes.TrimRight(all, "0")
	if len(mantissa) == 0 {
		return zero()
	}
	return limbs(power(tag, exp, int64(len(all)-len(mantissa)-len(fraction))), mantissa)
}

// power starts the hash of a number whose power of ten is the written exponent plus shift. An exponent of more than
// limb digits counts as it is written.
func power(tag uint64, exp []byte, shift int64) uint64 {
	// By hand: package bytes has functions in assembly, for which the compiler copies a text that a caller hashes.
	negative, number := false, exp
	for len(number) > 0 && (number[0] < '1' || number[0] > '9') {
		negative = negative || number[0] == '-'
		number = number[1:]
	}
	if len(number) > limb {
		return hash.Combine(hash.Combine(tagHuge, tag)+uint64(shift), hash.Bytes(exp))
	}
	unsigned, _ := digits(number, 0, 0)
	written := int64(unsigned)
	if negative {
		written = -written
	}
	return scaled(tag, written+shift)
}

// limbs hashes the digits of a whole number after the state h. One of up to limb digits costs one step.
func limbs(h uint64, number []byte) uint64 {
	total := len(number)
	for len(number) > 0 {
		x, n := digits(number[:min(limb, len(number))], 0, 0)
		h = hash.Combine(h, x)
		number = number[n:]
	}
	if total > limb { // the count tells a last limb of 05 from one of 5
		h = hash.Combine(h, uint64(total))
	}
	return h
}
