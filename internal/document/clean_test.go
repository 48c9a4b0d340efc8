package document

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/internal/text"
)

func TestClip(t *testing.T) {
	for _, row := range []struct {
		why, in string
		width   int
		want    string
	}{
		{"what fits stays", "abc", 3, "abc"},
		{"what does not ends in an ellipsis, within the width", "abcd", 3, "ab…"},
		{"nothing is nothing", "", 3, ""},
		{"a wide character takes two columns", "漢字", 4, "漢字"},
		{"and is not cut in half", "漢字", 3, "漢…"},
		{"nor does the ellipsis push it over", "漢字x", 4, "漢…"},
		{"a terminal sequence is shown", "\x1b[2J", 9, `\x1b[2J`},
		{"an escape is not cut in half", "ab\x1b", 5, "ab…"},
		{"line breaks and tabs are shown", "a\r\n\tb", 20, `a\r\n\tb`},
		{"so is what turns the direction", "\u202ea", 20, `\u202ea`},
		{"and what is invisible", "a\u200bb\ufeff", 20, `a\u200bb\ufeff`},
		{"and a byte that is no UTF-8", "a\xffb", 20, `a\xffb`},
		{"and one above the basic plane", "\U000e0001", 20, `\U000e0001`},
		{"the character for what could not be read is one itself", "\ufffd", 20, "\ufffd"},
		{"spaces are spaces", "a\u00a0b\u3000c", 20, "a b c"},
	} {
		assert.Equal(t, row.want, Clip(row.in, row.width), row.why)
	}
}

func TestBlock(t *testing.T) {
	for _, row := range []struct {
		why, in string
		most    int
		want    string
	}{
		{"lines and tabs stay", "a\n\tb", 10, "a\n\tb"},
		{"line ends of Windows become ours", "a\r\nb", 10, "a\nb"},
		{"a return alone is shown", "a\rb", 10, `a\rb`},
		{"control characters are shown", "\x1bc", 10, `\x1bc`},
		{"what is left out is counted", "abcdef", 4, "abcd… and 2 more bytes"},
		{"a character that was cut is not shown as wrong", "ab漢", 4, "ab… and 3 more bytes"},
		{"one that is wrong is", "ab\xe6", 3, `ab\xe6`},
	} {
		assert.Equal(t, row.want, Block(row.in, row.most), row.why)
	}
}

func TestWrap(t *testing.T) {
	for _, row := range []struct {
		why, in string
		width   int
		most    int
		want    []string
	}{
		{"short text is one line", "one two", 12, 3, []string{"one two"}},
		{"long text breaks between words", "one two three", 10, 3, []string{"one two", "three"}},
		{"a long word breaks where it must", "abcdefghijkl", 10, 3, []string{"abcdefgh", "ijkl"}},
		{"lines stay lines", "a\nb", 10, 3, []string{"a", "b"}},
		{"what is too much ends in an ellipsis", "a\nb\nc", 10, 2, []string{"a", "b …"}},
		{"and so does one long line", "one two three four five six", 10, 2, []string{"one two", "three …"}},
		{"nothing is one empty line", "", 10, 2, []string{""}},
	} {
		assert.Equal(t, row.want, wrap(row.in, row.width, row.most), row.why)
	}
}

func TestWrapKeepsToItsWidthAndItsLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`([a-z]{1,30}[ \n]){0,20}`), rapid.StringMatching(`[漢字 a]{0,80}`)).Draw(t, "text")
		columns, most := rapid.IntRange(20, 60).Draw(t, "width"), rapid.IntRange(1, 5).Draw(t, "lines")
		lines := wrap(s, columns, most)
		assert.LessOrEqual(t, len(lines), most)
		for _, line := range lines {
			assert.LessOrEqual(t, width(line), columns, line)
		}
		assert.LessOrEqual(t, width(Clip(s, columns)), columns)
	})
}

func TestFoldName(t *testing.T) {
	for _, row := range []struct {
		why, name string
		want      []string
	}{
		{"a short one stays", "one-refund", []string{"one-refund"}},
		{"a long one breaks behind its dashes", "no-false-claim", []string{"no-false-", "claim"}},
		{"dots and underscores serve as well", "orders.get_by_customer", []string{"orders.get_", "by_customer"}},
		{"a long word breaks where it must", "incomprehensibilities", []string{"incomprehens", "ibilities"}},
		{"no name is a line all the same", "", []string{""}},
	} {
		assert.Equal(t, row.want, foldName(row.name), row.why)
		assert.Equal(t, row.name, strings.Join(foldName(row.name), ""), row.why)
	}
}

func TestNumber(t *testing.T) {
	for n, want := range map[int]string{0: "0", 7: "7", -7: "-7", 999: "999", -999: "-999", 1000: "1,000", -1000: "-1,000", 20070: "20,070", 123456789: "123,456,789"} {
		assert.Equal(t, want, text.Number(n))
	}
	assert.Equal(t, "2,500 cells", text.Plural(2500, "cell"))
}
