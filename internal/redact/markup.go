package redact

import (
	"regexp"
	"strings"
)

// maxElement bounds the search for the end of an element with others in it, in bytes: a text
// with many elements that do not end would take long.
const maxElement = 4 << 10

// elements redacts what XML and HTML say under a secret name: the text of an element with
// such a name, or with such a text in its attribute name, key or id, and the attributes value
// and content beside it. An element must end: "login <password>" is a sentence. Attributes
// with secret names are found as all names with = are.
func elements(s string) string {
	var b strings.Builder
	from := 0 // all before it is written
	for at := strings.IndexByte(s, '<'); at >= 0; {
		if tag := openTag(s[at:]); tag > 0 {
			hide := func(begin, end int) {
				if begin >= from && strings.TrimSpace(s[begin:end]) != "" && s[begin:end] != Marker {
					b.WriteString(s[from:begin] + Marker)
					from = end
				}
			}
			whole, end := s[at:at+tag], at+tag
			name, _, _ := strings.Cut(strings.TrimRight(whole[1:], "/>"), " ")
			name = strings.TrimRight(name, "\t\r\n")
			secret := elementName(name)
			if values := valuesBeside(whole); values != nil {
				secret = true
				for _, v := range values {
					hide(at+v[0], at+v[1])
				}
			}
			if secret && !strings.HasSuffix(whole, "/>") {
				hide(end, end+innerLen(s[end:], name))
			}
			at = max(end, from) - 1
		}
		next := strings.IndexByte(s[at+1:], '<')
		if next < 0 {
			break
		}
		at += 1 + next
	}
	if from == 0 {
		return s
	}
	return b.String() + s[from:]
}

// elementName reports whether the text of an element with this name is a secret. A prefix
// of a name space does not count.
func elementName(name string) bool { return secretName(name[strings.LastIndexByte(name, ':')+1:]) }

// openTag is the length of the tag that opens an element at the start of s; 0: there is none.
func openTag(s string) int {
	if len(s) < 3 || !letter(s[1]) && s[1] != '_' {
		return 0
	}
	quote := byte(0)
	for i := 2; i < len(s); i++ {
		switch c := s[i]; {
		case c == '<': // within quotes it is escaped, and so each byte is looked at once
			return 0
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i + 1
		}
	}
	return 0
}

var attribute = regexp.MustCompile(`\s([A-Za-z_][A-Za-z0-9_.:-]*)\s*=\s*(?:"([^"]*)"|'([^']*)')`)

// valuesBeside are the places of the values in a tag that an attribute name, key or id says
// are secrets; nil: it says no such thing.
func valuesBeside(tag string) (places [][2]int) {
	if !strings.Contains(tag, "=") {
		return nil
	}
	named := false
	for _, m := range attribute.FindAllStringSubmatchIndex(tag, -1) {
		begin, end := m[4], m[5]
		if begin < 0 {
			begin, end = m[6], m[7]
		}
		switch strings.ToLower(tag[m[2]:m[3]]) {
		case "name", "key", "id":
			named = named || secretName(tag[begin:end])
		case "value", "content":
			places = append(places, [2]int{begin, end})
		}
	}
	switch {
	case !named:
		return nil
	case places == nil:
		return [][2]int{}
	}
	return places
}

// innerLen is the length of what stands in an element that begins before s; 0: it does not
// end, or is empty.
func innerLen(s, name string) int {
	end := "</" + name
	if next := strings.IndexByte(s, '<'); next >= 0 && strings.HasPrefix(s[next:], end) {
		return next // text alone
	}
	return max(0, strings.Index(s[:min(len(s), maxElement)], end))
}
