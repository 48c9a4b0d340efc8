package prose

import (
	"iter"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// matchReach is the largest length of a match, in bytes.
const matchReach = 300

// A Matcher searches for many alternatives at once. A match begins at the beginning of a
// word, or at a byte that is in no word.
//
// A regular expression of hundreds of alternatives tries each of them at each byte. The
// matcher tries only the group of those that begin with the next two bytes, of those
// that begin with the next byte, and of those that may begin with any. A group is
// compiled when it is first tried.
type Matcher struct {
	by2  map[[2]byte]*matchGroup
	by   [256]*matchGroup
	wild *matchGroup // of the wild alternatives, which may begin with any letter; nil: there are none
	// needles has, for each wild alternative, a text that its matches contain, "" if
	// unknown. In a text without any of them the wild group is not tried.
	needles []string
	whole   string // the pattern at the end of a match
}

// A matchGroup is a group of alternatives with the same beginning.
type matchGroup struct {
	once   sync.Once
	source string
	form   *regexp.Regexp
}

// add adds an alternative; a nil group is empty.
func (g *matchGroup) add(alternative string) *matchGroup {
	if g == nil {
		return &matchGroup{source: alternative}
	}
	g.source += "|" + alternative
	return g
}

// find returns the end of a match at the beginning of the text, 0 if there is none.
func (g *matchGroup) find(text, whole string) int {
	g.once.Do(func() { g.form = regexp.MustCompile(`^(?:` + g.source + `)` + whole) })
	if loc := g.form.FindStringIndex(text); loc != nil {
		return loc[1]
	}
	return 0
}

// manyBytes is the number of possible first bytes from which an alternative is wild. All
// bytes beyond ASCII count as one.
const manyBytes = 40

// NewMatcher makes a matcher of the alternatives of a pattern. If whole is set, a match
// ends at the end of a word.
func NewMatcher(alternatives string, whole bool) *Matcher {
	m := &Matcher{by2: make(map[[2]byte]*matchGroup)}
	if whole {
		m.whole = `(?:$|[^\pL\pN_])`
	}
	alternatives, caseless := strings.CutPrefix(alternatives, "(?i)")
	for _, one := range topAlternatives(alternatives) {
		for _, one := range spread(one, 2) {
			begins := literalPrefix(one)
			if !caseless {
				m.file(one, begins)
				continue
			}
			one = "(?i:" + one + ")"
			if len(begins) < 2 {
				m.file(one, "")
				continue
			}
			upper, lower := strings.ToUpper(begins[:2]), strings.ToLower(begins[:2])
			m.file(one, lower)
			m.file(one, upper)
			if begins[1] != ' ' {
				m.file(one, upper[:1]+lower[1:])
				m.file(one, lower[:1]+upper[1:])
			}
		}
	}
	return m
}

// file puts an alternative into its group; begins is the literal that it begins with.
func (m *Matcher) file(one, begins string) {
	switch {
	case len(begins) > 1:
		key := [2]byte{begins[0], begins[1]}
		m.by2[key] = m.by2[key].add(one)
		return
	case begins != "":
		m.by[begins[0]] = m.by[begins[0]].add(one)
		return
	}
	first := firstBytes(one)
	if countFirst(first) >= manyBytes {
		m.wild = m.wild.add(one)
		m.needles = append(m.needles, needle(one))
		return
	}
	for b := range first {
		if first[b] {
			m.by[b] = m.by[b].add(one)
		}
	}
}

// needle returns a text that every match of a wild alternative contains, "" if unknown.
func needle(one string) string {
	for _, word := range []string{`\w+`, `\w*`} {
		if rest, ok := strings.CutPrefix(one, word); ok {
			if strings.HasPrefix(rest, "n't") {
				return "n't"
			}
			return strings.TrimRight(literalPrefix(rest), " ")
		}
	}
	return ""
}

// spread splits an alternative that begins with a group: "(?:a|b)c" becomes "ac" and
// "bc", down to depth nested groups. It removes a word boundary at the beginning, which
// next checks for every match.
func spread(one string, depth int) []string {
	if rest, bound := strings.CutPrefix(one, `\b`); bound && rest != "" && (rest[0] == '(' || LetterByte(rest[0])) {
		one = rest
	}
	if depth == 0 || !strings.HasPrefix(one, "(?:") {
		return []string{one}
	}
	end := groupEnd(one)
	if end < 0 || end+1 < len(one) && strings.IndexByte("?*+{", one[end+1]) >= 0 {
		return []string{one}
	}
	var list []string
	for _, inner := range topAlternatives(one[len("(?:"):end]) {
		if inner == "" {
			return []string{one}
		}
		list = append(list, spread(inner+one[end+1:], depth-1)...)
	}
	return list
}

// groupEnd returns the offset of the parenthesis that closes the first one, or -1.
func groupEnd(pattern string) int {
	for i, depth := range grouping(pattern) {
		if pattern[i] == ')' && depth == 0 {
			return i
		}
	}
	return -1
}

// grouping yields the offset of each parenthesis and bar of a pattern, with the number
// of groups that are open behind it. It leaves out those in escapes and classes.
func grouping(pattern string) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		depth, class := 0, false
		for i := 0; i < len(pattern); i++ {
			switch c := pattern[i]; {
			case c == '\\':
				i++
				continue
			case class:
				class = c != ']'
				continue
			case c == '[':
				class = true
				continue
			case c == '(':
				depth++
			case c == ')':
				depth--
			case c != '|':
				continue
			}
			if !yield(i, depth) {
				return
			}
		}
	}
}

