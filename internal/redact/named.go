package redact

import "strings"

// namedValues redacts the values behind secret names.
func namedValues(s string) string {
	var b strings.Builder
	from := 0 // all before it is written
	for at := 0; at < len(s); {
		if c := s[at]; c != '=' && c != ':' && c != '%' {
			at++
			continue
		}
		behind := separator(s[at:])
		if behind == 0 {
			at++
			continue
		}
		name := strings.TrimRight(strings.TrimRight(s[from:at], " \t\r\n"), "\\\"'*`")
		begin := at + behind
		if !SecretName(name) {
			at = begin
			continue
		}
		begin += len(s[begin:]) - len(strings.TrimLeft(s[begin:], "=:>* \t\r\n"))
		open, end, closing := value(s, begin, header(name, s[at]))
		b.WriteString(s[from:begin])
		if end > begin {
			b.WriteString(open + Marker + closing)
		}
		from, at = end, end
	}
	if from == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

// separator is how many bytes at the start of s part a name from its value.
func separator(s string) int {
	switch {
	case s[0] == '=' || s[0] == ':':
		return 1
	case s[0] == '%' && len(s) > 2 && s[1] == '3' && strings.IndexByte("DdAa", s[2]) >= 0:
		return 3
	}
	return 0
}

// header reports whether the value may hold spaces, as those of these two
// headers may.
func header(name string, separator byte) bool {
	name = strings.ToLower(name[max(0, len(name)-maxName):])
	return separator == ':' && (strings.HasSuffix(name, "authorization") || strings.HasSuffix(name, "cookie"))
}

// value finds where the value at begin ends, and the quotes around it.
func value(s string, begin int, toLineEnd bool) (open string, end int, closing string) {
	rest := s[begin:]
	slashes := len(rest) - len(strings.TrimLeft(rest, `\`))
	if slashes < len(rest) && (rest[slashes] == '"' || rest[slashes] == '\'') {
		open = rest[:slashes+1]
		return open, begin + quotedLen(rest, slashes, rest[slashes]), open
	}
	switch {
	case toLineEnd:
		end = headerLen(rest)
	case rest != "" && (rest[0] == '{' || rest[0] == '['):
		return "", begin + bracketLen(rest), ""
	default:
		end = strings.IndexAny(rest, " \t\r\n,;&)}]\"'<>")
	}
	if end < 0 {
		end = len(rest)
	}
	return "", begin + end, ""
}

// headerLen is the length of a header's value: to the end of its line, or to a
// quote that the whole header stands in. One behind a = belongs to the value, as
// in those of digests.
func headerLen(rest string) int {
	inside := false
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '\r', '\n':
			return i
		case '"':
			switch {
			case inside:
				inside = false
			case strings.HasSuffix(strings.TrimRight(rest[:i], `\`), "="):
				inside = true
			default:
				return i
			}
		}
	}
	return len(rest)
}

// quotedLen is the length of a quoted text. Its closing quote has no more
// backslashes before it than the opening one. Without one, all the rest is it.
func quotedLen(rest string, slashes int, quote byte) int {
	run := 0
	for i := slashes + 1; i < len(rest); i++ {
		switch {
		case rest[i] == '\\':
			run++
			continue
		case rest[i] == quote && (run <= slashes || slashes == 0 && run%2 == 0):
			return i + 1
		}
		run = 0
	}
	return len(rest)
}

// bracketLen is the length of an array or object, or of all the rest if it is
// not closed. Brackets inside strings only make it longer.
func bracketLen(rest string) int {
	depth := 0
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(rest)
}
