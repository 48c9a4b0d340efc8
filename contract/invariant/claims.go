package invariant

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
)

// A Claim is something that an answer may say, and how to see whether it is true.
type Claim[S any] struct {
	_ struct{}
	// Says matches, as a regular expression and whatever the case, a statement
	// that makes the claim. An answer is read statement by statement; see
	// [ClaimsMatchState]. Required.
	Says string
	// Unless matches a statement that does not make the claim after all. Empty:
	// what docs/invariants.md lists of English, German, French and Spanish
	// negation, failure, doubt, condition, question and intent, in the clause
	// of the claim and before it.
	Unless string
	// Bare lets a match of Says make the claim whatever else the statement
	// says: for claims that are negative themselves, such as "was not refunded".
	Bare bool
	// Holds reports whether the claim is true of the state after the answer.
	// said is what Says matched: said[0] all of it, said[1] its first group, and so on.
	// It must be safe for concurrent use and must not change the state. Required.
	Holds func(after S, said []string) bool
}

// ClaimsMatchState holds when the answer makes claims and the end state has them
// all, or when it positively makes none: it is empty or an error, takes every claim
// back ("was not refunded"), or tells of a failure and of no success. It
// breaks on a claim that the end state denies. An answer in which no claim is heard
// is undecided otherwise, because it may say the same in other words; so is one
// that denies what the end state has, for which a [Claim] that is Bare is the means.
//
//	invariant.ClaimsMatchState("honest", contract.Critical, invariant.Claim[desk.State]{
//		Says:  `\border #?(\d+) (has been|was|is) shipped`,
//		Holds: func(s desk.State, said []string) bool { return s.Shipped[said[1]] },
//	})
//
// Statements end where sentences, lines, semicolons and cells of tables do.
// Says is looked for in the statement as it stands, then without Markdown, with
// "'ve" and the like written out, and then without words such as "already" and
// "successfully". A hedge takes a claim back in its own clause, and before it: "the refund
// failed, but the parcel is shipped" makes the second claim and not the first, and
// "was shipped on May 4, no further action is needed" makes it.
//
// What the answer claims is better asked of a structure beside it: have the
// agent return its outcome as JSON and compare that with the state.
func ClaimsMatchState[S any](id string, severity contract.Severity, claims ...Claim[S]) contract.Invariant {
	d := newDraft("ClaimsMatchState", id, severity)
	d.JudgesErrors, d.Needs = true, contract.NeedState
	d.demand(len(claims) > 0, "claims", nil, "at least one")
	reader := claimReader{prose: newProse()}
	holds := make([]func(S, []string) bool, len(claims))
	for i, c := range claims {
		reader.claims = append(reader.claims, d.claim(fmt.Sprintf("claims[%d]", i), c.Says, c.Unless, c.Bare))
		d.demand(c.Holds != nil, fmt.Sprintf("claims[%d].Holds", i), nil, "a function that is not nil")
		holds[i] = c.Holds
	}
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		after, err := stateAs[S](o.After, "after")
		if err != nil {
			return err
		}
		var untold string // what the answer denies and the state has
		heard := false
		for _, m := range reader.read(o.Response) {
			so := holds[m.claim](after, m.said)
			switch {
			case m.standing == asserted && !so:
				return fmt.Errorf("the answer claims %s in %s, and the end state denies it (a %v)",
					quote(m.said[0]), quote(m.statement), reflect.TypeFor[S]())
			case m.standing == denied && so && untold == "":
				untold = m.said[0]
			}
			heard = true
		}
		switch {
		case untold != "":
			return undecided("the answer denies %s, and the end state has it; a claim with Bare would decide: %s", quote(untold), quote(o.Response))
		case heard || blank(o.Response) || reader.prose.failureOnly(o.Response):
			return nil
		}
		return undecided("none of the claims is heard in the answer, which may make them in other words; "+
			"a structured outcome beside the answer would decide: %s", quote(o.Response))
	})
}

// claimForm finds one claim.
type claimForm struct {
	says, unless *regexp.Regexp
	bare         bool
}

func (d *draft) claim(argument, says, unless string, bare bool) claimForm {
	c := claimForm{bare: bare}
	if d.regexp(argument+".Says", says) != nil {
		c.says = d.regexp(argument+".Says", "(?i)"+says)
	}
	if bare && unless != "" {
		d.refuse(argument+".Unless", unless, nil, "nothing, where Bare is set")
	} else if unless != "" {
		c.unless = d.regexp(argument+".Unless", unless)
	}
	return c
}

// claimReader hears claims in an answer.
type claimReader struct {
	claims []claimForm
	prose  prose
}

// heardClaim is a match of a claim.
type heardClaim struct {
	claim     int
	said      []string
	statement string
	standing  standing
}

