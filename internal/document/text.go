package document

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

const (
	maxLines   = 6 // of a fact, a detail
	labelWidth = 8
	indent     = "  "
	// labelRoom is what a label takes of a line, with its margin and the gap behind.
	labelRoom = len(indent) + labelWidth + 2
	headWidth = 60 // columns of a name in a sentence
)

// Text writes sections for a terminal or a log, in lines of at most width columns. Only commands
// and a single wider column exceed it. What a CI system reads as a command in its log has no effect.
func Text(w io.Writer, sections []*Section, width int) error {
	p := &printer{Writer: bufio.NewWriter(w), width: width}
	for _, s := range sections {
		p.section(s)
	}
	return p.Flush()
}

// A printer writes text and keeps the first error until Flush.
type printer struct {
	*bufio.Writer
	width int
	any   bool // something was written
}

// logCommand matches what a CI system reads as a command in its log: a line that
// begins with "::" (GitHub, which skips spaces), and "##[", "##vso[" (Azure) and
// "##teamcity[" anywhere.
var logCommand = regexp.MustCompile(`^ *::|##[a-z]*\[`)

// Line is a text on one line of at most width columns, as [Text] writes it.
func Line(s string, width int) string {
	return Clip(withoutCommands(Clean(s)), width)
}

// withoutCommands makes the first or last character of a command an escape.
func withoutCommands(line string) string {
	return logCommand.ReplaceAllStringFunc(line, func(s string) string {
		if before, isBracket := strings.CutSuffix(s, "["); isBracket {
			return before + `\x5b`
		}
		return strings.Replace(s, ":", `\x3a`, 1)
	})
}

// line writes one line, with commands to a CI system without effect.
func (p *printer) line(parts ...string) {
	p.any = true
	p.WriteString(withoutCommands(strings.TrimRight(strings.Join(parts, ""), " ")))
	p.WriteString("\n")
}

// section writes a section after an empty line.
func (p *printer) section(s *Section) {
	if s.empty() {
		return
	}
	if p.any {
		p.line()
	}
	items, more := s.shown()
	head := Clip(s.Head, p.width)
	switch {
	case head == "" && s.Intro != "":
		p.beside("", 0, wrap(s.Intro, p.width, maxLines))
	case s.Intro != "":
		p.beside(head, width(head)+2, wrap(s.Intro, p.width-width(head)-2, maxLines))
	case head != "":
		p.line(head)
	}
	onlyIntro := s.Table == nil && s.Verdict == nil && len(s.Facts) == 0 && len(items) == 0
	if s.Head != "" && !onlyIntro && (len(items) == 0 || len(items[0].Details) == 0) {
		p.line()
	}
	if s.Table != nil {
		p.table(s.Table)
	}
	if v := s.Verdict; v != nil {
		p.beside(v.Name, width(v.Name)+1, wrap(v.Why, p.width-width(v.Name)-1, 5))
		if len(s.Facts) > 0 {
			p.line()
		}
	}
	for _, f := range s.Facts {
		p.beside(f.Label, labelWidth+2, wrap(f.Text, p.width-labelWidth-2, maxLines))
	}
	for i := range items {
		if len(items[i].Details) > 0 && p.any {
			p.line()
		}
		p.item(&items[i])
	}
	if more > 0 {
		p.line()
		p.line(fmt.Sprintf("… and %d more", more))
	}
}

// beside writes lines beside what leads them, which takes so many columns with its gap.
func (p *printer) beside(lead string, columns int, lines []string) {
	for i, line := range lines {
		if i > 0 {
			lead = ""
		}
		if columns > 0 {
			line = lead + strings.Repeat(" ", max(1, columns-width(lead))) + line
		}
		p.line(line)
	}
}

func (p *printer) item(i *Item) {
	lead, columns := "*", 2
	if i.Sign != nil {
		lead = i.Sign.Text
	} else if i.Lead != "" {
		lead, columns = i.Lead, width(i.Lead)+2
	}
	text := i.head(func(s string) string { return Clip(s, headWidth) }) + i.Text
	lines := []string{Clip(text, p.width-columns)}
	if i.Lines != 1 {
		lines = wrap(text, p.width-columns, cmp.Or(i.Lines, 4))
	}
	p.beside(lead, columns, lines)
	for k := range i.Details {
		p.detail(&i.Details[k])
	}
	if i.Picture != nil {
		p.line()
		p.beside(indent, len(indent), i.Picture.text())
	}
}

