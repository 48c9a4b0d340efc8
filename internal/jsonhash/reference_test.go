package jsonhash_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
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
