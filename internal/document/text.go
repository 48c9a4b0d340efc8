package document

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strings"
)

const (
	labelWidth = 8
	indent     = "  "
	// labelRoom is what a label takes of a line, with its margin and the gap behind.
	labelRoom = len(indent) + labelWidth + 2
	headWidth = 60 // columns of a name in a sentence
)

// Text writes sections for a terminal or a log, in lines of at most width columns. Only commands
// and a single wider column exceed it. With color it adds terminal colours, which say nothing
// more. What a CI system reads as a command in its log has no effect.
func Text(w io.Writer, sections []*Section, width int, color bool) error {
	p := &printer{Writer: bufio.NewWriter(w), width: width, color: color}
	for _, s := range sections {
		p.section(s)
	}
	return p.Flush()
}

// A printer writes text and keeps the first error until Flush.
type printer struct {
	*bufio.Writer
	width int
	color bool
	any   bool // something was written
}

// logCommand matches what a CI system reads as a command in its log: a line that
// begins with "::" (GitHub, which skips spaces), and "##[", "##vso[" (Azure) and
// "##teamcity[" anywhere.
var logCommand = regexp.MustCompile(`^(?: |\x1b\[[0-9;]*m)*::|##[a-z]*\[`)

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

// paint colours s, with parameters of the SGR control sequence.
func (p *printer) paint(sgr, s string) string {
	if !p.color || s == "" || sgr == "" {
		return s
	}
	return "\x1b[" + sgr + "m" + s + "\x1b[0m"
}

func (p *printer) sign(s *Sign) string { return p.paint(s.Colour, s.Text) }

// section writes a section after an empty line.
func (p *printer) section(s *Section) {
	if s.empty() {
		return
	}
	if p.any {
		p.line()
	}
	items, more := s.shown()
	p.heading(s)
	if s.Head != "" && (len(items) == 0 || len(items[0].Details) == 0) {
		p.line()
	}
	if s.Table != nil {
		p.table(s.Table)
	}
	if v := s.Verdict; v != nil {
		p.hanging(p.paint(v.Sign.Colour+";1", v.Name), width(v.Name)+1, wrap(v.Why, p.width-width(v.Name)-1, 5))
		if len(s.Facts) > 0 {
			p.line()
		}
	}
	for _, f := range s.Facts {
		p.labelled("", f.Label, wrap(f.Text, p.width-labelWidth-2, 6))
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

// heading writes the heading with what stands beside or below it.
func (p *printer) heading(s *Section) {
	head := Clip(s.Head, p.width)
	if s.Beside || s.Head == "" {
		margin := 0
		if s.Head != "" {
			margin = width(head) + 2
		}
		if s.Intro != "" {
			p.hanging(p.paint("1", head), margin, wrap(s.Intro, p.width-margin, 6))
		}
		return
	}
	p.line(p.paint("1", head))
	if s.Intro != "" {
		p.line()
		p.hanging("", 0, wrap(s.Intro, p.width, 4))
	}
}

// hanging writes lines beside what leads them, which takes so many columns with its gap.
func (p *printer) hanging(lead string, columns int, lines []string) {
	for i, line := range lines {
		if columns == 0 {
			p.line(line)
		} else if i == 0 {
			gap := max(1, columns-width(colours.ReplaceAllString(lead, "")))
			p.line(lead, strings.Repeat(" ", gap), line)
		} else {
			p.line(strings.Repeat(" ", columns), line)
		}
	}
}

// colours take no columns.
var colours = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// labelled writes lines beside a label.
func (p *printer) labelled(margin, label string, lines []string) {
	p.hanging(margin+p.paint("2", label), len(margin)+labelWidth+2, lines)
}

func (p *printer) item(i *Item) {
	lead, columns := p.paint("1", i.Lead), 2
	switch {
	case i.Sign != nil:
		lead = p.sign(i.Sign)
	case i.Lead == "":
		lead = "*"
	default:
		columns = width(i.Lead) + 2
	}
	text := i.head(func(s string) string { return Clip(s, headWidth) }) + i.Text
	lines := []string{Clip(text, p.width-columns)}
	if i.Lines != 1 {
		lines = wrap(text, p.width-columns, cmp.Or(i.Lines, 4))
	}
	p.hanging(lead, columns, lines)
	for k := range i.Details {
		p.detail(&i.Details[k])
	}
}

func (p *printer) detail(d *Detail) {
	if d.empty() || d.Kind == Link {
		return
	}
	room := p.width - labelRoom
	var lines []string
	for i, text := range append(d.List, d.Text) {
		switch {
		case i == len(d.List) && text == "":
		case d.Kind == Command:
			lines = append(lines, Clean(text))
		case d.Kind != Prose:
			lines = append(lines, Clip(strings.TrimSpace(text), room))
		case i == len(d.List):
			lines = append(lines, wrap(text, room, cmp.Or(d.Lines, 6))...)
		default:
			for k, line := range wrap(Clean(text), room-len(indent), cmp.Or(d.Lines, 6)) {
				lines = append(lines, []string{"", indent}[min(k, 1)]+line)
			}
		}
	}
	p.labelled(indent, d.Label, lines)
}
