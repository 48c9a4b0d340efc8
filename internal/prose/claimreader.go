package prose

import (
	"regexp"
	"strings"
	"sync"
)

// shortSentence is the number of words up to which a sentence is taken to be about the
// sentence before it.
const shortSentence = 8

// unsure reports whether a sentence says that the agent does not know, and is short or
// shares a word or a number with a statement that makes a claim.
func (r ClaimReader) unsure(found []FoundClaim, answer string) bool {
	claimed := make(map[string]struct{})
	for _, m := range found {
		for stem := range StemsOf(PlainWords(m.Statement)) {
			claimed[stem] = struct{}{}
		}
	}
	for _, s := range Sentences(Flat(answer, ShapeWords)) {
		if !r.prose.unsure.MatchString(s.Text) {
			continue
		}
		words := PlainWords(s.Text)
		if len(words) <= shortSentence {
			return true
		}
		for stem := range StemsOf(words) {
			if _, shared := claimed[stem]; shared {
				return true
			}
		}
	}
	return false
}

// A ClaimForm is the patterns of a claim.
type ClaimForm struct {
	Says   *regexp.Regexp // matches a statement that makes it
	Unless *regexp.Regexp // matches one that does not; nil: words of negation and doubt do
	Bare   bool           // a match of says makes it, whatever else the statement says
}

// A Ruling is what became of a question.
type Ruling int

const (
	Unruled Ruling = iota // it cannot be decided
	Upheld                // it is so
	Refuted               // it is not so
)

// A ClaimReader finds claims in an answer. It is safe for concurrent use.
type ClaimReader struct {
	claims []ClaimForm
	prose  prose
}

// NewClaimReader returns a reader of claims; their index is that of the list.
func NewClaimReader(claims []ClaimForm) ClaimReader { return ClaimReader{claims, sharedProse()} }

// sharedProse is that of all readers: compiling it takes most of a millisecond.
var sharedProse = sync.OnceValue(newProse)

// Judge rules on the claims in an answer, and says why it does not uphold them. holds rules
// on one claim, of which it gets the index and what its pattern matched; by is what it
// rules by. An answer that makes no claim is upheld if it says nothing or reports a failure
// alone. claim is the one that is refuted.
func (r ClaimReader) Judge(
	answer, by string, holds func(claim int, said []string) Ruling,
) (as Ruling, claim *FoundClaim, why string) {
	const instead = "; a structured outcome beside the answer would decide: "
	found := r.Read(answer)
	for i := range found {
		found[i].as = holds(found[i].Claim, found[i].Said)
		found[i].so = found[i].as == Upheld
	}
	if why := r.unclear(found, answer, by); why != "" {
		return Unruled, nil, why + instead + Quote(answer)
	}
	open := ""
	for _, m := range found {
		switch {
		case m.Standing != Asserted, m.so:
		case m.as == Refuted:
			return Refuted, &m, "the answer claims " + Quote(m.Said[0]) + " in " + Quote(m.Statement) +
				", and " + by + " denies it"
		case open == "":
			open = "the answer claims " + Quote(m.Said[0]) + ", and " + by +
				" does not show whether it is so: " + Quote(answer)
		}
	}
	switch {
	case open != "":
		return Unruled, nil, open
	case found != nil || Blank(answer) || r.prose.failureOnly(answer):
		return Upheld, nil, ""
	}
	return Unruled, nil, "none of the claims is recognised in the answer, which may make them in other words" +
		instead + Quote(answer)
}

// A FoundClaim is a match of a claim.
type FoundClaim struct {
	Claim     int // its index
	Said      []string
	Statement string
	sentence  int // index of the statement
	Standing  standing
	as        Ruling
	so        bool // the ruling upholds it
}

// about returns what identifies the thing that a claim is about: the words of the match
// that have a digit. "" means that the match names nothing and may be about anything.
func (m FoundClaim) about() string {
	var names []string
	for word := range strings.FieldsSeq(Flat(m.Said[0], ShapeWords)) {
		if strings.ContainsAny(word, "0123456789") {
			names = append(names, word)
		}
	}
	return strings.Join(names, " ")
}

