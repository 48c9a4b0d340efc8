package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
)

const (
	defaultWidth  = 100
	minWidth      = 40
	defaultBroken = 20
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
	// no bound. Cells of an invariant that broke for the same reason count once. The
	// text says how many were left out. If the agent breaks something without
	// faults, only that is shown in detail, unless MaxBroken is negative.
	MaxBroken int
	// TableLast writes the broken cells first, and the table, the verdict and the
	// numbers at the end, for a log whose end is read first.
	TableLast bool
	// Color adds terminal colours. No information is in the colour alone. The
	// caller decides whether the writer is a terminal and NO_COLOR is unset.
	Color bool
}

// Text writes the report for a terminal or a log: the table of scenarios and
// invariants, the verdict and its numbers, then the broken cells and the reasons of
// those that were not decided. A broken cell has its prompt, its answer, the
// delivered faults and the line that reruns it. Cells of an invariant that broke for
// the same reason are shown once; the other scenarios have a line each. Cells that a
// defect explains are counted, and the defect is shown; with TableLast it follows them.
//
// What broke without faults comes first. Then the rest has a line each, because
// faults say little about an agent that fails without them.
//
// The table leaves out scenarios and invariants of which a filter left no cell.
//
// Errors: [*FieldError] for a nil report, for values without a meaning and for a
// Width that is not allowed, before anything is written; and those of the writer.
func Text(w io.Writer, r *contract.Report, o *TextOptions) error {
	o = cmp.Or(o, new(TextOptions))
	p, err := newPrinter(w, o)
	if err != nil {
		return err
	}
	if err := check(r); err != nil {
		return err
	}
	g := newGrid(r)
	if o.TableLast {
		p.details(r, g, o)
		p.defects(r)
		p.notes(notes(r))
		p.coverage(r)
		if p.any {
			p.line()
		}
		p.summary(r, g)
	} else {
		p.summary(r, g)
		p.notes(notes(r))
		p.defects(r)
		p.details(r, g, o)
		p.coverage(r)
	}
	return written(p.Flush())
}

// summary writes the table, the verdict and the numbers.
func (p *printer) summary(r *contract.Report, g *grid) {
	p.line(p.paint("1", clip(title(r), p.width)))
	p.line()
	left := g.dropNotRun()
	p.tables(g)
	p.legend(g, left)
	p.verdict(r)
}

// details writes what broke and what was not decided.
func (p *printer) details(r *contract.Report, g *grid, o *TextOptions) {
	most := limit(o.MaxBroken, defaultBroken)
	p.fields(r, most)
	all := broken(r, g, most)
	rest := all
	if !o.TableLast { // a log has the evidence of every failure
		rest = withoutExplained(r, all)
	}
	p.broken(rest, most, o.MaxBroken >= 0)
	p.accounted(len(all) - len(rest))
	p.undecided(undecided(r, most), most)
}

// A printer writes text and keeps the first error until Flush.
type printer struct {
	*bufio.Writer
	width   int
	color   bool
	any     bool // something was written
	command *regexp.Regexp
}

func newPrinter(w io.Writer, o *TextOptions) (*printer, error) {
	if o.Width != 0 && o.Width < minWidth {
		return nil, fields.Wrong("TextOptions.Width", o.Width, "0, or 40 and up")
	}
	p := &printer{Writer: bufio.NewWriter(w), width: o.Width, color: o.Color, command: regexp.MustCompile(logCommand)}
	p.width = cmp.Or(p.width, defaultWidth)
	return p, nil
}

// logCommand matches what a CI system reads as a command in its log: a line that
// begins with "::" (GitHub, which skips spaces), and "##[", "##vso[" (Azure) and
// "##teamcity[" anywhere.
const logCommand = `^(?: |\x1b\[[0-9;]*m)*::|##[a-z]*\[`

// line writes one line, with commands to a CI system without effect.
func (p *printer) line(parts ...string) {
	p.any = true
	p.WriteString(withoutCommands(p.command, strings.Join(parts, "")))
	p.WriteString("\n")
}

