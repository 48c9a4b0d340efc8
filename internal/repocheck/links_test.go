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
		for _, target := range links(readMarkdown(t, file)) {
			if problem := deadLink(file, target); problem != "" {
				t.Errorf("%s links to %s: %s", file, target, problem)
			}
		}
	}
}

func TestLinksOfAText(t *testing.T) {
	text := "[a](one.md) ![b](two.png \"title\") [c][ref] `[no](code.md)` [d](<three.md#x>) [w](https://example.com)\n" +
		"```\n[no](fenced.md)\n```\n[ref]: four.md#y\n[e](#here)\n"
	assert.Equal(t, []string{"one.md", "two.png", "three.md#x", "https://example.com", "#here", "four.md#y"}, links(text))
}

func TestAnchorsOfAText(t *testing.T) {
	text := "# The `Call` type, in 2 parts\n## Why?\n## Why?\n```\n# not a heading\n```\n### [Linked](x.md) and_under-scored\n<a id=\"own\"></a>\n"
	assert.Equal(t, map[string]bool{
		"the-call-type-in-2-parts": true, "why": true, "why-1": true, "linked-and_under-scored": true, "own": true,
	}, anchors(text))
}

func TestDeadLinksAreSeen(t *testing.T) {
	for target, dead := range map[string]bool{
		"https://example.com/x":   false,
		"mailto:a@example.com":    false,
		"LICENSE":                 false,
		"scoring":                 false,
		"scoring/doc.go":          false,
		"scoring/doc.go#L3":       false,
		"CONTRIBUTING.md":         false,
		"CONTRIBUTING.md#testing": false,
		"CONTRIBUTING.md#nowhere": true,
		"missing.md":              true,
		"/LICENSE":                true,
		"../outside":              true,
		"#nowhere":                true,
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
	return deadTarget(to, u.Fragment)
}

// deadTarget returns what is missing, the file or the heading in a Markdown file;
// empty: nothing is.
func deadTarget(file, fragment string) string {
	if _, err := os.Stat(filepath.Join(root, file)); err != nil {
		return "no such file"
	}
	if !strings.HasSuffix(file, ".md") || fragment == "" {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(root, file))
	switch {
	case err != nil:
		return err.Error()
	case !anchors(string(text))[fragment]:
		return fmt.Sprintf("no heading %q in %s", fragment, file)
	}
	return ""
}

func readMarkdown(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	require.NoError(t, err)
	return string(text)
}

// links returns the link targets of a Markdown text, without those in code: first of
// [text](target), then of [name]: target.
func links(text string) []string {
	text = regexp.MustCompile("`[^`\n]*`").ReplaceAllString(withoutFences(text), "")
	inline := regexp.MustCompile(`\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)`)
	reference := regexp.MustCompile(`(?m)^\s{0,3}\[[^\]]+\]:\s*<?([^\s>]+)>?`)
	var targets []string
	for _, kind := range []*regexp.Regexp{inline, reference} {
		for _, m := range kind.FindAllStringSubmatch(text, -1) {
			targets = append(targets, m[1])
		}
	}
	return targets
}

func withoutFences(text string) string {
	var out strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		mark := regexp.MustCompile("^\\s*(```+|~~~+)").FindStringSubmatch(line)
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
	found := make(map[string]bool)
	seen := make(map[string]int)
	linked := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	for _, m := range regexp.MustCompile(`(?m)^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$`).FindAllStringSubmatch(text, -1) {
		name := strings.Map(slugRune, strings.ToLower(linked.ReplaceAllString(m[1], "$1")))
		n := seen[name]
		seen[name]++
		if n > 0 {
			name = fmt.Sprintf("%s-%d", name, n)
		}
		found[name] = true
	}
	for _, m := range regexp.MustCompile(`<a\s+(?:id|name)="([^"]+)"`).FindAllStringSubmatch(text, -1) {
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
