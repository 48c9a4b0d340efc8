package text_test

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/internal/text"
)

func TestClip(t *testing.T) {
	assert.Equal(t, "short", text.Clip("short", 5))
	assert.Equal(t, "shor…", text.Clip("short", 4))
	assert.Equal(t, "a…", text.Clip("aé", 2), "never within a character")
	assert.Equal(t, "…", text.Clip("é", 0))
	rapid.Check(t, func(t *rapid.T) {
		s, most := rapid.String().Draw(t, "s"), rapid.IntRange(0, 50).Draw(t, "most")
		clipped := text.Clip(s, most)
		assert.Equal(t, utf8.ValidString(s), utf8.ValidString(clipped))
		assert.LessOrEqual(t, len(clipped), max(len(s), most+len("…")))
	})
}

func TestValid(t *testing.T) {
	for s, want := range map[string]string{"": "", "né": "né", "\uFFFD": "\uFFFD", "n\xff": `n\xff`, "\xc3": `\xc3`, "é\xa9é": `é\xa9é`} {
		assert.Equal(t, want, text.Valid(s))
	}
}

func TestCost(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 2: "2", 2.070000000000001: "2.07", .1 + .2: "0.3", 0.000123456: "0.0001235",
		12345.678: "12345.68", 100: "100", 1.005: "1.005", 9.9999: "10", 1e300: "1e+300"} {
		assert.Equal(t, want, text.Cost(v))
	}
}

func TestMeant(t *testing.T) {
	names := []string{"refund", "orders.get", "orders.list"}
	for given, want := range map[string]string{
		"refnd":         "; did you mean refund?",
		"REFUND":        "; did you mean refund?",
		"refund_all":    "; did you mean refund?",
		"orders.lst":    "; did you mean orders.list?",
		"weather.today": "",
		"":              "",
	} {
		assert.Equal(t, want, text.Meant(given, names), given)
	}
	assert.Empty(t, text.Meant("x", nil))
}

func TestPluralQuoteSome(t *testing.T) {
	assert.Equal(t, []string{"0 calls", "1 call", "2 calls"}, []string{text.Plural(0, "call"), text.Plural(1, "call"), text.Plural(2, "call")})
	assert.Equal(t, `"a\n…"`, text.Quote("a\nb", 2))
	for want, names := range map[string][]string{"none": nil, "a": {"a"}, "a, b": {"a", "b"}, "a, b and 2 more": {"a", "b", "c", "d"}} {
		assert.Equal(t, want, text.Some(names, 2))
	}
}

func TestWithoutNumbers(t *testing.T) {
	for in, want := range map[string]string{
		"":                            "",
		"no digits":                   "no digits",
		"dial 127.0.0.1:4321: 3 left": "dial #.#.#.#:#: # left",
		"order 1042é9":                "order #é#",
	} {
		assert.Equal(t, want, text.WithoutNumbers(in))
	}
}