// withoutCommands makes the first or last character of a command an escape.
func withoutCommands(command *regexp.Regexp, line string) string {
	return command.ReplaceAllStringFunc(line, func(s string) string {
		if before, isBracket := strings.CutSuffix(s, "["); isBracket {
			return before + `\x5b`
		}
		return strings.Replace(s, ":", `\x3a`, 1)
	})
}

// paint colours s, with parameters of the SGR control sequence (ECMA-48).
func (p *printer) paint(sgr, s string) string {
	if !p.color || s == "" {
		return s
	}
	return "\x1b[" + sgr + "m" + s + "\x1b[0m"
}

// legend explains the signs that occur, and says what the table left out.
func (p *printer) legend(g *grid, left string) {
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
	for _, text := range []string{legendText(g), left} {
		if text == "" {
			continue
		}
		for _, line := range wrap(text, p.width, 4) {
			p.line(p.paint("2", line))
		}
	}
	p.line()
}

func (p *printer) verdict(r *contract.Report) {
	sgr := map[scoring.Verdict]string{scoring.Pass: "32;1", scoring.Fail: "31;1"}[r.Score.Verdict]
	sgr = cmp.Or(sgr, "33;1")
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
		p.labelled("", f.label, wrap(f.text, p.width-labelWidth-2, 6))
	}
}

