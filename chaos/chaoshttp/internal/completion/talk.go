package completion

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// A talk edits one choice: of a document, or what has come of it in a stream.
type talk struct {
	*form
	edit  Editor
	n     int // of the choice
	log   *changeLog
	calls bool // there is a tool call
	gone  int  // elements that were removed

	// Of a stream:
	doc      *jsonedit.Value   // the event; nil: the choice is that of a document
	before   []*jsonedit.Value // events that are to come before it
	elements map[int]*element
	open     *streamText // that may go on
}

// An element of the first list of a message, by its index on the wire, or a call of a chunk.
type element struct {
	known bool // it is a text or a call, or its beginning was not seen
	kind  Kind // of what it has
	gone  bool // it was dropped: later ones move up, since clients expect no gap
	name  string
	texts map[int]*streamText
}

// A streamText is a text, or the arguments of a call, that comes in parts.
type streamText struct {
	element int
	kind    Kind   // Text or Args
	said    string // to the caller
	refusal bool
	path    string          // of its last part
	last    *jsonedit.Value // the event with it
}

func newTalk(f *form, fresh func(i int) Editor, n int, log *changeLog) *talk {
	return &talk{form: f, edit: fresh(n), n: n, log: log, elements: map[int]*element{}}
}

func (s *talk) one(kind Kind, text string) Piece {
	p := Piece{Kind: kind, Text: text}
	s.edit(&p)
	return p
}

// whole edits a text, or arguments, that come in one piece.
func (s *talk) whole(kind Kind, text string) Piece {
	p := s.one(kind, text)
	p.Text, p.Late = p.Text+s.one(endOf(kind), "").More, false
	return p
}

func endOf(kind Kind) Kind {
	if kind == Args {
		return CallEnd
	}
	return TextEnd
}

// choice edits a choice of a document or a chunk.
func (s *talk) choice(choice *jsonedit.Value, path string) {
	name := s.message
	if s.doc != nil {
		name = s.next
	}
	message, at := inside(choice, name, path)
	for i := range s.lists {
		s.list(message, &s.lists[i], at)
	}
	p, ok := s.stop(choice, path)
	switch {
	case !ok || p.More == "":
	case s.doc != nil:
		s.log.kept(at+".refusal", p)
		s.before = append(s.before, s.chunk(s.doc, map[string]any{"refusal": p.More}))
	default:
		s.add(message, at, p.More)
	}
}

func (s *talk) list(in *jsonedit.Value, l *list, path string) {
	if l.name == "" {
		s.part(in, l.kinds[""], path)
		return
	}
	elements, gone := in.Get(l.name), 0
	for i := 0; elements.Kind() == jsonedit.Array && i < elements.Len(); {
		v, at := elements.At(i), index(path+"."+l.name, i+gone)
		if p, known := l.kind(v); !known || s.part(v, p, at) {
			i++
			continue
		}
		s.log.note(at, v.Bytes(), nil)
		elements.Remove(i)
		gone++
	}
	if s.gone += gone; gone > 0 && elements.Len() == 0 && l.omitted {
		in.Delete(l.name)
	}
}

func (l *list) kind(v *jsonedit.Value) (p part, known bool) {
	if p, known = l.kinds[typeOf(v)]; !known {
		p, known = l.kinds[""]
	}
	return p, known
}

// part edits a part, and reports whether it stays.
func (s *talk) part(v *jsonedit.Value, p part, path string) (stays bool) {
	if p.inner != nil {
		s.list(v, p.inner, path)
		return true
	}
	if p.args != "" {
		return s.call(v, p, path)
	}
	before, ok := v.Get(p.text).Text()
	switch {
	case !ok:
	case s.doc == nil:
		edited := s.whole(Text, before)
		if p.drops && edited.Text == "" && before != "" {
			return false
		}
		s.say(v, p.text, edited, before, path)
	case before != "":
		s.grow(s.turn(Text, 0), v, p.text, path)
	}
	return true
}

// call edits a call or, of a chunk, what has come of one.
func (s *talk) call(v *jsonedit.Value, p part, path string) (stays bool) {
	n := v.Get("index").Int(0)
	v, path = inside(v, p.call, path)
	if name, _ := v.Get("name").Text(); name != "" || s.doc == nil {
		s.calls = true
		s.close(false)
		s.elements[n] = &element{gone: s.name(v, path).Drop}
	}
	if b := s.elements[n]; b != nil && b.gone {
		return false
	}
	args, ok := v.Get(p.args).Text()
	switch {
	case s.doc != nil:
		if t := s.turn(Args, n); ok {
			s.grow(t, v, p.args, path)
		}
	case p.value:
		args = string(v.Get(p.args).Bytes())
		if edited := s.whole(Args, args); edited.Text != args {
			s.log.set(v, p.args, path, asValue(edited.Text))
		}
	default:
		s.log.text(v, p.args, path, s.whole(Args, args), args)
	}
	return true
}

func (s *talk) name(v *jsonedit.Value, path string) Piece {
	was, _ := v.Get("name").Text()
	p := s.one(Call, was)
	if !p.Drop {
		s.log.text(v, "name", path, p, was)
	}
	return p
}

// asValue is the value of arguments that are one. What is no JSON becomes a string.
func asValue(args string) *jsonedit.Value {
	if json.Valid([]byte(args)) {
		return jsonedit.Of(json.RawMessage(args))
	}
	return jsonedit.Of(args)
}

