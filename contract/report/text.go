package report

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
)

const (
	defaultWidth  = 100
	minWidth      = 40
	defaultBroken = 20
	maxFaults     = 5 // fault lines of a broken cell
	indent        = "  "
	labelWidth    = 8
)

// TextOptions are the settings of [Text]; nil and the zero value work.
type TextOptions struct {
	_ struct{}
	// Width is the largest number of columns of a line, 40 and up; 0: 100. Only
	// lines to be copied, and a single wider table column, exceed it.
	Width int
	// MaxBroken bounds the broken cells that are shown in detail; 0: 20, negative:
	// no bound. Trials that broke for the same reason count once. The text says how
	// many were left out.
	MaxBroken int
	// Color adds terminal colours. No information is in the colour alone. The
	// caller decides whether the writer is a terminal and NO_COLOR is unset.
	Color bool
}

// Text writes the report for a terminal or a log: the table of scenarios and
// invariants, the verdict and its numbers, then the broken cells. Each has its
// prompt, its answer, the delivered faults and the line that reruns it.
//
// Errors: [*FieldError] for a nil report, for values without a meaning and for a
// Width that is not allowed, before anything is written; and those of the writer.
func Text(w io.Writer, r *contract.Report, o *TextOptions) error {
	if o == nil {
		o = new(TextOptions)
	}
	p, err := newPrinter(w, o)
	if err != nil {
		return err
	}
	if err := check(r); err != nil {
		return err
	}
	g := newGrid(r)
	p.line(p.paint("1", clip(title(r), p.width)))
	p.line()
	p.tables(g)
	p.legend(g)
	p.verdict(r)
	p.notes(notes(r))
	p.broken(broken(r, g), limit(o.MaxBroken, defaultBroken))
	p.undecided(undecided(r), limit(o.MaxBroken, defaultBroken))
	return written(p.Flush())
}

// A printer writes text and keeps the first error until Flush.
type printer struct {
	*bufio.Writer
	width   int
	color   bool
	command *regexp.Regexp
}

func newPrinter(w io.Writer, o *TextOptions) (*printer, error) {
	if o.Width != 0 && o.Width < minWidth {
		return nil, fields.Wrong("TextOptions.Width", o.Width, "0, or 40 and up")
	}
	p := &printer{Writer: bufio.NewWriter(w), width: o.Width, color: o.Color, command: regexp.MustCompile(logCommand)}
	if p.width == 0 {
		p.width = defaultWidth
	}
	return p, nil
}

// logCommand matches what a CI system reads as a command in its log: a line that
// begins with "::" (GitHub, which skips spaces), and "##[", "##vso[" (Azure) and
// "##teamcity[" anywhere.
const logCommand = `^(?: |\x1b\[[0-9;]*m)*::|##[a-z]*\[`

// line writes one line. In a command its first or last character becomes an escape,
// so that it has no effect.
func (p *printer) line(parts ...string) {
	line := strings.Join(parts, "")
	p.WriteString(p.command.ReplaceAllStringFunc(line, func(s string) string {
		if before, isBracket := strings.CutSuffix(s, "["); isBracket {
			return before + `\x5b`
		}
		return strings.Replace(s, ":", `\x3a`, 1)
	}))
	p.WriteString("\n")
}

// paint colours s, with parameters of the SGR control sequence (ECMA-48).
func (p *printer) paint(sgr, s string) string {
	if !p.color || s == "" {
		return s
	}
	return "\x1b[" + sgr + "m" + s + "\x1b[0m"
}

// legend explains the signs that occur.
func (p *printer) legend(g *grid) {
	line, used := "", 0
	for m := range marks {
		l := m.look()
		if g.used.count[m] == 0 {
			continue
		}
		wide := width(l.sign + " " + l.meaning)
		switch {
		case used > 0 && used+3+wide > p.width:
			p.line(line)
			line, used = "", 0
		case used > 0:
			line += "   "
			used += 3
		}
		line += p.paint(l.colour, l.sign) + " " + l.meaning
		used += wide
	}
	p.line(line)
	for _, line := range wrap(legendText(g), p.width, 4) {
		p.line(p.paint("2", line))
	}
	p.line()
}

