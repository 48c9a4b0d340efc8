package tape

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/shakedown-go/shakedown/internal/redact"
)

func keysOnly() *redact.Redactor { return redact.New(nil, redact.Keys) }

func masked(s string) string { return keysOnly().Text(s) }

// Mask replaces well-known forms of keys in a body; in JSON, within its texts, and the values of
// members with names such as password and access_token. It
// returns doc itself if there are none. A player applies it to requests before they
// are kept or keyed; since it takes time, to a request that misses without.
func Mask(doc []byte) []byte { return mask(doc, keysOnly()) }

// Hide is [Mask] of what is shown to people: it replaces the secrets too. s may be nil.
func (s *Secrets) Hide(doc []byte) []byte {
	var known []string
	if s != nil {
		known = slices.Sorted(maps.Keys(s.sources))
	}
	return mask(doc, redact.New(known, redact.Keys))
}

func mask(doc []byte, of *redact.Redactor) []byte {
	if json.Valid(doc) {
		return of.JSON(doc, true)
	}
	var dst, prose []byte
	for line := range bytes.Lines(doc) {
		at := documentAt(line)
		if at < 0 {
			prose = append(prose, line...) // a private key has several lines
			continue
		}
		dst, prose = append(dst, of.Text(string(prose))...), prose[:0]
		dst = append(append(dst, line[:at]...), of.JSON(line[at:], true)...)
	}
	if dst = append(dst, of.Text(string(prose))...); bytes.Equal(dst, doc) {
		return doc
	}
	return dst
}

// documentAt is where the JSON of a line begins: of an event, behind "data:". It is
// negative if there is none.
func documentAt(line []byte) int {
	_, data, found := bytes.Cut(line, []byte(":"))
	switch {
	case json.Valid(line):
		return 0
	case found && json.Valid(data):
		return len(line) - len(data)
	}
	return -1
}
