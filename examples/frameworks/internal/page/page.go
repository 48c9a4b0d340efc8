// Package page holds parts of the documentation to what tests found: with UPDATE_GOLDEN=1 they write it.
package page

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Updating reports whether tests write what they find.
func Updating() bool { return os.Getenv("UPDATE_GOLDEN") == "1" }

// Section returns what is between the comments "<!-- name begin -->" and "<!-- name end -->" of a file below docs.
func Section(t *testing.T, file, name string) string {
	t.Helper()
	_, old, _ := cut(t, read(t, path(t, file)), file, name)
	return old
}

// Hold fails the test if the section is not text; with UPDATE_GOLDEN=1 it writes it anew.
func Hold(t *testing.T, file, name, text string) {
	t.Helper()
	where := path(t, file)
	head, old, tail := cut(t, read(t, where), file, name)
	text = "\n" + text + "\n"
	if old == text {
		return
	}
	if Updating() {
		require.NoError(t, os.WriteFile(where, []byte(head+text+tail), 0o644))
		return
	}
	assert.Equal(t, old, text, "to accept what the test found: UPDATE_GOLDEN=1 go test -run '^%s$' .", t.Name())
}

// Row holds the line of a table in a section that begins with first. With UPDATE_GOLDEN=1 it writes the line anew, or
// at the end of the table if it is not there yet.
func Row(t *testing.T, file, section, first, row string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(Section(t, file, section)), "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, first) })
	if at < 0 {
		lines, at = append(lines, ""), len(lines)
	}
	old := lines[at]
	if old != row && !Updating() {
		t.Errorf("docs/%s has\n%s\nand this build\n%s\nto accept: UPDATE_GOLDEN=1 go test -run '^%s$' .", file, old, row, t.Name())
		return
	}
	lines[at] = row
	Hold(t, file, section, strings.Join(lines, "\n")+"\n")
}

func cut(t *testing.T, page, file, name string) (head, old, tail string) {
	t.Helper()
	begin, end := "<!-- "+name+" begin -->\n", "<!-- "+name+" end -->\n"
	head, rest, found := strings.Cut(page, begin)
	require.True(t, found, "%s has no section %s", file, name)
	old, tail, found = strings.Cut(rest, end)
	require.True(t, found, "the section %s of %s has no end", name, file)
	return head + begin, old, end + tail
}

func read(t *testing.T, path string) string {
	t.Helper()
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(page)
}

// path looks for docs in the folders above that of the test.
func path(t *testing.T, file string) string {
	t.Helper()
	up := ""
	for range 8 {
		if path := filepath.Join(up, "docs", filepath.FromSlash(file)); exists(path) {
			return path
		}
		up = filepath.Join(up, "..")
	}
	require.Fail(t, "there is no docs/"+file+" above the test")
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// stackPattern is the stack of a goroutine, which is never the same, in a text or in the JSON of one.
var stackPattern = regexp.MustCompile(`(?s)goroutine \d+ \[.*(\n\t|\\n\\t)\S+:\d+( \+0x[0-9a-f]+)?`)

// HasStack reports whether a text shows the stack of a goroutine.
func HasStack(text string) bool { return stackPattern.MatchString(text) }

// Code formats a text for a table cell, without stacks and shortened in the middle to so many characters.
func Code(text string, longest int) string {
	text = stackPattern.ReplaceAllString(text, "(a stack trace)")
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest/2]) + " … " + string(runes[len(runes)-longest/2:])
	}
	return "`" + strings.NewReplacer("|", `\|`, "`", "'", "\r", "", "\n", " ").Replace(text) + "`"
}
