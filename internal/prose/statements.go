// Package prose reads the answers of agents, as far as no understanding is needed: which
// statements are plain, which of them match a pattern, which of their facts a source has.
// What it cannot decide is undecided.
package prose

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/spelling"
)

const (
	// MaxText is the most bytes of an answer that is read. A longer one is undecided.
	MaxText = 1 << 20
	// longSentence is the most bytes of a sentence that is read. An answer with a longer one is
	// undecided: a regular expression over a megabyte of one line takes seconds.
	longSentence = 4096
	// maxSentences is the most sentences that are read; a megabyte of prose has fewer.
	maxSentences = 1 << 15
)

// A Ruling is what is decided about an answer.
type Ruling int

// The rulings.
const (
	Unruled Ruling = iota // nobody knows
	Upheld
	Refuted
)

// A sentence is a part of an answer.
type sentence struct {
	text  string // without the signs of Markdown
	block bool   // it stands in a block quotation
}

var (
	// listItem matches the marker of an item, which a German date may look like.
	listItem   = regexp.MustCompile(`^(?:[-*•+–] |\d\d?[.)] )`)
	germanDate = regexp.MustCompile(`(?i)^\d\d?\. ` + month + `\b`)
	markdown   = strings.NewReplacer("**", "", "__", "", "*", "", "`", "", "~~", "", "’", "'", "‘", "'")
)

// read splits an answer into sentences. why says why it is not read; "" if it is.
func read(answer string) (list []sentence, why string) {
	if len(answer) > MaxText {
		return nil, fmt.Sprintf("the answer has %d bytes, and more than %d are not read", len(answer), MaxText)
	}
	start, longest := 0, 0
	cut := func(end int) {
		s := strings.TrimSpace(strings.Trim(answer[start:end], ";|"))
		longest, start = max(longest, len(s)), end
		if s == "" {
			return
		}
		body := strings.TrimLeft(s, " \t>#")
		if marker := listItem.FindString(body); !germanDate.MatchString(body) {
			body = body[len(marker):]
		}
		list = append(list, sentence{markdown.Replace(body), s[0] == '>'})
	}
	for i := 0; i < len(answer); i++ {
		switch answer[i] {
		case '\n', ';', '|':
			cut(i + 1)
		case '.', '!', '?':
			end := i + 1
			for end < len(answer) && strings.IndexByte(`.!?"')]*_`, answer[end]) >= 0 {
				end++
			}
			after, _ := utf8.DecodeRuneInString(answer[end:])
			if (end == len(answer) || unicode.IsSpace(after)) && (answer[i] != '.' || !abbreviated(answer[start:i])) {
				cut(end)
			}
			i = end - 1
		}
	}
	cut(len(answer))
	switch {
	case len(list) > maxSentences:
		why = fmt.Sprintf("the answer has %d sentences, and more than %d are not read", len(list), maxSentences)
	case longest > longSentence:
		why = fmt.Sprintf("a sentence of the answer has %d bytes, and of one more than %d are not read", longest,
			longSentence)
	}
	return list, why
}

// abbreviated reports whether the full stop behind a text belongs to its last word: "No.", "4.".
func abbreviated(text string) bool {
	const known = " mr mrs ms dr no nr st sr sra vs approx ca e.g i.e z z.b b p p.ej ej tel art etc n núm a.m p.m bzw mme m "
	word := strings.TrimLeft(text[strings.LastIndexAny(text, " \n(")+1:], "*_(")
	return len(word) <= 2 && word != "" && strings.Trim(word, "0123456789") == "" ||
		len(word) <= 6 && listed(known, strings.ToLower(word))
}

// listed reports whether a list of words with spaces around each has the word.
func listed(list, word string) bool { return word != "" && strings.Contains(list, " "+word+" ") }

