package mutate

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Paraphrase: other words by a table of rules.

func paraphraseRows() []row {
	return grouped("paraphrase", Same, row{Kind{Name: "paraphrase", Weight: 1, Strength: 1,
		Text: "other words for the same, by tables for English, German, French and Spanish"}, paraphrase})
}

// otherWords are words, in lower case, that may stand for another one anywhere. No word of
// one language is one of another with another meaning.
func otherWords(word string) []string {
	switch word {
	case "please":
		return []string{"kindly", "if you would"}
	case "customer":
		return []string{"client"}
	case "latest":
		return []string{"most recent", "newest"}
	case "quickly":
		return []string{"fast", "promptly"}
	case "about":
		return []string{"regarding", "concerning"}
	case "immediately":
		return []string{"at once", "right away"}
	case "also":
		return []string{"as well"}
	case "however":
		return []string{"nevertheless"}
	case "because":
		return []string{"since"}
	case "bitte":
		return []string{"freundlicherweise"}
	case "sofort":
		return []string{"umgehend", "gleich"}
	case "rapidement":
		return []string{"vite"}
	case "rápidamente":
		return []string{"deprisa"}
	}
	return nil
}

// otherVerbs are words that may stand for a verb in the imperative.
func otherVerbs(word string) []string {
	if others := englishVerbs(word); others != nil {
		return others
	}
	switch word {
	case "erstatte":
		return []string{"vergüte"}
	case "zeige":
		return []string{"präsentiere"}
	case "suche":
		return []string{"finde", "ermittle"}
	case "lösche":
		return []string{"entferne"}
	case "sende":
		return []string{"schicke", "übermittle"}
	case "prüfe":
		return []string{"überprüfe", "kontrolliere"}
	case "storniere":
		return []string{"annulliere"}
	case "remboursez":
		return []string{"restituez le montant de"}
	case "montrez":
		return []string{"présentez", "affichez"}
	case "cherchez":
		return []string{"recherchez", "trouvez"}
	case "annulez":
		return []string{"révoquez"}
	case "envoyez":
		return []string{"expédiez", "transmettez"}
	case "reembolsa":
		return []string{"devuelve el importe de"}
	case "muestra":
		return []string{"enseña", "presenta"}
	case "busca":
		return []string{"localiza", "encuentra"}
	case "cancela":
		return []string{"anula"}
	case "envía":
		return []string{"manda", "remite"}
	}
	return nil
}

func englishVerbs(word string) []string {
	switch word {
	case "refund":
		return []string{"reimburse", "give the money back for"}
	case "cancel":
		return []string{"call off", "revoke"}
	case "find":
		return []string{"look up", "search for", "locate"}
	case "show":
		return []string{"display", "present"}
	case "tell":
		return []string{"inform"}
	case "list":
		return []string{"enumerate", "name all"}
	case "check":
		return []string{"verify", "look into"}
	case "book":
		return []string{"reserve"}
	case "buy":
		return []string{"purchase", "get"}
	case "send":
		return []string{"dispatch", "transmit"}
	case "delete":
		return []string{"remove", "erase"}
	case "create":
		return []string{"make", "set up"}
	case "change":
		return []string{"modify", "alter"}
	case "update":
		return []string{"bring up to date", "refresh"}
	case "summarize":
		return []string{"sum up", "give a summary of"}
	case "summarise":
		return []string{"sum up", "give a summary of"}
	case "explain":
		return []string{"describe", "make clear"}
	case "help":
		return []string{"assist", "support"}
	case "give":
		return []string{"hand", "provide"}
	case "start":
		return []string{"begin", "launch"}
	case "stop":
		return []string{"halt", "end"}
	case "order":
		return []string{"place an order for"}
	}
	return nil
}

// sayings are the words that may stand for the i-th span. Many verbs are nouns elsewhere,
// so a verb is one at the beginning of a sentence, and after some words.
func (p *prompt) sayings(i int) []string {
	lower := strings.ToLower(p.text(p.spans[i]))
	if others := otherWords(lower); others != nil {
		return others
	}
	if i > 1 && !strings.ContainsFunc(p.text(p.spans[i-1]), unicode.IsPunct) {
		switch strings.ToLower(p.text(p.spans[i-2])) {
		case "please", "to", "and", "then", "you", "kindly", "bitte", "und", "et", "y", "favor":
		default:
			return nil
		}
	}
	return otherVerbs(lower)
}

func paraphrase(p *prompt, d Draw) string {
	fits := func(p *prompt, i int) bool { return p.sayings(i) != nil }
	return eachSpan(fits, func(b []byte, p *prompt, i int, d Draw) []byte {
		others := p.sayings(i)
		other := others[d.oneOf(len(others))]
		if first, size := utf8.DecodeRuneInString(other); p.raw[p.spans[i].from] < 'a' { // all rows begin with a to z
			b, other = utf8.AppendRune(b, unicode.ToUpper(first)), other[size:]
		}
		return append(b, other...)
	})(p, d)
}
