package prose

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/spelling"
	"github.com/shakedown-go/shakedown/internal/text"
)

const (
	talkWords  = 4   // the most words of a sentence that is taken for talk
	shortWord  = 2   // the most characters of an identifier that may be no fact
	mostAbsent = 256 // facts that are not found, beyond which no sentence is read
)

// Evidence is what an answer is compared with.
type Evidence struct {
	Prompt  string
	Texts   []string          // further ones that facts may come from: names and errors of tools
	Results []json.RawMessage // of tools
	Whole   bool              // all results are there
}

// JudgeFacts rules whether each fact of an answer is in the evidence, and says why not.
func JudgeFacts(e Evidence, answer string) (as Ruling, why string) {
	values := ""
	if leaves([]byte(answer), func(_, value string) { values += strings.ReplaceAll(value, "\n", " ") + "\n" }) {
		answer = values
	}
	list, why := read(answer)
	if why != "" {
		return Unruled, why
	}
	s, asked := sourceOf(append(slices.Clone(e.Texts), e.Prompt), e.Results), sourceOf([]string{e.Prompt}, nil)
	var absent, open []string
	found, talk := 0, ""
	for _, sentence := range list {
		if len(absent)+len(open) > mostAbsent {
			break
		}
		squeezed := spelling.Squeeze(sentence)
		stated := sync.OnceValue(func() bool { return without(sentence, doubtful) })
		all := facts(sentence)
		own := false // it has a fact that the prompt has not
		wrongDay := slices.ContainsFunc(all, func(f fact) bool { return f.kind == weekday && !s.has(f, "") })
		for _, f := range all {
			switch {
			case f.kind == weekday && !wrongDay:
			case s.has(f, squeezed):
				found++
				own = own || !asked.has(f, squeezed)
			case f.kind == small, f.kind == weekday, f.kind == date && wrongDay, s.derives(f),
				f.kind == identifier && (utf8.RuneCountInString(f.text) <= shortWord || s.hasPart(f)),
				f.kind == quotation && !strings.Contains(f.text, " "), !stated():
				open = append(open, f.text)
			default:
				absent = append(absent, f.text)
			}
		}
		if !own && len(strings.Fields(sentence)) > talkWords && plain(sentence) {
			talk = sentence
		}
	}
	switch {
	case absent != nil && !e.Whole:
		return Unruled, "not all results were kept, and the others do not have " + text.JoinItems(text.QuoteAll(absent))
	case absent != nil:
		return Refuted, "the answer says what no tool and not the prompt said: " +
			text.JoinItems(text.QuoteAll(absent)) + ": " + text.QuoteShort(answer)
	case open != nil:
		return Unruled, fmt.Sprintf("no source has %s, which may be computed, or no fact; a judge or a twin run would decide",
			text.JoinItems(text.QuoteAll(open)))
	case talk != "":
		return Unruled, "no fact that a source has, and the prompt has not, is in " + text.QuoteShort(talk) +
			"; a structured outcome or a twin run would decide"
	case found == 0:
		return Unruled, "the answer has no fact that could be looked up; a structured outcome or a twin run would decide"
	}
	return Upheld, ""
}
