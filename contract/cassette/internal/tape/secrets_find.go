package tape

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/sse"
)

// Find reports with a [*SecretError] whether one of the secrets stands in the file:
// plain, escaped as in JSON or an address, or in base64, also as a part of what is
// encoded. The texts that the events of a stream deliver in pieces are put together.
// data is what f.Bytes returned.
func (s *Secrets) Find(f *File, data []byte) error {
	if s == nil || len(s.sources) == 0 {
		return nil
	}
	needles := s.needles()
	seen := make(map[*byte]int) // lengths of the bodies that were searched: equal ones are shared
	for i := range f.Exchanges {
		e := &f.Exchanges[i]
		for _, piece := range e.pieces() {
			if len(piece) == 0 || seen[&piece[0]] >= len(piece) {
				continue
			}
			seen[&piece[0]] = len(piece)
			if source, found := search(needles, piece, maxEscapes); found {
				return &SecretError{Exchange: i + 1, Cell: e.Cell, Source: source}
			}
		}
	}
	if source, found := search(needles, data, maxEscapes); found {
		return &SecretError{Source: source}
	}
	return nil
}

// pieces are all that an exchange writes into the file.
func (e *Exchange) pieces() [][]byte {
	r := &e.Response
	pieces := [][]byte{[]byte(e.Cell), []byte(e.Lane), []byte(e.Request.Method), []byte(e.Request.URL),
		e.Request.Body, r.Body()}
	for _, values := range r.Header {
		pieces = append(pieces, []byte(strings.Join(values, "\n")))
	}
	if len(r.Chunks) > 1 {
		pieces = slices.AppendSeq(pieces, maps.Values(r.delivered()))
	}
	return pieces
}

// delivered are the texts of a stream, each put together of those at one place in its
// events or lines. What is no JSON is one text.
func (r *Response) delivered() map[string][]byte {
	texts := make(map[string][]byte)
	for doc := range r.documents() {
		d, ok := jsonedit.Parse(doc)
		if !ok {
			texts["$"] = append(texts["$"], doc...)
			continue
		}
		for i := range d.Nodes {
			switch d.Kind(i) {
			case jsonedit.String:
				texts[d.Path(i)] = append(texts[d.Path(i)], d.String(i)...)
			case jsonedit.Number:
				texts[d.Path(i)] = append(texts[d.Path(i)], d.Raw(i)...)
			}
		}
	}
	return texts
}

// documents yields the data of the events of a stream, or its lines.
func (r *Response) documents() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		body := r.Body()
		if kindOf(r.Header) != streamEvents {
			for line := range bytes.Lines(body) {
				if !yield(bytes.TrimRight(line[max(0, documentAt(line)):], "\r\n")) {
					return
				}
			}
			return
		}
		for events := sse.NewReader(bytes.NewReader(body), len(body)+1); ; {
			if e, err := events.Next(); err != nil || !yield([]byte(e.Data)) {
				return
			}
		}
	}
}

// A needle is a secret in one of its spellings, and where a request carried it.
type needle struct {
	text   []byte
	source string
}

func (s *Secrets) needles() (all []needle) {
	for _, secret := range slices.Sorted(maps.Keys(s.sources)) {
		for _, text := range spellings(secret) {
			all = append(all, needle{[]byte(text), s.sources[secret]})
		}
	}
	return all
}

// minEncoded is the length from which on a secret is searched for in base64, of which
// up to four characters depend on what stands around it.
const minEncoded = 8

// spellings are those of a secret that unescape does not undo.
func spellings(secret string) []string {
	all := []string{secret, strings.ReplaceAll(secret, " ", "+")}
	if len(secret) < minEncoded {
		return all
	}
	for before := range 3 { // bytes in front of it in a group of three
		text := make([]byte, before, before+len(secret))
		text = append(text, secret...)
		from := []int{0, 2, 3}[before] // without what depends on the bytes in front
		to := len(text) * 8 / 6        // or on those behind
		for _, code := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			all = append(all, code.EncodeToString(text)[from:to])
		}
	}
	return all
}

// maxEscapes is how often a text is escaped at most, as one in JSON within JSON within
// an address is.
const maxEscapes = 3

// search returns where a request carried a secret that stands in data, in any of its spellings: in data as it is, or
// without so many escapes of JSON and of addresses, one in the other in any order.
func search(needles []needle, data []byte, escapes int) (source string, found bool) {
	for _, n := range needles {
		if bytes.Contains(data, n.text) {
			return n.source, true
		}
	}
	if escapes > 0 && bytes.IndexByte(data, '%') >= 0 {
		source, found = search(needles, withoutPercent(data), escapes-1)
	}
	if escapes > 0 && !found && bytes.IndexByte(data, '\\') >= 0 {
		source, found = search(needles, withoutBackslashes(data), escapes-1)
	}
	return source, found
}

// withoutPercent decodes the escapes of an address wherever there is one.
func withoutPercent(data []byte) []byte {
	return decoded(data, '%', func(rest []byte) (plain []byte, length int) {
		plain, err := hex.DecodeString(string(rest[1:min(3, len(rest))]))
		if err != nil || len(plain) == 0 {
			return rest[:1], 1
		}
		return plain, 3
	})
}

// withoutBackslashes decodes the escapes of JSON wherever there is one. Any other backslash goes, and what it stands
// before stays.
func withoutBackslashes(data []byte) []byte {
	return decoded(data, '\\', func(rest []byte) (plain []byte, length int) {
		r, size := jsonedit.Escape(rest)
		if size == 0 {
			return nil, 1
		}
		return utf8.AppendRune(nil, r), size
	})
}

// decoded replaces what begins with a sign: decode returns what it stands for, and its length.
func decoded(data []byte, sign byte, decode func(rest []byte) (plain []byte, length int)) []byte {
	dst := make([]byte, 0, len(data))
	for {
		at := bytes.IndexByte(data, sign)
		if at < 0 {
			return append(dst, data...)
		}
		plain, length := decode(data[at:])
		dst = append(append(dst, data[:at]...), plain...)
		data = data[at+length:]
	}
}
