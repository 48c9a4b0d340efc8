package invariant

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// matchReach is how far behind its beginning a match is looked for, in bytes.
const matchReach = 300

// matcher finds many alternatives, each of which begins where a word begins or
// beside a sign. A regular expression of hundreds of alternatives pays for each of them
// at each byte; the matcher tries, where one may begin, those that begin with that byte.
type matcher struct {
	by   [256]*regexp.Regexp
	wild *regexp.Regexp // of those that may begin with any letter; nil: none
}

// manyBytes is from how many possible first bytes on an alternative is wild.
const manyBytes = 30

// newMatcher compiles alternatives. A match ends at the end of a word if whole.
func newMatcher(alternatives string, whole bool) *matcher {
	end := ""
	if whole {
		end = `(?:$|[^\pL\pN_])`
	}
	var m matcher
	var sources [256]string
	wild := ""
	alternatives, caseless := strings.CutPrefix(alternatives, "(?i)")
	for _, one := range topAlternatives(alternatives) {
		if caseless {
			one = "(?i:" + one + ")"
		}
		first := firstBytes(one)
		if count(first) >= manyBytes {
			wild += "|" + one
			continue
		}
		for b := range sources {
			if first[b] {
				sources[b] += "|" + one
			}
		}
	}
	if wild != "" {
		m.wild = regexp.MustCompile(`^(?:` + wild[1:] + `)` + end)
	}
	compiled := make(map[string]*regexp.Regexp)
	for b, source := range sources {
		if source == "" {
			continue
		}
		if compiled[source] == nil {
			compiled[source] = regexp.MustCompile(`^(?:` + source[1:] + `)` + end)
		}
		m.by[b] = compiled[source]
	}
	return &m
}

// next returns the first match that begins at or behind from, or nil.
func (m *matcher) next(text string, from int) []int {
	for at := from; at < len(text); at++ {
		re := m.by[text[at]]
		if re == nil && m.wild == nil || !utf8.RuneStart(text[at]) || at > 0 && wordByte(text[at]) && wordByte(text[at-1]) {
			continue
		}
		to := min(len(text), at+matchReach)
		for to < len(text) && !utf8.RuneStart(text[to]) {
			to++
		}
		for _, re := range [2]*regexp.Regexp{re, m.wild} {
			if re == nil {
				continue
			}
			if loc := re.FindStringIndex(text[at:to]); loc != nil && loc[1] > 0 {
				return []int{at, at + loc[1]}
			}
		}
	}
	return nil
}

// MatchString reports whether there is a match in the text.
func (m *matcher) MatchString(text string) bool { return m.next(text, 0) != nil }

// FindStringIndex returns the first match, or nil.
func (m *matcher) FindStringIndex(text string) []int { return m.next(text, 0) }

// FindAllStringIndex returns the first n matches that do not overlap; n below 0: all.
func (m *matcher) FindAllStringIndex(text string, n int) [][]int {
	var list [][]int
	for at := 0; n < 0 || len(list) < n; {
		loc := m.next(text, at)
		if loc == nil {
			break
		}
		list = append(list, loc)
		// The sign that ended a word may begin the next match.
		at = max(loc[0]+1, loc[1]-1)
	}
	return list
}

func count(set [256]bool) (n int) {
	for _, in := range set {
		if in {
			n++
		}
	}
	return n
}

func wordByte(b byte) bool {
	return b >= utf8.RuneSelf || b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// topAlternatives splits a pattern at the bars that are in no group.
func topAlternatives(pattern string) []string {
	var list []string
	depth, class, start := 0, false, 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '|' && depth == 0:
			list = append(list, pattern[start:i])
			start = i + 1
		}
	}
	return append(list, pattern[start:])
}

// firstBytes are the bytes that a match may begin with.
func firstBytes(pattern string) (first [256]bool) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return first // the caller compiles it, and says what is wrong
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return first
	}
	seen := make([]bool, len(prog.Inst))
	var walk func(pc uint32)
	walk = func(pc uint32) {
		if seen[pc] {
			return
		}
		seen[pc] = true
		switch in := prog.Inst[pc]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			walk(in.Out)
			walk(in.Arg)
		case syntax.InstCapture, syntax.InstNop, syntax.InstEmptyWidth:
			walk(in.Out)
		case syntax.InstRune, syntax.InstRune1:
			for b := range first {
				first[b] = first[b] || b < utf8.RuneSelf && in.MatchRune(rune(b)) || b >= utf8.RuneSelf && in.Rune[len(in.Rune)-1] >= utf8.RuneSelf
			}
		case syntax.InstRuneAny, syntax.InstRuneAnyNotNL, syntax.InstMatch:
			for b := range first {
				first[b] = true
			}
		}
	}
	walk(uint32(prog.Start))
	return first
}
