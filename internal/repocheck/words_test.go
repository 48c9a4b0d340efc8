package repocheck

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A retired word must not be used: docs/reference/glossary.md has the word to use.
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

// Where a word of an identifier ends.
var wordEnds = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])|_`)

// retiredIn lists the retired words of an identifier.
func retiredIn(name string) (found []string) {
	for word := range strings.FieldsSeq(strings.ToLower(wordEnds.ReplaceAllString(name, "$1$3 $2$4"))) {
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
func retiredInProse(text string) (found []string) {
	if !anyRetired.MatchString(text) {
		return nil
	}
	text = exemptWords.ReplaceAllString(text, "")
	for _, r := range retiredWords {
		if hit := regexp.MustCompile(`(?i)` + r.pattern()).FindString(text); hit != "" {
			found = append(found, fmt.Sprintf("%q; say %s", hit, r.now))
		}
	}
	return found
}

func TestRetiredWords(t *testing.T) {
	for _, p := range everyPackage(t) {
		for _, f := range p.files {
			report := func(at token.Pos, problems []string) {
				assert.Empty(t, problems, "%s", p.fset.Position(at))
			}
			seen := map[string]bool{}
			ast.Inspect(f.syntax, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Ident:
					if !seen[n.Name] {
						report(n.Pos(), retiredIn(n.Name))
					}
					seen[n.Name] = true
				case *ast.BasicLit: // what people read, and members of JSON in tags; tests quote answers of agents
					if n.Kind == token.STRING && !f.test {
						report(n.Pos(), retiredInProse(n.Value))
					}
				}
				return true
			})
			for _, group := range f.syntax.Comments {
				report(group.Pos(), retiredInProse(group.Text()))
			}
		}
	}
	for _, file := range filesOfRepository(t, ".md") {
		if !strings.HasSuffix(file, "CHANGELOG.md") { // what was changed had its old names
			assert.Empty(t, retiredInProse(withoutFences(readPage(t, file))), file)
		}
	}
}

func TestRetiredWordsAreSeen(t *testing.T) {
	for name, want := range map[string]int{"newWeather": 1, "struckByRails": 2, "HTTPStrike": 1, "striking": 0, "guardrails": 0} {
		assert.Len(t, retiredIn(name), want, name)
	}
	for text, want := range map[string]int{"It tells whether it is done.": 1, "A calm weather.": 1, "What the get_weather tool says.": 0} {
		assert.Len(t, retiredInProse(text), want, text)
	}
}