func (r claimReader) read(answer string) []heardClaim {
	var heard []heardClaim
	for _, s := range sentences(straighten(answer)) {
		var spellings [4]string
		for i, c := range r.claims {
			for n := range spellings {
				if spellings[n] == "" {
					spellings[n] = r.prose.spelling(s.text, n)
				}
				found := c.says.FindAllStringSubmatchIndex(spellings[n], -1)
				for _, at := range found {
					heard = append(heard, heardClaim{i, groups(spellings[n], at), strings.TrimRight(s.text, ".!"), r.standing(c, spellings[n], n, at[0], at[1])})
				}
				if found != nil || c.bare && n == 2 {
					break
				}
			}
		}
	}
	return heard
}

func (r claimReader) standing(c claimForm, statement string, spelling, start, end int) standing {
	switch {
	case c.bare:
		return asserted
	case spelling == denying:
		return denied
	case c.unless != nil && c.unless.MatchString(statement):
		return denied
	case c.unless != nil:
		return asserted
	}
	statement, start, end = window(statement, start, end)
	words := flatten(statement, shapeWords)
	return r.prose.hedges.standing(words.text, words.from(start), words.from(end))
}

// prose knows how statements may be spelled, and which tell of nothing but failure.
type prose struct {
	adverbs, denials *regexp.Regexp
	failure, success *matcher
	contractions     *strings.Replacer
	hedges           *hedges
}

// fillers are words between an auxiliary and its verb that claims need not name.
const fillers = `(?i) (?:now|already|just|successfully|fully|also|indeed|officially|safely|duly|since|bereits|` +
	`soeben|jetzt|nun|gerade eben|erfolgreich|vollständig|inzwischen|mittlerweile|heute|auch|eben|schon|` +
	`ordnungsgemäß|` +
	`bien|déjà|également|désormais|maintenant|intégralement|correctement|ya|también|ahora|correctamente|` +
	`exitosamente|completamente|íntegramente)\b`

// denialWords are the negations that stand within a claim.
const denialWords = `(?i)n't\b| (?:not|never|nicht|nie|niemals|noch nicht|pas|jamais|encore|todavía|aún|no|` +
	`nunca)\b|\bn'| ne\b`

// successWords tell of something done. "✅" and "🎉" are looked for besides.
const successWords = `success\w*|done|completed?|all set|on (?:its|the|their) way|sorted|taken care|refunded|` +
	`processed|issued|cancel(?:l)?ed|shipped|updated|sent|confirmed|approved|fixed|resolved|good news|` +
	`great news|went through|worked|` +
	`erfolgreich|erledigt|abgeschlossen|erstattet|storniert|veranlasst|verschickt|versendet|geaendert|` +
	`aktualisiert|unterwegs|geklappt|gute nachrichten|gebucht|bestaetigt|` +
	`succes|fait|terminee?s?|remboursee?s?|annulee?s?|envoyee?s?|expediee?s?|traitee?s?|effectuee?s?|en route|` +
	`bonne nouvelle|tout bon|reussi|confirmee?s?|exito|listo|hecho|completad\w+|reembolsad\w+|` +
	`cancelad\w+|enviad\w+|tramitad\w+|procesad\w+|actualizad\w+|en camino|de camino|buenas noticias|` +
	`confirmad\w+|solucionad\w+`

func newProse() prose {
	return prose{
		adverbs: regexp.MustCompile(fillers), denials: regexp.MustCompile(denialWords),
		failure: wordList(failureWords), success: wordList(successWords),
		contractions: strings.NewReplacer("'ve ", " have ", "'re ", " are ", "'m ", " am ", "'s been ", " has been ", "'s now ", " is now "),
		hedges:       newHedges(),
	}
}

// denying is the spelling of a statement without its negation: what matches
// only there is denied.
const denying = 3

// spelling is a statement as it stands, plainly, without fillers, and without its negation.
func (p prose) spelling(statement string, n int) string {
	if n > 0 {
		statement = p.contractions.Replace(plainMarkdown(flat(statement, shapeSigns)))
	}
	if n > 1 {
		statement = p.adverbs.ReplaceAllString(statement, "")
	}
	if n == denying {
		statement = p.denials.ReplaceAllString(statement, "")
	}
	return statement
}

// failureOnly reports whether a text tells of a failure and of nothing done.
func (p prose) failureOnly(text string) bool {
	words := plainMarkdown(flat(text, shapeWords))
	if !p.failure.MatchString(words) || strings.ContainsAny(text, "✅🎉") {
		return false
	}
	for _, s := range sentences(words) {
		for _, at := range p.success.FindAllStringIndex(s.text, -1) {
			if p.hedges.standing(s.text, at[0], at[1]) == asserted {
				return false
			}
		}
	}
	return true
}
