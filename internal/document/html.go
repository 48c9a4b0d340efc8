package document

import (
	"bytes"
	"cmp"
	_ "embed" // for the page
	"html/template"
	"strconv"
	"strings"
)

//go:embed page.html
var page string

const (
	pageLine  = 1200 // columns of a line
	pageValue = 300  // of a short text in a table
)

// HTML returns the document as one page. It has no script and loads nothing, and a content
// security policy forbids both. It follows the light or dark setting of the reader's system.
func (d *Document) HTML() ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"clean": Clean,
		"line":  func(s string) string { return Clip(s, pageLine) },
		"value": func(s string) string { return Clip(s, pageValue) },
		"lines": func(s string) string { return Block(s, MaxText) },
		"list":  isList,
		"signs": func(c Cell) string { return c.in("", func(s *Sign) string { return s.Text }) },
		"wide":  func(t *Table, i int) bool { return t.Wide > 0 && i+1 >= t.Wide },
		"worst": func(c Cell) string {
			if len(c.Marks) == 0 {
				return ""
			}
			return c.Marks[0].Sign.Class
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

// isList reports whether the items of a section are points of a list, and not articles.
func isList(s *Section) bool { return len(s.Items) > 0 && len(s.Items[0].Details) == 0 }

// headline is a heading in small letters but the first.
func headline(s string) string {
	s = strings.ToLower(Clean(s))
	first := cmp.Or(strings.ToUpper(s[:min(1, len(s))]), "")
	return first + s[min(1, len(s)):]
}
