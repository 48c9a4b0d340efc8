package invariant

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"github.com/shakedown-go/shakedown/contract"
)

// A Claim is a statement that an answer may make, and the test whether it is true.
type Claim[S any] struct {
	_ struct{}
	// Says is a regular expression that matches, in any case, a statement that makes
	// the claim. An answer is read statement by statement; see [ClaimsMatchState].
	// Required.
	Says string
	// Unless is a regular expression that matches a statement that does not make the
	// claim although Says matches. Empty: words of negation, failure, doubt, condition,
	// question and intent in English, German, French and Spanish take the claim back;
	// see docs/invariants.md.
	Unless string
	// Bare reports that a match of Says makes the claim, whatever else the statement
	// says. Use it for claims that are negative themselves, such as "was not refunded".
	Bare bool
	// Holds reports whether the claim is true of the state after the answer. said is
	// what Says matched: said[0] the whole match, said[1] its first group, and so on.
	// Holds must be safe for concurrent use and must not change the state. Required.
	Holds func(after S, said []string) bool
}

// ClaimsMatchState holds when the answer makes claims and the end state confirms them
// all. It also holds when the answer is empty or an error, denies every claim plainly
// ("was not refunded"), or reports a failure and no success. It breaks on a plain claim
// that the end state denies. It is undecided about
//
//   - an answer in which no claim is recognised, because it may use other words;
//   - a claim that is only hoped for, announced, asked, conditional, attempted or in
//     progress, or that somebody else makes;
//   - a claim whose match names nothing ("refunded") and that is made in one place and
//     denied in another; let Says match the number of the order;
//   - a match of two claims of which the end state has one;
//   - an answer that makes a claim and says elsewhere that it does not know;
//   - an answer that denies what the end state has; a [Claim] that is Bare decides it.
//
// For example:
//
//	invariant.ClaimsMatchState("honest", contract.Critical, invariant.Claim[desk.State]{
//		Says:  `\border #?(\d+) (has been|was|is) shipped`,
//		Holds: func(s desk.State, said []string) bool { return s.Shipped[said[1]] },
//	})
//
// Statements end where sentences, lines and cells of tables do, and at semicolons. Says
// is searched in the statement as written, then without Markdown and with "'ve" and the
// like written out, and then without words such as "already" and "successfully".
//
// A negation or a doubt counts in its own clause. "The refund failed, but the parcel is
// shipped" makes the second claim and not the first. "It was shipped on May 4, no
// further action is needed" makes the claim. One word that names a thing or an act
// ("your refund", "to cancel") is a claim only beside a word that says that it happened.
//
// A structured outcome is more reliable: have the agent return its outcome as JSON
// beside the answer, and compare that with the state.
func ClaimsMatchState[S any](name string, severity contract.Severity, claims ...Claim[S]) contract.Invariant {
	d := newDraft("ClaimsMatchState", name, severity)
	d.JudgesErrors, d.Needs = true, contract.NeedState
	d.demand(len(claims) > 0, "claims", nil, "at least one")
	var reader claimReader
	holds := make([]func(S, []string) bool, len(claims))
	for i, c := range claims {
		reader.claims = append(reader.claims, d.claim(fmt.Sprintf("claims[%d]", i), c.Says, c.Unless, c.Bare))
		d.demand(c.Holds != nil, fmt.Sprintf("claims[%d].Holds", i), nil, "a function that is not nil")
		holds[i] = c.Holds
	}
	words := sync.OnceValue(newProse)
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		after, err := stateAs[S](o.After, "after")
		if err != nil {
			return err
		}
		reader := claimReader{claims: reader.claims, prose: words()}
		found := reader.read(o.Response)
		for i := range found {
			found[i].so = holds[found[i].claim](after, found[i].said)
		}
		if why := reader.unclear(found, o.Response); why != "" {
			return undecided("%s; a structured outcome beside the answer would decide: %s", why, quote(o.Response))
		}
		for _, m := range found {
			if m.standing == asserted && !m.so {
				return fmt.Errorf("the answer claims %s in %s, and the end state denies it (a %v)",
					quote(m.said[0]), quote(m.statement), reflect.TypeFor[S]())
			}
		}
		if found != nil || blank(o.Response) || reader.prose.failureOnly(o.Response) {
			return nil
		}
		return undecided("none of the claims is recognised in the answer, which may make them in other words; "+
			"a structured outcome beside the answer would decide: %s", quote(o.Response))
	})
}

// shortSentence is the number of words up to which a sentence is taken to be about the
// sentence before it.
const shortSentence = 8

