package completion

import (
	"encoding/json"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// A talk edits one choice: of a document, or what has come of it in a stream.
type talk struct {
	*form
	Editor
	log   *changeLog
	calls bool // there is a tool call
	gone  int  // elements that were removed

	// Of a stream:
	doc      *jsonedit.Value   // the event; nil: the choice is that of a document
	before   []*jsonedit.Value // events that are to come before it
	elements map[int]*element
	open     *streamText // that may go on
	chunk    func(like *jsonedit.Value, delta any) *jsonedit.Value
}

// An element of the first list of a message, by its index on the wire, or a call of a chunk.
type element struct {
	known bool      // it is a text or a call, or its beginning was not seen
	kind  pieceKind // of what it has
	gone  bool      // it was dropped: later ones move up, since clients expect no gap
	name  string    // of a call
	texts map[int]*streamText
}

// A streamText is a text, or the arguments of a call, that comes in parts.
type streamText struct {
	element int
	kind    pieceKind // pieceText or pieceArgs
	said    string    // to the caller
	refusal bool
	path    string          // of its last part
	last    *jsonedit.Value // the event with it
}

func newTalk(f *form, ed Editor) *talk {
	return &talk{form: f, Editor: ed, elements: map[int]*element{}}
}

// editDocument edits each choice of a document.
func (f *form) editDocument(doc *jsonedit.Value, fresh func(i int) Editor, log *changeLog) {
	edit := func(i int, choice *jsonedit.Value, path string) {
		s := newTalk(f, fresh(i))
		s.log = log
		s.choice(choice, path)
	}
	if f.choices == "" {
		edit(0, doc, "")
	}
	choices := doc.Get(f.choices)
	for i := range choices.Len() {
		edit(i, choices.At(i), index("."+f.choices, i))
	}
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
	case !ok || p.more == "":
	case s.doc != nil:
		s.log.kept(at+".refusal", p)
		s.before = append(s.before, s.chunk(s.doc, map[string]any{"refusal": p.more}))
	default:
		s.add(message, s.log, at, p.more, s.gone)
	}
}

func (s *talk) list(in *jsonedit.Value, l *list, path string) {
	if l.name == "" {
		s.part(in, l.kinds[""], path)
		return
	}
	elements := in.Get(l.name)
	gone := s.log.each(elements, path+"."+l.name, func(v *jsonedit.Value, at string) bool {
		p, known := l.kind(v)
		return !known || s.part(v, p, at)
	})
	if s.gone += gone; gone > 0 && elements.Len() == 0 && l.omitted {
		in.Delete(l.name)
	}
}

// kind is what an element of the list is.
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
	case s.doc != nil:
		if before != "" {
			s.grow(s.turn(pieceText, 0), v, p.text, path)
		}
	default:
		edited := editWhole(s.Editor, pieceText, before)
		if p.drops && edited.text == "" && before != "" {
			return false
		}
		s.say(v, p.text, edited, before, path)
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
		s.elements[n] = &element{gone: s.log.part(v, "name", path, s.Editor, pieceCall).drop}
	}
	if b := s.elements[n]; b != nil && b.gone {
		return false
	}
	args, ok := v.Get(p.args).Text()
	switch {
	case s.doc != nil:
		if t := s.turn(pieceArgs, n); ok {
			s.grow(t, v, p.args, path)
		}
	case p.value:
		args = string(v.Get(p.args).Bytes())
		if edited := editWhole(s.Editor, pieceArgs, args); edited.text != args {
			s.log.set(v, p.args, path, asValue(edited.text))
		}
	default:
		s.log.text(v, p.args, path, editWhole(s.Editor, pieceArgs, args), args)
	}
	return true
}

// asValue is the value of arguments that are one. What is no JSON becomes a string.
func asValue(args string) *jsonedit.Value {
	if json.Valid([]byte(args)) {
		return jsonedit.Of(json.RawMessage(args))
	}
	return jsonedit.Of(args)
}

// say writes an edited text where the form has it.
func (s *talk) say(in *jsonedit.Value, name string, p piece, before, path string) {
	if p.refusal && s.refuse != nil {
		s.refuse(in, s.log, path, p.text)
		return
	}
	s.log.text(in, name, path, p, before)
}

// stop edits the reason. ok is false if there is none.
func (s *talk) stop(in *jsonedit.Value, path string) (p piece, ok bool) {
	if s.finish != nil {
		return s.finish(in, s.Editor, s.calls, s.log, path)
	}
	wire, ok := in.Get(s.reason).Text()
	if !ok {
		return piece{}, false
	}
	s.close(false)
	reason := s.words.read(wire)
	if p = editOne(s.Editor, pieceFinish, reason); p.text != reason {
		p.text = s.words.write(p.text)
		s.log.set(in, s.reason, path, jsonedit.Of(p.text))
		if s.stopped != nil {
			s.stopped(in, s.log, path, p.text)
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
func (s *talk) turn(kind pieceKind, n int) *streamText {
	if s.open == nil || s.open.kind != kind {
		s.close(false)
		s.open = &streamText{element: n, kind: kind}
	}
	return s.open
}

// grow edits the next part of a text.
func (s *talk) grow(t *streamText, in *jsonedit.Value, name, path string) {
	was, _ := in.Get(name).Text()
	p := editOne(s.Editor, t.kind, was)
	t.said, t.refusal = t.said+p.text, t.refusal || p.refusal
	s.open, t.path, t.last = t, path+"."+name, s.doc
	if s.events == nil {
		s.say(in, name, p, was, path)
	} else { // its type says that it is a refusal
		s.log.text(in, name, path, p, was)
	}
}

// close ends the open text, if there is one.
func (s *talk) close(broken bool) {
	if s.open != nil {
		s.end(s.open, broken)
	}
}

// end ends a text, and puts what is still to be said of it before the event. One that broke off is ended
// only if some of it was held.
func (s *talk) end(t *streamText, broken bool) {
	s.open = nil
	p := editOne(s.Editor, endOf(t.kind), "")
	if broken && p.was == "" {
		return
	}
	s.log.kept(t.path, p)
	if t.said += p.more; p.more == "" {
		return
	}
	var more *jsonedit.Value
	switch {
	case s.delta != nil:
		more = s.delta(t, p.more)
	case t.kind == pieceText:
		more = s.chunk(t.last, map[string]any{s.lists[0].kinds[""].text: p.more})
	default:
		more = s.chunk(t.last, map[string]any{"tool_calls": []any{
			map[string]any{"index": t.element, "function": map[string]any{"arguments": p.more}},
		}})
	}
	s.before = append(s.before, more)
}
