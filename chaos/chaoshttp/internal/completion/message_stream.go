package completion

import "github.com/shakedown-go/shakedown/internal/jsonedit"

// messageStream is the stream of a message: blocks that start, grow and stop,
// then a delta of the message itself with the reason.
type messageStream struct {
	Editor
	kinds map[int]string // the open and closed blocks by their index
	gone  map[int]bool   // blocks that were dropped: later ones move up, since clients expect no gap
	last  int            // the index of the block that started last
	next  int            // the index of the next block that the caller has not seen
}

func (s *messageStream) rewrite(doc *jsonedit.Value, log *changeLog) (before []*jsonedit.Value, drop bool) {
	kind, _ := doc.Get("type").Text()
	n := doc.Get("index").Int(0)
	switch kind {
	case "content_block_start":
		drop = s.start(doc, n, log)
	case "content_block_delta":
		if drop = s.gone[n]; !drop {
			s.grow(doc.Get("delta"), s.kinds[n], log)
		}
	case "content_block_stop":
		if drop = s.gone[n]; !drop {
			before = s.over(n, log, false)
		}
	case "message_delta":
		if wire, ok := doc.Get("delta").Get("stop_reason").Text(); ok {
			p := stopFor(doc.Get("delta"), s.Editor, wire, log, ".delta")
			log.kept(index(".content", s.next)+".text", p)
			before = s.block(p.more)
		}
		return before, false
	default:
		return nil, false
	}
	if drop {
		log.note("", doc.Bytes(), nil)
	} else if at := s.place(n); at != n {
		doc.Set("index", jsonedit.Of(at)) // not noted: the content is what it was
	}
	return before, drop
}

// place is the index of a block as the caller sees it.
func (s *messageStream) place(n int) int {
	at := n
	for gone := range s.gone {
		if gone < n {
			at--
		}
	}
	return at
}

func (s *messageStream) start(doc *jsonedit.Value, n int, log *changeLog) (drop bool) {
	block := doc.Get("content_block")
	kind, _ := block.Get("type").Text()
	s.kinds[n], s.last = kind, n
	switch kind {
	case "tool_use":
		if log.part(block, "name", ".content_block", s.Editor, pieceCall).drop {
			s.gone[n] = true
			return true
		}
	case "text":
		if text, _ := block.Get("text").Text(); text != "" {
			log.part(block, "text", ".content_block", s.Editor, pieceText)
		}
	}
	s.next = s.place(n) + 1
	return false
}

func (s *messageStream) grow(delta *jsonedit.Value, block string, log *changeLog) {
	switch kind, _ := delta.Get("type").Text(); {
	case kind == "text_delta":
		log.part(delta, "text", ".delta", s.Editor, pieceText)
	case kind == "input_json_delta" && block == "tool_use":
		log.part(delta, "partial_json", ".delta", s.Editor, pieceArgs)
	}
}

func (s *messageStream) rest(log *changeLog) []*jsonedit.Value {
	if s.gone[s.last] {
		return nil
	}
	return s.over(s.last, log, true)
}

// over ends a block, and returns the rest of it. A block that broke off is ended only if some of it was
// held.
func (s *messageStream) over(n int, log *changeLog, broken bool) []*jsonedit.Value {
	end, name, delta := pieceCallEnd, "partial_json", "input_json_delta"
	switch s.kinds[n] {
	case "text":
		end, name, delta = pieceTextEnd, "text", "text_delta"
	case "tool_use":
	default:
		return nil
	}
	p := editOne(s.Editor, end, "")
	if broken && p.was == "" {
		return nil
	}
	log.kept(index(".content", n)+"."+name, p)
	if p.more == "" {
		return nil
	}
	return []*jsonedit.Value{blockDelta(s.place(n), map[string]any{"type": delta, name: p.more})}
}

// block is a whole further block of text; for an empty text there is none.
func (s *messageStream) block(text string) []*jsonedit.Value {
	if text == "" {
		return nil
	}
	n := s.next
	s.next++
	return []*jsonedit.Value{
		jsonedit.Of(blockEvent{Type: "content_block_start", Index: n, Block: &textBlock{Type: "text"}}),
		blockDelta(n, map[string]any{"type": "text_delta", "text": text}),
		jsonedit.Of(blockEvent{Type: "content_block_stop", Index: n}),
	}
}

type blockEvent struct {
	Type  string     `json:"type"`
	Index int        `json:"index"`
	Block *textBlock `json:"content_block,omitempty"`
	Delta any        `json:"delta,omitempty"`
}

func blockDelta(n int, delta any) *jsonedit.Value {
	return jsonedit.Of(blockEvent{Type: "content_block_delta", Index: n, Delta: delta})
}
