package lies

import (
	"math"
	"math/big"
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

var wrongNumberRow = row(catalog.Row{
	Kind: "wrong_number", Doc: "A number is plausible and wrong.",
	Go: "lies.WrongNumber(within, paths...)", Example: `{"within":0.1}`, Class: chaos.ClassValue,
}, func(p wrongNumber) lie {
	range_ := new(big.Rat)
	if !math.IsNaN(p.Within) && !math.IsInf(p.Within, 0) {
		range_.SetFloat64(p.Within)
	}
	return numeric(false,
		func(e *edit, i int, number string) (string, bool) {
			d, ok := parseDecimal(number)
			if !ok {
				return "", false
			}
			most := new(big.Int).Abs(d.unscaled)
			most.Quo(most.Mul(most, range_.Num()), range_.Denom())
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
})

type wrongNumber struct {
	where
	Within float64 `json:"within" bounds:"over=0,max=1" allowed:"a share above 0, up to 1" doc:"largest change, as a share of the number"`
}

// Scale multiplies a number by ten to the given power, exactly: 1 is ×10, -2 is
// ÷100, as when cents are taken for euros. The power is from -18 to 18 and not
// 0. Without paths it draws as [WrongNumber] does.
func Scale(power int, paths ...string) chaos.Fault { return scaleRow.Of(scale{pathsIn(paths), power}) }

var scaleRow = row(catalog.Row{
	Kind: "scaled_number", Doc: "A number is wrong by a power of ten.",
	Go: "lies.Scale(power, paths...)", Example: `{"power":-2}`, Class: chaos.ClassValue,
}, func(p scale) lie {
	return numeric(false,
		func(_ *edit, _ int, number string) (string, bool) {
			d, ok := parseDecimal(number)
			if !ok || d.unscaled.Sign() == 0 {
				return "", false
			}
			return d.shift(p.Power).text(), true
		})
})

type scale struct {
	where
	Power int `json:"power" bounds:"min=-18,max=18" allowed:"from -18 to 18, not 0" doc:"of ten, by which the number is multiplied; not 0"`
}

func (p scale) Check(c *catalog.Check) {
	c.That(p.Power != 0, "power", p.Power, "from -18 to 18, not 0")
	p.where.Check(c)
}

// FlipSign changes the sign of a number that is not 0: a refund becomes a
// charge. Without paths it draws as [WrongNumber] does.
func FlipSign(paths ...string) chaos.Fault { return flipSignRow.Of(pathsIn(paths)) }

var flipSignRow = lieRow[where](catalog.Row{
	Kind: "flipped_sign", Doc: "A number has the other sign.", Go: "lies.FlipSign(paths...)", Class: chaos.ClassValue,
}, numeric(false, func(_ *edit, _ int, number string) (string, bool) {
	if strings.Trim(number, "-0.eE+") == "" {
		return "", false
	}
	if rest, negative := strings.CutPrefix(number, "-"); negative {
		return rest, true
	}
	return "-" + number, true
}))

// SwapDigits exchanges two neighbouring digits of a number, as people do who
// copy them: 1042 becomes 1402. Without paths it may draw an identifier too.
func SwapDigits(paths ...string) chaos.Fault { return swapDigitsRow.Of(pathsIn(paths)) }

var swapDigitsRow = lieRow[where](catalog.Row{
	Kind: "swapped_digits", Doc: "Two digits of a number have changed places.",
	Go: "lies.SwapDigits(paths...)", Class: chaos.ClassValue,
}, numeric(true, func(e *edit, i int, number string) (string, bool) {
	pairs := swappable(number)
	if len(pairs) == 0 {
		return "", false
	}
	at := pairs[e.pick(i, 1, len(pairs))]
	return number[:at] + string(number[at+1]) + string(number[at]) + number[at+2:], true
}))

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

var offByOneRow = lieRow[where](catalog.Row{
	Kind: "off_by_one", Doc: "A number is one more or less.", Go: "lies.OffByOne(paths...)", Class: chaos.ClassValue,
}, numeric(false, func(e *edit, i int, number string) (string, bool) {
	d, ok := parseDecimal(number)
	if !ok || d.scale > 0 {
		return "", false
	}
	by := big.NewInt(1)
	if d.unscaled.Sign() != 0 && e.draw(i, 1) < 0.5 {
		by.Neg(by)
	}
	return d.plus(by).text(), true
}))

// Overflow replaces a number by one beyond the range of common types: an
// integer by 9223372036854775808, which is 2 to the 63rd; a number with
// decimals by 1e400, beyond float64. Decoders fail, saturate or wrap.
func Overflow(paths ...string) chaos.Fault { return overflowRow.Of(pathsIn(paths)) }

var overflowRow = lieRow[where](catalog.Row{
	Kind: "number_overflow", Doc: "A number is larger than its type holds.",
	Go: "lies.Overflow(paths...)", Class: chaos.ClassValue,
}, lie{wants: "number", rank: ofKind(jsonedit.Number),
	apply: func(e *edit, i int) bool {
		if strings.ContainsAny(string(e.doc.Raw(i)), ".eE") {
			return e.replace(i, []byte("1e400"))
		}
		return e.replace(i, []byte("9223372036854775808"))
	}})

// NotANumber replaces a number by a bare NaN, Infinity or -Infinity, as some
// encoders write them. The result is no JSON any more: strict decoders refuse
// it, others pass NaN on.
func NotANumber(paths ...string) chaos.Fault { return notANumberRow.Of(pathsIn(paths)) }

var notANumberRow = lieRow[where](catalog.Row{
	Kind: "not_a_number", Doc: "A number is NaN, which JSON does not have.",
	Go: "lies.NotANumber(paths...)", Class: chaos.ClassValue,
}, lie{wants: "number", rank: ofKind(jsonedit.Number),
	apply: func(e *edit, i int) bool {
		return e.replace(i, []byte([]string{"NaN", "Infinity", "-Infinity"}[e.pick(i, 0, 3)]))
	}})

// numeric makes a lie about numbers, also those within texts. ids reports
// whether it may draw identifiers too. wrong makes another number of one.
func numeric(ids bool, wrong func(e *edit, i int, number string) (string, bool)) lie {
	return lie{wants: "number",
		rank: func(e *edit, i int) int {
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
		},
		apply: func(e *edit, i int) bool {
			if e.doc.Kind(i) == jsonedit.Number {
				after, ok := wrong(e, i, string(e.doc.Raw(i)))
				return ok && e.replace(i, []byte(after))
			}
			return within(e, i, wrong)
		}}
}

func hasDigit(raw []byte) bool { return strings.ContainsAny(string(raw), "0123456789") }

// within applies the lie to one of the numbers in a text.
func within(e *edit, i int, wrong func(e *edit, i int, number string) (string, bool)) bool {
	text := e.doc.String(i)
	spans := numerals(text)
	first := e.pick(i, 0, len(spans))
	for k := range spans {
		s := spans[(first+k)%len(spans)]
		if after, ok := wrong(e, i, text[s[0]:s[1]]); ok {
			return e.replace(i, jsonedit.Quote(text[:s[0]]+after+text[s[1]:]))
		}
	}
	return false
}
