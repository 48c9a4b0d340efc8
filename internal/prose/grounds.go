package prose

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/spelling"
	"github.com/shakedown-go/shakedown/internal/text"
)

const (
	talkWords  = 4   // the most words of a sentence that is taken for talk
	shortWord  = 2   // the most characters of an identifier that may be no fact
	windowSize = 5   // words that are one identifier when they are written together
	mostOpen   = 256 // facts that are not found and may be computed
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
	for _, text := range slices.Concat([]string{e.Prompt}, e.Also, e.Names) {
		s.add(text)
	}
	for _, r := range e.Results {
		s.add(r.Err)
		s.result(r.Doc)
	}
	slices.Sort(s.long)
	return s
}

// JudgeFacts rules whether each fact of an answer is in the evidence, and says why not.
func JudgeFacts(e Evidence, answer string) (as Ruling, why string) {
	list, why := read(valuesOf(answer))
	if why != "" {
		return Unruled, why
	}
	s, asked := e.source(), Evidence{Prompt: e.Prompt}.source()
	accepted := func(fact string) bool { return e.Accept != nil && e.Accept(fact) }
	var absent, open []string
	found, talk, german := 0, "", germanWords.MatchString(spelling.Flat(answer))
	for _, sentence := range list {
		joined := s.joined(sentence.text)
		stated := sync.OnceValue(sentence.stated)
		own := false // it has a fact that the prompt has not
		name := s.stranger(sentence.text, german)
		if name != "" && !accepted(strings.ToLower(name)) {
			open = append(open, name)
		}
		for _, f := range facts(sentence.text) {
			switch {
			case s.has(f), joined[f.text], accepted(f.text):
				found++
				own = own || !asked.has(f)
			case f.kind == small, f.kind == date && name != "", len(open) > mostOpen, !stated(), s.derives(f),
				f.kind == identifier && (utf8.RuneCountInString(f.text) <= shortWord || s.numbered(f.text)),
				f.kind == quotation && (certain(sentence.text, doubts+reports) || !strings.Contains(f.keys[0], " ")):
				open = append(open, f.text)
			default:
				absent = append(absent, f.text)
			}
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

// valuesOf returns the values of an answer that is a JSON object or list, a line each; any
// other answer as it is.
func valuesOf(answer string) string {
	var value any
	if json.Unmarshal([]byte(answer), &value) != nil {
		return answer
	}
	var lines strings.Builder
	leaves("", value, func(_ string, v any) {
		lines.WriteString(strings.ReplaceAll(fmt.Sprint(v), "\n", " ") + "\n")
	})
	return lines.String()
}

// leaves visits the values within a JSON value, each with the name of its member, in a fixed order.
func leaves(name string, value any, visit func(name string, v any)) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			leaves(name, v[name], visit)
		}
	case []any:
		for _, item := range v {
			leaves(name, item, visit)
		}
	default:
		visit(name, v)
	}
}

// joined returns the words of a sentence that make an identifier of the source together:
// "JD 0146 0000 3RU".
func (s *source) joined(sentence string) map[string]bool {
	list := strings.FieldsFunc(spelling.Flat(sentence), noWord)
	known := make(map[string]bool)
	for i := range list {
		for n := 2; n <= windowSize && i+n <= len(list); n++ {
			if id := strings.Join(list[i:i+n], ""); strings.ContainsAny(id, "0123456789") && s.keys[id] {
				for _, word := range list[i : i+n] {
					known[word] = true
				}
			}
		}
	}
	return known
}

var germanWords = regexp.MustCompile(`\b(?:der|die|das|ist|nicht|und|wurde|ich|sie|ein|eine|am|bei|zaehler|betrag)\b`)

// noNames are words in capitals that name nothing.
const noNames = ` i i'm i've i'll i'd ok uhr usd eur gbp chf utc gmt cet eta id pm am sku url vat tv json api pdf faq `

// weekdays are those of each language, from Sunday on.
const weekdays = ` sunday monday tuesday wednesday thursday friday saturday ` +
	`sonntag montag dienstag mittwoch donnerstag freitag samstag dimanche lundi mardi mercredi jeudi vendredi samedi ` +
	`domingo lunes martes miercoles jueves viernes sabado `

// stranger returns a word in capitals, or with a capital within a sentence, that no source
// has, or the name of a weekday on which no date of it falls; "" if there is none. German
// writes every noun so.
func (s *source) stranger(sentence string, german bool) string {
	for i, word := range strings.Fields(sentence) {
		word = strings.TrimFunc(word, noWord)
		folded := spelling.Flat(word)
		if listed(weekdays, folded) {
			day := strings.Count(weekdays[:strings.Index(weekdays, " "+folded+" ")], " ") % 7
			falls := func(d time.Time) bool { return int(d.Weekday()) == day }
			if !s.words[folded] && !slices.ContainsFunc(s.days, falls) {
				return word
			}
			continue
		}
		capitals := len(word) > 1 && word == strings.ToUpper(word) && word != strings.ToLower(word)
		begins := i > 0 && word != "" && unicode.IsUpper([]rune(word)[0]) && !german
		if !capitals && !begins || strings.ContainsAny(word, "0123456789@/") || listed(noNames, folded) ||
			monthOf(folded) > 0 {
			continue
		}
		for part := range words(word) {
			if !s.words[part] && !s.keys[part] && !s.words[strings.TrimSuffix(part, "'s")] {
				return word
			}
		}
	}
	return ""
}
