package nearest

import (
	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

const (
	deepest     = 10_000 // the nesting that encoding/json accepts
	root        = hash.Gamma
	emptyObject = 1
	emptyArray  = 2
	invalid     = -1
)

// A scanner hashes the leaves of a document. It looks at the structure alone: what is wrong within a scalar does not
// matter for a comparison.
type scanner struct {
	doc    []byte
	leaves []uint64
}

func (s *scanner) document() bool {
	i := s.value(jsonedit.Space(s.doc, 0), 0, root)
	return i != invalid && jsonedit.Space(s.doc, i) == len(s.doc)
}

// value reads the value at doc[i], where at is the hash of the pointer to it, and returns the index after it.
func (s *scanner) value(i, depth int, at uint64) int {
	switch {
	case i == len(s.doc) || depth > deepest:
		return invalid
	case s.doc[i] == '{':
		return s.object(i, depth, at)
	case s.doc[i] == '[':
		return s.array(i, depth, at)
	}
	end := s.scalar(i)
	if end == invalid {
		return invalid
	}
	s.leaf(at, jsonhash.Sum(s.doc[i:end]))
	return end
}

func (s *scanner) leaf(at, value uint64) {
	s.leaves = append(s.leaves, hash.Combine(at, value))
}

func (s *scanner) object(i, depth int, at uint64) int {
	if i = jsonedit.Space(s.doc, i+1); i < len(s.doc) && s.doc[i] == '}' {
		s.leaf(at, emptyObject)
		return i + 1
	}
	for i < len(s.doc) && s.doc[i] == '"' {
		end := s.scalar(i)
		if end == invalid {
			return invalid
		}
		name := jsonhash.Sum(s.doc[i:end])
		if i = jsonedit.Space(s.doc, end); i == len(s.doc) || s.doc[i] != ':' {
			return invalid
		}
		if i = s.value(jsonedit.Space(s.doc, i+1), depth+1, hash.Combine(at, name)); i == invalid {
			return invalid
		}
		if i = jsonedit.Space(s.doc, i); i < len(s.doc) && s.doc[i] == '}' {
			return i + 1
		}
		if i == len(s.doc) || s.doc[i] != ',' {
			return invalid
		}
		i = jsonedit.Space(s.doc, i+1)
	}
	return invalid
}

func (s *scanner) array(i, depth int, at uint64) int {
	if i = jsonedit.Space(s.doc, i+1); i < len(s.doc) && s.doc[i] == ']' {
		s.leaf(at, emptyArray)
		return i + 1
	}
	for n := uint64(0); ; n++ {
		if i = s.value(i, depth+1, hash.Combine(at, n)); i == invalid {
			return invalid
		}
		if i = jsonedit.Space(s.doc, i); i < len(s.doc) && s.doc[i] == ']' {
			return i + 1
		}
		if i == len(s.doc) || s.doc[i] != ',' {
			return invalid
		}
		i = jsonedit.Space(s.doc, i+1)
	}
}

// scalar returns the index after the string, number or word at doc[i].
func (s *scanner) scalar(i int) int {
	if s.doc[i] == '"' {
		return jsonedit.After(s.doc, i)
	}
	start := i
	for ; i < len(s.doc); i++ {
		switch s.doc[i] {
		case ',', ']', '}', ' ', '\n', '\r', '\t':
			if i == start {
				return invalid
			}
			return i
		case '{', '[', '"', ':':
			return invalid
		}
	}
	return i
}
