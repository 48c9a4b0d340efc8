package document

import (
	"cmp"
	"slices"
	"strings"
)

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

// foldName breaks a name into short lines after its '-', '_' and '.'.
func foldName(name string) []string {
	var lines []string
	line := ""
	for name != "" {
		part := name[:strings.IndexAny(name, "-_.")+1]
		part = cmp.Or(part, name)
		name = name[len(part):]
		if line != "" && width(line)+width(part) > nameParts {
			lines = append(lines, line)
			line = ""
		}
		for line += part; width(line) > nameParts; {
			head, tail := fold(line, nameParts)
			lines = append(lines, head)
			line = tail
		}
	}
	return append(lines, line)
}
