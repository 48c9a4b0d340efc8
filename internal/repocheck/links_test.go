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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLinksLeadSomewhere(t *testing.T) {
	for _, file := range filesOfRepository(t, ".md") {
		for _, m := range linkTo.FindAllStringSubmatch(withoutCode(readPage(t, file)), -1) {
			assert.Empty(t, deadLink(file, m[1]), "%s links to %s", file, m[1])
		}
	}
	for target, dead := range map[string]bool{
		"https://example.com/x": false, "LICENSE": false, "scoring": false, "scoring/doc.go#L3": false, "CONTRIBUTING.md#golden-files": false,
		"CONTRIBUTING.md#nowhere": true, "missing.md": true, "/LICENSE": true, "../outside": true, "#nowhere": true,
	} {
		assert.Equal(t, dead, deadLink("CHANGELOG.md", target) != "", target)
	}
	assert.Equal(t, map[string]bool{"the-call-type-in-2-parts": true, "why": true, "why-1": true, "linked-and_under-scored": true, "own": true},
		anchors("# The `Call` type, in 2 parts\n## Why?\n## Why?\n### [Linked](x.md) and_under-scored\n<a id=\"own\"></a>\n"))
	assert.NotContains(t, withoutCode("`[no](code.md)`\n```\n[no](fenced.md)\n```\n"), "no")
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
	}
	to := file
	if u.Path != "" {
		to = path.Join(path.Dir(file), u.Path)
	}
	if path.IsAbs(u.Path) || !filepath.IsLocal(filepath.FromSlash(to)) {
		return "outside the repository"
	}
	text, err := os.ReadFile(filepath.Join(root, to))
	switch {
	case os.IsNotExist(err):
		return "no such file"
	case strings.HasSuffix(to, ".md") && u.Fragment != "" && !anchors(string(text))[u.Fragment]:
		return fmt.Sprintf("no heading %q in %s", u.Fragment, to)
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
	fenced   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	codeSpan = regexp.MustCompile("`[^`\n]*`")
	linkTo   = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)`)
	linked   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	heading  = regexp.MustCompile(`(?m)^#{1,6} +(.*?) *$`)
	ownName  = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	noSlug   = regexp.MustCompile(`[^\pL\pN _-]`)
)

func withoutFences(text string) string { return fenced.ReplaceAllString(text, "") }

func withoutCode(text string) string { return codeSpan.ReplaceAllString(withoutFences(text), "") }

// anchors returns the fragments of a Markdown text as GitHub names them: lower case,
// hyphens for spaces, without other punctuation, and a number after a repeated one.
func anchors(text string) map[string]bool {
	text = withoutFences(text)
	found, seen := make(map[string]bool), make(map[string]int)
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		name := strings.ToLower(linked.ReplaceAllString(m[1], "$1"))
		name = strings.ReplaceAll(noSlug.ReplaceAllString(name, ""), " ", "-")
		if seen[name]++; seen[name] > 1 {
			name = fmt.Sprintf("%s-%d", name, seen[name]-1)
		}
		found[name] = true
	}
	for _, m := range ownName.FindAllStringSubmatch(text, -1) {
		found[m[1]] = true
	}
	return found
}
