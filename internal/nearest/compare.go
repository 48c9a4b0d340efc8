package nearest

import (
	"bytes"
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

// Compare lists the places where a recorded document differs from the asked one. A value that only one of them has is
// one place, however large it is. Lists are compared element by element.
func Compare(asked, recorded Document) Differences {
	var c comparison
	for _, n := range asked.Names {
		c.names(n.Label, []byte(n.Text), textOf(recorded.Names, n.Label))
	}
	for _, n := range recorded.Names {
		if textOf(asked.Names, n.Label) == nil {
			c.names(n.Label, nil, []byte(n.Text))
		}
	}
	c.bodies(asked.Body, recorded.Body)
	return c.render()
}

func textOf(names []Name, label string) []byte {
	for _, n := range names {
		if n.Label == label {
			return []byte(n.Text)
		}
	}
	return nil
}

// A pair is a place before it is shown. A side without a value is nil.
type pair struct {
	pointer         string
	asked, recorded []byte
	text            bool // these are texts; otherwise they are JSON
}

type comparison struct {
	pairs []pair
	more  int
	at    []byte // the pointer to the values that are compared
}

func (c *comparison) names(label string, asked, recorded []byte) {
	if !bytes.Equal(asked, recorded) || (asked == nil) != (recorded == nil) {
		c.add(pair{label, asked, recorded, true})
	}
}

func (c *comparison) add(p pair) {
	if len(c.pairs) == places {
		c.more++
		return
	}
	c.pairs = append(c.pairs, p)
}

func (c *comparison) bodies(asked, recorded []byte) {
	switch {
	case len(asked) == 0 && len(recorded) == 0:
	case len(asked) == 0:
		c.add(pair{pointer: whole, recorded: recorded})
	case len(recorded) == 0:
		c.add(pair{pointer: whole, asked: asked})
	default:
		before := len(c.pairs) + c.more
		c.values(tree(asked), tree(recorded), 0, 0)
		// The trees may be equal where the bodies are not: of bytes that are no text, or of a member that is there
		// twice.
		if len(c.pairs)+c.more == before && !jsonhash.Same(asked, recorded) {
			c.add(pair{whole, asked, recorded, true})
		}
	}
}

const whole = "(whole)"

// tree parses a body. Text that is not JSON is one string.
func tree(body []byte) *jsonedit.Doc {
	if d, ok := jsonedit.Parse(body); ok {
		return d
	}
	d, _ := jsonedit.Parse(jsonedit.Quote(string(body)))
	return d
}

func (c *comparison) pointer() string {
	if len(c.at) == 0 {
		return whole
	}
	return string(c.at)
}

// below runs f with the pointer to a child.
func (c *comparison) below(name string, f func()) {
	n := len(c.at)
	c.at = append(append(c.at, '/'), pointerEscapes.Replace(name)...)
	f()
	c.at = c.at[:n]
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func (c *comparison) values(a, r *jsonedit.Doc, i, j int) {
	kind := a.Kind(i)
	switch {
	case kind != r.Kind(j) || kind != jsonedit.Object && kind != jsonedit.Array:
		c.scalars(a, r, i, j)
	case kind == jsonedit.Object:
		c.objects(a, r, i, j)
	default:
		c.arrays(a, r, i, j)
	}
}

func (c *comparison) scalars(a, r *jsonedit.Doc, i, j int) {
	x, y := a.Raw(i), r.Raw(j)
	switch {
	case jsonhash.Same(x, y):
	case a.Kind(i) == jsonedit.String && r.Kind(j) == jsonedit.String:
		c.add(pair{c.pointer(), []byte(a.String(i)), []byte(r.String(j)), true})
	default:
		c.add(pair{c.pointer(), x, y, false})
	}
}

func (c *comparison) objects(a, r *jsonedit.Doc, i, j int) {
	mine, theirs := members(a, i), members(r, j)
	for _, child := range a.Children(i) {
		name := a.Name(child)
		if mine[name] != child {
			continue // of several members with one name the last counts
		}
		c.below(name, func() {
			if other, ok := theirs[name]; ok {
				c.values(a, r, child, other)
			} else {
				c.add(pair{pointer: c.pointer(), asked: a.Raw(child)})
			}
		})
	}
	for _, child := range r.Children(j) {
		name := r.Name(child)
		if _, ok := mine[name]; !ok && theirs[name] == child {
			c.below(name, func() { c.add(pair{pointer: c.pointer(), recorded: r.Raw(child)}) })
		}
	}
}

func members(d *jsonedit.Doc, object int) map[string]int {
	m := make(map[string]int)
	for _, child := range d.Children(object) {
		m[d.Name(child)] = child
	}
	return m
}

func (c *comparison) arrays(a, r *jsonedit.Doc, i, j int) {
	mine, theirs := a.Children(i), r.Children(j)
	for n := range max(len(mine), len(theirs)) {
		c.below(strconv.Itoa(n), func() {
			switch {
			case n >= len(mine):
				c.add(pair{pointer: c.pointer(), recorded: r.Raw(theirs[n])})
			case n >= len(theirs):
				c.add(pair{pointer: c.pointer(), asked: a.Raw(mine[n])})
			default:
				c.values(a, r, mine[n], theirs[n])
			}
		})
	}
}

// render shows the pairs in the columns that their pointers leave.
func (c *comparison) render() Differences {
	d := Differences{More: c.more}
	for _, p := range c.pairs {
		d.Places = append(d.Places, Place{Pointer: clipFront(Printable(p.pointer), placeColumn)})
	}
	room := columns - 2*indent - d.pointerColumns()
	for i, p := range c.pairs {
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
		return words(string(p.recorded), string(p.asked), room)
	}
	return change(p.only(p.recorded, room), p.only(p.asked, room), room)
}

// only shows the beginning of one value.
func (p pair) only(value []byte, room int) string {
	var b bytes.Buffer
	if !p.text && json.Compact(&b, value) == nil {
		value = b.Bytes()
	}
	return Printable(string(value[:min(len(value), room*utf8.UTFMax)]))
}

// clip returns the first columns of s, with an ellipsis as the last one if it is longer.
func clip(s string, most int) string {
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// clipFront is clip from the end.
func clipFront(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return "…" + string(r[len(r)-most+1:])
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