// The words by which a sentence is not plain, in English, German, French and Spanish, without
// marks on letters. They are many and each is found as a whole word: a sentence that is taken
// for a doubtful one costs a decision, and the other error a wrong one.
const (
	// doubts are words of negation, doubt, condition and general rule.
	doubts = ` not never no neither nor none nobody nothing without cannot unable instead hardly scarcely barely n nicht ` +
		`nie niemals niemand kein keine keinen keinem keiner keines nichts ohne weder kaum keinesfalls keineswegs ` +
		`unmoeglich ne pas jamais aucun aucune rien sans personne nul nulle impossible nunca jamas sin ningun ` +
		`ninguna ninguno nada nadie tampoco imposible if unless whether once might could would may ought perhaps ` +
		`maybe possibly probably likely seem seems seemed appear appears appeared apparently believe think thought ` +
		`guess assume assuming suppose hope hopefully doubt unsure unclear uncertain sure when whenever soon until ` +
		`before please almost nearly need needs wish try tries tried trying attempt attempted want wanted let let's ` +
		`pending confirm verify check checking being progress processing reviewing request requests like roughly ` +
		`approximately wrong mistake mistaken mistakenly error kidding incorrect false ob falls angenommen nehmen ` +
		`soweit etwa ungefaehr rund wenn sobald sofern vielleicht moeglicherweise eventuell wahrscheinlich ` +
		`vermutlich wohl scheint anscheinend scheinbar offenbar koennte koennten wuerde wuerden duerfte bitte hoffe ` +
		`hoffentlich glaube denke bevor bis fast beinahe versuche versucht haette haetten waere waeren falsch fehler ` +
		`irrtuemlich versehentlich pruefe bestaetigen brauche braucht antrag bearbeitung damit si environ peut-etre ` +
		`probablement semble parait pourrait aurait serait crois pense espere quand lorsque avant presque failli ` +
		`essaye essaie tente erreur faux verifie verifier confirmer puisse faudrait depend demande cours quiza unos ` +
		`unas aproximadamente quizas tal probablemente posiblemente parece podria habria seria creo supongo espero ` +
		`cuando antes casi intente intento falso haya verificar confirmar cuanto para necesito encantaria tramite ` +
		`proceso only nur seulement solo usually normally typically generally always often sometimes example ` +
		`instance every general normalerweise ueblicherweise gewoehnlich meist meistens immer oft regel beispiel ` +
		`jede jeder jedes normalement generalement ordinaire habituellement toujours souvent exemple chaque ` +
		`normalmente generalmente siempre suele suelen ejemplo cada `
	// reports are of those who say it, of what is to come, and of what failed: a fact beside them is
	// stated all the same.
	reports = ` fail fails failed failing failure refuse refuses refused decline declined unsuccessful gescheitert ` +
		`fehlgeschlagen echoue echec fallo fallado should must shall will can expect expected sollte sollten soll ` +
		`sollen wird werde werden kann koennen muss muessen devrait doit sera peut deberia debe puede says said say ` +
		`saying told tell tells ask asks asked according claims claimed claim reports reported reportedly supposedly ` +
		`allegedly wrote writes mentions mentioned informs informed indicates indicated heard states stated insists ` +
		`suggests shows laut zufolge angeblich sagt sagte sagen gesagt schrieb schreibt schreiben vernehmen ` +
		`behauptet hiess heisst meldet meldete gemeldet mitgeteilt gefragt fragt gilt selon apres dit disait dites ` +
		`affirme indique annonce demandez demande ecrit pretend segun dijo dice dicen dijeron indica informa ` +
		`pregunta preguntas escribe escribio escriben asegura afirma `
)

// idiom matches words of these lists that take nothing back.
var idiom = regexp.MustCompile(`(?i)\b(?:as (?:you )?(?:asked|requested|promised|told)|wie (?:gesagt|gewünscht)|comme demandé|` +
	`no (?:problem|worries)|kein problem|pas de (?:souci|problème)|(?:without|ohne|sans|sin)(?: an?y?| further| weitere| ningún)? ` +
	`(?:fee|charge|cost|delay|problems?|issues?|trouble|gebühr|kosten|verzug|probleme?|frais|délai|problèmes?|coste?|problemas?|demora))\b` +
	`|^sí,|\bmay \d|\S+@\S+|https?://\S+`)

// plain reports whether a sentence states what it says. It has no word of negation, doubt,
// condition or rule, no question mark, no quotation, and nobody else who says it.
func (s sentence) plain() bool {
	return !s.block && !strings.ContainsAny(s.text, "\"«»“”„…") && certain(s.text, doubts+reports)
}

// stated reports whether a sentence would be plain without its quotations and speakers.
func (s sentence) stated() bool { return certain(s.text, doubts) }

// certain reports whether a text is no question and has none of the words.
func certain(s, uncertain string) bool {
	s = idiom.ReplaceAllString(s, "")
	if strings.ContainsAny(s, "?¿") || strings.Contains(strings.ToLower(s), "dès ") {
		return false
	}
	for word := range words(s) {
		for _, ending := range []string{"n't", "'ll", "'d", "rait", "rions", "riamos"} {
			if strings.HasSuffix(word, ending) {
				return false
			}
		}
		for part := range strings.SplitSeq(word+"'"+word, "'") { // n'a, s'il, d'ordinaire
			if listed(uncertain, part) {
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
	return strings.FieldsFuncSeq(spelling.Flat(s), func(r rune) bool { return noWord(r) && r != '\'' && r != '-' })
}
