package jsonhash_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A choice returns a number in [0, n): rapid's or a seeded generator's.
type choice func(n int) int

// respell writes n in another way with the same value: members in another order, other white space, other escapes, other
// spellings of the numbers.
func (n *node) respell(pick choice) string {
	switch n.delim {
	case '[':
		return "[" + join(n.parts, pick, func(i int) string { return n.parts[i].respell(pick) }) + "]"
	case '{':
		order := shuffled(len(n.parts), pick)
		return "{" + join(n.parts, pick, func(i int) string {
			i = order[i]
			return respellString(n.keys[i], pick) + blank(pick) + ":" + blank(pick) + n.parts[i].respell(pick)
		}) + "}"
	}
	switch v := n.scalar.(type) {
	case string:
		return respellString(v, pick)
	case json.Number:
		return parseDecimal(v.String()).respell(pick)
	}
	if n.scalar == nil {
		return "null"
	}
	return fmt.Sprint(n.scalar)
}

func join(parts []*node, pick choice, part func(int) string) string {
	var b strings.Builder
	b.WriteString(blank(pick))
	for i := range parts {
		if i > 0 {
			b.WriteString("," + blank(pick))
		}
		b.WriteString(part(i) + blank(pick))
	}
	return b.String()
}

func shuffled(n int, pick choice) []int {
	order := make([]int, n)
	for i := range order {
		j := pick(i + 1)
		order[i], order[j] = order[j], i
	}
	return order
}

func blank(pick choice) string {
	return []string{"", "", " ", "\n\t", "\r\n        "}[pick(5)]
}

func respellString(s string, pick choice) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		b.WriteString(respellRune(r, pick))
	}
	return b.String() + `"`
}

func respellRune(r rune, pick choice) string {
	short := map[rune]string{'"': `\"`, '\\': `\\`, '/': `\/`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}
	spellings := []string{escaped(r, "%04x"), escaped(r, "%04X")}
	if s, ok := short[r]; ok {
		spellings = append(spellings, s)
	}
	if r >= ' ' && r != '"' && r != '\\' {
		spellings = append(spellings, string(r))
	}
	if r == utf8.RuneError {
		// A lone second half could pair with a first half before it; a lone first half is never followed by a second.
		spellings = append(spellings, `\ud800`, "\xff")
	}
	return spellings[pick(len(spellings))]
}

func escaped(r rune, format string) string {
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return fmt.Sprintf(`\u`+format+`\u`+format, high, low)
	}
	return fmt.Sprintf(`\u`+format, r)
}

// respell writes the digits with zeros around them, a point somewhere and the exponent that makes up for it.
func (d decimal) respell(pick choice) string {
	sign := ""
	if d.negative || d.digits == "" && pick(2) == 0 {
		sign = "-"
	}
	zeros := pick(30)
	digits := d.digits + strings.Repeat("0", zeros)
	power := new(big.Int).Sub(d.power, big.NewInt(int64(zeros)))
	if d.digits == "" {
		power.SetInt64(int64(pick(100)))
	}
	point := pick(len(digits) + 1)
	whole, fraction := digits[:point], digits[point:]
	power.Add(power, big.NewInt(int64(len(fraction))))
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
		if n := pick(20); n > 0 && fraction != "" {
			fraction = strings.Repeat("0", n) + fraction
			power.Add(power, big.NewInt(int64(n)))
		}
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	return sign + whole + fraction + respellExponent(power, pick)
}

func respellExponent(power *big.Int, pick choice) string {
	if power.Sign() == 0 && pick(2) == 0 {
		return ""
	}
	sign, digits := "", power.String()
	switch {
	case power.Sign() < 0:
		sign, digits = "-", digits[1:]
	case pick(2) == 0:
		sign = "+"
	}
	return string("eE"[pick(2)]) + sign + strings.Repeat("0", pick(25)) + digits
}
