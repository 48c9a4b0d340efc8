package completion

import "github.com/shakedown-go/shakedown/internal/jsonedit"

// typedStream is a stream whose events have types.
type typedStream struct{ *talk }

func (s *typedStream) rewrite(doc *jsonedit.Value, log *changeLog) (before []*jsonedit.Value, drop bool) {
	s.log, s.doc, s.before = log, doc, nil
	kind := typeOf(doc)
	if delta := typeOf(doc.Get("delta")); delta != "" {
		kind += " " + delta
	}
	e := s.events[kind]
	in, path := inside(doc, e.in, "")
	if e.does == finishes {
		s.finished(in, path)
		return s.before, false
	}
	n := doc.Get(s.index).Int(-1)
	if n < 0 {
		return nil, false
	}
	b := s.elements[n]
	if b == nil {
		b = &element{known: true, texts: map[int]*streamText{}}
		s.elements[n] = b
	}
	if e.does == starts {
		s.start(b, b.text(n, 0), in, path)
	}
	if b.gone {
		log.note("", doc.Bytes(), nil)
		return nil, true
	}
	if b.known {
		s.edit(b, b.text(n, doc.Get("content_index").Int(0)), e, in, path)
	}
	s.move(n, append(s.before, doc))
	return s.before, false
}

// text is the i-th text of the n-th element, or the arguments of the call that it is.
func (b *element) text(n, i int) *streamText {
	t := b.texts[i]
	if t == nil {
		t = &streamText{element: n, kind: b.kind, path: ".delta"}
		b.texts[i] = t
	}
	return t
}

// start begins an element, which may have some of its text already.
func (s *typedStream) start(b *element, t *streamText, in *jsonedit.Value, path string) {
	p, known := s.lists[0].kind(in)
	b.known = known
	switch text, _ := in.Get(p.text).Text(); {
	case p.args != "":
		s.calls, b.kind, t.kind = true, pieceArgs, pieceArgs
		call := s.log.part(in, "name", path, s.Editor, pieceCall)
		b.name, b.gone = call.text, call.drop
	case p.text != "" && text != "":
		s.grow(t, in, p.text, path)
	}
}

// edit edits an event about a text.
func (s *typedStream) edit(b *element, t *streamText, e event, in *jsonedit.Value, path string) {
	if e.name != "" {
		t.kind = e.kind
	}
	switch e.does {
	case grows:
		s.grow(t, in, e.name, path)
	case stops:
		if s.end(t, false); e.name != "" && !(t.refusal && e.refusal != "") {
			put(in, e.name, t.said)
		}
		if t.kind == pieceArgs && in.Has("name") {
			put(in, "name", b.name)
		}
	case restates:
		if e.in == "part" {
			t.restate(in)
		} else {
			s.restate(b, in)
		}
	}
	if t.refusal && e.refusal != "" {
		in.SetText("type", e.refusal)
		if e.does == stops {
			in.Delete(e.name)
			in.SetText("refusal", t.said)
		}
	}
}

// restate makes an element agree with what the caller has got of it.
func (s *typedStream) restate(b *element, in *jsonedit.Value) {
	p, _ := s.lists[0].kind(in)
	if p.inner == nil {
		if t := b.texts[0]; t != nil && p.args != "" {
			put(in, "name", b.name)
			put(in, p.args, t.said)
		}
		return
	}
	texts := in.Get(p.inner.name)
	for i := range texts.Len() {
		if t := b.texts[i]; t != nil {
			t.restate(texts.At(i))
		}
	}
}

func (t *streamText) restate(in *jsonedit.Value) {
	switch {
	case t.last == nil: // nothing was said of it
	case t.refusal:
		in.Put(refusalPart(t.said).Bytes())
	default:
		put(in, "text", t.said)
	}
}

// put sets a text, if it differs.
func put(in *jsonedit.Value, name, text string) {
	if was, ok := in.Get(name).Text(); !ok || was != text {
		in.SetText(name, text)
	}
}

// move gives events about an element the index that it has for the caller.
func (s *typedStream) move(n int, docs []*jsonedit.Value) {
	for _, d := range docs {
		if at := s.place(n); at != n {
			d.Set(s.index, jsonedit.Of(at)) // not noted: the content is what it was
		}
	}
}

// place is the index of an element as the caller sees it.
func (s *typedStream) place(n int) int {
	at := n
	for other, b := range s.elements {
		if b.gone && other < n {
			at--
		}
	}
	return at
}

// finished edits the end. What repeats the stream there agrees with it.
func (s *typedStream) finished(in *jsonedit.Value, path string) {
	all := in.Get(s.lists[0].name)
	for n := all.Len() - 1; n >= 0; n-- {
		switch b := s.elements[n]; {
		case b == nil:
		case b.gone:
			all.Remove(n)
		default:
			s.restate(b, all.At(n))
		}
	}
	p, ok := s.stop(in, path)
	if status, _ := in.Get("status").Text(); ok && status == "incomplete" {
		s.doc.SetText("type", "response.incomplete")
	}
	switch {
	case p.more == "":
	case s.block == nil:
		s.add(in, s.log, path, p.more, 0)
	default:
		next := s.place(len(s.elements))
		s.log.kept(index("."+s.lists[0].name, next)+".text", p)
		s.before = append(s.before, s.block(next, p.more)...)
	}
}

func (s *typedStream) rest(log *changeLog) []*jsonedit.Value {
	s.log, s.before = log, nil
	if t := s.open; t != nil {
		s.close(true)
		s.move(t.element, s.before)
	}
	return s.before
}
