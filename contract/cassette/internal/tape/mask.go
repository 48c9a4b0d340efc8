package tape

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/internal/strictjson"
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
	if clean, isJSON := maskedTexts(doc, of); isJSON {
		return clean
	}
	var dst, prose []byte
	for line := range bytes.Lines(doc) {
		at := documentAt(line)
		if at < 0 {
			prose = append(prose, line...) // a private key has several lines
			continue
		}
		dst, prose = append(dst, of.Text(string(prose))...), prose[:0]
		clean, _ := maskedTexts(line[at:], of)
		dst = append(append(dst, line[:at]...), clean...)
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

// maskedTexts masks the texts of JSON, and the values of members whose names say that they are
// secrets. All other bytes stay. It returns doc itself if there are none, or if it is no JSON.
func maskedTexts(doc []byte, of *redact.Redactor) (clean []byte, isJSON bool) {
	d, isJSON := jsonedit.Parse(doc)
	if !isJSON {
		return doc, false
	}
	var edits []jsonedit.Edit
	secret := make([]bool, len(d.Nodes))
	for i := range d.Nodes {
		if up := int(d.Nodes[i].Parent); up >= 0 {
			secret[i] = secret[up]
		}
		if d.IsMember(i) {
			secret[i] = secret[i] || secretMember(d, i)
			if name := of.Text(d.Name(i)); name != d.Name(i) {
				edits = append(edits, d.Rename(i, name))
			}
		}
		switch kind := d.Kind(i); {
		case kind == jsonedit.Object, kind == jsonedit.Array:
		case secret[i] && (kind == jsonedit.Number || kind == jsonedit.String && d.String(i) != ""):
			edits = append(edits, d.Replace(i, strictjson.Quote(redact.Marker)))
		case kind == jsonedit.String:
			plain := d.String(i)
			clean := of.Text(plain)
			if strings.HasPrefix(strings.TrimSpace(plain), "{") { // arguments are JSON in a text
				clean = string(mask([]byte(plain), of))
			}
			if clean != plain {
				edits = append(edits, d.Replace(i, strictjson.Quote(clean)))
			}
		}
	}
	if len(edits) == 0 {
		return doc, true
	}
	return d.Apply(edits...), true
}

// secretMember reports whether the name of a member says that its value is a secret, as in a
// session. The token of a probability and the position in a list are none.
func secretMember(d *jsonedit.Doc, i int) bool {
	name := d.Name(i)
	if !redact.SecretName(name) || isPosition(name) {
		return false
	}
	up := int(d.Nodes[i].Parent)
	_, probability := d.Member(up, "logprob")
	return !probability
}
