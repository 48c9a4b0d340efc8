package policy

import "sync"

// maxClientID bounds the identifier of a request in the audit log, in bytes.
const maxClientID = 128

// An idScanner finds the member "id" of the one JSON object that passes through
// it, without keeping the rest. A batch has several identifiers, so it has none
// here.
type idScanner struct {
	mu       sync.Mutex
	depth    int
	inString bool
	escaped  bool
	onName   bool // the next string at depth 1 is a name
	isID     bool // the value at depth 1 is that of id
	text     []byte
	found    []byte
}

// id is what was found so far, as it was written, without quotes.
func (s *idScanner) id() string {
	if s == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.found); n >= 2 && s.found[0] == '"' {
		return string(s.found[1 : n-1])
	}
	return string(s.found)
}

func (s *idScanner) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range p {
		s.next(c)
	}
	return len(p), nil
}

func (s *idScanner) next(c byte) {
	if s.inString {
		s.keep(c)
		switch {
		case s.escaped:
			s.escaped = false
		case c == '\\':
			s.escaped = true
		case c == '"':
			s.inString = false
			if s.depth == 1 && s.onName {
				s.isID, s.onName = string(s.text) == `"id"`, false
				s.text = s.text[:0]
			}
		}
		return
	}
	switch c {
	case '"':
		s.inString = true
		s.keep(c)
	case '{', '[':
		s.depth++
		s.onName = s.depth == 1 && c == '{'
		s.isID = s.isID && s.depth != 2 // an identifier is no object
	case '}', ']', ',':
		if s.depth == 1 {
			if s.isID && len(s.text) > 0 && len(s.text) <= maxClientID {
				s.found = append(s.found[:0], s.text...)
			}
			s.text, s.isID, s.onName = s.text[:0], false, c == ','
		}
		if c != ',' {
			s.depth--
		}
	case ' ', '\t', '\r', '\n', ':':
	default:
		s.keep(c)
	}
}

// keep keeps a byte of a name or value at depth 1 that may belong to the
// identifier.
func (s *idScanner) keep(c byte) {
	if s.depth == 1 && (s.onName || s.isID) && len(s.text) <= maxClientID {
		s.text = append(s.text, c)
	}
}
