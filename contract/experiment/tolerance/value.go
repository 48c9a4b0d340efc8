package tolerance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
)

// plain returns the value as decoding its JSON gives it, with numbers as
// json.Number.
func plain(v any) (any, error) {
	switch t := v.(type) {
	case nil, bool, string, json.Number:
		return v, nil
	case []byte:
		return string(t), nil
	}
	doc, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("tolerance: the output has no JSON: %w", err)
	}
	return decode(doc)
}

func decode(doc []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	err = d.Decode(&v)
	if err == nil && d.More() {
		err = fmt.Errorf("tolerance: more than one JSON value")
	}
	return v, err
}

// equal compares decoded JSON by value.
func equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && sameNumber(a.String(), b.String())
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, v := range a {
			if w, ok := b[name]; !ok || !equal(v, w) {
				return false
			}
		}
		return true
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}

// sameNumber compares exactly: large identifiers that differ in the last digit are
// not equal.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	x, ok := rational(a)
	y, too := rational(b)
	return ok && too && x.Cmp(y) == 0
}

// rational reads a number. It refuses exponents beyond those of a float64: written
// out they would fill the memory.
func rational(s string) (*big.Rat, bool) {
	if i := strings.IndexAny(s, "eE"); i >= 0 && len(strings.TrimLeft(s[i+1:], "+-0")) > 3 {
		return nil, false
	}
	if strings.ContainsAny(s, "/_xXpPbBoO") { // SetString takes more than decimal numbers
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

// asText returns a text as it is, and anything else as JSON.
func asText(v any) (string, error) {
	if text, ok := v.(string); ok {
		return text, nil
	}
	got, err := plain(v)
	if err != nil {
		return "", err
	}
	if text, ok := got.(string); ok {
		return text, nil
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err = e.Encode(got)
	return strings.TrimSuffix(b.String(), "\n"), err
}