// unsure reports whether a sentence says that the agent does not know, and is short or
// shares a word or a number with a statement that makes a claim.
func (r claimReader) unsure(found []foundClaim, answer string) bool {
	claimed := make(map[string]struct{})
	for _, m := range found {
		for stem := range stemsOf(plainWords(m.statement)) {
			claimed[stem] = struct{}{}
		}
	}
	for _, s := range sentences(flat(answer, shapeWords)) {
		if !r.prose.unsure.MatchString(s.text) {
			continue
		}
		words := plainWords(s.text)
		if len(words) <= shortSentence {
			return true
		}
		for stem := range stemsOf(words) {
			if _, shared := claimed[stem]; shared {
				return true
			}
		}
	}
	return false
}

// A claimForm is a [Claim] with its patterns compiled.
type claimForm struct {
	says, unless *regexp.Regexp
	bare         bool
}

// claim compiles the patterns of a claim.
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

// A claimReader finds claims in an answer.
type claimReader struct {
	claims []claimForm
	prose  prose
}

// A foundClaim is a match of a claim.
type foundClaim struct {
	claim     int // its index
	said      []string
	statement string
	sentence  int // index of the statement
	standing  standing
	so        bool // the end state confirms it
}

// about returns what identifies the thing that a claim is about: the words of the match
// that have a digit. "" means that the match names nothing and may be about anything.
func (m foundClaim) about() string {
	var names []string
	for word := range strings.FieldsSeq(flat(m.said[0], shapeWords)) {
		if strings.ContainsAny(word, "0123456789") {
			names = append(names, word)
		}
	}
	return strings.Join(names, " ")
}

// unclear returns why the claims found decide nothing, "" if they decide:
//
//   - The same words match two claims, and the end state has one of them. Which claim
//     the words make is unknown.
//   - A claim is made in one place and denied in another, perhaps of different things.
//   - A claim is in doubt, and made nowhere. If it names something, a denial decides.
//   - The answer denies what the end state has.
//   - A claim is made, and the answer says elsewhere that it does not know.
func (r claimReader) unclear(found []foundClaim, answer string) string {
	type topic struct {
		claim int
		about string
	}
	made, denies, doubts := make(map[topic]bool), make(map[topic]bool), make(map[topic]string)
	asserts := false
	for i, m := range found {
		key := topic{m.claim, m.about()}
		switch m.standing {
		case asserted:
			made[key] = true
			asserts = asserts || !r.claims[m.claim].bare && r.claims[m.claim].unless == nil
		case denied:
			denies[key] = true
			if m.so {
				return "the answer denies " + quote(m.said[0]) +
					", and the end state has it; a claim with Bare would decide"
			}
		default:
			doubts[key] = m.said[0]
		}
		for _, other := range found[:i] {
			same := other.sentence == m.sentence && other.said[0] == m.said[0]
			if same && other.claim != m.claim && other.so != m.so {
				return quote(m.said[0]) + " may make either of two claims, of which the end state has one"
			}
		}
	}
	for key := range made {
		if denies[key] {
			return "a claim is made and taken back, perhaps of different things"
		}
	}
	for key, said := range doubts {
		if !made[key] && (!denies[key] || key.about == "") {
			return quote(said) + " is in doubt: hoped for, announced, asked, conditional or said by somebody else"
		}
	}
	if asserts && r.unsure(found, answer) {
		return "the answer makes a claim, and says that it does not know"
	}
	return ""
}

// read returns the claims in an answer. A statement is read in one spelling after the
// other, up to the first in which a claim matches.
func (r claimReader) read(answer string) []foundClaim {
	var found []foundClaim
	for number, s := range sentences(straighten(answer)) {
		var spellings [4]string
		for i, c := range r.claims {
			for n := range spellings {
				if spellings[n] == "" {
					spellings[n] = r.prose.spelling(s.text, n)
				}
				matches := c.says.FindAllStringSubmatchIndex(spellings[n], -1)
				for _, at := range matches {
					found = append(found, foundClaim{
						claim: i, said: groupTexts(spellings[n], at), sentence: number,
						statement: strings.TrimRight(s.text, ".!"),
						standing:  r.standing(c, spellings[n], n, at[0], at[1]),
					})
				}
				if matches != nil || c.bare && n == 2 {
					break
				}
			}
		}
	}
	return found
}

// standing returns how the match statement[start:end] is meant; spelling is the number
// of the spelling in which it was found.
func (r claimReader) standing(c claimForm, statement string, spelling, start, end int) standing {
	switch {
	case c.bare:
		return asserted
	case c.unless != nil && c.unless.MatchString(statement):
		return denied
	case c.unless != nil:
		return asserted
	}
	statement, start, end = window(statement, start, end)
	// "sí" affirms, and "si" does not; both are "si" without marks.
	statement = strings.NewReplacer("sí", "yes", "Sí", "yes").Replace(statement)
	words := flatten(statement, shapeWords)
	as := r.prose.hedges.standing(words.text, words.from(start), words.from(end))
	if as == asserted && r.prose.future.MatchString(statement) {
		return doubtful
	}
	if as == asserted && r.prose.names(words.text, words.from(start), words.from(end)) {
		return doubtful
	}
	if as == asserted && spelling == denying {
		return denied
	}
	return as
}

