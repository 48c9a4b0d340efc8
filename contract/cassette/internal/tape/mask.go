package tape

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

func keysOnly() *redact.Redactor { return redact.New(nil, redact.Keys) }

func masked(s string) string { return keysOnly().Text(s) }

// Mask replaces well-known forms of keys in a body; in JSON, within its texts. It
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
	if of.Text(string(doc)) == string(doc) {
		return doc
	}
	if json.Valid(doc) {
		return maskedTexts(make([]byte, 0, len(doc)), doc, of)
	}
	var dst, prose []byte
	for line := range bytes.Lines(doc) {
		at := documentAt(line)
		if at < 0 {
			prose = append(prose, line...) // a private key has several lines
			continue
		}
		dst, prose = append(dst, of.Text(string(prose))...), prose[:0]
		dst = maskedTexts(append(dst, line[:at]...), line[at:], of)
	}
	return append(dst, of.Text(string(prose))...)
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

// maskedTexts masks the texts of JSON and appends it to dst.
func maskedTexts(dst, doc []byte, of *redact.Redactor) []byte {
	for i := 0; i < len(doc); {
		n := 1
		if doc[i] == '"' {
			n = jsonedit.After(doc, i) - i
			plain := jsonedit.Unquote(doc[i : i+n])
			if clean := of.Text(plain); clean != plain {
				dst = append(dst, strictjson.Quote(clean)...)
				i += n
				continue
			}
		}
		dst = append(dst, doc[i:i+n]...)
		i += n
	}
	return dst
}
