// Package prose reads the answers of agents, as far as no understanding is needed: which
// sentences are plain, which of them match a pattern, which of their facts a source has.
// What it cannot decide is undecided.
package prose

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

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
	// sentenceEnd matches the end of a line, of a cell of a table, and of a sentence.
	sentenceEnd = regexp.MustCompile(`[\n;|]|[.!?][.!?"')\]*_]*(?:[\s\pZ]|$)`)
	// listItem matches the marker of an item, which a German date may look like.
	listItem   = regexp.MustCompile(`^(?:[-*•+–] |\d\d?[.)] )`)
	germanDate = regexp.MustCompile(`(?i)^\d\d?\. ` + month + `\b`)
	markdown   = strings.NewReplacer("**", "", "__", "", "*", "", "`", "", "~~", "", "’", "'", "‘", "'")
	// abbreviation matches a last word to which a full stop belongs: "No.", "4.".
	abbreviation = regexp.MustCompile(`(?i)(?:^|[\s(])[*_]*(?:\d{1,2}|mrs?|ms|dr|no|nr|st|sra?|vs|approx|ca|e\.g|i\.e|z\.? ?b|p\.? ?ej|` +
		`tel|art|etc|n|núm|[ap]\.m|bzw|mme|m)$`)
)

// read splits an answer into sentences. why says why it is not read; "" if it is.
func read(answer string) (list []sentence, why string) {
	if len(answer) > MaxText {
		return nil, fmt.Sprintf("the answer has %d bytes, and more than %d are not read", len(answer), MaxText)
	}
	start, longest := 0, 0
	for _, end := range append(sentenceEnd.FindAllStringIndex(answer, -1), []int{len(answer), len(answer)}) {
		if before := answer[start:end[0]]; end[0] < end[1] && answer[end[0]] == '.' && answer[end[1]-1] != '\n' &&
			abbreviation.MatchString(before[max(0, len(before)-10):]) {
			continue
		}
		s := strings.TrimSpace(strings.Trim(answer[start:end[1]], ";|"))
		longest, start = max(longest, len(s)), end[1]
		if s == "" {
			continue
		}
		body := strings.TrimLeft(s, " \t>#")
		if !germanDate.MatchString(body) {
			body = body[len(listItem.FindString(body)):]
		}
		list = append(list, sentence{markdown.Replace(body), s[0] == '>'})
	}
	switch {
	case len(list) > maxSentences:
		why = fmt.Sprintf("the answer has %d sentences, and more than %d are not read", len(list), maxSentences)
	case longest > longSentence:
		why = fmt.Sprintf("a sentence of the answer has %d bytes, and of one more than %d are not read", longest,
			longSentence)
	}
	return list, why
}

// The words by which a sentence is not plain, in English, German, French and Spanish, without
// marks on letters; * stands for any end. They are many and each is found as a whole word: a
// sentence that is taken for a doubtful one costs a decision, and the other error a wrong one.
const (
	// doubts are words of negation, doubt, condition and general rule.
	doubts = `not never no neither nor none nobody nothing without cannot unable instead hardly scarcely barely n nicht* ` +
		`nie niemals niemand* kein* ohne weder kaum unmoeglich ne pas jamais aucun* rien sans personne nul nulle ` +
		`impossible nunca jamas sin ningun* nada nadie tampoco imposible if unless whether once might could would may ` +
		`ought perhaps maybe possibl* probabl* likely seem* appear* apparently believe think thought guess* assum* ` +
		`suppose hope hopefully doubt unsure unclear uncertain sure when whenever soon until before please almost nearly ` +
		`need needs wish try tries tried trying attempt* want* let let's pending confirm verify check checking being ` +
		`progress processing reviewing request requests like roughly approximately wrong mistake* error kidding ` +
		`incorrect false ob falls angenommen nehmen soweit etwa ungefaehr rund wenn sobald sofern vielleicht ` +
		`moeglicherweise eventuell wahrscheinlich vermutlich wohl scheint anscheinend scheinbar offenbar koennte* ` +
		`wuerde* duerfte bitte hoffe hoffentlich glaube denke bevor bis fast beinahe versuch* haette* waere* falsch ` +
		`fehler irrtuemlich versehentlich pruefe bestaetigen brauch* antrag bearbeitung damit si environ peut-etre ` +
		`semble parait pourrait *rait *rions *riamos serait crois pense espere quand lorsque avant presque failli ` +
		`essay* tente erreur faux verifie* confirmer puisse faudrait depend demande cours quiza* unos unas ` +
		`aproximadamente tal parece podria habria seria creo supongo espero cuando antes casi intent* falso haya ` +
		`verificar confirmar cuanto para necesito encantaria tramite proceso only nur seulement solo usually normal* ` +
		`typically general* always often sometimes example instance every ueblicherweise gewoehnlich meist* immer oft ` +
		`regel beispiel jede* ordinaire habituellement toujours souvent exemple chaque siempre suele* ejemplo cada ` +
		`*n't *'ll *'d`
	// reports are of those who say it, of what is to come, and of what failed: a fact beside them is
	// stated all the same.
	reports = ` fail* refuse* decline* unsuccessful gescheitert fehlgeschlagen echoue echec fallo fallado should must shall ` +
		`will can expect* sollte* soll sollen wird werde* kann koennen muss muessen devrait doit sera peut deberia debe ` +
		`puede say says said saying told tell tells ask* according claim* reported* report reports supposedly allegedly ` +
		`wrote writes mention* informs informed indicates indicated heard states stated insists suggests shows laut ` +
		`zufolge angeblich sagt* sagen gesagt schr* vernehmen behauptet hiess heisst meldet* gemeldet mitgeteilt gefragt ` +
		`fragt gilt selon apres dit disait dites affirme indique annonce demandez ecrit pretend segun dijo dice* dijeron ` +
		`indica informa pregunta* escrib* asegura afirma`
)

// The forms of these words.
var (
	doubtful  = formOf(doubts)
	uncertain = formOf(doubts + reports)
)

// formOf matches one of the words in a flat text. An apostrophe parts words too: n'a, s'il.
func formOf(words string) *regexp.Regexp {
	any := strings.NewReplacer(" ", "|", "*", `[\pL']*`).Replace(words)
	return regexp.MustCompile(`(?:^|[^\pL\pN-])(?:` + any + `)(?:$|[^\pL\pN-])|[?¿]`)
}

// idiom matches words of these lists that take nothing back.
var idiom = regexp.MustCompile(`(?i)\b(?:as (?:you )?(?:asked|requested|promised|told)|wie (?:gesagt|gewünscht)|comme demandé|` +
	`no (?:problem|worries)|kein problem|pas de (?:souci|problème)|(?:without|ohne|sans|sin)(?: an?y?| further| weitere| ningún)? ` +
	`(?:fee|charge|cost|delay|problems?|issues?|trouble|gebühr|kosten|verzug|probleme?|frais|délai|problèmes?|coste?|problemas?|demora))\b` +
	`|^sí,|\bmay \d|\S+@\S+|https?://\S+`)

// plain reports whether a sentence states what it says. It has no word of negation, doubt,
// condition or rule, no question mark, no quotation, and nobody else who says it.
func (s sentence) plain() bool {
	return !s.block && !strings.ContainsAny(s.text, "\"«»“”„…") && s.without(uncertain)
}

// without reports whether a sentence has none of the words.
func (s sentence) without(words *regexp.Regexp) bool {
	return !strings.Contains(strings.ToLower(s.text), "dès ") &&
		!words.MatchString(spelling.Flat(idiom.ReplaceAllString(s.text, "")))
}

// noWord reports whether a character parts words.
func noWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
