// Package prose reads the answers of agents, as far as no understanding is needed: which
// sentences are plain, which of them match a pattern, which of their facts a source has.
// What it cannot decide is undecided.
package prose

import (
	_ "embed"
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
)

// A Ruling is what is decided about an answer.
type Ruling int

// The rulings.
const (
	Unruled Ruling = iota // nobody knows
	Upheld
	Refuted
)

// lists are word lists. words.txt says how they are written.
//
//go:embed words.txt
var lists string

// Words returns a list as the alternatives of a regular expression.
func Words(name string) string { return strings.ReplaceAll(lines(name), "\n", "|") }

func lines(name string) string {
	_, list, _ := strings.Cut(lists, "\n["+name+"]\n")
	list, _, _ = strings.Cut(list, "\n\n")
	return strings.TrimSpace(list)
}

var (
	// sentenceEnd matches the end of a line, of a cell of a table, and of a sentence.
	sentenceEnd = regexp.MustCompile(`[\n;|]|[.!?][.!?"')\]*_]*(?:[\s\pZ]|$)`)
	// listItem matches the marker of an item, which a German date may look like.
	listItem   = regexp.MustCompile(`^(?:[-*•+–] |\d\d?[.)] )`)
	germanDate = regexp.MustCompile(`(?i)^\d\d?\. ` + month + `\b`)
	markdown   = strings.NewReplacer("**", "", "__", "", "*", "", "`", "", "~~", "", "’", "'", "‘", "'")
	// abbreviation matches a last word to which a full stop belongs: "No.", "4.".
	abbreviation = regexp.MustCompile(`(?i)(?:^|[\s(])[*_]*(?:\d{1,2}|` + Words("abbreviations") + `)$`)
)

// read splits an answer into sentences. why says why it is not read; "" if it is.
func read(answer string) (list []string, why string) {
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
		body := strings.TrimLeft(s, " \t#")
		if !germanDate.MatchString(body) {
			body = body[len(listItem.FindString(body)):]
		}
		list = append(list, markdown.Replace(body))
	}
	if longest > longSentence {
		why = fmt.Sprintf("a sentence of the answer has %d bytes, and of one more than %d are not read", longest,
			longSentence)
	}
	return list, why
}

// The words by which a sentence is not plain, and questions. An apostrophe parts words too: n'a, s'il.
var (
	doubtful  = regexp.MustCompile(begin + Words("doubts") + end)
	uncertain = regexp.MustCompile(begin + Words("doubts") + `|` + Words("reports") + end)
)

const (
	begin = `(?:^|[^\pL\pN-])(?:`
	end   = `)(?:$|[^\pL\pN-])|[?¿]`
)

// idiom matches what has words of these lists and takes nothing back.
var idiom = regexp.MustCompile(`(?i)\b(?:` + Words("idioms") + `)\b|^sí,|\bmay \d|\S+@\S+|https?://\S+`)

// plain reports whether a sentence states what it says. It has no word of negation, doubt,
// condition or rule, no question mark, no quotation, and nobody else who says it.
func plain(sentence string) bool {
	return !strings.ContainsAny(sentence, "\"«»“”„…>") && without(sentence, uncertain)
}

// without reports whether a sentence has none of the words.
func without(sentence string, words *regexp.Regexp) bool {
	return !strings.Contains(strings.ToLower(sentence), "dès ") &&
		!words.MatchString(spelling.Flat(idiom.ReplaceAllString(sentence, "")))
}

// noWord reports whether a character parts words.
func noWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
