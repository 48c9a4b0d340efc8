package prose

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

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
	out := ClaimRuling{Silent: true}
	open, doubt := "", false
	for _, s := range list {
		plain := sync.OnceValue(func() bool { return plain(s) })
		for i, form := range forms {
			for _, said := range form.Says.FindAllStringSubmatch(s, maxMatches) {
				out.Silent = false
				made, claim, in := Made{i, said}, text.QuoteShort(said[0]), text.QuoteShort(s)
				if form.Unless != nil && form.Unless.MatchString(s) {
					continue
				}
				if !form.Bare && !plain() {
					doubt, open = true, fmt.Sprintf("the claim %s is in doubt in %s", claim, in)
					continue
				}
				switch as := rule(made); {
				case as == Unruled:
					open = fmt.Sprintf("%s does not show whether the claim %s is true", against, claim)
				case as == Refuted && out.Why == "":
					out.Made = made
					out.Why = fmt.Sprintf("the answer claims %s in %s, and %s denies it", claim, in, against)
				}
			}
		}
	}
	switch {
	case out.Silent:
		out.Why = "no claim is recognised in the answer; a structured outcome beside it would decide"
	case out.Why != "" && doubt && !strings.ContainsAny(strings.Join(out.Made.Said[1:], ""), "0123456789"):
		out.Why += ", but the match does not name the thing, and another match is in doubt"
	case out.Why != "":
		out.As = Refuted
	case open != "":
		out.Why = open
	default:
		out.As = Upheld
	}
	return out
}
