package redact

import (
	"regexp"
	"strings"
)

var (
	// -pSECRET, as the clients of MySQL and archivers take it. A flag of one dash may
	// also be a word, such as -path.
	attached = regexp.MustCompile(`(?:^|[\s"'\[,])-p(?:"[^\s",][^"\n]*"|'[^\s',][^'\n]*'|[^\s"',\]\[=-][^\s"',\]\[]*)`)
	// The programs whose -p has its value attached.
	attaching = regexp.MustCompile(`(?:^|[^A-Za-z0-9])(?:mysql[a-z]*|mariadb[a-z-]*|sshpass|7z[a-z]?|rar|unrar)(?:\.exe)?["']?[\s,]`)
	// Values of a query that are credentials, though the names mean something else
	// elsewhere: the code of an authorisation, a ticket, an assertion.
	queryValue = regexp.MustCompile(`(?i)((?:[?&]|%3f|%26)(?:code|code_verifier|device_code|ticket|hmac|assertion|client_assertion|samlresponse|samlart|sas)(?:=|%3d))[^\s&#;"'<>\[\]%][^\s&#;"'<>\[\]]{5,}`)
	queryNames = []string{"code", "CODE", "Code", "ticket", "TICKET", "Ticket", "hmac", "HMAC", "ssertion", "SSERTION",
		"aml", "AML", "sas", "SAS"}
)

// attachedPasswords redacts -pSECRET in a command of a program that takes it so,
// and elsewhere if no word looks like its value.
func attachedPasswords(s string) string {
	found := attached.FindAllStringIndex(s, -1)
	if found == nil {
		return s
	}
	programs := attaching.FindAllStringIndex(s, -1)
	var b strings.Builder
	from, seen, command := 0, 0, false // command: a program's name stands before seen, in the same command
	for _, place := range found {
		for ; len(programs) > 0 && programs[0][1] <= place[0]+1; programs = programs[1:] {
			seen, command = max(seen, programs[0][1]), true
		}
		command = command && !strings.ContainsAny(s[min(seen, place[0]):place[0]], "\n;|&")
		seen = place[1]
		start := place[0] + strings.Index(s[place[0]:place[1]], "-p") + 2
		end, value := place[1], s[start:place[1]]
		if quote := value[0]; quote == '"' || quote == '\'' {
			start, end, value = start+1, end-1, value[1:len(value)-1]
		}
		if strings.HasPrefix(value, done) || !command && !mixed(value) {
			continue
		}
		b.WriteString(s[from:start] + Marker)
		from = end
	}
	return b.String() + s[from:]
}

// mixed reports whether a text has a digit and a capital letter and no separator of
// paths, addresses and ports: words and numbers do not.
func mixed(s string) bool {
	return strings.ContainsAny(s, "0123456789") && strings.ContainsAny(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") &&
		!strings.ContainsAny(s, "/:=")
}

// statedValues redacts the value in a sentence such as "the password is hunter2": a
// secret name, a verb, a value. A value in quotes is one; a bare word only if it has
// a digit or a sign that words have not.
func statedValues(s string) string {
	var b strings.Builder
	from := 0 // all before it is written
	for at := 0; at < len(s); {
		c := s[at] | 0x20
		at++
		if c != 's' && c != 'o' { // the last letter of a verb
			continue
		}
		if at == len(s) || at < 3 || strings.IndexByte(" :\t\r\n", s[at]) < 0 ||
			strings.IndexByte("iIaAtT", s[at-2]) < 0 {
			continue
		}
		name, ok := subject(s[from:at])
		if !ok || !mayEndName(name) || !secretName(strings.ReplaceAll(name[max(0, len(name)-maxName):], " ", "_")) {
			continue
		}
		rest := s[at:]
		if m := adverb.FindString(rest); m != "" {
			rest = rest[len(m):]
		}
		value := strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(rest, space), ":"), space)
		begin := len(s) - len(value)
		if begin == len(s) || strings.IndexByte(space, s[begin-1]) < 0 {
			continue
		}
		open, word := spoken(value)
		if word == "" || strings.HasPrefix(word, done) {
			continue
		}
		b.WriteString(s[from:begin] + open + Marker)
		from = begin + len(open) + len(word)
		at = from
	}
	if from == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

const space = " \t\r\n"

var adverb = regexp.MustCompile(`^(?i)\s+(?:now|still|(?:set|changed|reset)\s+to)\b`)

// subject is what stands before the verb that a text ends with.
func subject(s string) (name string, ok bool) {
	end := strings.LastIndexAny(s, space)
	if end < 0 {
		return "", false
	}
	name = strings.TrimRight(s[:end], space)
	switch strings.ToLower(s[end+1:]) {
	case "is", "was":
	case "to":
		before := strings.LastIndexAny(name, space)
		if before < 0 {
			return "", false
		}
		switch strings.ToLower(name[before+1:]) {
		case "set", "changed", "reset", "equal":
			name = strings.TrimRight(name[:before], space)
		default:
			return "", false
		}
	default:
		return "", false
	}
	return strings.TrimRight(name, `"'`), true
}

// spoken finds the value that a text begins with: within quotes, or a bare word
// that words do not look like, without the signs that end a sentence.
func spoken(s string) (open, word string) {
	if quote := s[0]; quote == '"' || quote == '\'' || quote == '`' {
		end := strings.IndexByte(s[1:], quote)
		if end <= 0 || strings.ContainsRune(s[1:1+end], '\n') {
			return "", ""
		}
		return s[:1], s[1 : 1+end]
	}
	if end := strings.IndexAny(s, space); end >= 0 {
		s = s[:end]
	}
	s = strings.TrimRight(s, ".,;:!?)]}\"'")
	if !unusual(s) {
		return "", ""
	}
	return "", s
}

// unusual reports whether a word is long enough for a secret and has a digit or a
// sign that words have not.
func unusual(word string) bool {
	return len(word) >= 4 && strings.ContainsAny(word, "0123456789!@#$%^&*+=~|<>")
}
