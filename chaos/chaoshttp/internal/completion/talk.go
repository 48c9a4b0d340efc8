package completion

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// A talk edits one choice: of a document, or what has come of it in a stream. A document is
// edited as a stream is of which all comes at once.
type talk struct {
	*form
	edit     Editor
	n        int  // of the choice
	document bool // all of it comes at once
	log      *changeLog
	calls    bool   // there is a tool call
	gone     int    // elements that were removed
	misfit   string // a call that was removed since its arguments cannot be said

	doc      *jsonedit.Value   // the document, or the event; nil: the stream has ended
	before   []*jsonedit.Value // events that are to come before it
	elements map[int]*element
	open     *said // that may go on
}

// An element of the first list of a message, by its index on the wire, or a call of a chunk.
type element struct {
	known bool // it is a text or a call, or its beginning was not seen
	kind  Kind // of what it has
	gone  bool // it was dropped: later ones move up, since clients expect no gap
	name  string
	texts map[int]*said
}

// A said is a text, or the arguments of a call, which may come in parts.
type said struct {
	element int
	kind    Kind   // Text or Args
	text    string // to the caller
	refusal bool

	// Of its last part:
	at    place
	doc   *jsonedit.Value // the event with it
	alone bool            // it is the first part
	part  string          // to the caller
	mark  int             // how long the log was before it
}

// A place is a member that has a text or arguments.
type place struct {
	in    *jsonedit.Value
	path  string // of in
	name  string
	value bool   // it has a value, not a text
	was   string // what it had
	raw   []byte // the same as it was spelled
}

// member is the place of a member. ok is false if it is not there, or no text.
func member(in *jsonedit.Value, name, path string, value bool) (at place, ok bool) {
	v := in.Get(name)
	at = place{in: in, path: path, name: name, value: value, raw: v.Bytes()}
	if value {
		at.was = string(at.raw)
		return at, v != nil
	}
	at.was, ok = v.Text()
	return at, ok
}

func (at place) whole() string { return at.path + "." + at.name }

// as is a text as the place has it.
func (at place) as(text string) []byte {
	if at.value {
		return asValue(text)
	}
	return quoted(text)
}

// put gives the place a text. What it had stays as it was spelled.
func (at place) put(text string) {
	switch v := at.in.Get(at.name); {
	case text == at.was:
		v.Put(at.raw)
	case v != nil:
		v.Put(at.as(text))
	}
}

func newTalk(f *form, fresh func(i int) Editor, n int) *talk {
	return &talk{form: f, edit: fresh(n), n: n, elements: map[int]*element{}}
}

func (s *talk) one(kind Kind, text string) Piece {
	p := Piece{Kind: kind, Text: text}
	s.edit(&p)
	return p
}

// choice edits a choice of a document or a chunk.
func (s *talk) choice(choice *jsonedit.Value, path string) {
	name := s.message
	if !s.document {
		name = s.next
	}
	message, at := inside(choice, name, path)
	for i := range s.lists {
		s.list(message, &s.lists[i], at)
	}
	switch p, _ := s.stop(choice, path); {
	case p.More == "":
	case s.document:
		s.add(message, at, p.More)
	default:
		s.log.kept(at+".refusal", p)
		s.put(&said{kind: Text, refusal: true, doc: s.doc}, p.More)
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
		before, mark := v.Bytes(), len(s.log.list)
		if p, known := l.kind(v); !known || s.part(v, p, at) {
			i++
			continue
		}
		s.log.list = s.log.list[:mark]
		s.log.note(at, before, nil)
		elements.Remove(i)
		gone++
		if s.misfit != "" && s.spill != "" {
			said, _ := in.Get(s.spill).Text()
			s.log.set(in, s.spill, path, jsonedit.Of(said+s.misfit))
			s.misfit = ""
		}
	}
	if s.gone += gone; gone > 0 && elements.Len() == 0 && l.omitted {
		in.Delete(l.name)
	}
}

