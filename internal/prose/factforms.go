package prose

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// quotedWords is the number of words from which a quotation is not chance.
const quotedWords = 4

// months has the names and abbreviations in the four languages, from January on.
const months = `january|jan|januar|jaenner|janvier|janv|enero|ene february|feb|februar|fevrier|fevr|` +
	`febrero march|mar|maerz|mrz|mars|marzo april|apr|avril|avr|abril|abr may|mai|mayo ` +
	`june|jun|juni|juin|junio july|jul|juli|juillet|juil|julio august|aug|aout|agosto|ago september|sept|sep|` +
	`septembre|septiembre october|oct|oktober|okt|octobre|octubre november|nov|novembre|` +
	`noviembre december|dec|dezember|dez|decembre|diciembre|dic`

const (
	ordinal = `(?:st|nd|rd|th|er|ᵉʳ|\.|º)?`
	// unitWords follow a number that is a quantity, however small.
	unitWords = `^ ?-?(?:(?:%|€|\$|£)|(?:euros?|eur|usd|gbp|chf|dollars?|pounds?|percent|prozent|pour ?cent|` +
		`por ciento|cents?|kg|km|g|kilos?|punkte?n?|points?|puntos?)\b)`
	// spanWords follow a number that is a span of time.
	spanWords = `^(?: ?[-–] ?[0-9]+)? ?-?(?:(?:business |working |calendar )?days?|weeks?|months?|years?|` +
		`hours?|minutes?|werktagen?|arbeitstagen?|tagen?|wochen?|monaten?|jahren?|stunden?|minuten|` +
		`jours?|semaines?|mois|ans?|annees?|heures?|dias?|semanas?|mes(?:es)?|anos?|horas?|minutos?|min|h|std)\b`
	// placeWords precede a short identifier, or a number, that names a place.
	placeWords = `\b(?:gate|seat|room|platform|bay|flugsteig|sitz(?:platz)?|zimmer|raum|gleis|bahnsteig|siege|` +
		`chambre|salle|quai|voie|puerta|asiento|habitacion|sala|en la consulta|anden)` +
		`(?: (?:nr\.?|number|no\.?|numero|n[°º]))?:? [*_]*$`
	// speakWords precede a quotation of what somebody said.
	speakWords = `\b(?:says|said|reads|states|stated|writes|wrote|written|raves|noted|replied|added|` +
		`schreibt|schrieb|notiert(?:e)?|sagt|sagte|meint|meinte|lautet|vermerkt|steht|ecrit|precise|resume|` +
		`repondu|dijo|escribio|senala|anade|respondio)\b[^.\n:]{0,40}:? ?[*_]*["«]? ?$`
	unitBefore = `(?:[$€£]|eur|usd|gbp|chf) ?$`
)

