package prose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
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

// JudgeClaims rules on the claims of an answer. against names what rule compares a claim with.
//
// A claim is a match of Says that Unless does not match, in a sentence that is plain or with
// a Bare pattern. One that is refuted refutes the answer, and one that nobody can rule on, or
// a match in another sentence, leaves it unruled. So does an answer without a match.
func JudgeClaims(forms []ClaimForm, answer, against string, rule func(Made) Ruling) ClaimRuling {
	list, why := read(answer)
	if why != "" {
		return ClaimRuling{Why: why}
	}
	var out ClaimRuling
	read, open := 0, ""
	doubtful := make(map[int]bool)
	for _, s := range list {
		plain := sync.OnceValue(s.plain)
		for i, form := range forms {
			for _, said := range form.Says.FindAllStringSubmatch(s.text, maxMatches) {
				made := Made{i, said}
				switch {
				case form.Unless != nil && form.Unless.MatchString(s.text):
					read++
					continue
				case !form.Bare && !plain():
					doubtful[i] = true
					open = fmt.Sprintf("the claim %s is in doubt in %s", text.QuoteShort(said[0]),
						text.QuoteShort(s.text))
					continue
				}
				switch rule(made) {
				case Upheld:
					read++
				case Refuted:
					if out.Why == "" {
						out.Made = made
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
	case out.Why != "" && !named(out.Made.Said[1:]) && doubtful[out.Made.Claim]:
		out.Why += ", but the match does not name the thing, and another match is in doubt"
	case out.Why != "" && takenBack(list):
		out.Why += ", but the answer says that something is wrong"
	case out.Why != "":
		out.As = Refuted
	case open != "":
		out.Why = open
	case read > 0:
		out.As = Upheld
	default:
		out.Silent = true
		out.Why = "no claim is recognised in the answer; a structured outcome beside it would decide"
	}
	return out
}

// named reports whether a group of a match names a thing: it has a digit, or a capital within.
func named(groups []string) bool {
	return slices.ContainsFunc(groups, func(g string) bool {
		return strings.ContainsAny(g, "0123456789") || len(g) > 1 && strings.ContainsFunc(g[1:], unicode.IsUpper)
	})
}

// takenBack reports whether a short sentence says that something is wrong, or not known: "I
// could not verify that." It may be about all that is said.
func takenBack(list []sentence) bool {
	const wrong = ` mistake mistaken wrong incorrect false kidding correction error untrue scratch verify confirm sure ` +
		`certain irrtum falsch fehler korrektur pruefen bestaetigen sicher erreur faux fausse incorrecto falso verifier ` +
		`confirmer sur equivocado equivocada correccion verificar confirmar seguro `
	for _, s := range list {
		for word := range words(s.text) {
			if listed(wrong, word) && strings.Count(s.text, " ") < 5 {
				return true
			}
		}
	}
	return false
}
