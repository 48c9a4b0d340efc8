package lies_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/lies"
)

func exact(t *rapid.T, text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%q is no number", text)
	}
	return r
}

func decimals(text string) int {
	_, part, _ := strings.Cut(text, ".")
	return len(part)
}

// A wrong number is within the range, not the same, and of the same form.
func TestWrongNumberIsWithin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		before := rapid.StringMatching(`-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,4})?`).Draw(rt, "number")
		within := rapid.OneOf(rapid.Float64Range(0.01, 1), rapid.Just(1.0)).Draw(rt, "within")
		after, e := under(t, rapid.Uint64().Draw(rt, "seed"), lies.WrongNumber(within), before)
		if !e.Delivered {
			most := new(big.Rat).Mul(new(big.Rat).Abs(exact(rt, before)), new(big.Rat).SetFloat64(within))
			if least := big.NewRat(1, pow10(decimals(before))); most.Cmp(least) >= 0 {
				rt.Fatalf("%s could be another number within %v", before, within)
			}
			return
		}
		off := new(big.Rat).Sub(exact(rt, after), exact(rt, before))
		most := new(big.Rat).Mul(new(big.Rat).Abs(exact(rt, before)), new(big.Rat).SetFloat64(within))
		if off.Sign() == 0 || off.Abs(off).Cmp(most) > 0 || decimals(after) != decimals(before) {
			rt.Fatalf("%s became %s, within %v", before, after, within)
		}
	})
}

func pow10(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}

// Numbers are multiplied exactly, whatever their length and exponent, and one
// more or less is one more or less.
func TestNumbersAreExact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		before := rapid.StringMatching(`-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,9})?([eE][+-]?[0-9]{1,2})?`).Draw(rt, "number")
		power := rapid.IntRange(-18, 18).Filter(func(n int) bool { return n != 0 }).Draw(rt, "power")
		ten := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(power, -power))), nil))
		if power < 0 {
			ten.Inv(ten)
		}
		after, e := under(t, 1, lies.Scale(power), before)
		if want := ten.Mul(ten, exact(rt, before)); exact(rt, after).Cmp(want) != 0 {
			rt.Fatalf("%s times ten to the %d is not %s", before, power, after)
		}
		if e.Delivered != (exact(rt, before).Sign() != 0) {
			rt.Fatalf("%s: delivered %v", before, e.Delivered)
		}
		after, e = under(t, 1, lies.OffByOne(), before)
		if off := new(big.Rat).Sub(exact(rt, after), exact(rt, before)); e.Delivered && off.Abs(off).Cmp(big.NewRat(1, 1)) != 0 {
			rt.Fatalf("%s and %s are not one apart", before, after)
		}
		after, e = under(t, 1, lies.FlipSign(), before)
		if sum := new(big.Rat).Add(exact(rt, after), exact(rt, before)); e.Delivered && sum.Sign() != 0 {
			rt.Fatalf("%s is not the opposite of %s", after, before)
		}
	})
}

// Numbers in texts are those that a reader would call numbers.
func TestNumbersInTexts(t *testing.T) {
	for text, want := range map[string]string{
		"It costs 5.":              "It costs 50.",
		"(12.50 EUR)":              "(125.0 EUR)",
		"€7, now":                  "€70, now",
		"7€":                       "70€",
		"down by -3 %":             "down by -30 %",
		"qty=4":                    "qty=40",
		"v1.2 of 3-a, 10:30, 007":  "v1.2 of 3-a, 10:30, 007",
		"ORD-1042, #12, 1/2, 1e5x": "ORD-1042, #12, 1/2, 1e5x",
		"1,042.50":                 "1,042.50",
	} {
		got, _ := via(t, lies.Scale(1), text)
		assert.Equal(t, want, got)
	}
}

// A value below another that is changed is not named as a change of its own.
func TestTheOuterPlaceCounts(t *testing.T) {
	got, e := once(t, lies.Null("$.a.b", "$..b", "$.a"), `{"a":{"b":1},"c":{"b":2}}`)
	assert.Equal(t, `{"a":null,"c":{"b":null}}`, got)
	assert.Equal(t, []string{"$['a']", "$['c']['b']"}, paths(e))
	got, e = once(t, lies.Missing("$.list[0]", "$.list[2]", "$.x"), `{"list":[1,2,3],"x":{"y":1}}`)
	assert.Equal(t, `{"list":[2]}`, got)
	assert.Len(t, e.Changes, 3)
}

func paths(e chaos.Event) (list []string) {
	for _, ch := range e.Changes {
		list = append(list, ch.Path)
	}
	return list
}

// What holds under every seed, not only under that of the catalogue.
func TestUnderEverySeed(t *testing.T) {
	for seed := range uint64(60) {
		got, _ := under(t, seed, lies.OffByOne(), "0")
		assert.Equal(t, "1", got, "there is no count below 0")
		got, _ = under(t, seed, lies.ReorderRows(), "[1,2]")
		assert.Equal(t, "[2,1]", got, "never the order that it was")
		got, e := under(t, seed, lies.DanglingReference("$.ref"), `{"ref":5,"ids":[1,2,3,4,5,6,7,8]}`)
		if e.Delivered {
			assert.Equal(t, `{"ref":9,"ids":[1,2,3,4,5,6,7,8]}`, got, "a reference to nothing that is there")
		}
	}
}

// A number too long to compute with can still be emptied.
func TestEmptyOfAnEnormousNumber(t *testing.T) {
	got, e := once(t, lies.Empty("$.a"), `{"a":1e999,"b":1}`)
	assert.Equal(t, `{"a":0,"b":1}`, got)
	assert.True(t, e.Delivered)
	_, e = once(t, lies.Empty("$.a"), `{"a":0e999}`)
	assert.False(t, e.Delivered, "it is nothing already")
}
