package completion

import (
	"strings"
	"unicode"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// manner is what is done with one text.
type manner struct {
	before, behind string
	inside         func(string) string // of each part; nil: as it is
	atEnd          func(string) string // of the whole; nil: parts go out as they come
}

// drift does with each text what begin chooses for it. It chooses when it sees the first
// character that is not white space, so that tokens do not wait without need.
func drift(begin func(json bool) manner) Editor {
	var m *manner // of the text that has begun; nil: none has
	held := ""
	return func(p *piece) {
		switch {
		case p.kind == pieceText:
			space, before := "", ""
			if m == nil {
				sign := strings.TrimLeftFunc(p.text, unicode.IsSpace)
				if sign == "" {
					return
				}
				space, p.text = p.text[:len(p.text)-len(sign)], sign
				chosen := begin(sign[0] == '{' || sign[0] == '[')
				m, before = &chosen, chosen.before
			}
			switch {
			case m.atEnd != nil:
				held += p.text
				p.text, p.late = space, true
			case m.inside != nil:
				p.text = space + before + m.inside(p.text)
			default:
				p.text = space + before + p.text
			}
		case p.kind == pieceTextEnd && m != nil:
			if m.atEnd != nil {
				p.was, p.more = held, m.atEnd(held)
			}
			p.more += m.behind
			m, held = nil, ""
		}
	}
}

// drawPhrase is the salt of the draws of phrases: ASCII for "phrase".
const drawPhrase = 0x706872617365

// RenameKey gives one member of an answer in JSON another name. Other text stays.
func RenameKey(c chaos.Call) Editor {
	return drift(func(json bool) manner {
		if !json {
			return manner{}
		}
		return manner{atEnd: func(text string) string { return otherKeys(c, text, false) }}
	})
}

// Reshape gives all members of an answer in JSON other names, and puts other text
// into JSON.
func Reshape(c chaos.Call) Editor {
	return drift(func(json bool) manner {
		if json {
			return manner{atEnd: func(text string) string { return otherKeys(c, text, true) }}
		}
		return otherFormat(false)
	})
}

// Reformat puts JSON into a Markdown fence, and other text into JSON.
func Reformat() Editor { return drift(otherFormat) }

// Verbose puts friendly words around each text.
func Verbose(c chaos.Call) Editor {
	return around(
		pick(c, drawPhrase, "Great question! Let me walk you through this step by step.\n\n",
			"Sure, I'd be happy to help! Here is a detailed answer, with everything you may need to know.\n\n",
			"Thank you for asking. Before I answer, here is some background that may be useful.\n\n"),
		pick(c, drawPhrase+1,
			"\n\nI hope this helps! Let me know if you would like more detail on any of these points.",
			"\n\nIn summary, the above covers the main points, though there is much more that could be said.",
			"\n\nPlease feel free to ask if anything is unclear; I can also explain the reasoning behind it."))
}

// Rude puts unfriendly words around each text.
func Rude(c chaos.Call) Editor {
	return around(
		pick(c, drawPhrase, "Ugh, fine. ", "As I already said, ", "Obviously, "),
		pick(c, drawPhrase+1, " Anything else, or are we done here?",
			" Please read more carefully next time.", " Whatever."))
}

func around(before, behind string) Editor {
	return drift(func(bool) manner { return manner{before: before, behind: behind} })
}

// otherFormat puts JSON into a fence, and other text into JSON.
func otherFormat(json bool) manner {
	if json {
		return manner{before: "```json\n", behind: "\n```"}
	}
	return manner{before: `{"answer": "`, behind: `"}`, inside: escaped}
}

// escaped is the text as it stands within a string of JSON.
func escaped(text string) string {
	quoted := string(jsonedit.Of(text).Bytes())
	return quoted[1 : len(quoted)-1]
}
