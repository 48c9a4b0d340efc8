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
		{"a class", "[abc]x", []string{"ax", "cx"}, []string{"x", "dx", "abx"}},
		{"a range, ends included", "t[0-9é-ü]", []string{"t0", "t9", "té", "tü"}, []string{"ta", "tý"}},
		{"several ranges", "[a-cx-z5]", []string{"b", "y", "5"}, []string{"d", "w", "-"}},
		{"a class turned round", "[^a-c]", []string{"d", "-", "é", "\xff"}, []string{"a", "b", "", "dd"}},
		{"with the shell's sign too", "[!a-c]", []string{"d", "!"}, []string{"a"}},
		{"which elsewhere are members", "[a^!]", []string{"a", "^", "!"}, []string{"b"}},
		{"a hyphen at either end is a member", "[-a][a-]", []string{"--", "aa", "-a"}, []string{"b-"}},
		{"so is one behind a range", "[a-c-e]", []string{"b", "-", "e"}, []string{"d"}},
		{"wildcards and braces in a class are members", "[*?{},[]", []string{"*", "?", "{", "}", ",", "["}, []string{"a", ""}},
		{"escapes in a class", `[\]\-\\\^]`, []string{"]", "-", `\`, "^"}, []string{"a", "["}},
		{"an escaped sign does not turn the class", `[\^a]`, []string{"^", "a"}, []string{"b"}},
		{"an escaped end of a range", `[\a-\c]`, []string{"a", "b", "c"}, []string{"d", `\`}},
		{"no class takes a byte that is no character", "[\u0001-\U0010FFFF]", []string{"\uFFFD", "a"}, []string{"\xff"}},
		{"nor does the character that stands for it", "\uFFFD", []string{"\uFFFD"}, []string{"\xff"}},
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
	for _, pattern := range []string{"orders.get", "orders.*", "{a*,*b}[c-é]?", strings.Repeat("{a*,*b}", 100)} {
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
		{"[xy]z", "x", true},
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
