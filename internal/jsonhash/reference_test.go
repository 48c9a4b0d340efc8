package jsonhash_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A node is a JSON value as encoding/json reads it, repeated keys included.
type node struct {
	delim  json.Delim // '[', '{' or 0
	scalar json.Token // string, json.Number, bool or nil
	keys   []string   // of an object's members
	parts  []*node
}

// parse reads a document that json.Valid accepts.
func parse(doc []byte) *node {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	return parseNext(d, token(d))
}

func token(d *json.Decoder) json.Token {
	t, err := d.Token()
	if err != nil {
		panic(fmt.Sprintf("a token of a valid document: %v", err))
	}
	return t
}

func parseNext(d *json.Decoder, t json.Token) *node {
	delim, ok := t.(json.Delim)
	if !ok {
		return &node{scalar: t}
	}
	n := &node{delim: delim}
	for d.More() {
		if delim == '{' {
			n.keys = append(n.keys, token(d).(string))
		}
		n.parts = append(n.parts, parseNext(d, token(d)))
	}
	token(d)
	return n
}

// canonical is the slow definition of what Sum hashes: equal strings for equal documents, other strings for others.
func canonical(doc []byte) string {
	if len(bytes.Trim(doc, " \t\r\n")) == 0 {
		return "{}"
	}
	if !json.Valid(doc) {
		return "invalid:" + string(doc)
	}
	s := parse(doc).canonical()
	if s == "null" {
		return "{}"
	}
	return s
}

func (n *node) canonical() string {
	switch n.delim {
	case '[':
		return "[" + strings.Join(n.canonicalParts(), ",") + "]"
	case '{':
		members := n.canonicalParts()
		for i, key := range n.keys {
			members[i] = strconv.Quote(key) + ":" + members[i]
		}
		slices.Sort(members)
		return "{" + strings.Join(members, ",") + "}"
	}
	switch v := n.scalar.(type) {
	case string:
		return strconv.Quote(v)
	case json.Number:
		return parseDecimal(v.String()).String()
	}
	if n.scalar == nil {
		return "null"
	}
	return fmt.Sprint(n.scalar)
}

func (n *node) canonicalParts() []string {
	parts := make([]string, len(n.parts))
	for i, p := range n.parts {
		parts[i] = p.canonical()
	}
	return parts
}

// A decimal is digits × 10^power; its digits neither start nor end with a zero. Zero has none and no sign.
type decimal struct {
	negative bool
	digits   string
	power    *big.Int
}

func parseDecimal(s string) decimal {
	d := decimal{power: new(big.Int)}
	s, d.negative = strings.CutPrefix(s, "-")
	mantissa := s
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa = s[:i]
		d.power.SetString(strings.TrimPrefix(s[i+1:], "+"), 10)
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	d.digits = strings.TrimRight(digits, "0")
	d.power.Add(d.power, big.NewInt(int64(len(digits)-len(d.digits)-len(fraction))))
	d.digits = strings.TrimLeft(d.digits, "0")
	if d.digits == "" {
		return decimal{power: new(big.Int)}
	}
	return d
}

func (d decimal) String() string {
	return fmt.Sprintf("%t %s e%s", d.negative, d.digits, d.power)
}

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
