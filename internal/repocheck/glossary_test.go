package repocheck

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A term is an entry of docs/glossary.md.
type term struct {
	heading string // of the entry
	pattern string // of its use in prose, in any case
}

var linkedTerms = []term{
	{"injection point, target", `injection points?`},
	{"fault", `faults?`},
	{"trigger", `triggers?`},
	{"rule", `rules?`},
	{"plan", `plans?`},
	{"injector", `injectors?`},
	{"delivered", `delivered`},
	{"held back", `(?:holds?|held) back`},
	{"masked", `masked`},
	{"safeguards", `safeguards?`},
	{"draw", `draws?`},
	{"lane", `lanes?`},
	{"occurrence", `occurrences?`},
	{"ordinal", `ordinals?`},
	{"matrix", `matrix|matrices`},
	{"scenario", `scenarios?`},
	{"invariant", `invariants?`},
	{"cell", `cells?`},
	{"trial", `trials?`},
	{"observation", `observations?`},
	{"calm run", `calm runs?`},
	{"held, broken, inconclusive, undelivered, not run", `inconclusive`},
	{"undecided", `undecided`},
	{"verdict", `verdicts?`},
	{"steady state", `steady state`},
	{"bubble", `bubbles?`},
	{"incident", `incidents?`},
}

// unlinkedTerms are everyday words too: no pattern finds where they are terms.
var unlinkedTerms = []string{"matched", "injected", "goal", "key", "event", "effect", "run", "world", "session", "defect", "cassette"}

func TestFirstUseOfATermIsLinked(t *testing.T) {
	for _, page := range filesOfRepository(t, ".md") {
		if path.Dir(page) != "docs" || path.Base(page) == "glossary.md" {
			continue
		}
		for _, unlinked := range unlinkedIn(readMarkdown(t, page)) {
			t.Errorf("%s does not link the first use of %q to docs/glossary.md", page, unlinked)
		}
	}
}

func TestUnlinkedTermsAreSeen(t *testing.T) {
	for text, want := range map[string][]string{
		"A [fault](glossary.md#fault) is a fault.\n":                                              nil,
		"A fault is a [fault](glossary.md#fault).\n":                                              {"fault"},
		"A [fault](glossary.md#cell).\n":                                                          {"fault"},
		"Each [calm run](glossary.md#calm-run).\n":                                                nil,
		"Two trials, one\nverdict.\n":                                                             {"trial", "verdict"},
		"# A fault\n| fault |\n`fault` \"fault\" [fault](faults.md) faults.md\n```\nfault\n```\n": nil,
		"<!-- rows: generated -->\nA fault.\n<!-- end -->\nA trial.\n":                            {"trial"},
	} {
		assert.Equal(t, want, unlinkedIn(text), text)
	}
}

// Every entry of the glossary is one sentence, and is linked or everyday.
func TestGlossary(t *testing.T) {
	var listed []string
	for _, term := range linkedTerms {
		listed = append(listed, term.heading)
	}
	listed = append(listed, unlinkedTerms...)
	var headings []string
	for _, entry := range strings.Split(readMarkdown(t, "docs/glossary.md"), "\n### ")[1:] {
		heading, body, _ := strings.Cut(entry, "\n")
		headings = append(headings, heading)
		body = strings.TrimSpace(body)
		assert.Len(t, regexp.MustCompile(`[.!?](\s|$)`).FindAllString(body, -1), 1, "%s: sentences of %q", heading, body)
		assert.LessOrEqual(t, len(strings.Fields(body)), 40, "words of %s", heading)
	}
	assert.ElementsMatch(t, listed, headings)
}

// unlinkedIn lists the terms whose first use in the prose of a page is no link
// to their entry. Headings, tables, code, quotations, other links and generated
// parts are not prose.
func unlinkedIn(text string) []string {
	prose := regexp.MustCompile(`(?s)<!-- \S+ ?(?:generated|begin)? ?-->.*?<!-- (?:\S+ )?end -->|<!--.*?-->`).ReplaceAllString(withoutFences(text), "")
	prose = regexp.MustCompile(`(?m)^\s*[|#].*$`).ReplaceAllString(prose, "")
	prose = regexp.MustCompile("`[^`\n]*`|\"[^\"\n]*\"|(?:^|\\s)[\\w-]+\\.md\\b").ReplaceAllString(prose, "``")
	prose = regexp.MustCompile(`\[[^\]]*\]\([^)]*\)`).ReplaceAllStringFunc(prose, func(link string) string {
		if strings.Contains(link, "](glossary.md#") {
			return link
		}
		return "``"
	})
	var unlinked []string
	for _, term := range linkedTerms {
		use := regexp.MustCompile(`(?i)(?:^|[^\w/.#-])(?:` + strings.ReplaceAll(term.pattern, " ", `\s+`) + `)(\]\([^)]*\)|[^\w/-]|$)`)
		anchor := strings.ReplaceAll(strings.ReplaceAll(term.heading, ",", ""), " ", "-")
		if first := use.FindStringSubmatch(prose); first != nil && first[1] != "](glossary.md#"+anchor+")" {
			unlinked = append(unlinked, term.heading)
		}
	}
	return unlinked
}
