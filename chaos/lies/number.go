package lies

import (
	"cmp"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// WrongNumber changes a number by at most the share within of it, up or down,
// and never to the same number: 0.1 makes 180 to 220 of 200. within is above 0,
// up to 1. An integer stays an integer, and an amount keeps its decimals. If
// the range holds no other such number, as around 3 with 0.1, nothing changes.
//
// Without paths it draws a quantity: a number, or else a number within a text,
// whose name is not that of an identifier (id, order_id, orderId, sku…).
func WrongNumber(within float64, paths ...string) chaos.Fault {
	return wrongNumberRow.Of(wrongNumber{pathsIn(paths), within})
}

var wrongNumberRow = numberRow(catalog.Row{Kind: "wrong_number", Doc: "A number is plausible and wrong.",
	Go: "lies.WrongNumber(within, paths...)", Example: `{"within":0.1}`, Class: chaos.ClassValue}, false,
	func(e *edit, i int, number string, p wrongNumber) (string, bool) {
		d, ok := parseDecimal(number)
		within := new(big.Rat).SetFloat64(p.Within)
		if !ok || within == nil {
			return "", false
		}
		most := new(big.Int).Abs(d.unscaled)
		most.Quo(most.Mul(most, within.Num()), within.Denom())
		if most.Sign() == 0 {
			return "", false
		}
		by := new(big.Int).Mul(most, big.NewInt(int64(e.draw(i, 1)*(1<<53))))
		by.Rsh(by, 53).Add(by, big.NewInt(1)) // 1 to most
		if e.draw(i, 2) < 0.5 {
			by.Neg(by)
		}
		return d.plus(by).text(), true
	})

type wrongNumber struct {
	where
	Within float64 `json:"within" bounds:"over=0,max=1" allowed:"a share above 0, up to 1" doc:"largest change, as a share of the number"`
}

// Scale multiplies a number by ten to the given power, exactly: 1 is ×10, -2 is
// ÷100, as when cents are taken for euros. The power is from -18 to 18 and not
// 0. Without paths it draws as [WrongNumber] does.
func Scale(power int, paths ...string) chaos.Fault { return scaleRow.Of(scale{pathsIn(paths), power}) }

var scaleRow = numberRow(catalog.Row{Kind: "scaled_number", Doc: "A number is wrong by a power of ten.",
	Go: "lies.Scale(power, paths...)", Example: `{"power":-2}`, Class: chaos.ClassValue}, false,
	func(_ *edit, _ int, number string, p scale) (string, bool) {
		d, ok := parseDecimal(number)
		if !ok || d.unscaled.Sign() == 0 {
			return "", false
		}
		return d.shift(p.Power).text(), true
	})

type scale struct {
	where
	Power int `json:"power" bounds:"min=-18,max=18" allowed:"from -18 to 18, not 0" doc:"of ten, by which the number is multiplied; not 0"`
}

func (p scale) Check(c *catalog.Check) {
	c.That(p.Power != 0, "power", p.Power, "from -18 to 18, not 0")
}

// FlipSign changes the sign of a number that is not 0: a refund becomes a
// charge. Without paths it draws as [WrongNumber] does.
func FlipSign(paths ...string) chaos.Fault { return flipSignRow.Of(pathsIn(paths)) }

var flipSignRow = numberRow(catalog.Row{Kind: "flipped_sign", Doc: "A number has the other sign.",
	Go:    "lies.FlipSign(paths...)",
	Class: chaos.ClassValue}, false, func(_ *edit, _ int, number string, _ where) (string, bool) {
	if strings.Trim(number, "-0.eE+") == "" {
		return "", false
	}
	if rest, negative := strings.CutPrefix(number, "-"); negative {
		return rest, true
	}
	return "-" + number, true
})

// SwapDigits exchanges two neighbouring digits of a number, as people do who
// copy them: 1042 becomes 1402. Without paths it may draw an identifier too.
func SwapDigits(paths ...string) chaos.Fault { return swapDigitsRow.Of(pathsIn(paths)) }

var swapDigitsRow = numberRow(catalog.Row{Kind: "swapped_digits",
	Doc: "Two digits of a number have changed places.", Go: "lies.SwapDigits(paths...)",
	Class: chaos.ClassValue}, true, func(e *edit, i int, number string, _ where) (string, bool) {
	pairs := swappable(number)
	if len(pairs) == 0 {
		return "", false
	}
	at := pairs[e.pick(i, 1, len(pairs))]
	return number[:at] + string(number[at+1]) + string(number[at]) + number[at+2:], true
})

// swappable returns the places of digits that may be exchanged with the next
// one: the two differ, are not part of an exponent, and leave no zero in front.
func swappable(number string) (pairs []int) {
	for at := 0; at+1 < len(number); at++ {
		a, b := number[at], number[at+1]
		if a == 'e' || a == 'E' {
			break
		}
		if a < '0' || a > '9' || b < '0' || b > '9' || a == b {
			continue
		}
		if first := at == 0 || at == 1 && number[0] == '-'; !first || b != '0' {
			pairs = append(pairs, at)
		}
	}
	return pairs
}

// OffByOne adds 1 to an integer or subtracts 1, at even odds; to 0 it only
// adds. Without paths it draws as [WrongNumber] does, numbers with decimals
// excepted.
func OffByOne(paths ...string) chaos.Fault { return offByOneRow.Of(pathsIn(paths)) }

var offByOneRow = numberRow(catalog.Row{Kind: "off_by_one", Doc: "A number is one more or less.",
	Go:    "lies.OffByOne(paths...)",
	Class: chaos.ClassValue}, false, func(e *edit, i int, number string, _ where) (string, bool) {
	d, ok := parseDecimal(number)
	if !ok || d.scale > 0 {
		return "", false
	}
	by := big.NewInt(1)
	if d.unscaled.Sign() != 0 && e.draw(i, 1) < 0.5 {
		by.Neg(by)
	}
	return d.plus(by).text(), true
})

// Overflow replaces a number by one beyond the range of common types: an
// integer by 9223372036854775808, which is 2 to the 63rd; a number with
// decimals by 1e400, beyond float64. Decoders fail, saturate or wrap.
func Overflow(paths ...string) chaos.Fault { return overflowRow.Of(pathsIn(paths)) }

var overflowRow = row(catalog.Row{Kind: "number_overflow", Doc: "A number is larger than its type holds.",
	Go: "lies.Overflow(paths...)", Class: chaos.ClassValue}, "number", ofKind(jsonedit.Number),
	func(e *edit, i int, _ where) bool {
		if strings.ContainsAny(string(e.doc.Raw(i)), ".eE") {
			return e.replace(i, []byte("1e400"))
		}
		return e.replace(i, []byte("9223372036854775808"))
	})

// NotANumber replaces a number by a bare NaN, Infinity or -Infinity, as some
// encoders write them. The result is no JSON any more: strict decoders refuse
// it, others pass NaN on.
func NotANumber(paths ...string) chaos.Fault { return notANumberRow.Of(pathsIn(paths)) }

var notANumberRow = row(catalog.Row{Kind: "not_a_number", Doc: "A number is NaN, which JSON does not have.",
	Go: "lies.NotANumber(paths...)", Class: chaos.ClassValue}, "number", ofKind(jsonedit.Number),
	func(e *edit, i int, _ where) bool {
		return e.replace(i, []byte([]string{"NaN", "Infinity", "-Infinity"}[e.pick(i, 0, 3)]))
	})

// numberRow is a row of lies about numbers, also those within texts. ids reports
// whether one may draw identifiers too. wrong makes another number of one.
func numberRow[P any](r catalog.Row, ids bool,
	wrong func(e *edit, i int, number string, p P) (string, bool)) *catalog.Own[P, chaos.Fault] {
	rank := func(e *edit, i int) int {
		k := e.doc.Kind(i)
		switch {
		case k != jsonedit.Number && (k != jsonedit.String || !hasDigit(e.doc.Raw(i))):
			return 0
		case !ids && !e.addressed && isID(nameOf(e, i)):
			return 0
		case k == jsonedit.Number:
			return 1
		}
		return 2
	}
	return row(r, "number", rank, func(e *edit, i int, p P) bool {
		if e.doc.Kind(i) == jsonedit.Number {
			after, ok := wrong(e, i, string(e.doc.Raw(i)), p)
			return ok && e.replace(i, []byte(after))
		}
		text := e.doc.String(i)
		spans := numerals(text)
		first := e.pick(i, 0, len(spans))
		for k := range spans {
			s := spans[(first+k)%len(spans)]
			if after, ok := wrong(e, i, text[s[0]:s[1]], p); ok {
				return e.replace(i, jsonedit.Quote(text[:s[0]]+after+text[s[1]:]))
			}
		}
		return false
	})
}

func hasDigit(raw []byte) bool { return strings.ContainsAny(string(raw), "0123456789") }

// decimal is an exact number with its decimals. It is not a float64, because no
// digit of an amount or of a large identifier may be lost.
type decimal struct {
	unscaled *big.Int // in units of the last place
	scale    int      // decimals, 0 or more
}

// maxExponent bounds the digits that a number such as 1e300 is written out with.
const maxExponent = 400

// maxDigits bounds the numbers that are computed with: reading one takes time
// that grows with the square of its length.
const maxDigits = 4096

func parseDecimal(text string) (d decimal, ok bool) {
	mantissa, power, _ := strings.Cut(strings.ToLower(text), "e")
	exponent, err := strconv.Atoi(cmp.Or(power, "0"))
	if len(text) > maxDigits || err != nil || max(exponent, -exponent) > maxExponent {
		return d, false
	}
	whole, decimals, _ := strings.Cut(mantissa, ".")
	if d.unscaled, ok = new(big.Int).SetString(whole+decimals, 10); !ok {
		return d, false
	}
	d.scale = len(decimals)
	return d.shift(exponent), true
}

// shift multiplies the number by ten to the n-th.
func (d decimal) shift(n int) decimal {
	if n <= d.scale {
		return decimal{d.unscaled, d.scale - n}
	}
	factor := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n-d.scale)), nil)
	return decimal{factor.Mul(factor, d.unscaled), 0}
}

// plus adds n units of the last place.
func (d decimal) plus(n *big.Int) decimal { return decimal{new(big.Int).Add(d.unscaled, n), d.scale} }

// text writes the number with all its decimals: 19.90 stays at two.
func (d decimal) text() string {
	digits, sign := d.unscaled.String(), ""
	if d.unscaled.Sign() < 0 {
		digits, sign = digits[1:], "-"
	}
	if d.scale == 0 {
		return sign + digits
	}
	digits = strings.Repeat("0", max(0, d.scale+1-len(digits))) + digits
	point := len(digits) - d.scale
	return sign + digits[:point] + "." + digits[point:]
}

// words finds what may be a number in a text. Digits within words, dates, versions and
// identifiers are not.
var words = regexp.MustCompile(`(?:[0-9A-Za-z_.,:/#@+-]|[^\x00-\x7f])+`)

func numerals(text string) (spans [][2]int) {
	for _, at := range words.FindAllStringIndex(text, -1) {
		word := strings.TrimRight(text[at[0]:at[1]], ".,:€£¥")
		number := strings.TrimLeft(word, "€£¥") // other signs are no part of a word anyway
		if isNumeral(number) {
			end := at[0] + len(word)
			spans = append(spans, [2]int{end - len(number), end})
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
