package repocheck

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The limits of files: the first row that fits a file counts.
var fileSizes = []struct {
	fits   func(f goFile) bool
	lines  int
	reason string
}{
	{func(f goFile) bool { return ast.IsGenerated(f.syntax) }, 0, "nobody reads it"},
	{func(f goFile) bool { return f.test }, 600, "a test file is one subject with its tables"},
	{func(f goFile) bool { return within(f.path, "internal") }, 400, "a leaf does one thing"},
	{func(goFile) bool { return true }, 500, "a file is read in one sitting"},
}

func TestFileSizes(t *testing.T) {
	for _, p := range everyPackage(t) {
		for _, f := range p.files {
			for _, size := range fileSizes {
				if size.fits(f) {
					assert.True(t, size.lines == 0 || f.lines <= size.lines,
						"%s has %d lines, the limit is %d: %s", f.path, f.lines, size.lines, size.reason)
					break
				}
			}
		}
	}
}

func TestReadmeIsRead(t *testing.T) {
	text := readMarkdown(t, "README.md")
	assert.LessOrEqual(t, strings.Count(text, "\n"), 120, "lines of README.md: what is added replaces something")
}

// Text that must not be in the sources. The patterns do not match themselves.
var leftovers = []struct {
	pattern *regexp.Regexp
	reason  string
}{
	{regexp.MustCompile(`(^|[\s"'(=` + "`" + `])/(home|Users|root|work)/`), "a path of one machine"},
	{regexp.MustCompile(`[A-Z]:\\\\?Users\\`), "a path of one machine"},
	{regexp.MustCompile(`\b(TO[D]O|FIX[M]E|XX[X])\b`), "unfinished work belongs in an issue"},
	{regexp.MustCompile(`(?i)\bnot[ ](yet )?implemented\b`), "a promise that the code does not keep"},
}

func TestNoLeftovers(t *testing.T) {
	for _, ending := range []string{".go", ".md"} {
		for _, file := range filesOfRepository(t, ending) {
			text, err := os.ReadFile(filepath.Join(root, file))
			require.NoError(t, err)
			for _, l := range leftovers {
				assert.Empty(t, string(l.pattern.Find(text)), "%s: %s", file, l.reason)
			}
		}
	}
}

func TestLeftoversAreSeen(t *testing.T) {
	for i, text := range []string{`open("/ho` + `me/me/x")`, `C:` + `\Users\me`, "// TO" + "DO: later", "errors.New(\"not " + "implemented\")"} {
		assert.Regexp(t, leftovers[i].pattern, text)
	}
	assert.NotRegexp(t, leftovers[0].pattern, `"https://example.com/home/page"`)
}
