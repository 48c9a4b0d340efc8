package chaoshttp

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/internal/completion"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// A Drift is a way in which a model's answers change from one version to the next.
type Drift string

// The drifts.
const (
	DriftKeys      Drift = "keys"      // an answer in JSON names a member differently
	DriftFormat    Drift = "format"    // JSON comes in a Markdown fence, and other text in JSON
	DriftVerbosity Drift = "verbosity" // words before and behind
	DriftTone      Drift = "tone"      // the same, in ill humour
)

type driftParams struct {
	Drift Drift `json:"drift" bounds:"enum=keys|format|verbosity|tone"`
}

// DriftCompletion makes a model answer in another style.
func DriftCompletion(d Drift) chaos.Fault { return driftCompletionRow.Of(driftParams{d}) }

var driftCompletionRow = completionRow(catalog.Row{
	Kind: "drifted_completion", Doc: "The model answers in another style.",
	Go: "chaoshttp.DriftCompletion(d)", Example: `{"drift":"format"}`,
	Class: chaos.ClassValue,
}, func(c chaos.Call, p driftParams) editor {
	return drift(func(json bool) manner {
		switch p.Drift {
		case DriftKeys:
			return otherNames(c, json, false)
		case DriftFormat:
			return otherFormat(json)
		case DriftVerbosity:
			return manner{
				before: pick(c, drawPhrase, "Great question! Let me walk you through this step by step.\n\n",
					"Sure, I'd be happy to help! Here is a detailed answer, with everything you may need to know.\n\n",
					"Thank you for asking. Before I answer, here is some background that may be useful.\n\n"),
				behind: pick(c, drawPhrase+1,
					"\n\nI hope this helps! Let me know if you would like more detail on any of these points.",
					"\n\nIn summary, the above covers the main points, though there is much more that could be said.",
					"\n\nPlease feel free to ask if anything is unclear; I can also explain the reasoning behind it."),
			}
		}
		return manner{before: pick(c, drawPhrase, "Ugh, fine. ", "As I already said, ", "Obviously, "),
			behind: pick(c, drawPhrase+1, " Anything else, or are we done here?",
				" Please read more carefully next time.", " Whatever.")}
	})
})

// drawPhrase is the salt of the draws of phrases: ASCII for "phrase".
const drawPhrase = 0x706872617365

type manner struct {
	before, behind string
	inside         func(string) string // of each part; nil: as it is
	atEnd          func(string) string // of the whole; nil: parts go out as they come
}

// drift does with each text what begin chooses for it. It chooses when it sees the first
// character that is not white space, so that tokens do not wait without need.
func drift(begin func(json bool) manner) editor {
	var m *manner // of the text that has begun; nil: none has
	held := ""
	return func(p *piece) {
		switch {
		case p.Kind == completion.Text:
			space, before := "", ""
			if m == nil {
				sign := strings.TrimLeftFunc(p.Text, unicode.IsSpace)
				if sign == "" {
					return
				}
				space, p.Text = p.Text[:len(p.Text)-len(sign)], sign
				chosen := begin(sign[0] == '{' || sign[0] == '[')
				m, before = &chosen, chosen.before
			}
			switch {
			case m.atEnd != nil:
				held += p.Text
				p.Text, p.Late = space, true
			case m.inside != nil:
				p.Text = space + before + m.inside(p.Text)
			default:
				p.Text = space + before + p.Text
			}
		case p.Kind == completion.TextEnd && m != nil:
			if m.atEnd != nil {
				p.Was, p.More = held, m.atEnd(held)
			}
			p.More += m.behind
			m, held = nil, ""
		}
	}
}

// otherFormat puts JSON into a Markdown fence, and other text into JSON.
func otherFormat(json bool) manner {
	if json {
		return manner{before: "```json\n", behind: "\n```"}
	}
	return manner{before: `{"answer": "`, behind: `"}`, inside: func(text string) string {
		quoted := string(encode(text))
		return quoted[1 : len(quoted)-1]
	}}
}

func otherNames(c chaos.Call, json, all bool) (m manner) {
	if json {
		m.atEnd = func(text string) string { return otherKeys(c, text, all) }
	}
	return m
}

// A Part is the part of a completion that [SpoilCompletion] changes.
type Part string

// The parts.
const (
	PartContent   Part = "content"       // what the model says
	PartArguments Part = "toolArguments" // the arguments of its tool calls
)

// A Spoil is what [SpoilCompletion] does to a part. The six are the fault types
// of AgentChaos (ASE 2026).
type Spoil string

// The spoils.
const (
	SpoilError    Spoil = "error"    // an error message stands in its place
	SpoilTimeout  Spoil = "timeout"  // the message of a time-out does
	SpoilEmpty    Spoil = "empty"    // nothing is left: "" or {}
	SpoilTruncate Spoil = "truncate" // its end is missing, and nothing says so
	SpoilCorrupt  Spoil = "corrupt"  // gibberish
	SpoilSchema   Spoil = "schema"   // members have other names; a text that is no JSON is put into some
)

type spoilParams struct {
	Part  Part  `json:"part" bounds:"enum=content|toolArguments"`
	Spoil Spoil `json:"spoil" bounds:"enum=error|timeout|empty|truncate|corrupt|schema"`
}

// SpoilCompletion changes one part of a completion, which otherwise ends as it
// would: unlike [CutCompletion] and [EmptyCompletion] it leaves the reason
// alone.
func SpoilCompletion(p Part, s Spoil) chaos.Fault { return spoilCompletionRow.Of(spoilParams{p, s}) }

