package prose

import (
	"regexp"
	"sort"
	"strings"
)

// A talkReader distinguishes sentences about the world from those about the conversation.
type talkReader struct {
	neutral, failure, mildly, reason *Matcher
	perhaps                          *Matcher
	name, capitals, label            *regexp.Regexp
	german, english                  *Matcher
}

const (
	// NeutralWords are of greetings, thanks, apologies, offers, questions and farewells.
	NeutralWords = `sorry|apolog\w+|unfortunately|thanks?|thank you|welcome|let me know|feel free|help\w*|` +
		`assist\w*|support|anything else|reach out|happy|glad|regards|cheers|best|great (?:day|week)|enjoy|` +
		`here(?:'s| is| are)|news|please|if (?:you|it|that|this)|would you|do you|can you|could you|can i|` +
		`shall i|i can|i can't|i cannot|i could|i could not|i couldn't|i'll|i will|i'd|i would|i am|i'm|` +
		`patience|inconvenience|appreciate|hope|hi|hello|hey|dear|summary|details|overview|understand|` +
		`certainly|sure|of course|got it|checked|looked up|` +
		`leid|colleagues?|team|look into|look at|follow up|get back|kolleg\w+|nachgehen|collegues?|equipe|` +
		`companer\w+|equipo|entschuldig\w+|danke\w*|dank|gerne?|hilf\w*|helfe\w*|melden|bitte|gruess\w*|` +
		`hallo|guten|falls|wenn sie|wenn du|nachrichten|uebersicht|zusammenfassung|hier (?:ist|sind)|` +
		`kann ich|ich kann|ich konnte|konnte ich|ich habe|moechten|moechtest|soll ich|fragen|freue|` +
		`leider|verstaendnis|service|` +
		`desole\w*|merci|plaisir|aid\w+|n'hesitez|bonjour|cordialement|voici|bonne|souhait\w+|si vous|si tu|` +
		`je peux|je ne peux|je n'ai|j'ai|je suis|je reste|puis-je|malheureusement|comprends|question\w*|` +
		`disposition|service|joignable|` +
		`lo siento|gracias|ayud\w+|dudas?|hola|saludos?|aqui (?:tienes?|esta|estoy)|buen[oa]s?|` +
		`si (?:necesitas?|quieres?|tienes?|hay)|claro|puedo|no puedo|no he|he (?:consultado|revisado|` +
		`comprobado)|estoy|quedo|disculp\w+|por desgracia|lamento|lamentablemente|preguntas?|` +
		`disponibles?|por favor`
	// mildWords say that a number is not a statement about this case.
	mildWords = `try again|please|wait|recommend\w*|suggest\w*|for example|e\.g|for instance|usually|typically|` +
		`normally|generally|often|about|around|approximately|approx|roughly|nearly|almost|over|more than|` +
		`less than|up to|at least|every|each|if|could|might|` +
		`warten|normalerweise|in der regel|ueblicherweise|typischerweise|meist\w*|etwa|ca|circa|ungefaehr|rund|` +
		`knapp|zum beispiel|z\.b|z\. b|falls|wenn|bitte|spaeter|mindestens|jede[nrs]?|koennte\w*|` +
		`merci de|veuillez|patient\w+|reessay\w+|habituellement|generalement|en general|normalement|environ|` +
		`par exemple|p\. ex|si|jusqu'a|au moins|plus de|moins de|chaque|pourrai\w+|` +
		`espera\w*|intent\w+|normalmente|generalmente|por lo general|suelen?|unos|unas|aproximadamente|` +
		`por ejemplo|p\. ej|al menos|mas de|menos de|cada|podria\w*|por favor|alrededor`
	perhapsWords = `may|might|perhaps|maybe|probably|possibly|likely|vermutlich|wahrscheinlich|vielleicht|` +
		`moeglich\w*|wohl|peut-etre|sans doute|probablement|possible|quiza\w*|tal vez|probablemente|posible\w*|` +
		`puede que`
	reasonWords = `because|due to|owing to|caused by|as a result of|weil|wegen|aufgrund|infolge|parce que|` +
		`en raison d\w+|a cause d\w+|suite a|porque|debido a|por culpa|a causa d\w+`
	allowedNames = ` I Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April ` +
		`May June July August September October November December Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct ` +
		`Nov Dec Mon Tue Wed Thu Fri Sat Sun OK AM PM UTC GMT CET CEST EST PST EUR USD GBP CHF URL ID API ` +
		`FAQ PDF TL;DR DE EN FR ES SMS PIN VAT IVA TVA MwSt AI KI IA Uhr US `
)

