package document

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed" // for the page
	"encoding/base64"
	"html/template"
	"slices"
	"strconv"
	"strings"
)

var (
	//go:embed page.html
	page string
	//go:embed page.css
	style string
	//go:embed page.js
	script string
)

const (
	pageLine  = 1200 // columns of a line
	pageValue = 300  // of a short text in a table
)

// HTML returns the document as one page. It loads nothing. Its one script filters what is shown; a
// content security policy allows that script and the style, by their hashes, and nothing else. Without
// scripts all is there but the filters. It follows the light or dark setting of the reader's system.
func (d *Document) HTML() ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"clean":   Clean,
		"style":   func() template.HTML { return template.HTML("<style>" + style + "</style>") },
		"script":  func() template.HTML { return template.HTML("<script>" + script + "</script>") },
		"styles":  func() string { return hashOf(style) },
		"scripts": func() string { return hashOf(script) },
		"svg":     (*Picture).svg,
		"pieces":  pieces,
		"legend":  func(p *Picture) string { return drawn.Replace(p.under()) },
		"line":    func(s string) string { return Clip(s, pageLine) },
		"value":   func(s string) string { return Clip(s, pageValue) },
		"lines":   func(s string) string { return Block(s, MaxText) },
		"list":    isList,
		"signs":   func(c Cell) string { return c.in("", func(s *Sign) string { return s.Text }) },
		"wide":    func(t *Table, i int) bool { return t.Wide > 0 && i+1 >= t.Wide },
		"worst": func(c Cell) string {
			if len(c.Marks) == 0 {
				return ""
			}
			return c.Marks[0].Sign.Class
		},
		"more_marks": func(c Cell) string {
			var all []string
			for _, m := range c.Marks[min(1, len(c.Marks)):] {
				all = append(all, m.Sign.Class)
			}
			return strings.Join(all, " ")
		},
		"head":   func(i Item) string { return i.head(Clean) + Clip(i.Text, pageLine) },
		"anchor": func(i int) string { return "part-" + strconv.Itoa(i) },
		"title":  headline,
		"show":   func(s *Section) bool { return !s.empty() },
		"items":  func(s *Section) []Item { items, _ := s.shown(); return items },
		"more":   func(s *Section) int { _, more := s.shown(); return more },
		"kind":   func(d Detail) string { return [...]string{"prose", "quote", "one-line", "command"}[d.Kind] },
		"label":  func(d Detail) string { return d.label() },
		"blank":  func(d Detail) bool { return d.empty() },
	}).Parse(page)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, d)
	return b.Bytes(), err
}

// piece is the most rows of a table in one piece. A browser lays out the pieces of a long table that are seen.
const piece = 100

// pieces cuts a long table, and repeats its heads.
func pieces(t *Table) (all []Table) {
	for rows := range slices.Chunk(t.Rows, piece) {
		own := *t
		own.Rows, own.Piece = rows, len(t.Rows) > piece
		all = append(all, own)
	}
	return all
}

// hashOf is a source of a content security policy: the text itself.
func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// isList reports whether the items of a section are points of a list, and not articles.
func isList(s *Section) bool { return len(s.Items) > 0 && len(s.Items[0].Details) == 0 }

// headline is a heading in small letters but the first.
func headline(s string) string {
	s = strings.ToLower(Clean(s))
	first := cmp.Or(strings.ToUpper(s[:min(1, len(s))]), "")
	return first + s[min(1, len(s)):]
}