// labelled writes lines beside a label.
func (p *printer) labelled(margin, label string, lines []string) {
	for i, line := range lines {
		if i > 0 {
			label = ""
		}
		p.line(strings.TrimRight(fmt.Sprintf("%s%s  %s", margin, p.paint("2", fmt.Sprintf("%-*s", labelWidth, label)),
			line), " "))
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
	p.gap()
	for _, note := range notes {
		p.hanging("*", wrap(note, p.width-2, 8))
	}
}

// gap writes an empty line between two parts.
func (p *printer) gap() {
	if p.any {
		p.line()
	}
}

// fields writes the fields of which some trials held and some broke, and the promised
// rates.
func (p *printer) fields(r *contract.Report, most int) {
	all := told(r)
	if len(all) == 0 {
		return
	}
	p.gap()
	p.line(p.paint("1", "RATES"))
	p.line()
	for _, f := range all[:min(most, len(all))] {
		p.hanging(p.sign(markOfField(r, f)), wrap(placeText(f)+": "+standsText(r, f), p.width-2, 4))
	}
	p.more(len(all) - most)
}

func (p *printer) broken(groups []*group, most int, calmFirst bool) {
	if len(groups) == 0 {
		return
	}
	p.gap()
	if !calmFirst || !groups[0].calm() {
		p.line(p.paint("1", "BROKEN"))
		p.inFull(groups, most)
		return
	}
	calm := slices.IndexFunc(groups, func(b *group) bool { return !b.calm() })
	text := "The agent breaks these without any fault: mend them first."
	if calm < 0 {
		calm = len(groups)
	} else {
		text += " What else broke has a line each below; run such a cell alone to see it in full."
	}
	p.line(p.paint("1", "BROKEN WITHOUT FAULTS"))
	p.line()
	for _, line := range wrap(text, p.width, 4) {
		p.line(line)
	}
	p.inFull(groups[:calm], most)
	groups = groups[calm:]
	if len(groups) == 0 {
		return
	}
	p.line()
	p.line(p.paint("1", "BROKEN UNDER FAULTS"))
	p.line()
	for _, b := range groups[:min(most, len(groups))] {
		p.hanging(p.sign(b.mark), []string{clip(headOf(b)+": "+b.why(), p.width-2)})
	}
	p.more(len(groups) - most)
}

// accounted says how many groups the defects explain.
func (p *printer) accounted(groups int) {
	if groups > 0 {
		p.gap()
		p.line("The defects above explain ", text.Plural(groups, "kind"), " of broken cells, which ",
			text.Noun(groups, "is", "are"), " not listed again.")
	}
}

// inFull writes the first groups with their evidence.
func (p *printer) inFull(groups []*group, most int) {
	for _, b := range groups[:min(most, len(groups))] {
		p.line()
		p.group(b)
	}
	p.more(len(groups) - most)
}

// more says how many groups were left out.
func (p *printer) more(n int) {
	if n > 0 {
		p.line()
		p.line(fmt.Sprintf("… and %d more", n))
	}
}

func (p *printer) sign(m mark) string { return p.paint(m.look().colour, m.look().sign) }

// headOf names the invariant of a group, its first scenario and its trials.
func headOf(b *group) string {
	return fmt.Sprintf("%s / %s (%v): %s", clip(b.cell.Cell.Scenario, 60), clip(b.cell.Cell.Invariant, 60),
		b.cell.Severity, b.outcome())
}

func (p *printer) group(b *group) {
	p.hanging(p.sign(b.mark), wrap(headOf(b), p.width-2, 4))
	room := p.width - labelWidth - 2*len(indent)
	p.labelled(indent, "why", wrap(b.why(), room, 6))
	if o := b.cell.Evidence; o != nil {
		p.labelled(indent, "prompt", []string{clip(o.Prompt, room)})
		p.labelled(indent, "answer", []string{answer(o, room)})
	}
	p.labelled(indent, "faults", faultLines(b, room))
	p.labelled(indent, "also", clipped(b.also(), room))
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

// faultLines formats the faults, with long lines wrapped and indented.
func faultLines(b *group, width int) []string {
	var lines []string
	for _, fault := range b.faults(maxFaults) {
		for i, line := range wrap(clean(fault), width-len(indent), 3) {
			lines = append(lines, []string{"", indent}[min(i, 1)]+line)
		}
	}
	return lines
}

func (p *printer) undecided(groups []*undecidedGroup, most int) {
	if len(groups) == 0 {
		return
	}
	p.gap()
	p.line(p.paint("1", "NOT DECIDED"))
	p.line()
	lines := 24 // of the first, which may be a list of differences: mending it often mends the others
	for _, u := range groups[:min(most, len(groups))] {
		what := u.outcome(func(s string) string { return clip(s, 60) })
		p.hanging(p.sign(u.mark), wrap(what+": "+u.reason(), p.width-2, lines))
		lines = 4
	}
	p.more(len(groups) - most)
}

// Cell writes one cell as [Text] writes a broken one: its state and the reason, its
// prompt, its answer, the delivered faults and the line that reruns it. The option
// MaxBroken has no effect.
//
// Errors: [*FieldError] for a nil cell, an unknown severity and a Width that is not
// allowed, before anything is written; and those of the writer.
func Cell(w io.Writer, c *contract.CellReport, o *TextOptions) error {
	o = cmp.Or(o, new(TextOptions))
	p, err := newPrinter(w, o)
	if err != nil {
		return err
	}
	if c == nil {
		return fields.Wrong("cell", fielderror.Found("nil"), "the report of a cell")
	}
	if c.Severity.Weight() == 0 {
		return fields.Wrong("cell.severity", c.Severity, "low, medium, high, critical")
	}
	p.group(&group{cell: c, mark: markOf(c), places: []*brokenPlace{{cell: c, trials: []int{c.Cell.Trial}, ran: 1}}})
	return written(p.Flush())
}

// Line returns the outcome of one cell and the reason on one line of at most width
// columns, such as "✗ broken (high): the answer does not contain "1042"". A nil cell
// gives "".
func Line(c *contract.CellReport, width int) string {
	if c == nil {
		return ""
	}
	m := markOf(c)
	line := fmt.Sprintf("%s %s (%v)", m.look().sign, m.short(), c.Severity)
	if m != markHeld || c.Why != "" {
		line += ": " + cmp.Or(c.Why, noReason)
	}
	return clip(withoutCommands(regexp.MustCompile(logCommand), clean(line)), width)
}