func (p *printer) verdict(r *contract.Report) {
	sgr := map[scoring.Verdict]string{scoring.Pass: "32;1", scoring.Fail: "31;1"}[r.Score.Verdict]
	if sgr == "" {
		sgr = "33;1"
	}
	name := r.Score.Verdict.String()
	pad := strings.Repeat(" ", len(name)+1)
	for i, line := range wrap(r.Score.Why, p.width-len(pad), 5) {
		if i == 0 {
			p.line(p.paint(sgr, name), " ", line)
			continue
		}
		p.line(pad, line)
	}
	p.line()
	for _, f := range facts(r) {
		p.labelled("", f.label, wrap(f.text, p.width-labelWidth-2, 3))
	}
}

// labelled writes lines beside a label.
func (p *printer) labelled(margin, label string, lines []string) {
	for i, line := range lines {
		if i > 0 {
			label = ""
		}
		p.line(strings.TrimRight(fmt.Sprintf("%s%s  %s", margin, p.paint("2", fmt.Sprintf("%-*s", labelWidth, label)), line), " "))
	}
}

// hanging writes lines after a sign of one column.
func (p *printer) hanging(sign string, lines []string) {
	for i, line := range lines {
		if i > 0 {
			sign = " "
		}
		p.line(sign, " ", line)
	}
}

func (p *printer) notes(notes []string) {
	if len(notes) == 0 {
		return
	}
	p.line()
	for _, note := range notes {
		p.hanging("*", wrap(note, p.width-2, 8))
	}
}

func (p *printer) broken(groups []*group, most int) {
	if len(groups) == 0 {
		return
	}
	p.line()
	p.line(p.paint("1", "BROKEN"))
	for _, b := range groups[:min(most, len(groups))] {
		p.line()
		p.group(b)
	}
	if more := len(groups) - most; more > 0 {
		p.line()
		p.line(fmt.Sprintf("… and %d more", more))
	}
}

func (p *printer) group(b *group) {
	l := b.mark.look()
	head := fmt.Sprintf("%s / %s (%v): %s", clip(b.cell.Cell.Scenario, 60), clip(b.cell.Cell.Invariant, 60), b.cell.Severity, b.outcome())
	p.hanging(p.paint(l.colour, l.sign), wrap(head, p.width-2, 4))
	room := p.width - labelWidth - 2*len(indent)
	p.labelled(indent, "why", wrap(b.why(), room, 6))
	if o := b.cell.Evidence; o != nil {
		p.labelled(indent, "prompt", []string{clip(o.Prompt, room)})
		p.labelled(indent, "answer", []string{answer(o, room)})
	}
	p.labelled(indent, "faults", faultLines(b, room))
	if b.cell.Rerun != "" {
		p.labelled(indent, "rerun", []string{clean(b.cell.Rerun)})
	}
}

// answer returns the agent's answer on one line; an empty one is named.
func answer(o *contract.Observation, width int) string {
	if strings.TrimSpace(o.Response) == "" {
		return "(none)"
	}
	return clip(strings.TrimSpace(o.Response), width)
}

// faultLines formats the first faults, with long ones wrapped and indented.
func faultLines(b *group, width int) []string {
	all := b.faults()
	var lines []string
	for _, fault := range all[:min(maxFaults, len(all))] {
		for i, line := range wrap(clean(fault), width-len(indent), 3) {
			lines = append(lines, []string{"", indent}[min(i, 1)]+line)
		}
	}
	if more := len(all) - maxFaults; more > 0 {
		lines = append(lines, fmt.Sprintf("… and %d more", more))
	}
	return lines
}

func (p *printer) undecided(groups []*undecidedGroup, most int) {
	if len(groups) == 0 {
		return
	}
	p.line()
	p.line(p.paint("1", "NOT DECIDED"))
	p.line()
	for _, u := range groups[:min(most, len(groups))] {
		l := u.mark.look()
		text := fmt.Sprintf("%s: %s %s: %s", clip(u.scenario, 60), text.Plural(u.cells, "cell"), u.mark.short(), u.reason())
		p.hanging(p.paint(l.colour, l.sign), wrap(text, p.width-2, 4))
	}
	if more := len(groups) - most; more > 0 {
		p.line(fmt.Sprintf("… and %d more", more))
	}
}
