package experiment

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const redacted = "[redacted]"

// redactor removes the values of secrets from the content of a journal: verbatim,
// as written in URLs, Go strings and JSON, and in base64.
type redactor struct {
	secrets []string // verbatim
	needles []string // in every spelling but base64
}

func newRedactor(secrets map[string]string) *redactor {
	rd := &redactor{}
	for _, value := range secrets {
		for _, s := range []string{value, strings.TrimSpace(value)} {
			if s == "" {
				continue
			}
			rd.secrets = append(rd.secrets, s)
			inJSON, _ := json.Marshal(s)
			rd.needles = append(rd.needles, s, url.QueryEscape(s), url.PathEscape(s),
				unquoted(strconv.Quote(s)), unquoted(strconv.QuoteToASCII(s)), unquoted(string(inJSON)))
		}
	}
	slices.Sort(rd.needles)
	rd.needles = slices.Compact(rd.needles)
	return rd
}

func unquoted(s string) string { return s[1 : len(s)-1] }

var base64Text = regexp.MustCompile(`[A-Za-z0-9+/_-]{4,}`)

// text first marks every byte that belongs to a secret, because one secret may
// overlap or contain another. Then it replaces the marked bytes.
func (rd *redactor) text(s string) string {
	if len(rd.needles) == 0 || s == "" {
		return s
	}
	marked := make([]bool, len(s))
	found := false
	mark := func(from, to int) {
		found = true
		for i := from; i < to; i++ {
			marked[i] = true
		}
	}
	for _, needle := range rd.needles {
		for at := 0; ; at++ {
			i := strings.Index(s[at:], needle)
			if i < 0 {
				break
			}
			at += i
			mark(at, at+len(needle))
		}
	}
	for _, place := range base64Text.FindAllStringIndex(s, -1) {
		if rd.encoded(s[place[0]:place[1]]) {
			mark(place[0], place[1])
		}
	}
	if !found {
		return s
	}
	return replaceMarked(s, marked)
}

func replaceMarked(s string, marked []bool) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		end := i
		for end < len(s) && marked[end] == marked[i] {
			end++
		}
		if marked[i] {
			b.WriteString(redacted)
		} else {
			b.WriteString(s[i:end])
		}
		i = end
	}
	return b.String()
}

// encoded reports whether s is base64 of something that contains a secret.
func (rd *redactor) encoded(s string) bool {
	s = strings.NewReplacer("-", "+", "_", "/").Replace(s)
	if len(s)%4 == 1 { // no base64 has this length; without its last character it may be base64
		s = s[:len(s)-1]
	}
	plain, err := base64.RawStdEncoding.DecodeString(s)
	return err == nil && slices.ContainsFunc(rd.secrets, func(secret string) bool { return bytes.Contains(plain, []byte(secret)) })
}

// value removes secrets from decoded JSON: from texts, names of members, numbers
// and booleans.
func (rd *redactor) value(v any) any {
	switch v := v.(type) {
	case string:
		return rd.text(v)
	case json.Number:
		if clean := rd.text(v.String()); clean != v.String() {
			return clean
		}
	case bool:
		if clean := rd.text(strconv.FormatBool(v)); clean != strconv.FormatBool(v) {
			return clean
		}
	case []any:
		for i := range v {
			v[i] = rd.value(v[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for name, member := range v {
			clean[rd.text(name)] = rd.value(member)
		}
		return clean
	}
	return v
}

// maxOutput is the number of bytes of an output that a journal keeps.
const maxOutput = 1 << 20

// json writes a value as JSON without secrets. A value without JSON is written as
// text, and so is the beginning of one that is too long.
func (rd *redactor) json(v any) json.RawMessage {
	doc, err := marshal(v)
	if err != nil {
		doc, _ = marshal(fmt.Sprintf("%+v", v))
	}
	if len(rd.needles) > 0 {
		var decoded any
		d := json.NewDecoder(bytes.NewReader(doc))
		d.UseNumber()
		if d.Decode(&decoded) == nil {
			doc, _ = marshal(rd.value(decoded))
		}
	}
	if len(doc) > maxOutput {
		doc, _ = marshal(strings.ToValidUTF8(string(doc[:maxOutput]), "") + "…")
	}
	return doc
}

// marshal returns the JSON of a value. It writes bytes and errors as texts. A
// MarshalJSON that panics gives an error.
func marshal(v any) (doc []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	switch t := v.(type) {
	case json.RawMessage: // JSON already; Encode checks it
	case []byte:
		if utf8.Valid(t) {
			v = string(t)
		}
	case error:
		v = t.Error()
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
