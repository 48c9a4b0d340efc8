package glob_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/internal/glob"
)

func TestMeets(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		meets bool
		why   string
	}{
		{"*", "orders.get", true, "all names"},
		{"orders.get", "*", true, "one name is not all"},
		{"orders.*", "orders.{get,list}", true, "a prefix"},
		{"orders.*", "*.get", true, "orders.get is common, stock.get is not"},
		{"orders.*", "stock.*", false, "nothing in common"},
		{"{a,b}*", "[ab]?", true, "alternatives are as good as a class"},
		{"[^a]", "[b-d]", true, "all but a"},
		{"[^a]", "?", true, "a itself"},
		{"{a,[^a]}", "?", true, "a and all but a"},
		{"?", "é", true, "a character is not a byte"},
		{"?", "", false, "the zero glob is the empty name"},
		{"*", "", true, "which a star takes"},
		{"[\ud7ff]", "[^\ud7ff]", false, "what lies between the last character and the next is no character"},
		{"{*a,*b}", "*{a,b}", true, "the same, written in another way"},
		{"a*a", "a", false, "two a"},
		{"*?", "?*", true, "not empty"},
	} {
		t.Run(c.why, func(t *testing.T) {
			a, b := &glob.Glob{}, &glob.Glob{}
			if c.a != "" {
				a = compile(t, c.a)
			}
			if c.b != "" {
				b = compile(t, c.b)
			}
			assert.Equal(t, c.meets, glob.Meets(a, b), "%s meets %s", c.a, c.b)
			assert.Equal(t, c.meets, glob.Meets(b, a), "%s meets %s", c.b, c.a)
		})
	}
}

// names are all names of up to four characters over those that patterns uses, and a few.
func names(alphabet []rune, length int) []string {
	all, last := []string{""}, []string{""}
	for range length {
		var longer []string
		for _, name := range last {
			for _, r := range alphabet {
				longer = append(longer, name+string(r))
			}
		}
		all, last = append(all, longer...), longer
	}
	return append(all, strings.Repeat("a", 9), strings.Repeat("ab", 9), "\xff", "a\xff")
}

// What the automata say agrees with trying names, one by one: a common name
// found means that they meet. Patterns of few characters show the other
// direction too.
func TestMeetsAgreesWithBruteForce(t *testing.T) {
	all := names([]rune("abcé*,"), 4)
	piece := rapid.SampledFrom([]string{"a", "b", "*", "?", "[ab]", "[^a]", "{a,b}", "{a,?b}", "{,b*}", `\*`})
	small := rapid.Map(rapid.SliceOfN(piece, 1, 2), func(s []string) string { return strings.Join(s, "") })
	rapid.Check(t, func(t *rapid.T) {
		exact := rapid.Bool().Draw(t, "exact")
		of := patterns()
		if exact {
			of = small
		}
		a, errA := glob.Compile(of.Draw(t, "a"))
		b, errB := glob.Compile(of.Draw(t, "b"))
		if errA != nil || errB != nil {
			t.Skip("an empty pattern")
		}
		common := false
		for _, name := range all {
			common = common || a.Match(name) && b.Match(name)
		}
		meets := glob.Meets(a, b)
		if common && !meets || exact && common != meets {
			t.Fatalf("%s meets %s: %v; a common name: %v", a, b, meets, common)
		}
	})
}

// A search that takes too long ends, on the safe side.
func TestMeetsDoesNotBlowUp(t *testing.T) {
	worst := compile(t, "*a"+strings.Repeat("?", 40))
	other := compile(t, "*{a,b}"+strings.Repeat("[ab]", 39)+"?")
	assert.True(t, glob.Meets(worst, other))
	long := compile(t, strings.Repeat("{a*,*b}", 100))
	assert.True(t, glob.Meets(long, compile(t, strings.Repeat("*a?", 100))))
}
