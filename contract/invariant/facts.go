package invariant

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// factKind says what sort of thing a fact is.
type factKind string

const (
	factNumber     factKind = "number"
	factIdentifier factKind = "identifier"
	factDate       factKind = "date"
	factTime       factKind = "time"
	factQuotation  factKind = "quotation"
	factName       factKind = "name"
)

// fact is something specific that a text says.
type fact struct {
	kind  factKind
	text  string   // as it stands in the text, in lower case
	keys  []string // what it is compared by; any of them will do
	start int      // in the folded text
	// soft says that the fact may be none, or may be known otherwise, so that
	// its absence from the sources proves nothing.
	soft bool
	// spoken says that a quotation of several words is told as somebody's own.
	spoken bool
	// or is another reading: "14 h" is a time of day or a number.
	or *fact
}

func (f fact) String() string { return string(f.kind) + " " + quote(f.text) }

// factReader finds facts. It is prepared once for an invariant. All but names
// are read in shapeWords.
type factReader struct {
	marker, quotation, says, address, token, grouped, word *regexp.Regexp
	first, unit, span, money, elision                      *regexp.Regexp
	place, speaks, later                                   *regexp.Regexp
	dates                                                  []dateForm
	clocks                                                 []*regexp.Regexp
	none                                                   *matcher
	clockBegin                                             []*matcher
	numberWords                                            map[string]string
}

// dateForm is one way to write a date; read says which days a match may be.
type dateForm struct {
	form  *regexp.Regexp
	begin *matcher
	read  func(match []string) []string
}

// forms makes the matchers of dates and of times of day.
func (r *factReader) forms() *factReader {
	for i := range r.dates {
		r.dates[i].begin = newMatcher(r.dates[i].form.String(), false)
	}
	for _, form := range r.clocks {
		r.clockBegin = append(r.clockBegin, newMatcher(form.String(), false))
	}
	return r
}

// quotedWords are how many words make a quotation one that nobody says by chance.
const quotedWords = 4

// months are names and abbreviations in the four languages, from January.
const months = `january|jan|januar|jaenner|janvier|janv|enero|ene february|feb|februar|fevrier|fevr|` +
	`febrero march|mar|maerz|mrz|mars|marzo april|apr|avril|avr|abril|abr may|mai|mayo ` +
	`june|jun|juni|juin|junio july|jul|juli|juillet|juil|julio august|aug|aout|agosto|ago september|sept|sep|` +
	`septembre|septiembre october|oct|oktober|okt|octobre|octubre november|nov|novembre|` +
	`noviembre december|dec|dezember|dez|decembre|diciembre|dic`

const (
	ordinal = `(?:st|nd|rd|th|er|ᵉʳ|\.|º)?`
	// unitWords make a small number a statement about the world.
	unitWords = `^ ?-?(?:(?:%|€|\$|£)|(?:euros?|eur|usd|gbp|chf|dollars?|pounds?|percent|prozent|pour ?cent|` +
		`por ciento|cents?|kg|km|g|kilos?|punkte?n?|points?|puntos?)\b)`
	// spanWords make it a span of time.
	spanWords = `^(?: ?[-–] ?[0-9]+)? ?-?(?:(?:business |working |calendar )?days?|weeks?|months?|years?|` +
		`hours?|minutes?|werktagen?|arbeitstagen?|tagen?|wochen?|monaten?|jahren?|stunden?|minuten|` +
		`jours?|semaines?|mois|ans?|annees?|heures?|dias?|semanas?|mes(?:es)?|anos?|horas?|minutos?|min|h|std)\b`
	// placeWords make a short identifier, or a number, the name of a place.
	placeWords = `\b(?:gate|seat|room|platform|bay|flugsteig|sitz(?:platz)?|zimmer|raum|gleis|bahnsteig|siege|chambre|` +
		`salle|quai|voie|puerta|asiento|habitacion|sala|en la consulta|anden)(?: (?:nr\.?|number|no\.?|numero|n[°º]))?:? [*_]*$`
	// speakWords say that a quotation behind them is somebody's, in their own words. What a reader is asked to say has others.
	speakWords = `\b(?:says|said|reads|states|stated|writes|wrote|written|raves|noted|replied|added|` +
		`schreibt|schrieb|notiert(?:e)?|sagt|sagte|meint|meinte|lautet|vermerkt|steht|ecrit|precise|resume|` +
		`repondu|dijo|escribio|senala|anade|respondio)\b[^.\n:]{0,40}:? ?[*_]*["«]? ?$`
	unitBefore = `(?:[$€£]|eur|usd|gbp|chf) ?$`
)

