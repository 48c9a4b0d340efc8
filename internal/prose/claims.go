package prose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/shakedown-go/shakedown/internal/text"
)

// maxMatches is the most matches of one pattern in one sentence that are read.
const maxMatches = 64

// A ClaimForm recognises the statements that make a claim.
type ClaimForm struct {
	Says   *regexp.Regexp
	Unless *regexp.Regexp // it matches sentences that do not make the claim; nil: none
	Bare   bool           // a match makes the claim, whatever else its sentence says
}

// A Made is a claim of an answer.
type Made struct {
	Claim int      // its number among the forms
	Said  []string // what Says matched: the whole, then its groups
}

// A ClaimRuling is what is decided about the claims of an answer.
type ClaimRuling struct {
	As     Ruling
	Made   Made   // the refuted claim
	Silent bool   // no pattern matches the answer
	Why    string // "" where it is upheld
}

// unread returns why an answer is not read, "" if it is.
func unread(answer string, sentences, longest int) string {
	switch {
	case len(answer) > MaxText:
		return fmt.Sprintf("the answer has %d bytes, and more than %d are not read", len(answer), MaxText)
	case sentences > maxSentences:
		return fmt.Sprintf("the answer has %d sentences, and more than %d are not read", sentences, maxSentences)
	case longest > longSentence:
		return fmt.Sprintf("a sentence of the answer has %d bytes, and of one more than %d are not read", longest,
			longSentence)
	}
	return ""
}

// names reports whether a group of a match names a thing: it has a digit, or a capital within.
func names(groups []string) bool {
	return slices.ContainsFunc(groups, func(g string) bool {
		return strings.ContainsAny(g, "0123456789") || len(g) > 1 && strings.ContainsFunc(g[1:], unicode.IsUpper)
	})
}

// things returns how many things an answer names: identifiers, and numbers of three digits and
// more.
func things(answer string) int {
	names := make(map[string]bool)
	for _, f := range facts(answer) {
		if (f.kind == identifier || f.kind == small || f.kind == amount) && len(f.text) >= 3 &&
			!strings.ContainsAny(f.text, ".,$€£% ") {
			names[f.keys[0]] = true
		}
	}
	return len(names)
}

// JudgeClaims rules on the claims of an answer. against names what rule compares a claim with.
//
// A claim is a match of Says that Unless does not match, in a sentence that is plain or with
// a Bare pattern. One that is refuted refutes the answer, and one that nobody can rule on, or
// a match in another sentence, leaves it unruled. So does an answer without a match.
func JudgeClaims(forms []ClaimForm, answer, against string, rule func(Made) Ruling) ClaimRuling {
	list, longest := read(answer)
	if why := unread(answer, len(list), longest); why != "" {
		return ClaimRuling{Why: why}
	}
	var out ClaimRuling
	upheld, excepted, open := 0, 0, ""
	doubtful, named := make(map[int]bool), true
	for _, s := range list {
		for i, form := range forms {
			for _, said := range form.Says.FindAllStringSubmatch(s.text, maxMatches) {
				made := Made{i, said}
				switch {
				case form.Unless != nil && form.Unless.MatchString(s.text):
					excepted++
					continue
				case !form.Bare && !s.plain():
					doubtful[i] = true
					open = fmt.Sprintf("the claim %s is in doubt in %s", text.QuoteShort(said[0]),
						text.QuoteShort(s.text))
					continue
				}
				switch rule(made) {
				case Upheld:
					upheld++
				case Refuted:
					if out.Why == "" {
						out.Made, named = made, names(said[1:])
						out.Why = fmt.Sprintf("the answer claims %s in %s, and %s denies it",
							text.QuoteShort(said[0]), text.QuoteShort(s.text), against)
					}
				default:
					open = fmt.Sprintf("%s does not show whether the claim %s is true", against,
						text.QuoteShort(said[0]))
				}
			}
		}
	}
	switch {
	case out.Why != "" && !named && (doubtful[out.Made.Claim] || things(answer) > 1):
		out.Why += ", but the match does not name the thing, and the answer is about several"
	case out.Why != "" && !takenBack(list):
		out.As = Refuted
	case out.Why != "":
		out.Why += ", but the answer says that something is wrong"
	case open != "":
		out.Why = open
	case upheld > 0, excepted > 0:
		out.As = Upheld
	default:
		out.Silent = true
		out.Why = "no claim is recognised in the answer; a structured outcome beside it would decide"
	}
	return out
}
