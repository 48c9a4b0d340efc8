package prose

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/spelling"
	"github.com/shakedown-go/shakedown/internal/text"
)

const (
	talkWords  = 4 // the most words of a sentence that is taken for talk
	shortWord  = 2 // the most characters of an identifier that may be no fact
	windowSize = 5 // words that are one identifier when they are written together
)

// Evidence is what an answer is compared with.
type Evidence struct {
	Prompt  string
	Also    []string // further texts that facts may come from
	Names   []string // of tools
	Results []ToolResult
	Whole   bool // all results are there
	// Accept reports whether a fact that was not found is accepted; nil: none is.
	Accept func(fact string) bool
}

// A ToolResult is what a call of a tool returned.
type ToolResult struct {
	Err string
	Doc json.RawMessage
}

func (e Evidence) source() *source {
	s := newSource()
	for _, text := range append([]string{e.Prompt}, append(e.Also, e.Names...)...) {
		s.add(text)
	}
	for _, r := range e.Results {
		s.add(r.Err)
		s.result(r.Doc)
	}
	s.seal()
	return s
}

// JudgeFacts rules whether each fact of an answer is in the evidence, and says why not.
func JudgeFacts(e Evidence, answer string) (as Ruling, why string) {
	list, longest := read(valuesOf(answer))
	if why := unread(answer, len(list), longest); why != "" {
		return Unruled, why
	}
	s, asked := e.source(), Evidence{Prompt: e.Prompt}.source()
	var absent, open []string
	found, talk, german := 0, "", germanWords.MatchString(spelling.Flat(answer))
	for _, sentence := range list {
		apart := s.apart(sentence.text)
		own := s.knows(sentence.text, asked)
		for _, f := range facts(sentence.text) {
			switch {
			case s.has(f), f.kind == date && s.has(word(strings.TrimRight(f.text, "."))), // "It is 4.3."
				apart[f.text] || e.Accept != nil && e.Accept(f.text):
				found++
				own = own || !asked.has(f)
			case f.kind >= small, s.makes(f), !sentence.stated(),
				f.kind == identifier && utf8.RuneCountInString(f.text) <= shortWord,
				f.kind == quotation && (plain(unquoted(sentence.text), false) || !strings.Contains(f.keys[0], " ")),
				f.kind == identifier && s.numbered(f.text):
				open = append(open, f.text)
			default:
				absent = append(absent, f.text)
			}
		}
		name := s.stranger(sentence.text, german)
		if name != "" && (e.Accept == nil || !e.Accept(strings.ToLower(name))) {
			open = append(open, name)
		}
		if !own && len(strings.Fields(sentence.text)) > talkWords && sentence.plain() {
			talk = sentence.text
		}
	}
	switch {
	case absent != nil && !e.Whole:
		return Unruled, "not all results were kept, and the others do not have " + text.JoinItems(text.QuoteAll(absent))
	case absent != nil:
		return Refuted, "the answer says what no tool and not the prompt said: " +
			text.JoinItems(text.QuoteAll(absent)) + ": " + text.QuoteShort(answer)
	case open != nil:
		return Unruled, fmt.Sprintf("no source has %s, which may be computed, or no fact; Accept or a twin run would decide",
			text.JoinItems(text.QuoteAll(open)))
	case talk != "":
		return Unruled, "no fact that a source has, and the prompt has not, is in " + text.QuoteShort(talk) +
			"; a structured outcome or a twin run would decide"
	case found == 0:
		return Unruled, "the answer has no fact that could be looked up; a structured outcome or a twin run would decide"
	}
	return Upheld, ""
}

// unquoted returns a sentence without its quotation marks. If it is plain then, nobody is quoted.
func unquoted(s string) string {
	return strings.NewReplacer(`"`, "", "«", "", "»", "", "“", "", "”", "", "„", "").Replace(s)
}

// numbered reports whether a number in an identifier is one of the source.
func (s *source) numbered(text string) bool {
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsDigit(r) }) {
		if len(part) >= 3 && s.has(word(part)) {
			return true
		}
	}
	return false
}

// knows reports whether a sentence has a name of the source that the prompt has not.
func (s *source) knows(sentence string, asked *source) bool {
	for i, name := range strings.Fields(sentence) {
		folded := spelling.Squeeze(name)
		if i > 0 && unicode.IsUpper([]rune(name)[0]) && s.words[folded] && !asked.words[folded] {
			return true
		}
	}
	return false
}

// valuesOf returns the values of an answer that is a JSON object or list, a line each; any
// other answer as it is.
func valuesOf(answer string) string {
	var value any
	if json.Unmarshal([]byte(answer), &value) != nil {
		return answer
	}
	var lines []string
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, member := range v {
				walk(member)
			}
		case []any:
			for _, item := range v {
				walk(item)
			}
		default:
			lines = append(lines, strings.ReplaceAll(fmt.Sprint(v), "\n", " "))
		}
	}
	walk(value)
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// apart returns the words of a sentence that make an identifier of the source together:
// "JD 0146 0000 3RU".
func (s *source) apart(sentence string) map[string]bool {
	list := strings.FieldsFunc(spelling.Flat(sentence), noWord)
	known := make(map[string]bool)
	for i := range list {
		for n := 2; n <= windowSize && i+n <= len(list); n++ {
			if joined := strings.Join(list[i:i+n], ""); strings.ContainsAny(joined, "0123456789") && s.ids[joined] {
				for _, word := range list[i : i+n] {
					known[word] = true
				}
			}
		}
	}
	return known
}

var germanWords = regexp.MustCompile(`\b(?:der|die|das|ist|nicht|und|wurde|ich|sie|ein|eine|am|bei|zaehler|betrag)\b`)

// stranger returns a word in capitals, or with a capital within a sentence, that no source
// has, or the name of a weekday; "" if there is none. German writes every noun so.
func (s *source) stranger(sentence string, german bool) string {
	const (
		common   = ` i i'm i've i'll i'd ok uhr usd eur gbp chf utc gmt cet eta id pm am sku url vat tv json api pdf faq `
		weekdays = ` monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag freitag ` +
			`samstag sonntag lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes miercoles jueves viernes sabado domingo `
	)
	for i, word := range strings.Fields(sentence) {
		word = strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		folded := spelling.Flat(word)
		capitals := len(word) > 1 && word == strings.ToUpper(word) && word != strings.ToLower(word)
		begins := i > 0 && word != "" && unicode.IsUpper([]rune(word)[0]) && !german
		if listed(weekdays, folded) && !s.words[folded] {
			return word // the day of a date is not worked out
		}
		if (capitals || begins) && !strings.ContainsAny(word, "0123456789@/") &&
			!listed(common, folded) && !monthForms.MatchString(folded) {
			for part := range words(word) {
				if !s.words[part] && !s.words[strings.TrimSuffix(part, "'s")] {
					return word
				}
			}
		}
	}
	return ""
}
