// Package document shows what a program has to tell people: as text for a terminal or a log, as
// Markdown for a comment on a pull request, as a page. A [Document] says what is told, in which
// order; each writer decides only how it looks.
//
// The texts of a document may come from a model and contain anything. The writers show what
// cannot be printed as Go escapes, cut what is long, and escape what has a meaning in the format.
package document

import (
	"cmp"
	"strconv"
	"strings"
)

// A Document is a title and what is told under it.
type Document struct {
	Title    string
	Verdict  *Verdict
	Sections []*Section
}

// A Verdict is the outcome of all, with its reason.
type Verdict struct {
	Sign Sign
	Name string
	Why  string
}

// A Section has a heading and, in this order, what it has of the other parts.
type Section struct {
	Name    string // what is left out is called so: "… and 3 more broken"
	Head    string
	Verdict *Verdict // of a text, where it stands below the table
	Intro   string
	Table   *Table
	Facts   []Fact
	Items   []Item
	Most    int  // items that are shown; 0: all
	Folded  bool // of a page: each item is opened by itself
}

// shown are the items that are shown, and more is how many are not.
func (s *Section) shown() (items []Item, more int) {
	n := len(s.Items)
	if s.Most > 0 {
		n = min(n, s.Most)
	}
	return s.Items[:n], len(s.Items) - n
}

// empty reports whether a section has nothing to show.
func (s *Section) empty() bool {
	return s.Verdict == nil && s.Intro == "" && s.Table == nil && len(s.Facts) == 0 && len(s.Items) == 0
}

// A Sign is an outcome as each format shows it.
type Sign struct {
	Text    string // one column wide
	Emoji   string // coloured, for formats without styles
	Meaning string // in a legend
	Class   string // in a style sheet
}

// A Fact is a number or a few words, with its name.
type Fact struct{ Label, Text string }

// An Item is one thing of a list.
type Item struct {
	ID    string   // of a page, for links
	Sign  *Sign    // nil: Lead
	Lead  string   // such as "1 critical"; "": a point
	Names []string // of what it is about
	Text  string
	Brief string // what details say at length, for formats that fold them
	Lines int    // that Text takes at most in a text; 0: 4
	Link  string // of a point of a page
	Tags  Tags
	// Details make the item one that takes room of its own.
	Details []Detail
	Picture *Picture
	Table   *Table // a page has it, folded
}

// Tags are what a page filters items by; empty: the filter leaves the item out.
type Tags struct{ State, Scenario, Severity, Since string }

// head is what an item is about, with its names joined.
func (i *Item) head(name func(string) string) string {
	names := make([]string, len(i.Names))
	for k, n := range i.Names {
		names[k] = name(n)
	}
	return strings.Join(names, " / ")
}

// A Kind is how a detail is shown.
type Kind uint8

// The kinds of details.
const (
	Prose   Kind = iota // is wrapped
	Quote               // was written by an agent: a text shows its beginning
	OneLine             // is a line, cut at the width
	Command             // is to be copied, and never cut
)

// A Detail is one labelled part of an item, in lines or in one text.
type Detail struct {
	Label string // "": what the item breaks, which a text shows without a label
	Kind  Kind
	Text  string
	List  []string
	Parts []Part // instead of Text
}

func (d *Detail) label() string { return cmp.Or(d.Label, "breaks") }

// empty reports whether a detail has nothing to show.
func (d *Detail) empty() bool { return d.Text == "" && len(d.List) == 0 && len(d.Parts) == 0 }

// A Table has a heading for each column, and rows.
type Table struct {
	Caption string // of a folded table
	Corner  string // the heading of the first column
	Heads   []Head
	Rows    []Row
	Legend  []Sign // those that occur
	Hints   []string
	Repeat  bool // where a text splits the table, each part has the last column
	Piece   bool // it is cut from a longer one
	Wide    int  // columns from this one on hold texts, and are cut late; 0: none does
}

// A Head is the heading of a column.
type Head struct{ Name, Below string }

// A Row is a line of a table.
type Row struct {
	Name  string
	Class string
	Cells []Cell
}

// A Cell has marks or a text.
type Cell struct {
	Marks []Mark
	Text  string
	Words string // what the marks say, without signs
	Link  string
}

// A Mark is a sign and how often it occurs; 0: it stands alone.
type Mark struct {
	Sign  Sign
	Count int
}

// Empty is the sign of a cell without anything.
const Empty = "·"

// in is a cell with its signs in the form of a format.
func (c *Cell) in(gap string, sign func(*Sign) string) string {
	if len(c.Marks) == 0 {
		return cmp.Or(c.Text, Empty)
	}
	parts := make([]string, len(c.Marks))
	for i := range c.Marks {
		m := &c.Marks[i]
		if m.Count > 0 {
			parts[i] = strconv.Itoa(m.Count) + gap
		}
		parts[i] += sign(&m.Sign)
	}
	return strings.Join(parts, " ")
}
