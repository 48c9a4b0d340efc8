package prose

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A sentence is a part of a text, with the offset at which it begins.
type sentence struct {
	Text  string
	Start int
}

// Sentences splits a text at the ends of sentences, lines and cells of tables, and at
// semicolons. The punctuation at the end of a sentence is kept. A full stop after one or
// two digits, after an abbreviation or within a word is no end: "4. März", "order.get".
func Sentences(text string) []sentence {
	var list []sentence
	start := 0
	cut := func(end int) {
		if s := strings.TrimSpace(text[start:end]); s != "" {
			list = append(list, sentence{s, start})
		}
		start = end
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
			if end == len(text) || unicode.IsSpace(after) {
				if text[i] != '.' || !abbreviated(text[start:i]) {
					cut(end)
				}
			}
			i = end - 1
		}
	}
	cut(len(text))
	return list
}

// abbreviated reports whether the full stop after text belongs to its last word:
// an ordinal number, or one of a few abbreviations.
func abbreviated(text string) bool {
	at := strings.LastIndexAny(text, " \n(") + 1
	word := strings.ToLower(strings.TrimLeft(text[at:], "*_("))
	switch word {
	case "mr", "mrs", "ms", "dr", "no", "nr", "st", "sr", "sra", "vs", "approx", "ca", "e.g", "i.e", "z", "z.b", "b",
		"p", "p.ej", "ej", "tel", "art", "etc", "n", "núm", "num", "a.m", "p.m", "a", "bzw", "inkl", "zzgl", "env",
		"mme", "m":
		return true
	}
	return len(word) <= 2 && word != "" && strings.Trim(word, "0123456789") == ""
}

// Unwrapped joins the lines of a sentence that is broken over several.
func Unwrapped(text string) string {
	var b strings.Builder
	var last byte
	for line := range strings.Lines(text) {
		first := strings.TrimLeft(line, " \t")
		if first != "" && first[0] >= 'a' && first[0] <= 'z' && (last == ',' || last >= 'a' && last <= 'z') {
			line = " " + first
		} else if last != 0 {
			b.WriteByte('\n')
		}
		line = strings.TrimRight(line, "\n")
		b.WriteString(line)
		if last = '\n'; line != "" {
			last = line[len(line)-1]
		}
	}
	return b.String()
}

// PlainMarkdown returns a text without the signs of Markdown and the markers of lists.
func PlainMarkdown(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		body := strings.TrimLeft(line, " \t>#")
		for _, bullet := range []string{"- ", "* ", "• ", "+ ", "– "} {
			body = strings.TrimPrefix(body, bullet)
		}
		digits := len(body) - len(strings.TrimLeft(body, "0123456789"))
		if digits > 0 && digits < 3 && len(body) > digits+1 &&
			(body[digits] == '.' || body[digits] == ')') && body[digits+1] == ' ' {
			body = body[digits+2:]
		}
		b.WriteString(body)
	}
	return strings.NewReplacer("**", "", "__", "", "*", "", "`", "", "~~", "").Replace(b.String())
}

// Unquoted replaces each quotation within a line by " … ": somebody else says it.
func Unquoted(text string) string {
	var b strings.Builder
	for {
		open := strings.IndexAny(text, "\"«")
		if open < 0 {
			break
		}
		sign := map[bool]string{true: `"`, false: "»"}[text[open] == '"']
		size := 1
		if sign != `"` {
			size = len("«")
		}
		// The end is searched only nearby, which bounds the time.
		length := strings.Index(text[open+size:min(len(text), open+size+hedgeReach)], sign)
		if length < 0 || strings.Contains(text[open+size:open+size+length], "\n") {
			b.WriteString(text[:open+size])
			text = text[open+size:]
			continue
		}
		b.WriteString(text[:open])
		b.WriteString(" … ")
		text = text[open+size+length+len(sign):]
	}
	return b.String() + text
}

// A standing says how a statement means a claim in it.
type standing int

const (
	Asserted standing = iota // it makes the claim
	denied                   // it denies the claim
	doubtful                 // it asks, hopes, intends, or sets a condition
)

// Hedges decides how words in a sentence are meant. All of it is in ShapeWords.
type Hedges struct {
	idioms, boundary, soft, inherits, after, next, managed *regexp.Regexp
	negation, doubt, within, saying                        *Matcher
}

