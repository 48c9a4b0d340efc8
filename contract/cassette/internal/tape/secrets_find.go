package tape

import (
	"bytes"
	"encoding/base64"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/sse"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// Find reports with a [*SecretError] whether one of the secrets stands in the file:
// plain, escaped as in JSON or an address, or in base64, also as a part of what is
// encoded. The texts that the events of a stream deliver in pieces are put together.
// data is what f.Bytes returned.
func (s *Secrets) Find(f *File, data []byte) error {
	if s == nil || len(s.sources) == 0 {
		return nil
	}
	search := newSearch(s)
	seen := make(map[*byte]int) // lengths of the bodies that were searched: equal ones are shared
	for i := range f.Exchanges {
		e := &f.Exchanges[i]
		for piece := range e.pieces() {
			if len(piece) == 0 || seen[&piece[0]] >= len(piece) {
				continue
			}
			seen[&piece[0]] = len(piece)
			if source, found := search.in(piece); found {
				return &SecretError{Exchange: i + 1, Cell: e.Cell, Pointer: search.locate(data, i), Source: source}
			}
		}
	}
	if source, found := search.in(data); found {
		return &SecretError{Source: source}
	}
	return nil
}

// pieces yields all that an exchange writes into the file.
func (e *Exchange) pieces() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		r := &e.Response
		for _, text := range []string{e.Cell, e.Lane, e.Request.Method, e.Request.URL} {
			if !yield([]byte(text)) {
				return
			}
		}
		for _, values := range r.Header {
			if !yield([]byte(strings.Join(values, "\n"))) {
				return
			}
		}
		if !yield(e.Request.Body) || !yield(r.Body()) || len(r.Chunks) < 2 {
			return
		}
		for _, text := range r.delivered() {
			if !yield(text) {
				return
			}
		}
	}
}

// delivered are the texts of a stream, each put together of those at one place in its
// events or lines. What is no JSON is one text.
func (r *Response) delivered() map[string][]byte {
	texts := make(map[string][]byte)
	for doc := range r.documents() {
		n, ok := parse(doc)
		if !ok {
			texts[""] = append(texts[""], doc...)
			continue
		}
		eachText(n, "", func(pointer, text string, isName bool) bool {
			if !isName {
				texts[pointer] = append(texts[pointer], text...)
			}
			return true
		})
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

// eachText calls use for each text and each number within a value, and for the names of
// members, until it returns false. It reports whether all were used.
func eachText(n *node, at string, use func(pointer, text string, isName bool) bool) bool {
	switch n.Kind {
	case '{', '[':
	case '"':
		return use(at, n.Text, false)
	default:
		return use(at, string(n.Raw), false)
	}
	for i, kid := range n.Kids {
		here := at + "/" + strconv.Itoa(i)
		if n.Kind == '{' {
			here = strictjson.Join(at, n.Keys[i])
			if !use(here, n.Keys[i], true) {
				return false
			}
		}
		if !eachText(kid, here, use) {
			return false
		}
	}
	return true
}

// A search looks for secrets in any of their spellings.
type search struct {
	needles []needle
}

type needle struct {
	text   []byte
	source string
}

func newSearch(s *Secrets) *search {
	var all search
	for _, secret := range slices.Sorted(maps.Keys(s.sources)) {
		source := s.sources[secret]
		for _, text := range slices.Compact(slices.Sorted(slices.Values(spellings(secret)))) {
			all.needles = append(all.needles, needle{[]byte(text), source})
		}
	}
	return &all
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

// in returns where a request carried a secret that stands in data.
func (s *search) in(data []byte) (source string, found bool) {
	for view := range views(data) {
		for _, n := range s.needles {
			if bytes.Contains(view, n.text) {
				return n.source, true
			}
		}
	}
	return "", false
}

// maxEscapes is how often a text is escaped at most, as one in JSON within JSON within
// an address is.
const maxEscapes = 3

// views yields data as it is, and without the escapes of JSON and of addresses, one in
// the other in any order.
func views(data []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) { viewsOf(data, maxEscapes, yield) }
}

func viewsOf(data []byte, deeper int, yield func([]byte) bool) bool {
	if !yield(data) {
		return false
	}
	if deeper == 0 {
		return true
	}
	if bytes.IndexByte(data, '%') >= 0 && !viewsOf(withoutPercent(data), deeper-1, yield) {
		return false
	}
	return bytes.IndexByte(data, '\\') < 0 || viewsOf(withoutBackslashes(data), deeper-1, yield)
}

// withoutPercent decodes the escapes of an address wherever there is one.
func withoutPercent(data []byte) []byte {
	dst := make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		if data[i] == '%' && i+2 < len(data) {
			if c, err := strconv.ParseUint(string(data[i+1:i+3]), 16, 8); err == nil {
				dst = append(dst, byte(c))
				i += 2
				continue
			}
		}
		dst = append(dst, data[i])
	}
	return dst
}

var simpleEscapes = map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// withoutBackslashes decodes the escapes of JSON wherever there is one.
func withoutBackslashes(data []byte) []byte {
	dst := make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' || i+1 == len(data) {
			dst = append(dst, data[i])
			continue
		}
		i++
		if c, ok := simpleEscapes[data[i]]; ok {
			dst = append(dst, c)
			continue
		}
		first, ok := codeUnit(data[i:])
		if !ok {
			dst = append(dst, data[i]) // a quote, a slash, a backslash
			continue
		}
		i += 4
		if i+1 < len(data) && data[i+1] == '\\' && utf16.IsSurrogate(first) {
			if second, ok := codeUnit(data[i+2:]); ok {
				if both := utf16.DecodeRune(first, second); both != utf8.RuneError {
					first = both
					i += 6
				}
			}
		}
		dst = utf8.AppendRune(dst, first)
	}
	return dst
}

// codeUnit reads u and four digits.
func codeUnit(data []byte) (unit rune, ok bool) {
	if len(data) < 5 || data[0] != 'u' {
		return 0, false
	}
	c, err := strconv.ParseUint(string(data[1:5]), 16, 16)
	return rune(c), err == nil
}

// locate returns the pointer to the text of an exchange in which a secret stands, or
// to its response, where that is of several.
func (s *search) locate(data []byte, exchange int) (pointer string) {
	at := "/exchanges/" + strconv.Itoa(exchange)
	whole, ok := strictjson.ParseSpelled(data, math.MaxInt)
	if !ok {
		return at
	}
	part := lookup(whole, at)
	if part == nil {
		return at
	}
	if !eachText(part, at, func(place, text string, _ bool) bool {
		_, found := s.in([]byte(text))
		if plain, err := base64.StdEncoding.DecodeString(text); err == nil && !found {
			_, found = s.in(plain)
		}
		pointer = place
		return !found
	}) {
		return pointer
	}
	return at + "/response"
}
