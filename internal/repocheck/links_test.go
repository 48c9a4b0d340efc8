package repocheck

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLinksLeadSomewhere(t *testing.T) {
	for _, file := range filesOfRepository(t, ".md") {
		for _, target := range links(readPage(t, file)) {
			assert.Empty(t, deadLink(file, target), "%s links to %s", file, target)
		}
	}
}

func TestDeadLinksAreSeen(t *testing.T) {
	assert.Equal(t, []string{"one.md", "three.md#x"}, links("[a](one.md) `[no](code.md)`\n```\n[no](fenced.md)\n```\n[d](<three.md#x>)\n"))
	assert.Equal(t, map[string]bool{"the-call-type-in-2-parts": true, "why": true, "why-1": true, "linked-and_under-scored": true, "own": true},
		anchors("# The `Call` type, in 2 parts\n## Why?\n## Why?\n### [Linked](x.md) and_under-scored\n<a id=\"own\"></a>\n"))
	for target, dead := range map[string]bool{
		"https://example.com/x": false, "LICENSE": false, "scoring": false, "scoring/doc.go#L3": false, "CONTRIBUTING.md#golden-files": false,
		"CONTRIBUTING.md#nowhere": true, "missing.md": true, "/LICENSE": true, "../outside": true, "#nowhere": true,
	} {
		assert.Equal(t, dead, deadLink("CHANGELOG.md", target) != "", target)
	}
}

// deadLink returns why a link in file has no target; empty: it has one. Links to other
// sites are not followed.
func deadLink(file, target string) string {
	u, err := url.Parse(target)
	switch {
	case err != nil:
		return err.Error()
	case u.Scheme != "" || u.Host != "":
		return ""
	case strings.HasPrefix(u.Path, "/"):
		return "a link within the repository is relative"
	}
	to := file
	if u.Path != "" {
		to = path.Join(path.Dir(file), u.Path)
	}
	if !filepath.IsLocal(filepath.FromSlash(to)) {
		return "outside the repository"
	}
	if _, err := os.Stat(filepath.Join(root, to)); err != nil {
		return "no such file"
	}
	if strings.HasSuffix(to, ".md") && u.Fragment != "" {
		text, err := os.ReadFile(filepath.Join(root, to))
		if err != nil || !anchors(string(text))[u.Fragment] {
			return fmt.Sprintf("no heading %q in %s", u.Fragment, to)
		}
	}
	return ""
}

func readPage(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	require.NoError(t, err)
	return string(text)
}

var (
	codeSpan = regexp.MustCompile("`[^`\n]*`")
	linkTo   = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)`)
	linked   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	heading  = regexp.MustCompile(`(?m)^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$`)
	ownName  = regexp.MustCompile(`<a\s+(?:id|name)="([^"]+)"`)
	fenceRow = regexp.MustCompile("^\\s*(```+|~~~+)")
)

// links returns the link targets of a Markdown text, without those in code.
func links(text string) (targets []string) {
	text = codeSpan.ReplaceAllString(withoutFences(text), "")
	for _, m := range linkTo.FindAllStringSubmatch(text, -1) {
		targets = append(targets, m[1])
	}
	return targets
}

func withoutFences(text string) string {
	var out strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		mark := fenceRow.FindStringSubmatch(line)
		switch {
		case fence == "" && mark != nil:
			fence = mark[1]
		case fence != "" && mark != nil && strings.HasPrefix(mark[1], fence):
			fence = ""
		case fence == "":
			out.WriteString(line)
		}
	}
	return out.String()
}

// anchors returns the fragments of a Markdown text as GitHub names them: lower case,
// hyphens for spaces, without other punctuation, and a number after a repeated one.
func anchors(text string) map[string]bool {
	text = withoutFences(text)
	found, seen := make(map[string]bool), make(map[string]int)
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		name := strings.Map(slugRune, strings.ToLower(linked.ReplaceAllString(m[1], "$1")))
		n := seen[name]
		seen[name]++
		if n > 0 {
			name = fmt.Sprintf("%s-%d", name, n)
		}
		found[name] = true
	}
	for _, m := range ownName.FindAllStringSubmatch(text, -1) {
		found[m[1]] = true
	}
	return found
}

func slugRune(r rune) rune {
	switch {
	case r == ' ':
		return '-'
	case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
		return r
	}
	return -1
}
