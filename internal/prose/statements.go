// Package prose reads the answers of agents, as far as no understanding is needed: which
// statements are plain, which of them match a pattern, which of their facts a source has.
// What it cannot decide is undecided.
package prose

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/spelling"
)

// MaxText is the most bytes of an answer that is read. A longer one is undecided.
const MaxText = 1 << 20

// longSentence is the most bytes of a sentence that is read. An answer with a longer one is
// undecided: a regular expression over a megabyte of one line takes seconds.
const longSentence = 4096

// maxSentences is the most sentences of an answer that is read; a megabyte of prose has fewer.
const maxSentences = 1 << 15

// A Ruling is what is decided about an answer.
type Ruling int

// The rulings.
const (
	Unruled Ruling = iota // nobody knows
	Upheld
	Refuted
)

// A sentence is a part of a text.
type sentence struct {
	text string // without the signs of Markdown
	// plain: it states what it says. It has no word of negation, doubt, condition or rule,
	// no question mark, no quotation, and nobody else who says it.
	plain func() bool
	// stated: it would be plain without its quotations and speakers.
	stated func() bool
}

// read splits a text into sentences: at the ends of sentences and lines, at cells of tables
// and semicolons. A full stop after a short number, after an abbreviation or within a word is
// no end: "4. März", "order.get". longest is the most bytes of one.
func read(text string) (list []sentence, longest int) {
	start := 0
	cut := func(end int) {
		s := strings.TrimSpace(text[start:end])
		start = end
		if longest = max(longest, len(s)); s != "" {
			body, block := unmarked(s), s[0] == '>'
			list = append(list, sentence{body,
				sync.OnceValue(func() bool { return !block && plain(body, false) }),
				sync.OnceValue(func() bool { return plain(body, true) })})
		}
	}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\n', ';', '|':
			cut(i)
			start = i + 1
		case '.', '!', '?':
			end := i + 1
			for end < len(text) && strings.IndexByte(`.!?"')]*_`, text[end]) >= 0 {
				end++
			}
			after, _ := utf8.DecodeRuneInString(text[end:])
			if (end == len(text) || unicode.IsSpace(after)) && (text[i] != '.' || !abbreviated(text[start:i])) {
				cut(end)
			}
			i = end - 1
		}
	}
	cut(len(text))
	return list, longest
}

// abbreviated reports whether the full stop behind a text belongs to its last word.
func abbreviated(text string) bool {
	const known = " mr mrs ms dr no nr st sr sra vs approx ca e.g i.e z z.b b p p.ej ej tel art etc n núm a.m p.m bzw mme m "
	word := strings.ToLower(strings.TrimLeft(text[strings.LastIndexAny(text, " \n(")+1:], "*_("))
	return len(word) <= 2 && word != "" && strings.Trim(word, "0123456789") == "" || listed(known, word)
}

// unmarked returns a sentence without the signs of Markdown and the marker of a list, and
// with straight quotation marks.
func unmarked(s string) string {
	s = strings.TrimLeft(s, " \t>#")
	for _, bullet := range []string{"- ", "* ", "• ", "+ ", "– "} {
		s = strings.TrimPrefix(s, bullet)
	}
	if body := strings.TrimLeft(s, "0123456789"); len(s)-len(body) < 3 && len(body) > 1 &&
		(body[0] == '.' || body[0] == ')') && body[1] == ' ' && !germanDate.MatchString(s) {
		s = body[2:]
	}
	return markdown.Replace(s)
}

var markdown = strings.NewReplacer("**", "", "__", "", "*", "", "`", "", "~~", "", "’", "'", "‘", "'")

// germanDate matches a date that begins as an item of a list does.
var germanDate = regexp.MustCompile(`(?i)^\d{1,2}\. ` + month + `\b`)

// listed reports whether a list of words with spaces around each has the word.
func listed(list, word string) bool { return word != "" && strings.Contains(list, " "+word+" ") }