func newTalk() talkReader {
	return talkReader{
		neutral: WordList(NeutralWords), failure: WordList(FailureWords), mildly: WordList(mildWords),
		perhaps: WordList(perhapsWords), reason: WordList(reasonWords),
		name:     regexp.MustCompile(`[\pL\d,;] [*_]{0,2}([\p{Lu}][\pL]+(?:-[\pL]+)*)(?:$|[^\pL\d\-])`),
		capitals: regexp.MustCompile(`(?:^|[^\pL\d-])([\p{Lu}]{2,})(?:$|[^\pL\d-])`),
		label:    regexp.MustCompile(`(?m)^[\s\-*|•>]*[\pL][\pL /*]{1,40}:|^#+ .*$|^\|.*\|$|^\*\*.*\*\*$`),
		english:  WordList(`the|is|are|was|with|your|you|and|for|it's|has|have|been|will|of|this`),
		german: WordList(`der|das|und|ist|nicht|ihr\w*|sie|wurde|wird|mit|fuer|auf|ein|eine|wir|ich|zu|von|` +
			`den|dem|hat|kann|leider|bitte|weil|bei|sich|die|uhr|um|unser\w*|kostet`),
	}
}

// talk is the sentences of an answer.
type talk struct {
	reader talkReader
	list   []sentence // in shapeWords
	names  []fact
	// english reports that the answer is in English, for which common words are listed.
	english bool
}

// read returns the sentences and names of an answer.
func (r talkReader) read(answer, prompt string) talk {
	folded := Flatten(answer, ShapeWords)
	t := talk{reader: r, list: Sentences(folded.Text)}
	t.english = len(r.english.FindAllStringIndex(folded.Text, 2)) > 1
	text := []byte(answer)
	for _, at := range r.label.FindAllIndex(text, -1) {
		BlankOut(text[at[0]:at[1]])
	}
	forms := []*regexp.Regexp{r.capitals}
	// German capitalises all nouns, so a capital shows no name.
	if len(r.german.FindAllStringIndex(folded.Text, 2)) < 2 && LanguageOf(prompt) != "de" {
		forms = append(forms, r.name)
	}
	for _, form := range forms {
		for _, at := range form.FindAllSubmatchIndex(text, -1) {
			name := string(text[at[2]:at[3]])
			if strings.Contains(allowedNames, " "+name+" ") {
				continue
			}
			t.names = append(t.names, fact{
				Kind: factName, text: strings.ToLower(name), keys: []string{Flat(name, ShapeWords)},
				start: folded.From(at[2]), soft: true,
			})
		}
	}
	return t
}

// sentence returns the index of the sentence at an offset of the folded answer.
func (t talk) sentence(at int) int {
	return sort.Search(len(t.list), func(i int) bool { return t.list[i].Start > at }) - 1
}

// fails reports whether a sentence reports a failure.
func (t talk) fails(i int) bool {
	return i >= 0 && i < len(t.list) && t.reader.failure.MatchString(t.list[i].Text)
}

// supposes reports whether an answer says that something is only possible.
func (t talk) supposes(answer string) bool {
	return t.reader.perhaps.MatchString(Flat(answer, ShapeWords))
}

// mild reports whether a sentence gives advice, an example or what is usual, or reports a
// failure.
func (t talk) mild(i int) bool {
	return i >= 0 && i < len(t.list) && t.reader.mildly.MatchString(t.list[i].Text) || t.fails(i)
}

