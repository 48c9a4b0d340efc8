package nearest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
	"github.com/shakedown-go/shakedown/internal/text"
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
		pointer := []rune(text.Printed(p.pointer))
		if cut := len(pointer) - placeColumn; cut > 0 {
			pointer = append([]rune("…"), pointer[cut+1:]...)
		}
		d.Places = append(d.Places, Place{Pointer: string(pointer)})
	}
	room := columns - 2*indent - d.pointerColumns()
	for i, p := range pairs {
		d.Places[i].Text = text.PrintedUpTo(p.show(room), room)
	}
	return d
}

func (p pair) show(room int) string {
	switch {
	case p.recorded == nil:
		return "only asked: " + p.only(p.asked)
	case p.asked == nil:
		return "only on the tape: " + p.only(p.recorded)
	case p.text:
		return change(jsonedit.Unquote(p.recorded), jsonedit.Unquote(p.asked), room)
	}
	return change(p.only(p.recorded), p.only(p.asked), room)
}

// only is one value as it is shown.
func (p pair) only(value []byte) string {
	var b bytes.Buffer
	if p.text {
		return jsonedit.Unquote(value)
	} else if json.Compact(&b, value) == nil {
		return b.String()
	}
	return string(value)
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
	shown := ""
	if old != "" {
		shown = "[-" + text.PrintedUpTo(old, most) + "-]"
	}
	if now != "" {
		shown += "{+" + text.PrintedUpTo(now, most) + "+}"
	}
	return shown
}
