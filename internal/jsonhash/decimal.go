package jsonhash

import "github.com/shakedown-go/shakedown/internal/hash"

// decimal hashes a number of any length. mantissa has its digits, with the decimal point at index point, or none if point is
// its length. exp is the exponent as it is written, or empty. The time is linear in the text, whatever the exponent is.
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
	split := max(0, len(exp)-limb)
	high := exp[:split]
	low, _ := digits(exp, split, 0)
	n := limbs{h: hash.Combine(tagHuge, tag)}
	shift += int64(low)
	switch {
	case shift >= limbBase:
		shift -= limbBase
		n.pushNext(high)
	case shift < 0 && len(high) > 0:
		shift += limbBase
		n.pushPrevious(high)
	default:
		n.push(high)
	}
	if negative {
		shift = -shift
	}
	if n.total == 0 {
		return scaled(tag, shift)
	}
	if negative {
		n.h++
	}
	return hash.Combine(n.sum(), uint64(shift))
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
