package mutate

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Paraphrase: other words by a table of rules.

func paraphraseRows() []row {
	return grouped("paraphrase", Same, row{Kind{Name: "paraphrase", Weight: 1, Strength: 1,
		Text: "other words for the same, by tables for English, German, French and Spanish"},
		eachWord(func(p *prompt, i int) bool { return p.sayings(i) != nil }, reworded)})
}

// otherWords has words, in lower case, that may stand for another one anywhere. No word of
// one language is one of another with another meaning.
const otherWords = `
please: kindly, if you would
customer: client
latest: most recent, newest
quickly: fast, promptly
about: regarding, concerning
immediately: at once, right away
also: as well
however: nevertheless
because: since
bitte: freundlicherweise
sofort: umgehend, gleich
rapidement: vite
rápidamente: deprisa
`

// otherVerbs has words that may stand for a verb in the imperative.
const otherVerbs = `
refund: reimburse, give the money back for
cancel: call off, revoke
find: look up, search for, locate
show: display, present
tell: inform
list: enumerate, name all
check: verify, look into
book: reserve
buy: purchase, get
send: dispatch, transmit
delete: remove, erase
create: make, set up
change: modify, alter
update: bring up to date, refresh
summarize: sum up, give a summary of
summarise: sum up, give a summary of
explain: describe, make clear
help: assist, support
give: hand, provide
start: begin, launch
stop: halt, end
order: place an order for
erstatte: vergüte
zeige: präsentiere
suche: finde, ermittle
lösche: entferne
sende: schicke, übermittle
prüfe: überprüfe, kontrolliere
storniere: annulliere
remboursez: restituez le montant de
montrez: présentez, affichez
cherchez: recherchez, trouvez
annulez: révoquez
envoyez: expédiez, transmettez
reembolsa: devuelve el importe de
muestra: enseña, presenta
busca: localiza, encuentra
cancela: anula
envía: manda, remite
`

// lookUp returns what a table has for a word, nil if it has nothing.
func lookUp(table, word string) []string {
	_, rest, found := strings.Cut(table, "\n"+word+": ")
	if !found {
		return nil
	}
	line, _, _ := strings.Cut(rest, "\n")
	return strings.Split(line, ", ")
}

// sayings are the words that may stand for the i-th span. Many verbs are nouns elsewhere,
// so a verb is one at the beginning of a sentence, and after some words.
func (p *prompt) sayings(i int) []string {
	lower := strings.ToLower(p.text(p.spans[i]))
	if others := lookUp(otherWords, lower); others != nil {
		return others
	}
	if i > 1 && !strings.ContainsFunc(p.text(p.spans[i-1]), unicode.IsPunct) {
		switch strings.ToLower(p.text(p.spans[i-2])) {
		case "please", "to", "and", "then", "you", "kindly", "bitte", "und", "et", "y", "favor":
		default:
			return nil
		}
	}
	return lookUp(otherVerbs, lower)
}

// reworded writes one of the words that may stand for the i-th span.
func reworded(b []byte, p *prompt, i int, d Draw) []byte {
	others := p.sayings(i)
	other := others[d.oneOf(len(others))]
	if first, size := utf8.DecodeRuneInString(other); p.raw[p.spans[i].from] < 'a' { // all rows begin with a to z
		b, other = utf8.AppendRune(b, unicode.ToUpper(first)), other[size:]
	}
	return append(b, other...)
}
