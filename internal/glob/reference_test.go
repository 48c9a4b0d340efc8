package glob_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/internal/glob"
)

// reference translates a well-formed pattern to a regular expression, by its own reading of the syntax.
func reference(pattern string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	depth, rest := 0, []rune(pattern)
	for len(rest) > 0 {
		r := rest[0]
		rest = rest[1:]
		switch {
		case r == '*':
			b.WriteString(".*")
		case r == '?':
			b.WriteString(".")
		case r == '{':
			depth++
			b.WriteString("(?:")
		case r == '}':
			depth--
			b.WriteString(")")
		case r == ',' && depth > 0:
			b.WriteString("|")
		case r == '\\':
			b.WriteString(regexp.QuoteMeta(string(rest[0])))
			rest = rest[1:]
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return regexp.MustCompile(b.String() + `\z`)
}

// FuzzMatch holds Match against the regular expression, on valid text: a wrong byte is U+FFFD to package regexp.
func FuzzMatch(f *testing.F) {
	for _, pattern := range []string{
		"a", "*", "a*b?c", `\[a`, "{a,b*}", "{,a{b,c}}d", `\*\,`, "{a*,*b}{a*,*b}c", "]", "{", "[a]", `\`, "é?東",
	} {
		for _, name := range []string{"", "a", "ab", "axbyc", "东", "a,b", "-"} {
			f.Add(pattern, name)
		}
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		g, err := glob.Compile(pattern)
		if err != nil {
			return
		}
		matched := g.Match(name)
		if !utf8.ValidString(name) || len(pattern) > 100 || len(name) > 100 {
			return
		}
		if want := reference(pattern).MatchString(name); matched != want {
			t.Errorf("%q on %q: got %t, want %t by %s", pattern, name, matched, want, reference(pattern))
		}
	})
}

// patterns draws well-formed patterns over few characters, so that names over the same ones often match.
func patterns() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{"a", "b", "é", "*", "?", `\*`, `\,`, `\\`})
	pattern := rapid.Map(rapid.SliceOfN(piece, 0, 4), func(s []string) string { return strings.Join(s, "") })
	for range 2 {
		group := rapid.Map(rapid.SliceOfN(pattern, 2, 4), func(s []string) string { return "{" + strings.Join(s, ",") + "}" })
		pattern = rapid.Map(rapid.SliceOfN(rapid.OneOf(piece, group), 1, 5), func(s []string) string { return strings.Join(s, "") })
	}
	return pattern
}

func TestMatchAgreesWithTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := patterns().Draw(t, "pattern")
		name := rapid.StringOfN(rapid.SampledFrom([]rune(`abé*,\-`)), 0, 12, -1).Draw(t, "name")
		g, err := glob.Compile(pattern)
		assert.NoError(t, err)
		assert.Equal(t, reference(pattern).MatchString(name), g.Match(name))
	})
}

// A prefix of a name that matches begins one, and what matches begins itself; the names here have no spaces.
func TestBeginsAgreesWithMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, err := glob.Compile(patterns().Draw(t, "pattern"))
		if err != nil {
			t.Skip("no pattern")
		}
		name := rapid.StringOfN(rapid.SampledFrom([]rune(`abé*,\-`)), 0, 12, -1).Draw(t, "name")
		if !g.Match(name) {
			return
		}
		for i := range name + "." { // between characters
			if !g.Begins(name[:i]) {
				t.Fatalf("%q matches %q and does not begin with %q", g, name, name[:i])
			}
		}
	})
}
