package repocheck

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
)

// A retired word must not be used: docs/glossary.md has the word to use.
type retired struct {
	word  string // a part of an identifier, and a word of prose, in lower case
	prose string // a pattern of prose; empty: the word
	now   string // what to say instead
}

var retiredWords = []retired{
	{"weather", "", "scenario"},
	{"weathers", "", "scenarios"},
	{"weathered", "", "a matrix with scenarios"},
	{"sight", `\b(a|the|each|one|every) sights?\b`, "run"},
	{"hands", `\bhands? of the (engine|worker)\b|\bon a hand\b|\ba hand is\b`, "workers"},
	{"tale", `\b(a|the) tales?\b`, "edit"},
	{"struck", "", "injected, or matched"},
	{"unstruck", "", "not injected"},
	{"strike", "", "injection; to inject"},
	{"strikes", "", "injections; injects"},
	{"rails", "", "safeguards"},
	{"promise", `\bpromises? (breaks?|broke|holds?|held|is asked|of a matrix)\b`, "invariant"},
	{"promises", `\b$^`, "invariants"},
	{"", `\bdrawn on\b`, "a trigger matches a call"},
	{"", `\blets? it be\b`, "lets the call pass"},
	{"", `\btells? whether\b`, "reports whether"},
	{"", `\bsays? whether\b`, "reports whether"},
}

// exemptWords matches retired words in another meaning: in standard terms, strings
// and quotations.
var exemptWords = regexp.MustCompile(`(?i)promise(s|d)? (of|that|to|nothing|no)|handshake|shorthand|beforehand|by hand|at hand|on the other hand|handed|handle|first sight|get_weather|weather forecast|weather (in|for|at) [A-Z]|the weather (is|now)`)

// words splits an identifier into its words, in lower case.
func words(name string) []string {
	var all []string
	var word strings.Builder
	flush := func() {
		if word.Len() > 0 {
			all = append(all, strings.ToLower(word.String()))
			word.Reset()
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		upper := unicode.IsUpper(r)
		if r == '_' || upper && i > 0 && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			flush()
		}
		if r != '_' {
			word.WriteRune(r)
		}
	}
	flush()
	return all
}

// retiredIn lists the retired words of an identifier.
func retiredIn(name string) []string {
	var found []string
	for _, word := range words(name) {
		for _, r := range retiredWords {
			if word == r.word {
				found = append(found, fmt.Sprintf("%s has %q; say %s", name, word, r.now))
			}
		}
	}
	return found
}

// pattern matches the word or phrase in prose.
func (r retired) pattern() string { return cmp.Or(r.prose, `\b`+r.word+`\b`) }

// anyRetired matches what any of the patterns matches: most texts have none of
// them, and one search says so.
var anyRetired = regexp.MustCompile(func() string {
	var all []string
	for _, r := range retiredWords {
		all = append(all, r.pattern())
	}
	return `(?i)` + strings.Join(all, "|")
}())

// retiredInProse lists the retired words and phrases of a comment or a page.
func retiredInProse(text string) []string {
	if !anyRetired.MatchString(text) {
		return nil
	}
	var found []string
	text = exemptWords.ReplaceAllString(text, "")
	for _, r := range retiredWords {
		for _, hit := range regexp.MustCompile(`(?i)`+r.pattern()).FindAllString(text, -1) {
			found = append(found, fmt.Sprintf("%q; say %s", hit, r.now))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func TestRetiredWords(t *testing.T) {
	for _, p := range everyPackage(t) {
		for _, f := range p.files {
			seen := map[string]bool{}
			ast.Inspect(f.syntax, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Ident:
					if !seen[n.Name] {
						seen[n.Name] = true
						for _, problem := range retiredIn(n.Name) {
							assert.Fail(t, problem, f.path)
						}
					}
				case *ast.BasicLit: // what people read, and members of JSON in tags; tests quote answers of agents
					if n.Kind == token.STRING && !f.test {
						for _, problem := range retiredInProse(n.Value) {
							assert.Fail(t, problem, "%s: %s", f.path, p.fset.Position(n.Pos()))
						}
					}
				}
				return true
			})
			for _, group := range f.syntax.Comments {
				for _, problem := range retiredInProse(group.Text()) {
					assert.Fail(t, problem, "%s: %s", f.path, p.fset.Position(group.Pos()))
				}
			}
		}
	}
	for _, file := range filesOfRepository(t, ".md") {
		if strings.HasSuffix(file, "CHANGELOG.md") || strings.Contains(file, "testdata/") {
			continue // what was changed had its old names
		}
		for _, problem := range retiredInProse(withoutFences(readMarkdown(t, file))) {
			assert.Fail(t, problem, file)
		}
	}
}

func TestRetiredWordsAreSeen(t *testing.T) {
	for name, want := range map[string]int{
		"newWeather": 1, "struckByRails": 2, "HTTPStrike": 1, "striking": 0, "constructor": 0, "handshake": 0, "guardrails": 0,
	} {
		assert.Len(t, retiredIn(name), want, name)
	}
	for text, want := range map[string]int{
		"The rule was drawn on this call.": 1, "It tells whether it is done.": 1, "A calm weather.": 1,
		"What the get_weather tool says.": 0, "It was written by hand.": 0, "It keeps the promise of its name.": 0,
	} {
		assert.Len(t, retiredInProse(text), want, text)
	}
}