// unsupported describes the first sentence that may say something that no source has, ""
// if there is none. found has the sentences with a fact that was found.
func (t talk) unsupported(found map[int]bool, s *Source) string {
	for i, sentence := range t.list {
		words := PlainWords(PlainMarkdown(sentence.Text))
		failed := t.reader.failure.MatchString(sentence.Text)
		at := t.reader.reason.FindStringIndex(sentence.Text)
		if at != nil && !failed && !s.Supports(PlainWords(sentence.Text[at[1]:])) {
			return "no source has the reason in " + Quote(sentence.Text)
		}
		switch {
		case failed && !found[i]:
			if !s.failed && !s.Supports(words) {
				return "the answer reports a failure, and no call failed: " + Quote(sentence.Text)
			}
		case found[i] && s.adds(words, t.english):
			return "no source has all that is said in " + Quote(sentence.Text)
		case found[i], len(words) < 3, strings.HasSuffix(sentence.Text, "?"),
			t.reader.neutral.MatchString(sentence.Text), s.Supports(words):
		default:
			return "no source has what is said in " + Quote(sentence.Text)
		}
	}
	return ""
}

// Supports reports whether the sources have at least half of the long words of a
// statement, and at least one. Of a statement without long words, they must have a word
// of four letters.
func (s *Source) Supports(words []string) bool {
	long, known, short := 0, 0, 0
	for _, word := range words {
		switch letters := []rune(word); {
		case len(letters) >= LongWord:
			long++
			if _, ok := s.stems[string(letters[:stemLength])]; ok {
				known++
			}
		case len(letters) == LongWord-1 && s.hasWord(word):
			short++
		}
	}
	return known > 0 && 2*known >= long || long == 0 && short > 0
}

// commonWords are the stems of long English words that add no fact. extraWords are the
// stems, in all four languages, of words that state a fact alone, such as discount.
const (
	commonWords = ` about above accor added addit after again alrea also amoun anoth any appro arriv avail ` +
		`avera based befor begin below betwe booke both break brief check chose combi compl confi conta cost ` +
		`count curre date deliv detai diffe direc displ each earli eithe equal estim every exact expec fully ` +
		`first follo found friday from gener great have hello hours inclu indiv infor items journ lates ` +
		`later liste locat looki looks match meani minut monda month mornin morni neede next night numbe ` +
		`offic only order other overa paid payme perio piece place plann please point possi price prici ` +
		`proce provi quant quest range rathe ready recei recen recor refer remai reque resul retur revie ` +
		`right satur sched secon seems selec sever shipp shoul showi shows since sinc speci split start ` +
		`state statu still summa sunda syste takes thank their there these thing third those throu thurs ` +
		`time today togeth toget tomor total track trans tuesd under until updat using value wednes wedne ` +
		`weeks where which while withi would year years your yeste cheap expen small large highe lower ` +
		`conditions condi light heavy weath tempe degre wind humid afterno after eveni ` +
		`janua febru march april augus septe octob novem decem uploa lands leave depar `
	extraWords = ` free compl gratu gratis koste kostenlo kosten discou rabat remis descu guara garan warra ` +
		`insur versi assur segur neigh nachb voisi vecin parki parkp parkg stati aparc estac break frueh ` +
		`petit desay uprade upgra gift gesch cadea regal expre strike strei greve huelg pool piscin schwimm wifi ` +
		`wlan insta `
)

// adds reports whether a statement has one of extraWords, or in English three uncommon
// words, that no source has.
func (s *Source) adds(words []string, english bool) bool {
	unknown := 0
	for _, word := range words {
		letters := []rune(word)
		if len(letters) < LongWord-1 || strings.ContainsAny(word, "0123456789@/") {
			continue
		}
		stem := string(letters[:min(len(letters), stemLength)])
		if _, ok := s.stems[stem]; ok || s.hasWord(word) {
			continue
		}
		if strings.Contains(extraWords, " "+stem+" ") {
			return true
		}
		if len(letters) >= LongWord && !strings.Contains(commonWords, " "+stem+" ") {
			unknown++
		}
	}
	return english && unknown > 2
}
