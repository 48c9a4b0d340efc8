package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
)

const (
	maxName = 40 // columns of a name in a table
	segment = 12 // columns of a part of a folded name
	gap     = 2  // columns between columns
)

// A column of a text table has a heading, whose last line is the severity, and one
// entry for each row.
type column struct {
	head  []string
	cells []entry
}

// An entry is a text with its width: colour sequences take no columns.
type entry struct {
	text  string
	width int
}

func (c *column) width() int {
	w := 0
	for _, line := range c.head {
		w = max(w, width(line))
	}
	for _, e := range c.cells {
		w = max(w, e.width)
	}
	return w
}

// tables draws the grid: in one table if it fits, else with folded names of
// invariants, else in several tables.
func (p *printer) tables(g *grid) {
	first, reach := p.scenarioColumn(g), p.deliveredColumn(g)
	columns := p.invariantColumns(g, func(name string) []string { return []string{name} })
	if total(first, columns, reach) > p.width {
		columns = p.invariantColumns(g, foldName)
	}
	p.split(first, columns, reach)
}

// split draws the columns in as many tables as the width requires, each between the
// first column and the last ones.
func (p *printer) split(first column, columns []column, last ...column) {
	for len(columns) > 0 {
		n := len(columns)
		for n > 1 && total(first, columns[:n], last...) > p.width {
			n--
		}
		p.table(slices.Concat([]column{first}, columns[:n], last))
		columns = columns[n:]
	}
}

func total(first column, between []column, last ...column) int {
	w := first.width()
	for _, c := range slices.Concat(between, last) {
		w += gap + c.width()
	}
	return w
}

func (p *printer) table(columns []column) {
	height, wide := 0, -gap
	for _, c := range columns {
		height = max(height, len(c.head))
		wide += c.width() + gap
	}
	for i := range height {
		p.row(columns, func(c column) entry {
			at := i - (height - len(c.head))
			if at < 0 {
				return entry{}
			}
			e := entry{c.head[at], width(c.head[at])}
			if at == len(c.head)-1 {
				e.text = p.paint("2", e.text)
			}
			return e
		})
	}
	p.line(p.paint("2", strings.Repeat("─", wide)))
	for i := range columns[0].cells {
		p.row(columns, func(c column) entry { return c.cells[i] })
	}
	p.line()
}

// row writes one line of a table without spaces at its end.
func (p *printer) row(columns []column, of func(column) entry) {
	var line strings.Builder
	owed := 0
	for _, c := range columns {
		e := of(c)
		if e.width > 0 {
			line.WriteString(strings.Repeat(" ", owed) + e.text)
			owed = 0
		}
		owed += c.width() - e.width + gap
	}
	p.line(line.String())
}

func (p *printer) scenarioColumn(g *grid) column {
	c := column{head: []string{"scenario"}}
	for _, name := range g.scenarios {
		text := clip(name, maxName)
		c.cells = append(c.cells, entry{text, width(text)})
	}
	return c
}

func (p *printer) deliveredColumn(g *grid) column {
	c := column{head: []string{"delivered"}}
	for _, name := range g.scenarios {
		text := g.delivered(name)
		text = cmp.Or(text, empty)
		c.cells = append(c.cells, entry{text, width(text)})
	}
	return c
}

func (p *printer) invariantColumns(g *grid, heading func(name string) []string) []column {
	columns := make([]column, 0, len(g.invariants))
	for _, name := range g.invariants {
		c := column{head: append(heading(clip(name, maxName)), severityName(g, name))}
		for _, scenario := range g.scenarios {
			c.cells = append(c.cells, p.field(g.at(scenario, name)))
		}
		columns = append(columns, c)
	}
	return columns
}

// severityName returns a short name, so that a column can be narrow.
func severityName(g *grid, invariant string) string {
	s, ok := g.severity[invariant]
	switch {
	case !ok:
		return empty
	case s == contract.Critical:
		return "crit"
	}
	return s.String()
}

func (p *printer) field(f *field) entry {
	if f == nil {
		return entry{p.paint("2", empty), 1}
	}
	plain := f.signs(func(m mark) string { return m.look().sign })
	colored := f.signs(func(m mark) string { return p.paint(m.look().colour, m.look().sign) })
	return entry{colored, width(plain)}
}

// foldName breaks a name into short lines after its '-', '_' and '.'.
func foldName(name string) []string {
	var lines []string
	line := ""
	for name != "" {
		part := name[:strings.IndexAny(name, "-_.")+1]
		part = cmp.Or(part, name)
		name = name[len(part):]
		if line != "" && width(line)+width(part) > segment {
			lines = append(lines, line)
			line = ""
		}
		for line += part; width(line) > segment; {
			head, tail := fold(line, segment)
			lines = append(lines, head)
			line = tail
		}
	}
	return append(lines, line)
}
