package completion

import "github.com/shakedown-go/shakedown/internal/jsonedit"

// event edits an event of a stream whose events have types, and reports whether it is not
// to come.
func (s *talk) event() (drop bool) {
	kind := typeOf(s.doc)
	if delta := typeOf(s.doc.Get("delta")); delta != "" {
		kind += " " + delta
	}
	e := s.events[kind]
	in, path := inside(s.doc, e.in, "")
	if e.does == finishes {
		s.finished(in, path)
		return false
	}
	n := s.doc.Get(s.index).Int(-1)
	if n < 0 {
		return false
	}
	b := s.elements[n]
	if b == nil {
		b = &element{known: true, texts: map[int]*said{}}
		s.elements[n] = b
	}
	if e.does == starts {
		s.start(b, b.text(n, 0), in, path)
	}
	if b.gone {
		s.log.note("", s.doc.Bytes(), nil)
		return true
	}
	if b.known {
		s.about(b, b.text(n, s.doc.Get("content_index").Int(0)), e, in, path)
	}
	if at := s.place(n); at != n {
		s.doc.Set(s.index, jsonedit.Of(at)) // not noted: the content is what it was
	}
	return false
}

// text is the i-th text of the n-th element, or the arguments of the call that it is.
func (b *element) text(n, i int) *said {
	t := b.texts[i]
	if t == nil {
		t = &said{element: n, kind: b.kind, at: place{name: "delta"}}
		b.texts[i] = t
	}
	return t
}

// start begins an element, which may have some of its text already.
func (s *talk) start(b *element, t *said, in *jsonedit.Value, path string) {
	p, known := s.lists[0].kind(in)
	b.known = known
	switch at, ok := member(in, p.text, path, false); {
	case p.args != "":
		s.calls, b.kind, t.kind = true, Args, Args
		call := s.name(in, path)
		b.name, b.gone = call.Text, call.Drop
	case ok && at.was != "":
		s.grow(t, at)
	}
}

func (s *talk) about(b *element, t *said, e event, in *jsonedit.Value, path string) {
	if e.name != "" {
		t.kind = e.kind
	}
	switch e.does {
	case grows:
		at, _ := member(in, e.name, path, false)
		s.grow(t, at)
	case stops:
		if s.end(t, false); e.name != "" && !(t.refusal && e.refusal != "") {
			put(in, e.name, t.text)
		}
		if t.kind == Args && in.Get("name").Kind() == jsonedit.String {
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
			in.SetText("refusal", t.text)
		}
	}
}

// restate makes an element agree with what the caller has got of it.
func (s *talk) restate(b *element, in *jsonedit.Value) {
	p, _ := s.lists[0].kind(in)
	if p.inner == nil {
		if t := b.texts[0]; t != nil && p.args != "" {
			put(in, "name", b.name)
			put(in, p.args, t.text)
		}
		return
	}
	texts := in.Get(p.inner.name)
	for i := range texts.Len() {
		b.texts[i].restate(texts.At(i))
	}
}

func (t *said) restate(in *jsonedit.Value) {
	switch {
	case t == nil || t.doc == nil: // nothing was said of it
	case t.refusal:
		in.Put(built(refusalPart, quoted(t.text)).Bytes())
	default:
		put(in, "text", t.text)
	}
}

func put(in *jsonedit.Value, name, text string) {
	if was, ok := in.Get(name).Text(); !ok || was != text {
		in.SetText(name, text)
	}
}

// place is the index of an element as the caller sees it.
func (s *talk) place(n int) int {
	at := n
	for other, b := range s.elements {
		if b.gone && other < n {
			at--
		}
	}
	return at
}

// finished edits the end. What repeats the stream there agrees with it.
func (s *talk) finished(in *jsonedit.Value, path string) {
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
	case p.More == "":
	case s.block == nil:
		s.add(in, path, p.More)
	default:
		next := s.place(len(s.elements))
		s.log.kept(index("."+s.lists[0].name, next)+".text", p)
		s.before = append(s.before, s.block(next, p.More)...)
	}
}
