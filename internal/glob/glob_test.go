package glob_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/internal/glob"
)

func compile(t *testing.T, pattern string) *glob.Glob {
	t.Helper()
	g, err := glob.Compile(pattern)
	require.NoError(t, err)
	return g
}

func TestMatch(t *testing.T) {
	for _, row := range []struct {
		why, pattern string
		yes, no      []string
	}{
		{"text is itself, whole and case-sensitive", "orders.get", []string{"orders.get"}, []string{"", "orders.getter", "my.orders.get", "Orders.get", "orders_get"}},
		{"a comma outside braces is text", "a,b", []string{"a,b"}, []string{"a", "b"}},
		{"* takes any run", "orders.*", []string{"orders.", "orders.get", "orders.a/b.c\n"}, []string{"orders", "order.get", "x.orders.get"}},
		{"* alone takes everything", "*", []string{"", "a", "a/b", "\xff"}, nil},
		{"** is *", "a**b", []string{"ab", "axxb"}, []string{"a", "b", "axxbc"}},
		{"* in the middle gives back what it took", "a*b*c", []string{"abc", "abbcbc", "a/b/c"}, []string{"acb", "ab", "abcd"}},
		{"a suffix", "*.get", []string{".get", "orders.get", ".get.get"}, []string{"get", "orders.gets"}},
		{"? is one character, not one byte", "a?", []string{"ab", "a/", "aé", "a東", "a😀"}, []string{"a", "abc", "é"}},
		{"? takes a byte that is no character", "?", []string{"\xff", "\x80"}, []string{"", "\xff\xff"}},
		{"the character that stands for a wrong byte does not take it", "\uFFFD", []string{"\uFFFD"}, []string{"\xff"}},
		{"nor by way of the automaton", "\uFFFD*", []string{"\uFFFD"}, []string{"\xff"}},
		{"alternatives", "{orders,refunds}.get", []string{"orders.get", "refunds.get"}, []string{".get", "orders,refunds.get", "orders"}},
		{"wildcards in alternatives", "{a*,?b}", []string{"a", "axx", "xb"}, []string{"b", "xxb"}},
		{"empty alternatives", "get{,_all,}", []string{"get", "get_all"}, []string{"get_", "get_al"}},
		{"nothing but empty alternatives", "{,}", []string{""}, []string{"a", ","}},
		{"a single alternative", "{a}", []string{"a"}, []string{"", "{a}"}},
		{"nested alternatives", "a{b{c,d}*,{,e}}f", []string{"abcf", "abdxf", "af", "aef"}, []string{"abf", "abef", "a"}},
		{"one alternative that starts another", "{a,ab}{c,bcd}", []string{"ac", "abcd", "abc", "abbcd"}, []string{"ab", "abcdd"}},
		{"nothing is special about a NUL", "a{,\x00}", []string{"a", "a\x00"}, []string{"a\x00\x00", "\x00"}},
		{"escapes", `\*\?\[\]\{\}\\\a`, []string{`*?[]{}\a`}, []string{"x?[]{}\\a"}},
		{"an escaped comma in alternatives", `{a\,b,c}`, []string{"a,b", "c"}, []string{"a", "b", `a\`}},
		{"an escaped brace in alternatives", `{a\},b}`, []string{"a}", "b"}, []string{"a"}},
		{"more than 64 states", strings.Repeat("?", 70) + "{x,y*}", []string{strings.Repeat("a", 70) + "x", strings.Repeat("é", 70) + "yz"}, []string{strings.Repeat("a", 70), strings.Repeat("a", 69) + "x"}},
		{"the longest pattern", strings.Repeat("?", 1023), []string{strings.Repeat("a", 1023)}, []string{strings.Repeat("a", 1022), strings.Repeat("a", 1024)}},
	} {
		g := compile(t, row.pattern)
		assert.Equal(t, row.pattern, g.String())
		for _, name := range row.yes {
			assert.True(t, g.Match(name), "%s: %q takes %q", row.why, row.pattern, name)
		}
		for _, name := range row.no {
			assert.False(t, g.Match(name), "%s: %q does not take %q", row.why, row.pattern, name)
		}
	}
}

func TestZeroGlob(t *testing.T) {
	var g glob.Glob
	assert.True(t, g.Match(""))
	assert.False(t, g.Match("a"))
}

func TestMatchDoesNotAllocate(t *testing.T) {
	for _, pattern := range []string{"orders.get", "orders.*", "{a*,*b}?", strings.Repeat("{a*,*b}", 100)} {
		g := compile(t, pattern)
		assert.Zero(t, testing.AllocsPerRun(100, func() { g.Match("orders.get/é\xff") }), pattern)
	}
}

// A matcher that backtracks, or that multiplies alternatives out, does not come back from these.
func TestMatchDoesNotBlowUp(t *testing.T) {
	name := strings.Repeat("ab", 2000)
	for _, pattern := range []string{
		strings.Repeat("{a*,*b}", 140) + "c",
		strings.Repeat("*a", 500) + "c",
		strings.Repeat("{,a}", 200) + strings.Repeat("a", 200),
		strings.Repeat("{a,b,ab,*}", 100) + "c",
		strings.Repeat("{", 500) + "a*" + strings.Repeat("}", 500) + "c",
	} {
		assert.False(t, compile(t, pattern).Match(name), pattern)
	}
}

func TestBegins(t *testing.T) {
	for _, tt := range []struct {
		pattern, prefix string
		want            bool
	}{
		{"orders.get", "orders.", true},
		{"orders.get", "orders.get", true},
		{"orders.get", "orders.get2", false},
		{"orders.*", "orders.get", true},
		{"orders.*", "orders", true},
		{"orders.*", "order ", false},
		{"{a,bc}d", "b", true},
		{"{a,bc}d", "bd", false},
		{"a?c", "ab", true},
		{"a?c", "abcd", false},
		{"*z", "anything", true},
		{"*", "", true},
		{"* orders", "GET orders", true},
		{"* orders", "GET stock", false},
		{"* {orders,stock}", "GET st", true},
		{"GET orders", "GET", false},
		{"*#gpt*", "GET stock", true},
	} {
		if got := compile(t, tt.pattern).Begins(tt.prefix); got != tt.want {
			t.Errorf("%q begins with %q: %v, want %v", tt.pattern, tt.prefix, got, tt.want)
		}
	}
}

func TestANameIsMatchedLiterally(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringOfN(rapid.SampledFrom([]rune(`ab.*?[]{},\!^-/ö`)), 1, 20, -1).Draw(t, "name")
		other := rapid.StringOfN(rapid.SampledFrom([]rune(`ab.*?[]{},\!^-/ö`)), 1, 20, -1).Draw(t, "other")
		g, err := glob.Compile(glob.Literal(name))
		require.NoError(t, err)
		require.True(t, g.Match(name))
		require.Equal(t, name == other, g.Match(other))
	})
}

func TestCompileRefuses(t *testing.T) {
	for _, row := range []struct {
		why, pattern string
		offset       int
		reason       string
	}{
		{"an empty pattern is a forgotten one", "", 0, "use *"},
		{"a pattern that is too long", strings.Repeat("a", 1024), 1023, "1023 bytes"},
		{"text that is not UTF-8", "aé\xffb", 3, "invalid UTF-8"},
		{"though it may hold the character that stands for it", "\uFFFD\xff", 3, "invalid UTF-8"},
		{"a backslash at the end", `ab\`, 2, `write \\`},
		{"one in braces", `{ab\`, 3, `write \\`},
		{"open braces", "a{b,c", 1, "close them with }"},
		{"inner open braces", "a{b,{c}", 1, "close them with }"},
		{"innermost ones are named", "a{b,{c", 4, "close them with }"},
		{"open braces with nothing in them", "a{", 1, "close them with }"},
		{"empty braces", "orders.{}", 7, `write \{\}`},
		{"a closing brace alone", "a}b", 1, `write \}`},
		{"one too many", "{a}}", 3, `write \}`},
		{"a class", "a[bc]", 1, "classes are not known; write {a,b}"},
		{"a closing bracket alone", "a]", 1, `\]`},
		{"one in braces", "{a,b]}", 4, `\]`},
	} {
		g, err := glob.Compile(row.pattern)
		assert.Nil(t, g, row.why)
		var syntax *glob.SyntaxError
		require.ErrorAs(t, err, &syntax, "%s: %q", row.why, row.pattern)
		assert.Equal(t, row.pattern, syntax.Pattern)
		assert.Equal(t, row.offset, syntax.Offset, row.why)
		assert.Contains(t, syntax.Reason, row.reason, row.why)
	}
}

func TestSyntaxErrorSaysWhere(t *testing.T) {
	_, err := glob.Compile("a\t}")
	assert.EqualError(t, err, `glob: pattern "a\t}", offset 2: } without a { before it; write \} for the character itself`)
}

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
		{"{a,b}*", "{b,c}?", true, "one alternative is common"},
		{"?", "é", true, "a character is not a byte"},
		{"?", "", false, "the zero glob is the empty name"},
		{"*", "", true, "which a star takes"},
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
	piece := rapid.SampledFrom([]string{"a", "b", "*", "?", "{a,b}", "{a,?b}", "{,b*}", `\*`})
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
	other := compile(t, "*{a,b}"+strings.Repeat("{a,b}", 39)+"?")
	assert.True(t, glob.Meets(worst, other))
	long := compile(t, strings.Repeat("{a*,*b}", 100))
	assert.True(t, glob.Meets(long, compile(t, strings.Repeat("*a?", 100))))
}
