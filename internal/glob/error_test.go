package glob_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/internal/glob"
)

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
		{"one in a class", `[ab\`, 3, `write \\`},
		{"an open class", "a[b", 1, "close it with ]"},
		{"an open class without members", "a[", 1, "close it with ]"},
		{"an open class turned round", "a[^", 1, "close it with ]"},
		{"an open range", "a[b-", 1, "close it with ]"},
		{"an empty class", "a[]", 1, "without members"},
		{"which does not start with a bracket", "a[]b]", 1, "without members"},
		{"an empty class turned round", "[!]", 0, "without members"},
		{"a range that runs backwards", "x[a-cz-y]", 5, "backwards"},
		{"open braces", "a{b,c", 1, "close them with }"},
		{"inner open braces", "a{b,{c}", 1, "close them with }"},
		{"innermost ones are named", "a{b,{c", 4, "close them with }"},
		{"open braces with nothing in them", "a{", 1, "close them with }"},
		{"a class does not close them", "{[}]", 0, "close them with }"},
		{"empty braces", "orders.{}", 7, `write \{\}`},
		{"a closing brace alone", "a}b", 1, `write \}`},
		{"one too many", "{a}}", 3, `write \}`},
		{"a closing bracket alone", "a]", 1, `write \]`},
		{"one in braces", "{a,b]}", 4, `write \]`},
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
	_, err := glob.Compile("a\t[z-b]")
	assert.EqualError(t, err, `glob: pattern "a\t[z-b]", offset 3: range that runs backwards; the lower character comes first, as in a-z`)
}