func (l *list) kind(v *jsonedit.Value) (p part, known bool) {
	of := l.of
	if of == nil {
		of = typeOf
	}
	if p, known = l.kinds[of(v)]; !known {
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
	at, ok := member(v, p.text, path, false)
	if !ok || at.was == "" && !s.document {
		return true
	}
	t := s.turn(Text, 0)
	s.grow(t, at)
	if !s.document {
		return true
	}
	s.end(t, false)
	return !p.drops || t.text != "" || at.was == ""
}

// call edits a call or, of a chunk, what has come of one.
func (s *talk) call(v *jsonedit.Value, p part, path string) (stays bool) {
	n := v.Get("index").Int(0)
	v, path = inside(v, p.call, path)
	whole := s.document || p.value
	if name, _ := v.Get("name").Text(); name != "" || whole {
		s.calls = true
		s.close(false)
		s.elements[n] = &element{gone: s.name(v, path).Drop}
	}
	if b := s.elements[n]; b != nil && b.gone {
		return false
	}
	t := s.turn(Args, n)
	if at, ok := member(v, p.args, path, p.value); ok {
		s.grow(t, at)
	}
	if !whole {
		return true
	}
	s.end(t, false)
	if !p.object || t.text == t.at.was || isObject(t.text) {
		return true
	}
	name, _ := v.Get("name").Text()
	s.misfit = fmt.Sprintf(`{"name": %s, "arguments": %s`, quoted(name), t.text)
	return false
}

func isObject(args string) bool {
	v, ok := jsonedit.ParseValue([]byte(args))
	return ok && v.Kind() == jsonedit.Object
}

func (s *talk) name(v *jsonedit.Value, path string) Piece {
	at, ok := member(v, "name", path, false)
	p := s.one(Call, at.was)
	if ok && !p.Drop && p.Text != at.was {
		s.log.note(at.whole(), quoted(at.was), quoted(p.Text))
		at.put(p.Text)
	}
	return p
}

// asValue is the value of arguments that are one. What is no JSON becomes a string.
func asValue(args string) []byte {
	if json.Valid([]byte(args)) {
		return []byte(args)
	}
	return quoted(args)
}

// add adds a refusal to a message of which it is all.
func (s *talk) add(message *jsonedit.Value, path, words string) {
	if s.refusal == "" {
		s.refuse(message, s.log, path, words)
		return
	}
	l, refusal := s.lists[0].name, built(s.refusal, quoted(words))
	if message.Get(l) == nil { // its elements were removed
		message.Set(l, built(`[]`))
	}
	if message.Get(l).Kind() != jsonedit.Array {
		return
	}
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
	p = s.one(Finish, reason)
	if s.misfit != "" && p.Text == Stopped && s.words[misfit] != "" {
		p.Text = misfit
	}
	if to := cmp.Or(s.words[p.Text], p.Text); p.Text != reason && to != wire {
		s.log.set(in, s.reason, path, jsonedit.Of(to))
		if s.stopped != nil {
			s.stopped(in, s.log, path, to, s.misfit)
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
func (s *talk) turn(kind Kind, n int) *said {
	if s.open == nil || s.open.kind != kind {
		s.close(false)
		s.open = &said{element: n, kind: kind}
	}
	return s.open
}

// grow edits the next part of a text or of arguments. Of an event with a type, the type says
// that it is a refusal.
func (s *talk) grow(t *said, at place) {
	p := s.one(t.kind, at.was)
	t.alone = t.doc == nil
	t.text, t.refusal = t.text+p.Text, t.refusal || p.Refusal
	t.at, t.doc, t.part, t.mark = at, s.doc, p.Text, len(s.log.list)
	s.open = t
	switch {
	case p.Refusal && s.refuse != nil && (s.document || s.events == nil):
		s.refuse(at.in, s.log, at.path, p.Text)
	case p.Text != at.was:
		if !p.Late || p.Refusal {
			s.log.note(at.whole(), at.as(at.was), at.as(p.Text))
		}
		at.put(p.Text)
	}
}

func (s *talk) close(broken bool) {
	if s.open != nil {
		s.end(s.open, broken)
	}
}

// end ends a text. What is still to be said of it comes behind its last part or, where that has
// gone out, before the event. One that broke off is ended only if some of it was held.
func (s *talk) end(t *said, broken bool) {
	s.open = nil
	p := s.one(endOf(t.kind), "")
	if broken && p.Was == "" || p.More == "" && p.Was == "" {
		return
	}
	t.text += p.More
	if t.doc == nil || t.doc != s.doc {
		s.log.kept(t.at.whole(), p)
		s.put(t, p.More)
		return
	}
	t.part += p.More
	if t.alone || p.Was == "" {
		s.log.list = s.log.list[:t.mark]
		s.log.note(t.at.whole(), t.at.as(t.at.was), t.at.as(t.part))
	} else {
		s.log.kept(t.at.whole(), p)
	}
	t.at.put(t.part)
}

func endOf(kind Kind) Kind {
	if kind == Args {
		return CallEnd
	}
	return TextEnd
}

// chunk is another chunk of the completion that some of a text came with.
func (s *talk) chunk(of *said, choice *jsonedit.Value) *jsonedit.Value {
	chunk, ok := jsonedit.ParseValue(of.doc.Bytes())
	if !ok {
		return nil // it was read as JSON already
	}
	chunk.Delete(s.usage)
	chunk.Set(s.choices, jsonedit.Of([]json.RawMessage{choice.Bytes()}))
	return chunk
}

// put puts more of a text before the event.
func (s *talk) put(t *said, more string) {
	if more == "" {
		return
	}
	if doc := s.delta(s, t, more); doc != nil {
		s.before = append(s.before, doc)
	}
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

// set gives a member a value and notes it.
func (l *changeLog) set(in *jsonedit.Value, name, path string, to *jsonedit.Value) {
	if in.Kind() != jsonedit.Object {
		return
	}
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
