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
	queryValue  = regexp.MustCompile(`(?i)((?:[?&;]|%3f|%26)(?:code|code_verifier|device_code|ticket|hmac|assertion|client_assertion|samlresponse|samlart|sas)(?:=|%3d))[^\s&#;"'<>\[\]%][^\s&#;"'<>\[\]]{5,}`)
	queryStarts = []string{"?", "&", ";", "%3f", "%3F", "%26"}
	// "the password is hunter2": a name of one word or two, a verb, a value.
	sentence      = regexp.MustCompile(`(?i)[A-Za-z0-9_-]+(?: (?:key|phrase|word|code|id))?["']?\s+(?:(?:is|was)(?:\s+(?:now|still|set\s+to|changed\s+to|reset\s+to))?|(?:set|changed|reset|equal)\s+to)\s*:?\s+(?:"[^"\n]+"|'[^'\n]+'|` + "`[^`\n]+`" + `|[^\s"'` + "`" + `\[][^\s]*)`)
	sentenceVerbs = []string{" is", " was", " to", "\tis", "\nis", " IS", " Is"}
	spaces        = regexp.MustCompile(`\s+`)
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
	return strings.ContainsAny(s, "0123456789") && strings.ContainsAny(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") && !strings.ContainsAny(s, "/:=")
}

// stated judges a sentence such as "the password is hunter2". A value in quotes is
// one; a bare word only if it has a digit or a sign that words have not.
func stated(match string) string {
	words := spaces.FindAllStringIndex(match, -1)
	value, closing := 0, ""
	if last := match[len(match)-1]; last == '"' || last == '\'' || last == '`' {
		if open := strings.IndexByte(match, last); open < len(match)-1 && open > 0 && strings.TrimSpace(match[open-1:open]) == "" {
			value, closing = open+1, string(last)
		}
	}
	if value == 0 {
		value = words[len(words)-1][1]
		word := strings.TrimRight(match[value:], ".,;:!?)]}\"'")
		closing = match[value+len(word):]
		if !unusual(word) {
			return match
		}
	}
	name := strings.TrimRight(match[:words[0][0]], `"'`)
	if second := match[words[0][1]:]; len(words) > 1 && !verb(second) {
		name += "_" + strings.TrimRight(second[:strings.IndexAny(second, " \t\r\n")], `"'`)
	}
	if !secretName(name) || strings.HasPrefix(match[value:], done) {
		return match
	}
	return match[:value] + Marker + closing
}

// verb reports whether a text begins with a verb of a sentence.
func verb(s string) bool {
	word, _, _ := strings.Cut(strings.ToLower(spaces.ReplaceAllString(s, " ")), " ")
	switch strings.TrimSuffix(word, ":") {
	case "is", "was", "set", "changed", "reset", "equal":
		return true
	}
	return false
}

// unusual reports whether a word is long enough for a secret and has a digit or a
// sign that words have not.
func unusual(word string) bool {
	return len(word) >= 4 && !strings.HasPrefix(word, "[") && strings.ContainsAny(word, "0123456789!@#$%^&*+=~|<>")
}