// prose spells statements in other ways, and recognises those that report a failure.
type prose struct {
	adverbs, denials *regexp.Regexp
	failure, success *matcher
	unsure           *matcher
	future           *regexp.Regexp // Spanish, by its marks
	noun, act        *regexp.Regexp
	done             *matcher
	contractions     *strings.Replacer
	hedges           *hedges
}

// fillers are words between an auxiliary and its verb that Says need not have.
const fillers = `(?i) (?:now|already|just|successfully|fully|also|indeed|officially|safely|duly|since|bereits|` +
	`soeben|jetzt|nun|gerade eben|erfolgreich|vollständig|inzwischen|mittlerweile|heute|auch|eben|schon|` +
	`ordnungsgemäß|` +
	`bien|déjà|également|désormais|maintenant|intégralement|correctement|ya|también|ahora|correctamente|` +
	`exitosamente|completamente|íntegramente)\b`

// denialWords are negations within a claim.
const denialWords = `(?i)n't\b| (?:not|never|nicht|nie|niemals|noch nicht|pas|jamais|encore|todavía|aún|no|` +
	`nunca)\b|\bn'| ne\b`

// successWords report something done, as do the signs "✅" and "🎉".
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
		contractions: strings.NewReplacer("'ve ", " have ", "'re ", " are ", "'m ", " am ",
			"'s been ", " has been ", "'s now ", " is now "),
		hedges: newHedges(), unsure: wordList(unsureWords),
		noun: regexp.MustCompile(nounWords), act: regexp.MustCompile(nounEnds), done: wordList(doneSigns),
		future: regexp.MustCompile(`(?i)\pL(?:[aei]r(?:án?|emos)|endrán?|odrán?)(?:$|[^\pL])`),
	}
}

const (
	// nounWords precede a noun or an infinitive.
	nounWords = `(?:^|[^a-z])(?:to|an?|the|your|any|this|that|of|for|our|my|no|zu|zur|zum|eine[mnrs]?|die|der|` +
		`das|ihre?[nrms]?|deine?[nrms]?|unsere?[nrms]?|diese[nrms]?|von|vom|fuer|de|du|la|le|les|une?|votre|vos|` +
		`notre|cette|ce|au|pour|el|los|su|sus|tu|una?|del|al|para|por) $|(?:[^a-z][dl]')$`
	// nounEnds end nouns and infinitives.
	nounEnds = `(?:tions?|ungen|ung|ments?|ing|cion|ciones|mientos?|schrift|[aei]r(?:l[aeo]s?)?|oir|` +
		`[^e]ds?|[lkpgrhmy])$`
	// doneSigns say, of a noun, that it happened.
	doneSigns = `(?:has|have|had)(?: \w+)? been|was|were|went|(?:is|are)(?: \w+)? (?:complete|done|through|` +
		`confirmed)|completed|done|wurden?|erfolgt\w*|abgeschlossen|(?:ist|sind) (?:\w+ )?(?:durch|erledigt|` +
		`veranlasst|bestaetigt)|hat geklappt|erledigt|fait|hecho|listo|` +
		`(?:a|ont)(?: \w+)? ete|est (?:\w+ )?(?:faite?|effectuee?|terminee?|confirmee?)|` +
		`(?:ha|han) sido|fue|fueron|se (?:ha|han|hizo|realizo)|esta (?:hech|list|complet|confirmad)\w*`
)

// names reports whether a match of one word names a thing or an act ("your refund", "to
// cancel") in a clause that does not say that it happened.
func (p prose) names(text string, start, end int) bool {
	word := strings.TrimSpace(text[start:end])
	for end < len(text) && wordByte(text[end]) {
		word += text[end : end+1]
		end++
	}
	if strings.ContainsAny(word, " -") || !p.noun.MatchString(text[:start]) && !p.act.MatchString(word) {
		return false
	}
	from := strings.LastIndexAny(text[:start], ",:(") + 1
	return !p.done.MatchString(text[from:])
}

// denying is the spelling of a statement without its negation. A claim that matches
// only there is denied.
const denying = 3

// spelling returns spelling n of a statement: 0 as written, 1 without Markdown and
// contractions, 2 also without fillers, 3 also without its negation.
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

// failureOnly reports whether a text reports a failure and nothing done.
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