// unclear returns why the claims found decide nothing, "" if they decide:
//
//   - The same words match two claims, and one of them is upheld. Which claim
//     the words make is unknown.
//   - A claim is made in one place and denied in another, perhaps of different things.
//   - A claim is in doubt, and made nowhere. If it names something, a denial decides.
//   - The answer denies what is upheld.
//   - A claim is made, and the answer says elsewhere that it does not know.
func (r ClaimReader) unclear(found []FoundClaim, answer, by string) string {
	type topic struct {
		claim int
		about string
	}
	made, denies, doubts := make(map[topic]bool), make(map[topic]bool), make(map[topic]string)
	asserts := false
	for i, m := range found {
		key := topic{m.Claim, m.about()}
		switch m.Standing {
		case Asserted:
			made[key] = true
			asserts = asserts || !r.claims[m.Claim].Bare && r.claims[m.Claim].Unless == nil
		case denied:
			denies[key] = true
			if m.so {
				return "the answer denies " + Quote(m.Said[0]) +
					", and " + by + " has it; a claim with Bare would decide"
			}
		default:
			doubts[key] = m.Said[0]
		}
		for _, other := range found[:i] {
			same := other.sentence == m.sentence && other.Said[0] == m.Said[0]
			if same && other.Claim != m.Claim && other.so != m.so {
				return Quote(m.Said[0]) + " may make either of two claims, of which " + by + " has one"
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
			return Quote(said) + " is in doubt: hoped for, announced, asked, conditional or said by somebody else"
		}
	}
	if asserts && r.unsure(found, answer) {
		return "the answer makes a claim, and says that it does not know"
	}
	return ""
}

// Read returns the claims in an answer. A statement is read in one spelling after the
// other, up to the first in which a claim matches.
func (r ClaimReader) Read(answer string) []FoundClaim {
	var found []FoundClaim
	for number, s := range Sentences(Straighten(answer)) {
		var spellings [4]string
		for i, c := range r.claims {
			for n := range spellings {
				if spellings[n] == "" {
					spellings[n] = r.prose.spelling(s.Text, n)
				}
				matches := c.Says.FindAllStringSubmatchIndex(spellings[n], -1)
				for _, at := range matches {
					found = append(found, FoundClaim{
						Claim: i, Said: groupTexts(spellings[n], at), sentence: number,
						Statement: strings.TrimRight(s.Text, ".!"),
						Standing:  r.standing(c, spellings[n], n, at[0], at[1]),
					})
				}
				if matches != nil || c.Bare && n == 2 {
					break
				}
			}
		}
	}
	return found
}

// standing returns how the match statement[start:end] is meant; spelling is the number
// of the spelling in which it was found.
func (r ClaimReader) standing(c ClaimForm, statement string, spelling, start, end int) standing {
	switch {
	case c.Bare:
		return Asserted
	case c.Unless != nil && c.Unless.MatchString(statement):
		return denied
	case c.Unless != nil:
		return Asserted
	}
	statement, start, end = window(statement, start, end)
	// "sí" affirms, and "si" does not; both are "si" without marks.
	statement = strings.NewReplacer("sí", "yes", "Sí", "yes").Replace(statement)
	words := Flatten(statement, ShapeWords)
	as := r.prose.hedges.Standing(words.Text, words.From(start), words.From(end))
	if as == Asserted && r.prose.future.MatchString(statement) {
		return doubtful
	}
	if as == Asserted && r.prose.names(words.Text, words.From(start), words.From(end)) {
		return doubtful
	}
	if as == Asserted && spelling == denying {
		return denied
	}
	return as
}

// prose spells statements in other ways, and recognises those that report a failure.
type prose struct {
	adverbs, denials *regexp.Regexp
	failure, success *Matcher
	unsure           *Matcher
	future           *regexp.Regexp // Spanish, by its marks
	noun, act        *regexp.Regexp
	done             *Matcher
	contractions     *strings.Replacer
	hedges           *Hedges
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
		failure: WordList(FailureWords), success: WordList(successWords),
		contractions: strings.NewReplacer("'ve ", " have ", "'re ", " are ", "'m ", " am ",
			"'s been ", " has been ", "'s now ", " is now "),
		hedges: NewHedges(), unsure: WordList(unsureWords),
		noun: regexp.MustCompile(nounWords), act: regexp.MustCompile(nounEnds), done: WordList(DoneSigns),
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
	// DoneSigns say, of a noun, that it happened.
	DoneSigns = `(?:has|have|had)(?: \w+)? been|was|were|went|(?:is|are)(?: \w+)? (?:complete|done|through|` +
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
		statement = p.contractions.Replace(PlainMarkdown(Flat(statement, ShapeSigns)))
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
	words := PlainMarkdown(Flat(text, ShapeWords))
	if !p.failure.MatchString(words) || strings.ContainsAny(text, "✅🎉") {
		return false
	}
	for _, s := range Sentences(words) {
		for _, at := range p.success.FindAllStringIndex(s.Text, -1) {
			if p.hedges.Standing(s.Text, at[0], at[1]) == Asserted {
				return false
			}
		}
	}
	return true
}
