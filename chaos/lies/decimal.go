package lies

import (
	"math/big"
	"strconv"
	"strings"
)

// decimal is an exact number: unscaled / 10^scale. It is not a float64, because
// no digit of an amount or of a large identifier may be lost.
type decimal struct {
	unscaled *big.Int
	scale    int // decimals, 0 or more
}

// maxExponent bounds the digits that a number such as 1e300 is written out with.
const maxExponent = 400

// maxDigits bounds the numbers that are computed with: reading one takes time
// that grows with the square of its length.
const maxDigits = 4096

// parseDecimal reads a JSON number.
func parseDecimal(text string) (d decimal, ok bool) {
	if len(text) > maxDigits {
		return d, false
	}
	mantissa, exponent := text, 0
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		var err error
		if exponent, err = strconv.Atoi(text[at+1:]); err != nil || exponent > maxExponent || exponent < -maxExponent {
			return d, false
		}
		mantissa = text[:at]
	}
	whole, part, _ := strings.Cut(mantissa, ".")
	d.unscaled, ok = new(big.Int).SetString(whole+part, 10)
	d.scale = len(part)
	return d.shift(exponent), ok
}

// shift multiplies the number by ten to the n-th.
func (d decimal) shift(n int) decimal {
	d.scale -= n
	if d.scale < 0 && d.unscaled != nil {
		d.unscaled = new(big.Int).Mul(d.unscaled, tenTo(-d.scale))
		d.scale = 0
	}
	return d
}

// plus adds n in the last place.
func (d decimal) plus(n *big.Int) decimal {
	return decimal{new(big.Int).Add(d.unscaled, n), d.scale}
}

func tenTo(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// text writes the number with all its decimals: 19.90 stays at two.
func (d decimal) text() string {
	digits := new(big.Int).Abs(d.unscaled).String()
	if d.scale > 0 {
		if missing := d.scale + 1 - len(digits); missing > 0 {
			digits = strings.Repeat("0", missing) + digits
		}
		digits = digits[:len(digits)-d.scale] + "." + digits[len(digits)-d.scale:]
	}
	if d.unscaled.Sign() < 0 {
		return "-" + digits
	}
	return digits
}

// numerals finds the numbers in a text. Digits in words, dates, versions and
// identifiers are not numbers.
func numerals(text string) (spans [][2]int) {
	part := func(c byte) bool {
		return c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' ||
			strings.IndexByte("_.,:/#@+-", c) >= 0
	}
	for at := 0; at < len(text); at++ {
		if !part(text[at]) {
			continue
		}
		from := at
		for at < len(text) && part(text[at]) {
			at++
		}
		word := text[from:at]
		for _, sign := range []string{"€", "£", "¥"} { // others are no part of a word anyway
			rest, found := strings.CutPrefix(word, sign)
			if found {
				from, word = from+len(sign), rest
			}
			word = strings.TrimSuffix(word, sign)
		}
		word = strings.TrimRight(word, ".,:")
		if isNumeral(word) {
			spans = append(spans, [2]int{from, from + len(word)})
		}
	}
	return spans
}

// isNumeral reports whether a word is a number as JSON would write it, without an exponent.
func isNumeral(word string) bool {
	whole, part, point := strings.Cut(strings.TrimPrefix(word, "-"), ".")
	if whole == "" || len(whole) > 1 && whole[0] == '0' || point && part == "" {
		return false
	}
	return strings.Trim(whole+part, "0123456789") == ""
}