// say writes an edited text where the form has it. Of an event with a type, the type says
// that it is a refusal.
func (s *talk) say(in *jsonedit.Value, name string, p Piece, before, path string) {
	if p.Refusal && s.refuse != nil && (s.events == nil || s.doc == nil) {
		s.refuse(in, s.log, path, p.Text)
		return
	}
	s.log.text(in, name, path, p, before)
}

// add adds a refusal to a message of which it is all.
func (s *talk) add(message *jsonedit.Value, path, words string) {
	if s.refusal == "" {
		s.refuse(message, s.log, path, words)
		return
	}
	l, refusal := s.lists[0].name, built(s.refusal, quoted(words))
	s.log.note(index(path+"."+l, message.Get(l).Len()+s.gone), nil, refusal.Bytes())
	message.Get(l).Add(refusal)
}

// stop edits the reason. ok is false if there is none.
func (s *talk) stop(in *jsonedit.Value, path string) (p Piece, ok bool) {
	if s.finish != nil {
		return s.finish(s, in, path)
	}
	wire, ok := in.Get(s.reason).Text()
	if !ok {
		return Piece{}, false
	}
	s.close(false)
	reason := wire
	for _, known := range []string{Stopped, Called, TooLong, Filtered, Refused} {
		if s.words[known] == wire {
			reason = known
			break
		}
	}
	if p = s.one(Finish, reason); p.Text != reason {
		wire = cmp.Or(s.words[p.Text], p.Text)
		s.log.set(in, s.reason, path, jsonedit.Of(wire))
		if s.stopped != nil {
			s.stopped(in, s.log, path, wire)
		}
	}
	return p, true
}

// inside is a member of an object, and its path; "": the object itself.
func inside(in *jsonedit.Value, name, path string) (v *jsonedit.Value, at string) {
	if name == "" {
		return in, path
	}
	return in.Get(name), path + "." + name
}

// turn is the open text, where it is of that kind, or a new one.
func (s *talk) turn(kind Kind, n int) *streamText {
	if s.open == nil || s.open.kind != kind {
		s.close(false)
		s.open = &streamText{element: n, kind: kind}
	}
	return s.open
}

func (s *talk) grow(t *streamText, in *jsonedit.Value, name, path string) {
	was, _ := in.Get(name).Text()
	p := s.one(t.kind, was)
	t.said, t.refusal = t.said+p.Text, t.refusal || p.Refusal
	s.open, t.path, t.last = t, path+"."+name, s.doc
	s.say(in, name, p, was, path)
}

func (s *talk) close(broken bool) {
	if s.open != nil {
		s.end(s.open, broken)
	}
}

// end ends a text, and puts what is still to be said of it before the event. One that broke off is ended
// only if some of it was held.
func (s *talk) end(t *streamText, broken bool) {
	s.open = nil
	p := s.one(endOf(t.kind), "")
	if broken && p.Was == "" {
		return
	}
	s.log.kept(t.path, p)
	if t.said += p.More; p.More == "" {
		return
	}
	var more *jsonedit.Value
	switch {
	case s.delta != nil:
		more = s.delta(t, s.place(t.element), p.More)
	case t.kind == Text:
		more = s.chunk(t.last, map[string]any{s.lists[0].kinds[""].text: p.More})
	default:
		more = s.chunk(t.last, map[string]any{"tool_calls": []any{
			map[string]any{"index": t.element, "function": map[string]any{"arguments": p.More}},
		}})
	}
	s.before = append(s.before, more)
}

// chunk is another chunk of the same completion, with a delta of the choice.
func (s *talk) chunk(like *jsonedit.Value, delta any) *jsonedit.Value {
	chunk, ok := jsonedit.ParseValue(like.Bytes())
	if !ok {
		return nil // it was read as JSON already
	}
	chunk.Delete("usage") // it comes once
	chunk.Set(s.choices, jsonedit.Of([]any{map[string]any{"index": s.n, s.next: delta, s.reason: nil}}))
	return chunk
}

// changeLog collects what was changed. Its paths begin with the root: "$" for a
// document, "$[3]" for the fourth event of a stream.
type changeLog struct {
	root string
	list []chaos.Change
}

func (l *changeLog) note(path string, before, after []byte) {
	if !bytes.Equal(before, after) {
		l.list = append(l.list,
			chaos.Change{Path: l.root + path, Before: bytes.Clone(before), After: bytes.Clone(after)})
	}
}

// text sets a text of an object; before is what the caller would have seen.
func (l *changeLog) text(in *jsonedit.Value, name, path string, p Piece, before string) {
	if p.Text == before {
		return
	}
	if !p.Late || p.Refusal {
		l.note(path+"."+name, quoted(before), quoted(p.Text))
	}
	in.SetText(name, p.Text)
}

// set gives a member a value and notes it.
func (l *changeLog) set(in *jsonedit.Value, name, path string, to *jsonedit.Value) {
	before := bytes.Clone(in.Get(name).Bytes())
	in.Set(name, to)
	l.note(path+"."+name, before, to.Bytes())
}

func (l *changeLog) kept(path string, p Piece) {
	if p.More != p.Was {
		l.note(path, quoted(p.Was), quoted(p.More))
	}
}

func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
