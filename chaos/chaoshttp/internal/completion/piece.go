package completion

import (
	"bytes"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// An Editor is one fault of one completion: it changes pieces. A document has a
// text in one piece, a stream in many. An editor must produce the same text in
// the end, however it is split.
type Editor func(p *piece)

type pieceKind int

const (
	pieceText    pieceKind = iota // a text, or its next part
	pieceTextEnd                  // no more of this text comes
	pieceCall                     // a tool call begins: the tool's name
	pieceArgs                     // its arguments, a JSON text, or their next part
	pieceCallEnd                  // no more arguments come
	pieceFinish                   // nothing more comes: the reason
)

// The reasons of a pieceFinish, in words that are no provider's. One that a
// form has no word for stays as it is on the wire.
const (
	reasonStop    = "stop"
	reasonCalls   = "calls"
	reasonLength  = "length"
	reasonFilter  = "filter"
	reasonRefusal = "refusal"
)

type piece struct {
	kind pieceKind
	text string // what an editor changes
	// drop takes a whole call out, at its pieceCall.
	drop bool
	// refusal says of a text that it is one, for providers that keep them apart.
	refusal bool
	// late says that an editor keeps some of the text for later: that alone is no change.
	late bool
	// more is, at an end, what is to come before it: the rest of a text or of
	// arguments, at a pieceFinish a refusal; was is what was kept of the original.
	more, was string
}

// editOne shows an editor a piece.
func editOne(ed Editor, kind pieceKind, text string) piece {
	p := piece{kind: kind, text: text}
	ed(&p)
	return p
}

// editWhole edits a text, or arguments, that come in one piece.
func editWhole(ed Editor, kind pieceKind, text string) piece {
	p := editOne(ed, kind, text)
	p.text, p.late = p.text+editOne(ed, endOf(kind), "").more, false
	return p
}

// endOf is the piece that ends texts or arguments.
func endOf(kind pieceKind) pieceKind {
	if kind == pieceArgs {
		return pieceCallEnd
	}
	return pieceTextEnd
}

// changeLog collects what was changed. Its paths begin with the root: "$" for a
// document, "$[3]" for the fourth event of a stream.
type changeLog struct {
	root string
	list []chaos.Change
}

// note adds a change, unless there is none.
func (l *changeLog) note(path string, before, after []byte) {
	if !bytes.Equal(before, after) {
		l.list = append(l.list,
			chaos.Change{Path: l.root + path, Before: bytes.Clone(before), After: bytes.Clone(after)})
	}
}

// text sets a text of an object; before is what the caller would have seen.
func (l *changeLog) text(in *jsonedit.Value, name, path string, p piece, before string) {
	if p.text == before {
		return
	}
	if !p.late || p.refusal {
		l.note(path+"."+name, quoted(before), quoted(p.text))
	}
	in.SetText(name, p.text)
}

// part edits a text of an object, or its next part.
func (l *changeLog) part(in *jsonedit.Value, name, path string, ed Editor, kind pieceKind) piece {
	was, _ := in.Get(name).Text()
	p := editOne(ed, kind, was)
	if !p.drop {
		l.text(in, name, path, p, was)
	}
	return p
}

// each edits the elements of a list, and removes those that do not stay. It returns how
// many those are.
func (l *changeLog) each(list *jsonedit.Value, path string, edit func(v *jsonedit.Value, path string) bool) (gone int) {
	for i := 0; list.Kind() == jsonedit.Array && i < list.Len(); {
		v, at := list.At(i), index(path, i+gone)
		if edit(v, at) {
			i++
			continue
		}
		l.note(at, v.Bytes(), nil)
		list.Remove(i)
		gone++
	}
	return gone
}

// add adds an element to a list from which some were removed.
func (l *changeLog) add(list *jsonedit.Value, path string, gone int, element *jsonedit.Value) {
	l.note(index(path, list.Len()+gone), nil, element.Bytes())
	list.Add(element)
}

// set gives a member a value and notes it.
func (l *changeLog) set(in *jsonedit.Value, name, path string, to *jsonedit.Value) {
	before := bytes.Clone(in.Get(name).Bytes())
	in.Set(name, to)
	l.note(path+"."+name, before, to.Bytes())
}

// kept notes the changes of a text that was held until the end.
func (l *changeLog) kept(path string, p piece) {
	if p.more != p.was {
		l.note(path, quoted(p.was), quoted(p.more))
	}
}

func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// words translates the reasons of a provider.
type words []struct{ wire, reason string }

// read translates a provider's reason into ours; an unknown one stays.
func (w words) read(wire string) string {
	for _, word := range w {
		if word.wire == wire {
			return word.reason
		}
	}
	return wire
}

// write translates a reason into the provider's.
func (w words) write(reason string) string {
	for _, word := range w {
		if word.reason == reason {
			return word.wire
		}
	}
	return reason
}