// NewFactReader returns a reader of facts, which takes some milliseconds.
func NewFactReader() *FactReader {
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
	r := &FactReader{
		marker: regexp.MustCompile(`(?m)^[\s>#*_|\-]*\(?[0-9]{1,3}[.):](?:[\s*_]|$)|^\s*\|\s*[0-9]{1,2}\s*\||` +
			`[0-9]\x{20E3}`),
		notFacts: NewMatcher(`\b24 ?(?:h|std|hours?|stunden|heures|horas)?\.? ?/ ?(?:24|7)(?: ?h)?\b|`+
			`\b7 ?(?:j|jours|d|tage|dias)? ?/ ?7\b|\b(?:step|schritt|etape|paso|option|opcion|phase|fase|`+
			`part|teil|partie|parte|punkt|point|punto|section|chapter|figure|note|item|level|stufe|`+
			`q) ?#?[0-9]{1,2}\b|`+
			`\((?:[0-9]{1,2}|[ivx]{1,4})\)|\[[0-9]{1,2}\]|\s[0-9]\)|\bcovid-19\b|\bco2\b|\bh2o\b|`+
			`\bmp[34]\b|\b[345]g\b`, false),
		quotation: regexp.MustCompile(`(?:^|[\s(\[:*_])(?:"([^"\s][^"\n]*)"|«\s?([^»\n]+?)\s?»|` + "`([^`\n]+)`)"),
		says: regexp.MustCompile(`\b(?:says?|said|reads?|states?|stated|status|note|message|reason|error|` +
			`saying|reports?|reported|shows?|marked as|listed as)\b[^.\n]{0,12}$`),
		address:   regexp.MustCompile(`(?:https?://|www\.)[^\s<>"')\]]+|[\pL\pN._%+\-]+@[\pL\pN\-]+(?:\.[\pL\pN\-]+)+`),
		token:     regexp.MustCompile(`[\pL\pN]+(?:[-_./:,'][\pL\pN]+)*`),
		grouped:   regexp.MustCompile(`\b[0-9]{1,3}(?: [0-9]{3})+(?:[.,][0-9]{1,2})?\b`),
		word:      regexp.MustCompile(`\b[a-z]+\b`),
		firstItem: regexp.MustCompile(`(?m)^[\s>#*_|\-]*\(?1[.):][\s*_]`),
		unit:      regexp.MustCompile(unitWords),
		elision:   regexp.MustCompile(`^(?:[cdjlmnst]|qu)'`),
		span:      regexp.MustCompile(spanWords),
		money:     regexp.MustCompile(unitBefore),
		place:     regexp.MustCompile(placeWords),
		speaks:    regexp.MustCompile(speakWords),
		later: regexp.MustCompile(`^ ?(?:de la (?:tarde|noche)|in the (?:afternoon|evening)|du soir|de l'apres-midi|` +
			`(?:uhr )?(?:abends|nachmittags))\b`),
		clocks: []*regexp.Regexp{
			regexp.MustCompile(`\b([0-9]{1,2}):([0-9]{2})(?::[0-9]{2})?(?:\.[0-9]+)?(?: ?([ap])\.? ?m\b)?(?: ?(?:z\b|` +
				`uhr\b|h\b)|\+[0-9]{2}:[0-9]{2})?`),
			regexp.MustCompile(`\b([0-9]{1,2})() ?([ap])\.? ?m\b`),
			regexp.MustCompile(`\b([0-9]{1,2})(?:\.([0-9]{2}))?() uhr\b`),
			regexp.MustCompile(`\b([0-9]{1,2}) ?h ?([0-9]{2})?()\b`),
			regexp.MustCompile(`\b([0-9]{1,2})() (?:o'clock|heures?|horas)\b()`),
		},
		dates: []dateForm{
			{form: regexp.MustCompile(`\b([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})(?:t|\b)`),
				read: func(m []string) []string {
					return days(m[1], m[2], m[3])
				}},
			{form: regexp.MustCompile(`\b([0-9]{1,2})[-/.] ?([0-9]{1,2})[-/.] ?((?:20)?[0-9]{2})\b`),
				read: func(m []string) []string {
					if len(m[3]) == 2 {
						m[3] = "20" + m[3]
					}
					return append(days(m[3], m[1], m[2]), days(m[3], m[2], m[1])...)
				}},
			{form: regexp.MustCompile(`\b([0-9]{1,2})` + ordinal + `(?: of| de)? ` + month +
				`(?:,? (?:del? )?([0-9]{4}))?\b`), read: func(m []string) []string {
				return named(m[3], m[2], m[1])
			}},
			{form: regexp.MustCompile(`\b` + month + ` ([0-9]{1,2})` + ordinal +
				`(?:,? ([0-9]{4}))?\b`), read: func(m []string) []string {
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
	for i, words := range strings.Split("two zwei deux dos,three drei trois tres,four vier quatre cuatro,"+
		"five fuenf cinq cinco,six sechs seis,seven sieben siete,eight acht huit ocho,nine neun nueve,"+
		"ten zehn dix diez,eleven onze,twelve zwoelf douze doce", ",") {
		for word := range strings.FieldsSeq(words) {
			r.numberWords[word] = strconv.Itoa(i + 2)
		}
	}
	return r.forms()
}
