package completion

import (
	"maps"
	"slices"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// chunkStream is a stream of chunks: documents that have the next part of each
// choice in place of its message.
type chunkStream struct {
	*form
	fresh   func(i int) Editor
	choices map[int]*talk
}

func (s *chunkStream) rewrite(doc *jsonedit.Value, log *changeLog) (before []*jsonedit.Value, drop bool) {
	choices := doc.Get(s.form.choices)
	for i := range choices.Len() {
		choice := choices.At(i)
		n := choice.Get("index").Int(0)
		c := s.choices[n]
		if c == nil {
			c = newTalk(s.form, s.fresh(n))
			c.chunk = func(like *jsonedit.Value, delta any) *jsonedit.Value { return s.chunk(like, n, delta) }
			s.choices[n] = c
		}
		c.log, c.doc, c.before = log, doc, nil
		c.choice(choice, index("."+s.form.choices, i))
		before = append(before, c.before...)
	}
	return before, false
}

// chunk is another chunk of the same completion, with a delta of the n-th choice.
func (s *chunkStream) chunk(like *jsonedit.Value, n int, delta any) *jsonedit.Value {
	chunk, ok := jsonedit.ParseValue(like.Bytes())
	if !ok {
		return nil // it was read as JSON already
	}
	chunk.Delete("usage") // it comes once
	chunk.Set(s.form.choices, jsonedit.Of([]any{map[string]any{"index": n, s.next: delta, s.reason: nil}}))
	return chunk
}

func (s *chunkStream) rest(log *changeLog) (out []*jsonedit.Value) {
	for _, n := range slices.Sorted(maps.Keys(s.choices)) {
		c := s.choices[n]
		c.log, c.before = log, nil
		c.close(true)
		out = append(out, c.before...)
	}
	return out
}
