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

// tale is one lie told about one result: the document, and what has been
// changed in it so far.
type tale struct {
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
func (t *tale) draw(i, k int) float64 {
	return t.call.Draw(saltChoice + uint64(k)*saltStep + uint64(i))
}

// pick is the k-th draw for node i, among n.
func (t *tale) pick(i, k, n int) int { return int(t.draw(i, k) * float64(n)) }

// any tells the lie at one of the best places, and where nothing changes there
// at the next: so a lie is delivered if it can be.
func (t *tale) any(rank func(*tale, int) int, turn func(*tale, int) bool) bool {
	var spots [maxRank + 1][]int
	for i := range t.doc.Nodes {
		r := rank(t, i)
		spots[r] = append(spots[r], i)
	}
	for _, list := range spots[1:] {
		first := int(t.call.Draw(saltSpot) * float64(len(list)))
		for k := range list {
			if turn(t, list[(first+k)%len(list)]) {
				return true
			}
		}
	}
	return false
}

// find returns the places of the paths in the order of the document, without
// those that stand below another one.
func (t *tale) find(paths []*jsonpath.Path) []int {
	var nodes []int
	for _, p := range paths {
		nodes = append(nodes, t.doc.Find(p)...)
	}
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	end := int32(0)
	return slices.DeleteFunc(nodes, func(i int) bool {
		below := int32(i) < end
		end = max(end, t.doc.Nodes[i].Next)
		return below
	})
}

// replace puts another value at node i, and is false if it is the same, if
// perhaps in another spelling.
func (t *tale) replace(i int, raw []byte) bool {
	before := t.doc.Raw(i)
	if t.hidden(i) || jsonhash.Same(before, raw) {
		return false
	}
	t.edits = append(t.edits, t.doc.Replace(i, raw))
	t.changed(t.path(i), before, raw)
	return true
}

// remove takes nodes out of what they stand in.
func (t *tale) remove(nodes ...int) bool {
	nodes = slices.DeleteFunc(slices.Clone(nodes), t.hidden)
	edits := t.withTwins(nodes)
	if len(edits) == 0 {
		return false
	}
	for _, i := range nodes {
		t.changed(t.path(i), t.doc.Raw(i), nil)
	}
	t.edits = append(t.edits, edits...)
	return true
}

// rename gives a member another name.
func (t *tale) rename(i int, name string) bool {
	if name == t.doc.Name(i) || t.hidden(i) {
		return false
	}
	t.edits = append(append(t.edits, t.doc.Remove(t.twins(i)...)...), t.doc.Rename(i, name))
	t.changed(t.path(i), jsonedit.Quote(t.doc.Name(i)), jsonedit.Quote(name))
	return true
}

// insert adds a member or an element to the end.
func (t *tale) insert(container int, name string, raw []byte) bool {
	if t.hidden(container) {
		return false
	}
	key := any(name)
	if t.doc.Kind(container) == jsonedit.Array {
		key = len(t.doc.Children(container))
	}
	at := jsonpath.Match{Keys: []any{key}}.Location()[1:]
	t.edits = append(t.edits, t.doc.Insert(container, name, raw))
	t.changed(cmp.Or(t.path(container), "$")+at, nil, raw)
	return true
}

// before puts another element in front of one; several follow each other.
func (t *tale) before(element int, raw []byte) bool {
	if t.hidden(element) {
		return false
	}
	start := int(t.doc.Nodes[element].Start)
	t.edits = append(t.edits, jsonedit.Edit{From: start, To: start, With: append(slices.Clone(raw), ',')})
	t.changed(t.path(element), nil, raw)
	return true
}

// arrange gives list i other elements of its own, or others in their order.
func (t *tale) arrange(i int, elements []int) bool {
	return t.replace(i, t.doc.Arrange(i, elements))
}

// become puts another text in the place of the whole result.
func (t *tale) become(raw []byte) bool {
	if string(t.doc.Text) == string(raw) {
		return false
	}
	t.whole = raw
	t.changed("", t.doc.Text, raw)
	return true
}

// path of a node; that of the result is empty, as events have it.
func (t *tale) path(i int) string {
	if i == 0 {
		return ""
	}
	return t.doc.Path(i)
}

func (t *tale) changed(path string, before, after []byte) {
	ch := chaos.Change{Path: path, Before: shown(before), After: shown(after)}
	if len(after) > maxShown { // its middle is not shown, and may hold what Leaks looks for
		if token := []byte(canary(t.call)); bytes.Contains(after, token) && !bytes.Contains(ch.After, token) {
			ch.After = excerpt(after, string(token)+" … ")
		}
	}
	t.changes = append(t.changes, ch)
}

// maxShown bounds what an event keeps of a value: a lie about a large document
// must not make the log of a run as large as all its results.
const maxShown = 4096

// shown is a value as the event keeps it: JSON of its own. Of a long one it is
// the beginning and the end, as a string.
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

// excerpt is the beginning and the end of a long value, and what must be shown
// of the middle.
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

// text is what became of the document.
func (t *tale) text() []byte {
	if t.whole != nil {
		return t.whole
	}
	return t.doc.Apply(t.edits...)
}

// end hands over what became of the result, and declares it.
func (t *tale) end(ctx context.Context, p paper, kind, wants string) (any, error) {
	if len(t.changes) == 0 {
		if t.why == "" {
			t.why = "the result has no " + wants + " that would change"
		}
		chaos.Note(ctx, kind+": "+t.why)
		return p.original, nil
	}
	result, why := p.close(t.text())
	if why != "" {
		chaos.Note(ctx, kind+": "+why)
		return p.original, nil
	}
	chaos.Changed(ctx, t.changes...)
	return result, nil
}