const (
	// idiomWords contain a negation that denies nothing.
	idiomWords = `no (?:worries|problems?|doubt)|not to worry|not only|without (?:any )?(?:issues?|problems?|` +
		`delay|trouble)|(?:kein|ohne) (?:problem|probleme|weiteres|verzug)|keine (?:sorge|umstaende)|` +
		`nicht nur|` +
		`pas de (?:souci|probleme)s?|aucun (?:souci|probleme)|sans (?:probleme|souci|frais|delai)s?|` +
		`non seulement|n'hesitez pas|sin (?:ningun )?(?:problemas?|duda|coste|costo)|` +
		`no hay (?:ningun )?problema|no te preocupes|no se preocupe|no solo`
	// boundaryWords begin an independent clause.
	boundaryWords = ` - | \(|: |[,;]? (?:but|however|although|though|while|whereas|so|then|after|because|since|` +
		`aber|jedoch|allerdings|doch|obwohl|waehrend|nachdem|sodass|daher|deshalb|weil|mais|cependant|` +
		`toutefois|pourtant|alors|donc|apres|puis|car|parce que|bien que|pero|sin embargo|aunque|asi que|` +
		`entonces|luego|porque|tras|mientras) `
	subjects = `(?:i|we|it|they|he|she|your|the|this|that|these|order|here|all|everything|das|die|der|` +
		`dein\w*|den|dem|ich|wir|ihre?|es|sie|diese\w*|bestellung|hat|je|j'|nous|la|le|les|l'|votre|vos|ton|` +
		`ta|cette|commande|el|los|las|tu|su|se|he|hemos|ha|lo|ya|este|esta|pedido)`
	softBoundary = `(?:,| -)? (?:and|und|et|y) ` + subjects + `\b|, ` + subjects + `\b`
	// inheritWords begin a condition or a doubt that also covers the clause after a comma
	// or "and".
	inheritWords = `^\W*(?:if|once|unless|when|whenever|as soon as|until|before|even if|in case|falls|wenn|` +
		`sobald|sofern|bevor|bis|si|des que|lorsque|une fois|avant|cuando|en cuanto|antes|hasta|a menos)\b|` +
		`\b(?:whether|if|confirm|verify|sure|certain|guarantee|ob|bestaetigen|pruefen|sicher|confirmer|` +
		`verifier|savoir|sur|confirmar|verificar|comprobar|saber|segur[oa])\b`
	negationWords = `not|\w+n't|never|no|neither|nor|none|nothing|without|cannot|unable|fail(?:s|ed|ing)?|` +
		`failure|refus\w+|declin\w+|reject\w+|unsuccessful\w*|instead of|` +
		`nicht|nie|niemals|kein\w*|nichts|ohne|weder|fehlgeschlagen|gescheitert|schlug|unmoeglich|` +
		`ne|n'\w+|pas|jamais|aucune?|rien|sans|echou\w+|echec|impossible|refuse|` +
		`nunca|jamas|sin|ningun\w*|nada|fall(?:o|ado|aron)|tampoco|imposible|rechaz\w+`
	doubtWords = `if|unless|whether|once|might|could|would|should|unsure|unclear|unconfirmed|unknown|please|` +
		`maybe|perhaps|possibly|probably|likely|seems?|seemed|appears?|appeared|looks? like|hopefully|hope|` +
		`believe|think|thought|assum\w+|expect\w*|supposed|as soon as|until|before|when|will|\w+'ll|shall|` +
		`going to|about to|pending|whenever|may (?:be|have|not|already|well|still|also|need|take|show|see|` +
		`appear|get|been)|want|would like|` +
		`ob|falls|wenn|sobald|sofern|vielleicht|moeglicherweise|eventuell|wahrscheinlich|vermutlich|wohl|` +
		`scheint|anscheinend|scheinbar|offenbar|sollten?|koennten?|wuerden?|duerfte|bitte|hoff\w+|glaube|` +
		`denke|bevor|bis|werden?|wird|angeblich|` +
		`si|sauf|lorsque|quand|des que|une fois|peut-etre|probablement|semble\w*|parait|pourrai\w+|devrai\w+|` +
		`aurai\w*|serai\w*|sera|seront|va|vais|allons|esper\w+|crois|pense|avant|veuillez|merci de|` +
		`a menos|cuando|en cuanto|quiza\w*|tal vez|probablemente|posiblemente|parec\w+|podria\w*|deberia\w*|` +
		`habria\w*|seria\w*|espero|creo|supongo|antes|por favor|voy a|va a|vamos a|sera|seran|hasta`
	// progressWords report what was tried, asked for or begun, and what is to come.
	progressWords = `gets?|always|usually|normally|typically|generally|normalerweise|immer|in der regel|normalement|` +
		`toujours|normalmente|siempre|suelen?|attempt(?:s|ed|ing)?|tried|trying|being|in progress|under ?way|` +
		`processing|in process|` +
		`requested|submitted|queued|scheduled|initiated|started|arranged|(?:can|may) or|able to be|eligible|due to|` +
		`versuch\w*|beantragt|angefordert|vorgemerkt|eingeleitet|angestossen|geplant|(?:in|zur) bearbeitung|` +
		`seien?|waeren?|haetten?|muesste\w*|muss|muessen|soll|damit|dabei|nach eingang|` +
		`tent[eaé]\w*|essay\w+|en cours|demandee?s?|programmee?s?|puisse\w*|soit|soient|soyez|ait|aient|` +
		`\w+(?:ait|aient) (?:etre|avoir)|\w+r(?:ait|aient|ont|ons|ez)|\w{3,}era|\w{3,}erai|des reception|faut|` +
		`pour que|s'il|sous reserve|afin|a condition|` +
		`intent\w+|en proceso|en curso|en tramite|solicitad\w+|programad\w+|iniciad\w+|pued[ae]n?|pueda|` +
		`\w+r(?:ia|ian|iamos)|sea|sean|este|haya|hayan|para que|ojala`
	// sayingWords attribute the claim to somebody else, or call it an error.
	sayingWords = `you (?:said|say|asked|wanted|mentioned|were told|wrote|requested)|asked|told|says|said|` +
		`according to|reported(?:ly)?|claim(?:s|ed)?|mistaken\w*|by mistake|apparently|supposedly|` +
		`(?:was|were|been) informed|indicat(?:es|ed)|mention(?:s|ed)|wish(?:ed)?|wanted|` +
		`laut|angeblich|irrtuemlich\w*|versehentlich|hiess|gesagt|sagt\w*|behauptet\w*|mitgeteilt|schrieben|` +
		`gewuenscht|wollten|wollte|gebeten|baten|faelschlich\w*|` +
		`selon|d'apres|dit|disiez|disait|indique\w*|annonce\w*|demand(?:e|ez|iez|ait|ee)|souhait\w+|vouli\w+|par ` +
		`erreur|segun|dijo|dice|dijeron|indic[ao]\w*|inform[ao]\w*|pidio|pide|pidieron|pidi\w+|queria\w*|por error|` +
		`supuestamente|decia\w*`
	// unsureWords say, anywhere in an answer, that the agent does not know the outcome.
	unsureWords = `(?:can't|cannot|can not|couldn't|could not|unable to|not able to|haven't been able to|n't yet|` +
		`yet to) (?:\w+ )?(?:confirm|verify|tell|be sure|say|guarantee|promise|check|see)|not (?:\w+ )?(?:sure|` +
		`certain|confirmed|verified)|unconfirmed|unsure|uncertain|no (?:confirmation|proof|evidence|reply|` +
		`response|answer)|(?:nicht|keine?) (?:\w+ )?(?:sicher|bestaetig\w*|pruefen|nachpruefen|sagen|` +
		`feststellen|ersichtlich|rueckmeldung|beleg)|unklar|ungewiss|unsicher|ungeprueft|unbestaetigt|` +
		`(?:pas|sans) (?:\w+ )?(?:confirm\w+|verif\w+|certain\w*|sur|sure|garanti\w*)|aucune (?:confirmation|reponse|` +
		`preuve)|incertain\w*|(?:no|sin) (?:\w+ )?(?:\w+ )?(?:confirm\w+|verific\w+|comprob\w+|asegur\w+|garantiz\w+|` +
		`consta|segur\w+|certeza)`
	// afterWords, in the text behind a claim, make it doubtful.
	afterWords = `^[^.;,:]{0,30}\b(?:(?:e-?)?mails?|messages?|nachricht|courriel|correo|links?|lien|sms)\b|` +
		`^ (?:would|could|might|may|will|should|can't|cannot|didn't|did not|failed|wuerde|koennte|` +
		`wird|serait|pourrait|sera|seria|podria)\b|` +
		`^[^.;]{0,20}\b(?:but|however|though|although|aber|allerdings|jedoch|doch|mais|cependant|toutefois|` +
		`pero|aunque|sin embargo)\b.{0,40}` +
		`\b(?:not|\w+n't|cannot|unable|nicht|kann|pas|no)\b.{0,30}\b(?:confirm|verify|sure|go through|` +
		`bestaetigen|sicher|pruefen|confirmer|verifier|confirmar|verificar|segur[oa])\b|` +
		`^[^.;]{0,60}\b(?:revers(?:ed|ing)|rolled back|undone|rueckgaengig|revertid[oa])\b`
)