func (p *printer) detail(d *Detail) {
	room := p.width - labelRoom
	var lines []string
	for _, text := range d.List {
		if d.Kind == OneLine {
			lines = append(lines, Clip(text, room))
			continue
		}
		for k, line := range wrap(Clean(text), room-len(indent), maxLines) {
			lines = append(lines, []string{"", indent}[min(k, 1)]+line)
		}
	}
	switch {
	case len(d.Parts) > 0:
		lines = append(lines, wrap(partsText(d.Parts), room, maxLines)...)
	case d.Text == "":
	case d.Kind == Command:
		lines = append(lines, Clean(d.Text))
	case d.Kind == Quote:
		lines = append(lines, Clip(strings.TrimSpace(d.Text), room))
	default:
		lines = append(lines, wrap(d.Text, room, maxLines)...)
	}
	p.beside(indent+d.Label, labelRoom, lines)
}

const (
	maxName   = 40 // columns of a name in a table
	nameParts = 12 // columns of a part of a folded name
	columnGap = 2
)

// A column of a text table has a heading of several lines, and an entry for each row.
type column struct {
	head    []string
	entries []string
}

func (c *column) width() int {
	w := 0
	for _, line := range slices.Concat(c.head, c.entries) {
		w = max(w, width(line))
	}
	return w
}

// table draws a table: as it is if it fits, else with folded names, else in as many tables as it
// takes, each with the first column.
func (p *printer) table(t *Table) {
	columns := p.columns(t, func(name string) []string { return []string{name} })
	if total(columns) > p.width {
		columns = p.columns(t, foldName)
	}
	end := len(columns)
	if t.Repeat {
		end--
	}
	first, rest, last := columns[:1], columns[1:end], columns[end:]
	for len(rest) > 0 {
		n := len(rest)
		for n > 1 && total(slices.Concat(first, rest[:n], last)) > p.width {
			n--
		}
		p.draw(slices.Concat(first, rest[:n], last))
		rest = rest[n:]
	}
	p.legend(t)
}

func (p *printer) columns(t *Table, heading func(string) []string) []column {
	columns := []column{{head: []string{t.Corner}}}
	for _, h := range t.Heads {
		c := column{head: heading(Clip(h.Name, maxName))}
		if h.Below != "" {
			c.head = append(c.head, h.Below)
		}
		columns = append(columns, c)
	}
	for _, row := range t.Rows {
		columns[0].entries = append(columns[0].entries, Clip(row.Name, maxName))
		for i := range row.Cells {
			entry := row.Cells[i].in("", func(s *Sign) string { return s.Text })
			columns[i+1].entries = append(columns[i+1].entries, entry)
		}
	}
	return columns
}

func total(columns []column) int {
	w := -columnGap
	for i := range columns {
		w += columns[i].width() + columnGap
	}
	return w
}

// draw writes columns side by side, their headings above a line.
func (p *printer) draw(columns []column) {
	height := 0
	for _, c := range columns {
		height = max(height, len(c.head))
	}
	for i := range height {
		p.row(columns, func(c *column) string {
			if at := i - (height - len(c.head)); at >= 0 {
				return c.head[at]
			}
			return ""
		})
	}
	p.line(strings.Repeat("─", total(columns)))
	for i := range columns[0].entries {
		p.row(columns, func(c *column) string { return c.entries[i] })
	}
	p.line()
}

func (p *printer) row(columns []column, entry func(*column) string) {
	var line strings.Builder
	for i := range columns {
		s := entry(&columns[i])
		pad := columns[i].width() + columnGap - width(s)
		line.WriteString(s + strings.Repeat(" ", pad))
	}
	p.line(line.String())
}

// legend explains the signs that occur, and then the rest.
func (p *printer) legend(t *Table) {
	line := ""
	for i := range t.Legend {
		sign := t.Legend[i].Text + " " + t.Legend[i].Meaning
		switch {
		case line == "":
		case width(line)+3+width(sign) > p.width:
			p.line(line)
			line = ""
		default:
			line += "   "
		}
		line += sign
	}
	if line != "" {
		p.line(line)
	}
	for _, hint := range t.Hints {
		for _, line := range wrap(hint, p.width, 4) {
			p.line(line)
		}
	}
}

// foldName breaks a name into short lines, after its '-', '_' and '.' where it can.
func foldName(name string) (lines []string) {
	for width(name) > nameParts {
		head, tail := fold(name, nameParts)
		if at := strings.LastIndexAny(head, "-_.") + 1; at > 0 {
			head, tail = head[:at], head[at:]+tail
		}
		lines, name = append(lines, head), tail
	}
	return append(lines, name)
}
