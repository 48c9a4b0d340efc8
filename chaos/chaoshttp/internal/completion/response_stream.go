package completion

import (
	"strings"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// responseStream is the stream of OpenAI's Responses API. It repeats
// everything: in deltas, when a part is done, when its item is, and in the
// whole response at the end. The result of the deltas is kept for the others.
type responseStream struct {
	Editor
	items map[int]*responseItem // by their place in the output
	calls bool
	open  *jsonedit.Value // the last delta of what is not done
}

// responseItem is the content of an item that the caller has got.
type responseItem struct {
	gone       bool
	name, args string
	texts      map[int]*responseText // by their place in the content
}

type responseText struct {
	said    string
	refusal bool
}

func (s *responseStream) rewrite(doc *jsonedit.Value, log *changeLog) (before []*jsonedit.Value, drop bool) {
	kind, _ := doc.Get("type").Text()
	if response := doc.Get("response"); response != nil {
		if kind == "response.completed" || kind == "response.incomplete" {
			s.whole(doc, response, log)
		}
		return nil, false
	}
	n := doc.Get("output_index").Int(-1)
	if n < 0 {
		return nil, false
	}
	it := s.items[n]
	if it == nil {
		it = &responseItem{texts: map[int]*responseText{}}
		s.items[n] = it
	}
	if kind == "response.output_item.added" {
		s.added(doc.Get("item"), it, log)
	}
	if it.gone {
		log.note("", doc.Bytes(), nil)
		return nil, true
	}
	if strings.HasSuffix(kind, ".delta") {
		s.open = doc
	} else if strings.HasSuffix(kind, ".done") {
		s.open = nil
	}
	switch part, _ := strings.CutPrefix(kind, "response."); part {
	case "output_text.delta", "output_text.done":
		before = s.text(doc, it, part == "output_text.done", log)
	case "function_call_arguments.delta", "function_call_arguments.done":
		before = s.args(doc, it, part == "function_call_arguments.done", log)
	case "content_part.done":
		it.restatePart(doc.Get("content_index").Int(0), doc.Get("part"))
	case "output_item.done":
		it.restate(doc.Get("item"))
	}
	for _, d := range append(before, doc) {
		if at := s.place(n); at != n {
			d.Set("output_index", jsonedit.Of(at))
		}
	}
	return before, false
}

func (s *responseStream) rest(log *changeLog) []*jsonedit.Value {
	kind, _ := s.open.Get("type").Text()
	end := pieceTextEnd
	switch kind {
	case "response.function_call_arguments.delta":
		end = pieceCallEnd
	case "response.output_text.delta":
	default:
		return nil
	}
	p := editOne(s.Editor, end, "")
	if p.was == "" {
		return nil
	}
	log.kept(".delta", p)
	return delta(s.open, kind, p.more)
}

// place is the place of an item as the caller sees it.
func (s *responseStream) place(n int) int {
	at := n
	for other, it := range s.items {
		if it.gone && other < n {
			at--
		}
	}
	return at
}

func (s *responseStream) added(item *jsonedit.Value, it *responseItem, log *changeLog) {
	if kind, _ := item.Get("type").Text(); kind != "function_call" {
		return
	}
	s.calls = true
	p := log.part(item, "name", ".item", s.Editor, pieceCall)
	it.name, it.gone = p.text, p.drop
}

func (s *responseStream) text(doc *jsonedit.Value, it *responseItem, done bool, log *changeLog) []*jsonedit.Value {
	n := doc.Get("content_index").Int(0)
	t := it.texts[n]
	if t == nil {
		t = &responseText{}
		it.texts[n] = t
	}
	if done {
		p := editOne(s.Editor, pieceTextEnd, "")
		log.kept(".delta", p)
		t.said += p.more
		rest := delta(doc, t.kind("delta"), p.more)
		t.finish(doc)
		return rest
	}
	p := log.part(doc, "delta", "", s.Editor, pieceText)
	t.said, t.refusal = t.said+p.text, t.refusal || p.refusal
	if t.refusal {
		doc.SetText("type", t.kind("delta"))
	}
	return nil
}

// kind is the type of the events about the text.
func (t *responseText) kind(end string) string {
	if t.refusal {
		return "response.refusal." + end
	}
	return "response.output_text." + end
}

// finish makes the event that ends the text agree with what was sent.
func (t *responseText) finish(doc *jsonedit.Value) {
	if !t.refusal {
		put(doc, "text", t.said)
		return
	}
	doc.SetText("type", t.kind("done"))
	doc.Delete("text")
	doc.SetText("refusal", t.said)
}

// put sets a text, if it differs.
func put(in *jsonedit.Value, name, text string) {
	if was, ok := in.Get(name).Text(); !ok || was != text {
		in.SetText(name, text)
	}
}

// delta is one more delta event with the rest of the text; without a rest there
// is none.
func delta(like *jsonedit.Value, kind, more string) []*jsonedit.Value {
	d, ok := jsonedit.ParseValue(like.Bytes())
	if more == "" || !ok {
		return nil
	}
	d.SetText("type", kind)
	for _, name := range []string{"text", "arguments", "name", "logprobs"} {
		d.Delete(name)
	}
	d.SetText("delta", more)
	return []*jsonedit.Value{d}
}

func (s *responseStream) args(doc *jsonedit.Value, it *responseItem, done bool, log *changeLog) []*jsonedit.Value {
	if done {
		p := editOne(s.Editor, pieceCallEnd, "")
		log.kept(".arguments", p)
		it.args += p.more
		rest := delta(doc, "response.function_call_arguments.delta", p.more)
		put(doc, "arguments", it.args)
		if doc.Has("name") {
			put(doc, "name", it.name)
		}
		return rest
	}
	it.args += log.part(doc, "delta", "", s.Editor, pieceArgs).text
	return nil
}

// restate makes an item agree with what the caller has got of it.
func (it *responseItem) restate(item *jsonedit.Value) {
	if kind, _ := item.Get("type").Text(); kind == "function_call" {
		put(item, "name", it.name)
		put(item, "arguments", it.args)
		return
	}
	for i := range item.Get("content").Len() {
		it.restatePart(i, item.Get("content").At(i))
	}
}

func (it *responseItem) restatePart(n int, part *jsonedit.Value) {
	switch t := it.texts[n]; {
	case t == nil:
	case t.refusal:
		part.Put(refusalPart(t.said).Bytes())
	default:
		put(part, "text", t.said)
	}
}

// whole makes the response at the end agree with what was streamed, and edits
// its end.
func (s *responseStream) whole(doc, response *jsonedit.Value, log *changeLog) {
	output := response.Get("output")
	for n := output.Len() - 1; n >= 0; n-- {
		switch it := s.items[n]; {
		case it == nil:
		case it.gone:
			output.Remove(n)
		default:
			it.restate(output.At(n))
		}
	}
	p, ok := endResponse(response, s.Editor, s.calls, log, ".response")
	if status, _ := response.Get("status").Text(); ok && status == "incomplete" {
		doc.SetText("type", "response.incomplete")
	}
	if p.more != "" {
		item := messageItem(p)
		log.note(".response.output", nil, item.Bytes())
		output.Add(item)
	}
}