// NewHedges returns the hedges of all languages.
func NewHedges() *Hedges {
	return &Hedges{
		idioms: regexp.MustCompile(`\b(?:` + idiomWords + `)\b`), boundary: regexp.MustCompile(boundaryWords),
		soft:     regexp.MustCompile(softBoundary),
		inherits: regexp.MustCompile(inheritWords), negation: WordList(negationWords),
		doubt:   WordList(doubtWords + `|` + progressWords),
		next:    regexp.MustCompile(` (?:and|und|et|y) `),
		managed: regexp.MustCompile(`\bkonnten?\b`),
		saying:  WordList(sayingWords),
		after:   regexp.MustCompile(afterWords), within: WordList(`nicht|nie|niemals|keine?`),
	}
}

// hedgeReach is the number of bytes before and behind a part that are read for hedges.
const hedgeReach = 400

// window returns the text near text[start:end], and the offsets of the part in it. So the
// time for a part does not depend on the length of the text.
func window(text string, start, end int) (near string, s, e int) {
	from, to := max(0, start-hedgeReach), min(len(text), end+hedgeReach)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	return text[from:to], start - from, end - from
}

// Standing returns how the part sentence[start:end] is meant. A hedge counts if it is in
// the clause of the part, and before or within the part. A German negation also counts
// behind it.
func (h *Hedges) Standing(sentence string, start, end int) standing {
	sentence, start, end = window(sentence, start, end)
	// The words of an idiom become dots, which keeps the offsets.
	sentence = h.idioms.ReplaceAllStringFunc(sentence, func(s string) string { return strings.Repeat(".", len(s)) })
	if strings.HasPrefix(sentence, "si,") { // Spanish "sí"
		sentence = "..." + sentence[3:]
	}
	from := 0
	for _, at := range h.boundary.FindAllStringIndex(sentence[:start], -1) {
		from = at[1]
	}
	if i := strings.LastIndexAny(sentence[from:start], "?"); i >= 0 {
		from += i + 1
	}
	clause := from
	for _, at := range h.soft.FindAllStringIndex(sentence[from:min(len(sentence), end)], -1) {
		if from+at[0] < start && !h.inherits.MatchString(sentence[clause:from+at[0]]) {
			clause = from + at[0] + 1
		}
	}
	rest := sentence[end:]
	stop := len(rest)
	if at := h.boundary.FindStringIndex(rest); at != nil {
		stop = at[0]
	}
	if at := h.soft.FindStringIndex(rest); at != nil {
		stop = min(stop, at[0])
	}
	if comma := strings.IndexByte(rest, ','); comma >= 0 {
		stop = min(stop, comma)
	}
	stop = min(stop, 200)
	if at := h.next.FindStringIndex(rest); at != nil {
		stop = min(stop, at[0])
	}
	return h.judge(sentence, clause, start, end, stop)
}

// judge reads the clause sentence[clause:end+stop] around the part sentence[start:end].
// Doubt takes precedence over negation: "may not be" and "I can't confirm whether" deny
// nothing.
func (h *Hedges) judge(sentence string, clause, start, end, stop int) standing {
	rest := sentence[end:]
	around := sentence[clause : end+stop]
	if h.managed.MatchString(around) { // "konnte storniert werden" is no future
		around = strings.ReplaceAll(around, "werden", "")
	}
	switch {
	case h.doubt.MatchString(around), h.saying.MatchString(sentence[:start]),
		strings.HasSuffix(strings.TrimRight(rest[:stop], `"')]* `), "?"),
		h.after.MatchString(rest[:min(len(rest), 200)]):
		return doubtful
	case h.negation.MatchString(sentence[clause:end]), h.within.MatchString(rest[:stop]):
		return denied
	}
	return Asserted
}
