package lies

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
	"github.com/shakedown-go/shakedown/internal/jsonpath"
)

// edit applies one lie to one result. It holds the document, and the changes made so
// far.
type edit struct {
	call      chaos.Call
	doc       *jsonedit.Doc
	plain     bool // the result is a text that is no JSON; doc is that text, quoted
	addressed bool // a path led here, so the user means this very place

	edits   []jsonedit.Edit
	changes []chaos.Change
	whole   []byte // in place of the result, JSON or not; nil: the edits count
	why     string // why nothing was changed, where there is more to say than that nothing suits
}

// Salts of the draws. Each is the first of a range: the node is added.
const (
	saltSpot   = 0x6c69_0000_0000_0000 // which place
	saltChoice = 0x6c69_0001_0000_0000 // what becomes of it; steps of saltStep for further draws
	saltStep   = 1 << 32
)

// draw is the k-th draw for node i, in [0,1).
func (e *edit) draw(i, k int) float64 {
	return e.call.Draw(saltChoice + uint64(k)*saltStep + uint64(i))
}

// pick is the k-th draw for node i, among n.
func (e *edit) pick(i, k, n int) int { return int(e.draw(i, k) * float64(n)) }

// applyToOne applies the lie at one of the best places. If nothing changes
// there, it tries the next, so that a lie is delivered if it can be.
func (e *edit) applyToOne(rank func(*edit, int) int, apply func(*edit, int) bool) bool {
	var spots [maxRank + 1][]int
	for i := range e.doc.Nodes {
		r := rank(e, i)
		spots[r] = append(spots[r], i)
	}
	for _, list := range spots[1:] {
		first := int(e.call.Draw(saltSpot) * float64(len(list)))
		for k := range list {
			if apply(e, list[(first+k)%len(list)]) {
				return true
			}
		}
	}
	return false
}

// find returns the nodes that the paths name, in the order of the document,
// without those below another one.
func (e *edit) find(paths []*jsonpath.Path) []int {
	var nodes []int
	for _, p := range paths {
		nodes = append(nodes, e.doc.Find(p)...)
	}
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	end := int32(0)
	return slices.DeleteFunc(nodes, func(i int) bool {
		below := int32(i) < end
		end = max(end, e.doc.Nodes[i].Next)
		return below
	})
}

// replace gives node i another value. It returns false if the value is the
// same, whatever its spelling.
func (e *edit) replace(i int, raw []byte) bool {
	before := e.doc.Raw(i)
	if jsonhash.Same(before, raw) {
		return false
	}
	e.edits = append(e.edits, e.doc.Replace(i, raw))
	e.changed(e.path(i), before, raw)
	return true
}

// remove takes nodes out of their lists and objects.
func (e *edit) remove(nodes ...int) bool {
	edits := e.doc.Remove(nodes...)
	if len(edits) == 0 {
		return false
	}
	for _, i := range nodes {
		e.changed(e.path(i), e.doc.Raw(i), nil)
	}
	e.edits = append(e.edits, edits...)
	return true
}

// rename gives a member another name.
func (e *edit) rename(i int, name string) bool {
	if name == e.doc.Name(i) {
		return false
	}
	e.edits = append(e.edits, e.doc.Rename(i, name))
	e.changed(e.path(i), jsonedit.Quote(e.doc.Name(i)), jsonedit.Quote(name))
	return true
}

// insert adds a member or an element to the end.
func (e *edit) insert(container int, name string, raw []byte) bool {
	key := any(name)
	if e.doc.Kind(container) == jsonedit.Array {
		key = len(e.doc.Children(container))
	}
	at := jsonpath.Match{Keys: []any{key}}.Location()[1:]
	e.edits = append(e.edits, e.doc.Insert(container, name, raw))
	e.changed(cmp.Or(e.path(container), "$")+at, nil, raw)
	return true
}

// insertBefore adds an element before another one. Several calls add in their
// order.
func (e *edit) insertBefore(element int, raw []byte) bool {
	start := int(e.doc.Nodes[element].Start)
	e.edits = append(e.edits, jsonedit.Edit{From: start, To: start, With: append(slices.Clone(raw), ',')})
	e.changed(e.path(element), nil, raw)
	return true
}

// arrange gives list i the given elements of its own, in that order.
func (e *edit) arrange(i int, elements []int) bool {
	return e.replace(i, e.doc.Arrange(i, elements))
}

// replaceAll replaces the text of the whole result.
func (e *edit) replaceAll(raw []byte) bool {
	if string(e.doc.Text) == string(raw) {
		return false
	}
	e.whole = raw
	e.changed("", e.doc.Text, raw)
	return true
}

// path returns the path of a node; that of the result is empty, as in events.
func (e *edit) path(i int) string {
	if i == 0 {
		return ""
	}
	return e.doc.Path(i)
}

func (e *edit) changed(path string, before, after []byte) {
	ch := chaos.Change{Path: path, Before: shown(before), After: shown(after)}
	if len(after) > maxShown { // its middle is not shown, and may hold what Leaks looks for
		if token := []byte(canary(e.call)); bytes.Contains(after, token) && !bytes.Contains(ch.After, token) {
			ch.After = excerpt(after, string(token)+" … ")
		}
	}
	e.changes = append(e.changes, ch)
}

// maxShown bounds, in bytes, what an event keeps of a value: a lie about a
// large document must not make the log of a run as large as all its results.
const maxShown = 4096

// shown is a value as an event keeps it: a copy that is JSON. A long value
// becomes a string with its beginning and its end.
func shown(raw []byte) json.RawMessage {
	if raw == nil {
		return nil
	}
	if !utf8.Valid(raw) { // an event is written as JSON in UTF-8
		raw = []byte(string([]rune(string(raw))))
	}
	if len(raw) > maxShown {
		return excerpt(raw, "")
	}
	if json.Valid(raw) {
		return slices.Clone(raw)
	}
	return quoteJSON(string(raw))
}

// excerpt is the beginning and the end of a long value, with middle between
// them.
func excerpt(raw []byte, middle string) json.RawMessage {
	if !utf8.Valid(raw) {
		raw = []byte(string([]rune(string(raw))))
	}
	head, tail := maxShown/2, len(raw)-maxShown/2
	for head > 0 && !utf8.RuneStart(raw[head]) {
		head--
	}
	for tail < len(raw) && !utf8.RuneStart(raw[tail]) {
		tail++
	}
	return quoteJSON(fmt.Sprintf("%s … %d bytes … %s%s", raw[:head], tail-head, middle, raw[tail:]))
}

func quoteJSON(s string) json.RawMessage {
	doc, _ := json.Marshal(s) // a string always has JSON
	return doc
}

// text returns the changed document.
func (e *edit) text() []byte {
	if e.whole != nil {
		return e.whole
	}
	return e.doc.Apply(e.edits...)
}

// finish returns the changed result and declares the changes. If there are
// none, it notes why and returns the original.
func (e *edit) finish(ctx context.Context, in document, kind, wants string) (any, error) {
	if len(e.changes) == 0 {
		if e.why == "" {
			e.why = "the result has no " + wants + " that would change"
		}
		chaos.Note(ctx, kind+": "+e.why)
		return in.original, nil
	}
	result, why := in.close(e.text())
	if why != "" {
		chaos.Note(ctx, kind+": "+why)
		return in.original, nil
	}
	chaos.Changed(ctx, e.changes...)
	return result, nil
}