// The words by which a sentence is not plain, in English, German, French and Spanish, without
// marks on letters. They are many and each is found as a whole word: a sentence that is taken
// for a doubtful one costs a decision, and the other error a wrong one.
const (
	negations = ` not never no neither nor none nobody nothing without cannot unable fail fails failed failing ` +
		`failure refuse refuses refused decline declined unsuccessful instead hardly scarcely barely n ` +
		`nicht nie niemals niemand kein keine keinen keinem keiner keines nichts ohne weder kaum gescheitert ` +
		`fehlgeschlagen keinesfalls keineswegs unmoeglich ne pas jamais aucun aucune rien sans personne nul nulle ` +
		`echoue echec impossible nunca jamas sin ningun ninguna ninguno nada nadie tampoco imposible fallo fallado `
	doubts = ` if unless whether once might could would may ought perhaps maybe possibly ` +
		`probably likely seem seems seemed appear appears appeared apparently believe think thought guess assume ` +
		`assuming suppose hope hopefully doubt unsure unclear uncertain sure when whenever soon until ` +
		`before please almost nearly need needs wish try tries tried trying attempt attempted want wanted let let's ` +
		`pending confirm verify check checking being progress processing reviewing request requests like roughly approximately wrong mistake mistaken mistakenly error kidding incorrect false ` +
		`ob falls angenommen nehmen soweit etwa ungefaehr rund wenn sobald sofern vielleicht moeglicherweise eventuell wahrscheinlich vermutlich wohl scheint ` +
		`anscheinend scheinbar offenbar koennte koennten wuerde wuerden ` +
		`duerfte bitte hoffe hoffentlich glaube denke bevor bis fast beinahe versuche ` +
		`versucht haette haetten waere waeren falsch fehler irrtuemlich versehentlich pruefe bestaetigen brauche braucht antrag bearbeitung damit ` +
		`si environ peut-etre probablement semble parait pourrait aurait serait crois pense espere ` +
		`suppose quand lorsque avant presque failli essaye essaie essaye tente erreur faux verifie verifier confirmer puisse faudrait depend demande cours ` +
		`quiza unos unas aproximadamente quizas tal probablemente posiblemente parece podria habria seria creo supongo ` +
		`espero cuando antes casi intente intento falso haya verificar confirmar cuanto para necesito encantaria tramite proceso `
	// announcements say what is to come. A fact that is announced is stated all the same.
	announcements = ` should must shall will can expect expected sollte sollten soll sollen wird werde werden kann koennen ` +
		`muss muessen devrait doit sera peut deberia debe puede `
	rules = ` only nur seulement solo usually normally typically generally always often sometimes example instance every general ` +
		`normalerweise ueblicherweise gewoehnlich meist meistens immer oft regel beispiel jede jeder jedes ` +
		`normalement generalement ordinaire habituellement toujours souvent exemple chaque ` +
		`normalmente generalmente siempre suele suelen ejemplo cada `
	speakers = ` says said say saying told tell tells ask asks asked according claims claimed claim reports reported ` +
		`reportedly supposedly allegedly wrote writes mentions mentioned informs informed indicates indicated ` +
		`heard states stated insists suggests shows ` +
		`laut zufolge angeblich sagt sagte sagen gesagt schrieb schreibt schreiben vernehmen behauptet hiess heisst meldet meldete ` +
		`gemeldet mitgeteilt gefragt fragt gilt selon apres dit disait dites affirme indique annonce ` +
		`demandez demande ecrit pretend segun dijo dice dicen dijeron indica informa pregunta preguntas escribe escribio escriben asegura afirma `
)

// idiom matches words of these lists that take nothing back.
var idiom = regexp.MustCompile(`(?i)\b(?:as (?:you )?(?:asked|requested|promised|told)|wie (?:gesagt|gewünscht)|comme demandé|` +
	`no (?:problem|worries)|kein problem|pas de (?:souci|problème)|(?:without|ohne|sans|sin)(?: an?y?| further| weitere| ningún)? ` +
	`(?:fee|charge|cost|delay|problems?|issues?|trouble|gebühr|kosten|verzug|probleme?|frais|délai|problèmes?|coste?|problemas?|demora))\b` +
	`|^sí,|\bmay \d|\S+@\S+|https?://\S+`)

// plain reports whether a sentence states what it says; quoted: or what somebody else says.
func plain(s string, quoted bool) bool {
	s = idiom.ReplaceAllString(s, "")
	if strings.ContainsAny(s, "?¿") || !quoted && strings.ContainsAny(s, "\"«»“”„…") ||
		strings.Contains(strings.ToLower(s), "dès ") {
		return false
	}
	for word := range words(s) {
		if strings.HasSuffix(word, "n't") || !quoted && strings.HasSuffix(word, "'ll") ||
			strings.HasSuffix(word, "'d") ||
			strings.HasSuffix(word, "rait") || strings.HasSuffix(word, "rions") || strings.HasSuffix(word, "riamos") {
			return false
		}
		for part := range strings.SplitSeq(word+"'"+word, "'") { // n'a, s'il, d'ordinaire
			if listed(negations, part) || listed(doubts, part) || listed(rules, part) ||
				!quoted && (listed(speakers, part) || listed(announcements, part)) {
				return false
			}
		}
	}
	return true
}

// noWord reports whether a character parts words.
func noWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// words yields the words of a text, folded. An apostrophe or a hyphen within a word is part
// of it.
func words(s string) func(yield func(string) bool) {
	return strings.FieldsFuncSeq(spelling.Flat(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '-'
	})
}

// shortDoubt is one more than the most spaces of a sentence that doubts all that is said.
const shortDoubt = 5

// takenBack reports whether a text says anywhere that something in it is wrong, or not known.
func takenBack(list []sentence) bool {
	const wrong = ` mistake mistaken wrong incorrect false kidding correction error untrue scratch ` +
		`irrtum falsch fehler korrektur erreur faux fausse incorrecto falso equivocado equivocada correccion `
	const unsure = ` verify confirm sure certain pruefen bestaetigen sicher verifier confirmer sur verificar confirmar seguro `
	for _, s := range list {
		for word := range words(s.text) {
			if (listed(wrong, word) || listed(unsure, word)) && strings.Count(s.text, " ") < shortDoubt {
				return true // "I could not verify that."
			}
		}
	}
	return false
}
