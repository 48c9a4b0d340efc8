package nearest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

const (
	places      = 12  // that Differences shows
	columns     = 160 // of a line of them
	placeColumn = 60  // the longest place
	indent      = 2   // before a place, and before its text
)

// Differences are the places where two documents differ.
type Differences struct {
	Places []Place // the first twelve, in the order of the asked document
	More   int     // how many there are besides
}

// A Place is where two documents differ. It has no control characters.
type Place struct {
	// Pointer leads to it (RFC 6901). A label stands for a name, "(whole)" for the whole body.
	Pointer string
	// Text shows both values, "[-recorded-]{+asked+}", or the only one: "only asked: …", "only on the tape: …".
	Text string
}

// String is a line a place, each indented by two spaces and of at most 160 columns.
func (d Differences) String() string {
	var b strings.Builder
	wide := d.pointerColumns()
	for i, p := range d.Places {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strings.Repeat(" ", indent) + p.Pointer)
		b.WriteString(strings.Repeat(" ", wide-utf8.RuneCountInString(p.Pointer)+indent) + p.Text)
	}
	if d.More > 0 {
		b.WriteString("\n" + strings.Repeat(" ", indent) + "and " + strconv.Itoa(d.More) + " more")
	}
	return b.String()
}

func (d Differences) pointerColumns() (wide int) {
	for _, p := range d.Places {
		wide = max(wide, utf8.RuneCountInString(p.Pointer))
	}
	return wide
}

// A pair is a place before it is shown. A side without a value is nil.
type pair struct {
	pointer         string
	asked, recorded []byte // JSON, or a body that is none
	text            bool   // these are strings, and shown without quotes
}

// First returns the first place in which two JSON documents differ, as a JSON pointer (RFC 6901), and the JSON that
// they have there: "nothing" where one has no such member or element.
func First(a, b []byte) (at, first, second string, differ bool) {
	for _, p := range bodies(a, b) {
		value := func(side []byte) string {
			if side == nil {
				return "nothing"
			}
			return string(side)
		}
		return strings.TrimPrefix(p.pointer, whole), value(p.asked), value(p.recorded), true
	}
	return "", "", "", false
}

// Compare lists the places where a recorded document differs from the asked one. A value that only one of them has is
// one place, however large it is. Lists are compared element by element.
func Compare(asked, recorded Document) Differences {
	var pairs []pair
	for _, n := range asked.Names {
		if was := textOf(recorded.Names, n.Label); was == nil || jsonedit.Unquote(was) != n.Text {
			pairs = append(pairs, pair{n.Label, jsonedit.Quote(n.Text), was, true})
		}
	}
	for _, n := range recorded.Names {
		if textOf(asked.Names, n.Label) == nil {
			pairs = append(pairs, pair{n.Label, nil, jsonedit.Quote(n.Text), true})
		}
	}
	return shown(append(pairs, bodies(asked.Body, recorded.Body)...))
}

// textOf is the text of a name as JSON; nil: there is none.
func textOf(names []Name, label string) []byte {
	for _, n := range names {
		if n.Label == label {
			return jsonedit.Quote(n.Text)
		}
	}
	return nil
}

const whole = "(whole)"

func bodies(asked, recorded []byte) []pair {
	if len(asked) == 0 || len(recorded) == 0 {
		p := pair{pointer: whole}
		switch {
		case len(asked) > 0:
			p.asked = asked
		case len(recorded) > 0:
			p.recorded = recorded
		default:
			return nil
		}
		return []pair{p}
	}
	var pairs []pair
	is, was := tree(asked), tree(recorded)
	for d := range jsonedit.Differences(is, was, jsonhash.Same) {
		p := pair{pointer: cmp.Or(jsonedit.PointerTo("", d.At...), whole)}
		if d.A >= 0 {
			p.asked = is.Raw(d.A)
		}
		if d.B >= 0 {
			p.recorded = was.Raw(d.B)
		}
		p.text = d.A >= 0 && d.B >= 0 && is.Kind(d.A) == jsonedit.String && was.Kind(d.B) == jsonedit.String
		pairs = append(pairs, p)
	}
	// The trees may be equal where the bodies are not: of bytes that are no text, or of a member that is there twice.
	if len(pairs) == 0 && !jsonhash.Same(asked, recorded) {
		pairs = []pair{{whole, jsonedit.Quote(string(asked)), jsonedit.Quote(string(recorded)), true}}
	}
	return pairs
}

// tree parses a body. Text that is not JSON is one string.
func tree(body []byte) *jsonedit.Doc {
	if d, ok := jsonedit.Parse(body); ok {
		return d
	}
	d, _ := jsonedit.Parse(jsonedit.Quote(string(body)))
	return d
}

// shown renders the first pairs in the columns that their pointers leave.
func shown(pairs []pair) (d Differences) {
	d.More = max(0, len(pairs)-places)
	pairs = pairs[:len(pairs)-d.More]
	for _, p := range pairs {
		pointer := []rune(Printable(p.pointer))
		if cut := len(pointer) - placeColumn; cut > 0 {
			pointer = append([]rune("…"), pointer[cut+1:]...)
		}
		d.Places = append(d.Places, Place{Pointer: string(pointer)})
	}
	room := columns - 2*indent - d.pointerColumns()
	for i, p := range pairs {
		d.Places[i].Text = clip(p.show(room), room)
	}
	return d
}

func (p pair) show(room int) string {
	switch {
	case p.recorded == nil:
		return "only asked: " + p.only(p.asked, room)
	case p.asked == nil:
		return "only on the tape: " + p.only(p.recorded, room)
	case p.text:
		return change(jsonedit.Unquote(p.recorded), jsonedit.Unquote(p.asked), room)
	}
	return change(p.only(p.recorded, room), p.only(p.asked, room), room)
}

// only shows the beginning of one value.
func (p pair) only(value []byte, room int) string {
	var b bytes.Buffer
	if p.text {
		value = []byte(jsonedit.Unquote(value))
	} else if json.Compact(&b, value) == nil {
		value = b.Bytes()
	}
	return Printable(string(value[:min(len(value), room*utf8.UTFMax)]))
}

// sameStart is how many characters two long values may share before these are cut.
const sameStart = 12

// change shows a recorded text in place of which another was asked. Long ones begin shortly before they differ.
func change(old, now string, room int) string {
	most := max(room/2-len("[--]"), sameStart) // columns of each side
	if len(old) > most || len(now) > most {
		same := 0
		for same < min(len(old), len(now)) && old[same] == now[same] {
			same++
		}
		for range sameStart {
			_, size := utf8.DecodeLastRuneInString(old[:same])
			same -= size
		}
		if same > 0 {
			old, now = "…"+old[same:], "…"+now[same:]
		}
	}
	text := ""
	if old != "" {
		text = "[-" + clip(Printable(clip(old, most)), most) + "-]"
	}
	if now != "" {
		text += "{+" + clip(Printable(clip(now, most)), most) + "+}"
	}
	return text
}

// clip returns the first columns of s, with an ellipsis as the last one if it is longer.
func clip(s string, most int) string {
	column, last := 0, 0
	for i := range s {
		if column == most {
			return s[:last] + "…"
		}
		last = i
		column++
	}
	return s
}

// Printable writes what a terminal would not show, or would obey, as Go escapes.
func Printable(s string) string {
	plain := func(r rune) bool { return unicode.IsPrint(r) && r != utf8.RuneError }
	if strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if plain(r) {
			b.WriteString(s[:n])
		} else {
			quoted := strconv.Quote(s[:n])
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		s = s[n:]
	}
	return b.String()
}