// literalPrefix returns the letters and spaces that every match of an alternative begins
// with.
func literalPrefix(one string) string {
	n := 0
	for n < len(one) && (LetterByte(one[n]) || n > 0 && one[n] == ' ') {
		n++
	}
	if n < len(one) && strings.IndexByte("?*{", one[n]) >= 0 {
		n--
	}
	return one[:max(n, 0)]
}

// next returns the first match that begins at from or later, nil if there is none.
func (m *Matcher) next(text string, from int) []int {
	wild := m.wild
	if wild != nil && !slices.ContainsFunc(m.needles, func(n string) bool { return strings.Contains(text[from:], n) }) {
		wild = nil
	}
	for at := from; at < len(text); at++ {
		if !utf8.RuneStart(text[at]) || at > 0 && wordByte(text[at]) && wordByte(text[at-1]) {
			continue
		}
		var pair *matchGroup
		if at+1 < len(text) {
			pair = m.by2[[2]byte{text[at], text[at+1]}]
		}
		one := m.by[text[at]]
		if pair == nil && one == nil && wild == nil {
			continue
		}
		to := min(len(text), at+matchReach)
		for to < len(text) && !utf8.RuneStart(text[to]) {
			to++
		}
		for _, g := range [3]*matchGroup{pair, one, wild} {
			if g == nil {
				continue
			}
			if end := g.find(text[at:to], m.whole); end > 0 {
				return []int{at, at + end}
			}
		}
	}
	return nil
}

// submatches returns the matches of form, with their groups, at the matches of m, which
// is the matcher of the same pattern.
func (m *Matcher) submatches(form *regexp.Regexp, text []byte) [][]int {
	var list [][]int
	for _, at := range m.FindAllStringIndex(string(text), -1) {
		found := form.FindSubmatchIndex(text[at[0]:min(len(text), at[0]+matchReach)])
		if found == nil || found[0] != 0 {
			continue
		}
		for i := range found {
			if found[i] >= 0 {
				found[i] += at[0]
			}
		}
		list = append(list, found)
	}
	return list
}

// MatchString reports whether there is a match in the text.
func (m *Matcher) MatchString(text string) bool { return m.next(text, 0) != nil }

// FindStringIndex returns the first match, or nil.
func (m *Matcher) FindStringIndex(text string) []int { return m.next(text, 0) }

// FindAllStringIndex returns the first n matches that do not overlap; n below 0: all.
func (m *Matcher) FindAllStringIndex(text string, n int) [][]int {
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

// countFirst returns the number of bytes in a set; all beyond ASCII count as one.
func countFirst(set [256]bool) (n int) {
	for b, in := range set {
		if in && b <= utf8.RuneSelf {
			n++
		}
	}
	return n
}

// LetterByte reports whether b is an ASCII letter.
func LetterByte(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }

func wordByte(b byte) bool {
	return b >= utf8.RuneSelf || b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// topAlternatives splits a pattern at the bars outside of groups.
func topAlternatives(pattern string) []string {
	var list []string
	start := 0
	for i, depth := range grouping(pattern) {
		if pattern[i] == '|' && depth == 0 {
			list = append(list, pattern[start:i])
			start = i + 1
		}
	}
	return append(list, pattern[start:])
}

// firstBytes returns the bytes that a match may begin with.
func firstBytes(pattern string) (first [256]bool) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return first // compiling the group reports the error
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
				first[b] = first[b] || b < utf8.RuneSelf && in.MatchRune(rune(b)) ||
					b >= utf8.RuneSelf && in.Rune[len(in.Rune)-1] >= utf8.RuneSelf
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

// WordList compiles alternatives as whole words.
func WordList(alternatives string) *Matcher { return NewMatcher(alternatives, true) }