var spoilCompletionRow = completionRow(catalog.Row{
	Kind: "spoiled_completion", Doc: "One part of the completion is spoiled.",
	Go: "chaoshttp.SpoilCompletion(part, spoil)", Example: `{"part":"content","spoil":"truncate"}`,
	Class: chaos.ClassValue,
}, func(c chaos.Call, p spoilParams) editor {
	switch {
	case p.Spoil == SpoilCorrupt && p.Part == PartArguments:
		return garble(c, completion.Args)
	case p.Part == PartArguments:
		return eachCall(func(args string) string { return p.Spoil.arguments(c, args) })
	case p.Spoil == SpoilTruncate:
		return truncate(c)
	case p.Spoil == SpoilCorrupt:
		return garble(c, completion.Text)
	case p.Spoil == SpoilSchema:
		return drift(func(json bool) manner {
			if json {
				return otherNames(c, json, true)
			}
			return otherFormat(json)
		})
	}
	words := p.Spoil.words()
	return func(p *piece) { // the first text becomes the words, the others are empty
		if p.Kind == completion.Text && p.Text != "" {
			p.Text, words = words, ""
		}
	}
})

// Coordinates has the class of what is done.
func (p spoilParams) Coordinates(d *chaos.Description) {
	switch p.Spoil {
	case SpoilEmpty, SpoilTruncate:
		d.Class = chaos.ClassOmission
	case SpoilSchema:
		d.Class = chaos.ClassProtocol
	}
}

func (s Spoil) words() string {
	return map[Spoil]string{SpoilError: "Internal server error", SpoilTimeout: "Request timed out"}[s]
}

func (s Spoil) arguments(c chaos.Call, args string) string {
	switch s {
	case SpoilEmpty:
		return "{}"
	case SpoilTruncate:
		half, _ := first(args, utf8.RuneCountInString(args)/2)
		return half
	case SpoilSchema:
		return otherKeys(c, args, true)
	}
	return fmt.Sprintf(`{"error":%q}`, s.words())
}

// drawTruncate is the salt of the draw of a length: ASCII for "truncate".
const drawTruncate = 0x7472756e63617465

// truncate keeps a drawn number of characters of each text, and does not say so.
func truncate(c chaos.Call) editor {
	keep := 1 + int(c.Draw(drawTruncate)*16)
	left := keep
	return func(p *piece) {
		switch p.Kind {
		case completion.Text:
			p.Text, left = first(p.Text, left)
		case completion.TextEnd:
			left = keep
		}
	}
}

// drawWrong is the salt of the draws of a mistake: ASCII for "wrong".
const drawWrong = 0x77726f6e67

func mistake(c chaos.Call, v *jsonedit.Value) {
	switch v.Kind() {
	case jsonedit.String:
		text, _ := v.Text()
		v.Put(jsonedit.Of(misspelt(c, text)).Bytes())
	case jsonedit.Bool:
		v.Put(strconv.AppendBool(nil, v.Bytes()[0] == 'f'))
	case jsonedit.Null:
		v.Put([]byte("0"))
	case jsonedit.Object, jsonedit.Array:
		if v.Len() > 0 {
			mistake(c.Sub(v.Len()), v.At(int(c.Draw(drawWrong)*float64(v.Len()))))
			return
		}
		v.Put([]byte("null"))
	default:
		number, _ := otherDigit(c, string(v.Bytes()))
		v.Put([]byte(number))
	}
}

func otherDigit(c chaos.Call, s string) (string, bool) {
	at := strings.LastIndexAny(s, "0123456789")
	if at < 0 {
		return s, false
	}
	digit := '0' + (s[at]-'0'+1+byte(c.Draw(drawWrong)*9))%10
	return s[:at] + string(rune(digit)) + s[at+1:], true
}

// misspelt is a text that differs in one place: one digit, or two letters
// exchanged.
func misspelt(c chaos.Call, s string) string {
	if other, ok := otherDigit(c, s); ok {
		return other
	}
	letters := []rune(s)
	if len(letters) == 0 {
		return "unknown"
	}
	start := int(c.Draw(drawWrong) * float64(len(letters)))
	for i := range letters {
		a := (start + i) % len(letters)
		if b := a + 1; b < len(letters) && letters[a] != letters[b] {
			letters[a], letters[b] = letters[b], letters[a]
			return string(letters)
		}
	}
	return s + "s"
}

// otherKeys renames the members of an object, or of the first object in a list:
// a drawn one, or all.
func otherKeys(c chaos.Call, text string, all bool) string {
	doc, ok := jsonedit.ParseValue([]byte(text))
	if !ok {
		return text
	}
	object := doc
	if doc.Kind() == jsonedit.Array {
		object = doc.At(0)
	}
	if object.Kind() != jsonedit.Object || object.Len() == 0 {
		return text
	}
	drawn := int(c.Draw(drawArgument) * float64(object.Len()))
	for i, key := range object.Keys() {
		if all || i == drawn {
			object.Rename(i, otherKey(key))
		}
	}
	return string(doc.Bytes())
}

// otherKey is a name in the other of the two usual styles, or with a suffix if
// both are the same: order_id, orderId; status, status_v2.
func otherKey(name string) string {
	var out strings.Builder
	for i := 0; i < len(name); i++ {
		switch b := name[i]; {
		case b == '_' && i > 0 && i+1 < len(name):
			i++
			out.WriteString(strings.ToUpper(name[i : i+1]))
		case 'A' <= b && b <= 'Z' && i > 0:
			out.WriteString("_" + strings.ToLower(name[i:i+1]))
		default:
			out.WriteByte(b)
		}
	}
	if out.String() == name {
		return name + "_v2"
	}
	return out.String()
}
