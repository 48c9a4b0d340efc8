package completion

import (
	"maps"
	"slices"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// A form edits the events of one stream of a provider, in their order.
type form interface {
	// rewrite changes the document of one event in place, and returns those
	// that are to come before it. drop says that the event itself is not to come.
	rewrite(doc *jsonedit.Value, log *changeLog) (before []*jsonedit.Value, drop bool)
	// rest is what editors still hold of the original when a stream broke off.
	rest(log *changeLog) []*jsonedit.Value
}

// chatStream is the stream of a chat completion: chunks with the deltas of
// each choice.
type chatStream struct {
	fresh   func(i int) Editor
	choices map[int]*chatChoice
	last    *jsonedit.Value
}

type chatChoice struct {
	Editor
	index int
	text  bool         // a text may go on
	open  bool         // a call's arguments may still come
	call  int          // the index of that call
	gone  map[int]bool // calls that were dropped
}

func (s *chatStream) rewrite(doc *jsonedit.Value, log *changeLog) (before []*jsonedit.Value, drop bool) {
	s.last = doc
	choices := doc.Get("choices")
	for i := range choices.Len() {
		choice := choices.At(i)
		n := choice.Get("index").Int(0)
		c := s.choices[n]
		if c == nil {
			c = &chatChoice{Editor: s.fresh(n), index: n, gone: map[int]bool{}}
			s.choices[n] = c
		}
		before = append(before, c.rewrite(doc, choice, log, index(".choices", i))...)
	}
	return before, false
}

func (c *chatChoice) rewrite(doc, choice *jsonedit.Value, log *changeLog, path string) (before []*jsonedit.Value) {
	delta, at := choice.Get("delta"), path+".delta"
	if text, ok := delta.Get("content").Text(); ok && text != "" {
		c.text = true
		setSaid(delta, at, log, editOne(c.Editor, pieceText, text), text)
	}
	before = c.calls(doc, delta, log, at)
	wire, ok := choice.Get("finish_reason").Text()
	if !ok {
		return before
	}
	before = append(before, c.close(doc, log, at)...)
	p, changed := chatWords().finish(c.Editor, wire)
	if changed {
		log.set(choice, "finish_reason", path, jsonedit.Of(p.text))
	}
	return append(before, c.more(doc, log, at, p)...)
}

// more is the chunk with the text that an editor adds.
func (c *chatChoice) more(doc *jsonedit.Value, log *changeLog, path string, p piece) []*jsonedit.Value {
	name := "content"
	if p.refusal {
		name = "refusal"
	}
	log.kept(path+"."+name, p)
	if p.more == "" {
		return nil
	}
	return []*jsonedit.Value{c.chunk(doc, map[string]any{name: p.more})}
}

// calls edits the parts of tool calls in a delta.
func (c *chatChoice) calls(doc, delta *jsonedit.Value, log *changeLog, path string) (before []*jsonedit.Value) {
	calls := delta.Get("tool_calls")
	gone := log.each(calls, path+".tool_calls", func(part *jsonedit.Value, at string) bool {
		fn, n := part.Get("function"), part.Get("index").Int(0)
		if name, ok := fn.Get("name").Text(); ok && name != "" {
			before = append(before, c.close(doc, log, path)...)
			p := log.part(fn, "name", at+".function", c.Editor, pieceCall)
			c.open, c.call, c.gone[n] = !p.drop, n, p.drop
		}
		if c.gone[n] {
			return false
		}
		if _, ok := fn.Get("arguments").Text(); ok {
			log.part(fn, "arguments", at+".function", c.Editor, pieceArgs)
		}
		return true
	})
	if gone > 0 && calls.Len() == 0 {
		delta.Delete("tool_calls")
	}
	return before
}

// close ends the open text or call, with the rest of it.
func (c *chatChoice) close(doc *jsonedit.Value, log *changeLog, path string) (before []*jsonedit.Value) {
	if c.text {
		c.text = false
		before = c.more(doc, log, path, editOne(c.Editor, pieceTextEnd, ""))
	}
	if !c.open {
		return before
	}
	c.open = false
	p := editOne(c.Editor, pieceCallEnd, "")
	return append(before, c.moreArgs(doc, log, path, p)...)
}

// moreArgs is the chunk with the rest of the open call.
func (c *chatChoice) moreArgs(doc *jsonedit.Value, log *changeLog, path string, p piece) []*jsonedit.Value {
	log.kept(path+".tool_calls", p)
	if p.more == "" {
		return nil
	}
	return []*jsonedit.Value{c.chunk(doc, map[string]any{"tool_calls": []any{
		map[string]any{"index": c.call, "function": map[string]any{"arguments": p.more}},
	}})}
}

func (s *chatStream) rest(log *changeLog) (out []*jsonedit.Value) {
	for _, n := range slices.Sorted(maps.Keys(s.choices)) {
		c, at := s.choices[n], index(".choices", n)+".delta"
		if c.text {
			if p := editOne(c.Editor, pieceTextEnd, ""); p.was != "" {
				out = append(out, c.more(s.last, log, at, p)...)
			}
		}
		if c.open {
			if p := editOne(c.Editor, pieceCallEnd, ""); p.was != "" {
				out = append(out, c.moreArgs(s.last, log, at, p)...)
			}
		}
	}
	return out
}

// chunk is another chunk of the same completion, with a delta of this choice.
func (c *chatChoice) chunk(doc *jsonedit.Value, delta any) *jsonedit.Value {
	chunk, ok := jsonedit.ParseValue(doc.Bytes())
	if !ok {
		return nil // doc was read as JSON already
	}
	chunk.Delete("usage") // it comes once
	chunk.Set("choices", jsonedit.Of([]any{map[string]any{"index": c.index, "delta": delta, "finish_reason": nil}}))
	return chunk
}