func newFactReader() *factReader {
	var all []string
	number := make(map[string]string)
	for i, names := range strings.Split(months, " ") {
		for name := range strings.SplitSeq(names, "|") {
			all = append(all, name)
			number[name] = strconv.Itoa(i + 1)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	month := `(` + strings.Join(all, "|") + `)\.?`
	named := func(year, name, day string) []string { return days(year, number[name], day) }
	r := &factReader{
		marker: regexp.MustCompile(`(?m)^[\s>#*_|\-]*\(?[0-9]{1,3}[.):](?:[\s*_]|$)|^\s*\|\s*[0-9]{1,2}\s*\||` +
			`[0-9]\x{20E3}`),
		none: newMatcher(`\b24 ?(?:h|std|hours?|stunden|heures|horas)?\.? ?/ ?(?:24|7)(?: ?h)?\b|`+
			`\b7 ?(?:j|jours|d|tage|dias)? ?/ ?7\b|\b(?:step|schritt|etape|paso|option|opcion|phase|fase|`+
			`part|teil|partie|parte|punkt|point|punto|section|chapter|figure|note|item|level|stufe|`+
			`q) ?#?[0-9]{1,2}\b|`+
			`\((?:[0-9]{1,2}|[ivx]{1,4})\)|\[[0-9]{1,2}\]|\s[0-9]\)|\bcovid-19\b|\bco2\b|\bh2o\b|`+
			`\bmp[34]\b|\b[345]g\b`, false),
		quotation: regexp.MustCompile(`(?:^|[\s(\[:*_])(?:"([^"\s][^"\n]*)"|«\s?([^»\n]+?)\s?»|` + "`([^`\n]+)`)"),
		says: regexp.MustCompile(`\b(?:says?|said|reads?|states?|stated|status|note|message|reason|error|` +
			`saying|reports?|reported|shows?|marked as|listed as)\b[^.\n]{0,12}$`),
		address: regexp.MustCompile(`(?:https?://|www\.)[^\s<>"')\]]+|[\pL\pN._%+\-]+@[\pL\pN\-]+(?:\.[\pL\pN\-]+)+`),
		token:   regexp.MustCompile(`[\pL\pN]+(?:[-_./:,'][\pL\pN]+)*`),
		grouped: regexp.MustCompile(`\b[0-9]{1,3}(?: [0-9]{3})+(?:[.,][0-9]{1,2})?\b`),
		word:    regexp.MustCompile(`\b[a-z]+\b`),
		first:   regexp.MustCompile(`(?m)^[\s>#*_|\-]*\(?1[.):][\s*_]`),
		unit:    regexp.MustCompile(unitWords),
		elision: regexp.MustCompile(`^(?:[cdjlmnst]|qu)'`),
		span:    regexp.MustCompile(spanWords),
		money:   regexp.MustCompile(unitBefore),
		place:   regexp.MustCompile(placeWords),
		speaks:  regexp.MustCompile(speakWords),
		later:   regexp.MustCompile(`^ ?(?:de la (?:tarde|noche)|in the (?:afternoon|evening)|du soir|de l'apres-midi|(?:uhr )?(?:abends|nachmittags))\b`),
		clocks: []*regexp.Regexp{
			regexp.MustCompile(`\b([0-9]{1,2}):([0-9]{2})(?::[0-9]{2})?(?:\.[0-9]+)?(?: ?([ap])\.? ?m\b)?(?: ?(?:z\b|` +
				`uhr\b|h\b)|\+[0-9]{2}:[0-9]{2})?`),
			regexp.MustCompile(`\b([0-9]{1,2})() ?([ap])\.? ?m\b`),
			regexp.MustCompile(`\b([0-9]{1,2})(?:\.([0-9]{2}))?() uhr\b`),
			regexp.MustCompile(`\b([0-9]{1,2}) ?h ?([0-9]{2})?()\b`),
			regexp.MustCompile(`\b([0-9]{1,2})() (?:o'clock|heures?|horas)\b()`),
		},
		dates: []dateForm{
			{form: regexp.MustCompile(`\b([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})(?:t|\b)`), read: func(m []string) []string {
				return days(m[1], m[2], m[3])
			}},
			{form: regexp.MustCompile(`\b([0-9]{1,2})[-/.] ?([0-9]{1,2})[-/.] ?((?:20)?[0-9]{2})\b`), read: func(m []string) []string {
				if len(m[3]) == 2 {
					m[3] = "20" + m[3]
				}
				return append(days(m[3], m[1], m[2]), days(m[3], m[2], m[1])...)
			}},
			{form: regexp.MustCompile(`\b([0-9]{1,2})` + ordinal + `(?: of| de)? ` + month + `(?:,? (?:del? )?([0-9]{4}))?\b`), read: func(m []string) []string {
				return named(m[3], m[2], m[1])
			}},
			{form: regexp.MustCompile(`\b` + month + ` ([0-9]{1,2})` + ordinal + `(?:,? ([0-9]{4}))?\b`), read: func(m []string) []string {
				return named(m[3], m[1], m[2])
			}},
			{form: regexp.MustCompile(`\b([0-3]?[0-9])\.([01]?[0-9])\.(?:\s|$)`), read: func(m []string) []string {
				return days("", m[2], m[1])
			}},
			{form: regexp.MustCompile(`\b([0-3][0-9])/([0-3][0-9])\b`), read: func(m []string) []string {
				return append(days("", m[2], m[1]), days("", m[1], m[2])...)
			}},
		},
		numberWords: make(map[string]string),
	}
	for i, words := range strings.Split("two zwei deux dos,three drei trois tres,four vier quatre cuatro,five fuenf cinq cinco"+
		",six sechs seis,seven sieben siete,eight acht huit ocho,nine neun nueve,ten zehn dix diez,eleven onze,twelve zwoelf douze doce", ",") {
		for word := range strings.FieldsSeq(words) {
			r.numberWords[word] = strconv.Itoa(i + 2)
		}
	}
	return r.forms()
}

// read returns the facts of a text. What one sort has taken, the next does not see.
func (r *factReader) read(original string) []fact { return r.facts(original, false) }

// facts reads an answer without the numbers of lists and steps, and without what is no fact.
func (r *factReader) facts(original string, answer bool) []fact {
	folded := flatten(original, shapeWords)
	text := folded.text
	rest := []byte(text)
	var facts []fact
	take := func(f fact, start, end int) {
		from, to := folded.original(start, end)
		f.text, f.start = strings.ToLower(original[from:to]), start
		facts = append(facts, f)
		blankOut(rest[start:end])
	}
	// "4. März" is a date, unless the lines are numbered.
	numbered := answer && r.first.Match(rest)
	if numbered {
		r.blankLists(rest, true)
	}
	for _, at := range r.quotation.FindAllSubmatchIndex(rest, -1) {
		for group := 2; group < len(at); group += 2 {
			start, end := at[group], at[group+1]
			if start < 0 || group == 6 && strings.ContainsFunc(text[start:end], unicode.IsDigit) {
				continue // code with a digit is read as an identifier
			}
			said := phrase(text[start:end])
			soft := group == 6 || !strings.Contains(said, " ") || !r.says.MatchString(text[max(0, at[0]-40):start])
			spoken := group != 6 && strings.Count(said, " ") >= quotedWords-1 && r.speaks.MatchString(text[max(0, start-60):start])
			take(fact{kind: factQuotation, keys: []string{said}, soft: soft, spoken: spoken}, start, end)
		}
	}
	for _, at := range r.address.FindAllIndex(rest, -1) {
		end := at[0] + len(strings.TrimRight(text[at[0]:at[1]], ".,;:!?"))
		take(fact{kind: factIdentifier, keys: []string{text[at[0]:end]}}, at[0], end)
	}
	for i, form := range r.dates {
		for _, at := range form.begin.submatches(form.form, rest) {
			if keys := form.read(groups(text, at)); keys != nil {
				f := fact{kind: factDate, keys: keys, soft: i == 4}
				if i == 4 { // "rated 4.4." is none
					f.or = &fact{kind: factNumber, keys: numberKeys(strings.TrimRight(text[at[0]:at[1]], ". \n"))}
				}
				take(f, at[0], at[1])
			}
		}
	}
	if answer && !numbered {
		r.blankLists(rest, false)
	}
	for i, form := range r.clocks {
		for _, at := range r.clockBegin[i].submatches(form, rest) {
			m := groups(text, at)
			if i > 0 && at[0] > 1 && strings.IndexByte(".,", rest[at[0]-1]) >= 0 && unicode.IsDigit(rune(rest[at[0]-2])) {
				continue // "1,5 h"
			}
			if key := clockKey(m[1], m[2], m[3]); key != "" && (i == 0 || m[1] < "24" || len(m[1]) < 2) { // "24h" is a span
				f := fact{kind: factTime, keys: []string{key}}
				if m[3] == "" && r.later.MatchString(text[at[1]:min(len(text), at[1]+24)]) {
					f.keys = append(f.keys, clockKey(m[1], m[2], "p"))
				}
				if i > 0 && m[2] == "" {
					f.or = &fact{kind: factNumber, keys: []string{plainNumber(m[1])}}
					f.soft = i > 2 // "4 heures" is a span as well
				}
				take(f, at[0], at[1])
			}
		}
	}
	for _, at := range r.grouped.FindAllIndex(rest, -1) {
		take(fact{kind: factNumber, keys: numberKeys(strings.ReplaceAll(text[at[0]:at[1]], " ", ""))}, at[0], at[1])
	}
	for _, at := range r.token.FindAllIndex(rest, -1) {
		if !strings.ContainsFunc(text[at[0]:at[1]], unicode.IsDigit) {
			continue
		}
		at[0] += len(r.elision.FindString(text[at[0]:at[1]])) // "l'AF1784"
		money, after := r.money.MatchString(text[max(0, at[0]-6):at[0]]), text[at[1]:min(len(text), at[1]+24)]
		for _, f := range r.classify(text[at[0]:at[1]], money, after) {
			f.soft = f.soft && !r.place.MatchString(text[max(0, at[0]-30):at[0]])
			start := at[0] + f.start
			take(f, start, start+len(f.keys[0]))
			facts[len(facts)-1].keys = f.keys[1:]
		}
	}
	if answer {
		for _, at := range r.word.FindAllIndex(rest, -1) {
			if key, ok := r.numberWords[string(rest[at[0]:at[1]])]; ok {
				if from, to := folded.original(at[0], at[1]); to-from > at[1]-at[0] {
					continue // "très" is no number
				}
				take(fact{kind: factNumber, keys: []string{key}, soft: true}, at[0], at[1])
			}
		}
	}
	return facts
}

// blankLists takes out the numbers of lists and what is no fact, in this order or the other.
func (r *factReader) blankLists(rest []byte, listsFirst bool) {
	lists := func() [][]int { return r.marker.FindAllIndex(rest, -1) }
	others := func() [][]int { return r.none.FindAllStringIndex(string(rest), -1) }
	order := []func() [][]int{others, lists}
	if listsFirst {
		slices.Reverse(order)
	}
	for _, find := range order {
		for _, at := range find() {
			blankOut(rest[at[0]:at[1]])
		}
	}
}

// readAnswer is read without the numbers of a numbered list, and for an answer
// that is JSON without the names of its members.
func (r *factReader) readAnswer(answer string) []fact {
	if pieces, ok := jsonValues([]byte(answer), false); ok && strings.ContainsAny(answer, "{[") {
		var facts []fact
		for _, piece := range pieces {
			facts = append(facts, r.facts(piece, true)...)
		}
		return facts
	}
	return r.facts(answer, true)
}

// classify makes facts of a token, if it has a digit. The first key of each is
// the part of the token it stands for, and start its place in it.
func (r *factReader) classify(token string, money bool, after string) []fact {
	if !strings.ContainsFunc(token, unicode.IsDigit) {
		return nil
	}
	if keys := numberKeys(token); keys != nil {
		// A number of up to three digits without a unit may be a count, and a span of time may be
		// what is usual.
		whole, _, _ := strings.Cut(keys[0], ".")
		soft := len(whole) <= 3 && whole == keys[0] && !money && !r.unit.MatchString(after) && strings.Trim(token, "0123456789") == "" ||
			!money && r.span.MatchString(after) || token != strings.TrimRight(token, "hmsd") ||
			len(whole) == 4 && whole == keys[0] && !money && (whole[:2] == "19" || whole[:2] == "20")
		return []fact{{kind: factNumber, keys: append([]string{token}, keys...), soft: soft}}
	}
	if from, to, ok := strings.Cut(token, "-"); ok && len(from) < 4 && len(to) < 5 && numberKeys(from) != nil && numberKeys(to) != nil { // a range
		least, most := r.classify(from, money, after), r.classify(to, money, after)
		if len(least) == 1 && len(most) == 1 {
			most[0].start = len(from) + 1
			return append(least, most...)
		}
	}
	if parts := strings.Split(token, ","); len(parts) > 1 {
		var facts []fact
		at := 0
		for i, part := range parts {
			next := after
			if i+1 < len(parts) {
				next = ""
			}
			for _, f := range r.classify(part, money, next) {
				f.start += at
				facts = append(facts, f)
			}
			at += len(part) + 1
		}
		return facts
	}
	digits, letters := 0, 0
	for _, c := range token {
		if unicode.IsDigit(c) {
			digits++
		} else if unicode.IsLetter(c) {
			letters++
		}
	}
	// "iphone-15" and "a4" are words of the language.
	soft := digits < 2 || utf8.RuneCountInString(token) < 5 || digits == 2 && letters > 3
	return []fact{{kind: factIdentifier, keys: []string{token, token}, soft: soft}}
}

// numberKeys are the numbers that a token may be: "1.234" is a thousand and
// more to a German, and little more than one to others. nil: it is none.
func numberKeys(token string) []string {
	end := strings.LastIndexAny(token, "0123456789") + 1
	if suffix := token[end:]; suffix != "" && !isUnit(suffix) {
		return nil
	}
	body := token[:end]
	if body == "" || strings.Trim(body, "0123456789.,'") != "" || body[0] < '0' || body[0] > '9' {
		return nil
	}
	parts := strings.FieldsFunc(body, func(r rune) bool { return strings.ContainsRune(".,'", r) })
	if len(parts) == 1 {
		return []string{plainNumber(body)}
	}
	var between []byte // the separators in their order
	for i := range len(body) {
		if strings.IndexByte(".,'", body[i]) >= 0 {
			between = append(between, body[i])
		}
	}
	if len(between) != len(parts)-1 {
		return nil // two in a row
	}
	grouped := func(list []string) bool {
		for i, part := range list {
			if i == 0 && len(part) > 3 || i > 0 && len(part) != 3 {
				return false
			}
		}
		return true
	}
	same := len(strings.Trim(string(between), string(between[:1]))) == 0
	last := parts[len(parts)-1]
	switch {
	case same && between[0] == ',' && len(last) > 3:
		return nil // two numbers
	case same && len(between) == 1 && between[0] != '\'': // a decimal number, or thousands
		keys := []string{plainNumber(parts[0] + "." + last)}
		if grouped(parts) {
			keys = append(keys, plainNumber(parts[0]+last))
		}
		return keys
	case same && grouped(parts):
		return []string{plainNumber(strings.Join(parts, ""))}
	case !same && between[len(between)-1] != between[0] && grouped(parts[:len(parts)-1]) &&
		len(strings.Trim(string(between[:len(between)-1]), string(between[:1]))) == 0:
		return []string{plainNumber(strings.Join(parts[:len(parts)-1], "") + "." + last)}
	}
	return nil
}

// isUnit reports whether letters behind a number are a unit.
func isUnit(s string) bool {
	const units = " st nd rd th er e ms s sec m min h hr hrs d j g kg mg lb oz km cm mm ml l kb mb gb tb am pm x usd eur gbp chf "
	return strings.Contains(units, " "+s+" ")
}

func plainNumber(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if s = strings.TrimLeft(s, "0"); s == "" || s[0] == '.' {
		s = "0" + s
	}
	return s
}

// days are the keys of a date, empty for none that exists. Without a year it is
// the same day of any year.
func days(year, month, day string) []string {
	leap := year
	leap = cmp.Or(leap, "2000")
	t, err := time.Parse("2006-1-2", leap+"-"+strings.TrimLeft(month, "0")+"-"+strings.TrimLeft(day, "0"))
	if err != nil {
		return nil
	}
	if year == "" {
		return []string{t.Format("--01-02")}
	}
	return []string{t.Format("2006-01-02")}
}

// clockKey is the time of day in hours and minutes; seconds are not compared.
func clockKey(hours, minutes, half string) string {
	hour, _ := strconv.Atoi(hours)
	minute, _ := strconv.Atoi(minutes)
	if half != "" {
		hour %= 12
	}
	if half == "p" {
		hour += 12
	}
	if hour > 24 || minute > 59 {
		return ""
	}
	return fmt.Sprintf("%02d:%02d", hour, minute)
}

// phrase is a quotation as it is compared: words with single spaces, no punctuation at its end.
func phrase(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '_' })
	return strings.TrimRight(strings.Join(words, " "), ".,;:!?")
}

func groups(text string, at []int) []string {
	m := make([]string, len(at)/2)
	for i := range m {
		if at[2*i] >= 0 {
			m[i] = text[at[2*i]:at[2*i+1]]
		}
	}
	return m
}

func blankOut(b []byte) {
	for i := range b {
		b[i] = ' '
	}
}
