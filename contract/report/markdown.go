package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/scoring"
)

const (
	// defaultBytes is the limit of a GitHub comment.
	defaultBytes = 65536
	// minBytes holds the verdict and the numbers even if every character is an
	// entity.
	minBytes = 16384
	// shortText bounds one text of an agent where many share a comment.
	shortText = 2 << 10
)

// MarkdownOptions are the settings of [Markdown]; nil and the zero value work.
type MarkdownOptions struct {
	_ struct{}
	// MaxBroken bounds the broken cells that are shown in detail; 0: 20, negative:
	// no bound. Trials that broke for the same reason count once. The text says how
	// many were left out.
	MaxBroken int
	// MaxBytes bounds the whole text in bytes, 16384 and up; 0: 65536, the limit of
	// a GitHub comment. Parts that do not fit are left out, and the text says so.
	MaxBytes int
}

// Markdown writes the report for a comment on a pull request, in GitHub's
// dialect: the verdict, the numbers, the table, and the folded evidence of the
// broken cells.
//
// Texts of the agent are escaped and put in <pre> elements, so that they format,
// link, mention and embed nothing. Names are put in code spans, where characters
// that no name has are replaced by U+FFFD.
//
// Errors: [*FieldError] for a nil report, for values without a meaning and for a
// MaxBytes that is not allowed, before anything is written; and those of the
// writer.
func Markdown(w io.Writer, r *contract.Report, o *MarkdownOptions) error {
	o = cmp.Or(o, new(MarkdownOptions))
	if o.MaxBytes != 0 && o.MaxBytes < minBytes {
		return fields.Wrong("MarkdownOptions.MaxBytes", o.MaxBytes, "0, or 16384 and up")
	}
	if err := check(r); err != nil {
		return err
	}
	d := &document{room: limit(o.MaxBytes, defaultBytes) - reserve}
	g := newGrid(r)
	d.add(markdownHead(r))
	d.details("lines on defects", markdownDefects(r), math.MaxInt)
	table, numbers := markdownTable(g), markdownFacts(r)
	if !d.add(table + numbers) {
		d.add("The table does not fit here.\n\n" + numbers)
	}
	d.details("notes", markdownNotes(r), math.MaxInt)
	if !d.add(markdownCoverage(r)) {
		d.add("The table of delivered faults does not fit here.\n\n")
	}
	most := limit(o.MaxBroken, defaultBroken)
	d.details("rates", markdownFields(r), most)
	d.details("broken", markdownBroken(broken(r, g, most)), most)
	d.details("not decided", markdownUndecided(undecided(r, most)), most)
	_, err := w.Write(d.Bytes())
	return written(err)
}

// reserve is kept for the sentences that say what was left out.
const reserve = 512

// A document takes parts as long as they fit.
type document struct {
	bytes.Buffer
	room int
}

func (d *document) add(part string) bool {
	if d.Len()+len(part) > d.room {
		return false
	}
	d.WriteString(part)
	return true
}

// details adds parts until one does not fit or there are enough, and counts the rest.
func (d *document) details(what string, parts []string, most int) {
	n := 0
	for n < min(most, len(parts)) && d.add(parts[n]) {
		n++
	}
	if more := len(parts) - n; more > 0 {
		fmt.Fprintf(d, "… and %d more %s.\n\n", more, what)
	}
}

func markdownHead(r *contract.Report) string {
	sign := map[scoring.Verdict]mark{scoring.Pass: markHeld, scoring.Fail: markBroken,
		scoring.Inconclusive: markInconclusive}[r.Score.Verdict]
	return fmt.Sprintf("## %s %v: %s\n\n%s\n\n", sign.look().emoji, r.Score.Verdict,
		prose(clip(title(r), 200)), prose(clip(r.Score.Why, 900)))
}

func markdownTable(g *grid) string {
	if len(g.invariants) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| |")
	for _, name := range g.invariants {
		fmt.Fprintf(&b, " %s<br>%s |", codeName(name), severityName(g, name))
	}
	b.WriteString(" delivered |\n|:--|" + strings.Repeat(":-:|", len(g.invariants)+1) + "\n")
	for _, scenario := range g.scenarios {
		fmt.Fprintf(&b, "| %s |", codeName(scenario))
		for _, name := range g.invariants {
			sign := empty
			if f := g.at(scenario, name); f != nil {
				sign = f.signs(func(m mark) string { return " " + m.look().emoji })
			}
			b.WriteString(" " + strings.TrimSpace(sign) + " |")
		}
		fmt.Fprintf(&b, " %s |\n", g.delivered(scenario))
	}
	var legend []string
	for m := range marks {
		if g.used.count[m] > 0 {
			legend = append(legend, m.look().emoji+" "+m.look().meaning)
		}
	}
	fmt.Fprintf(&b, "\n<sub>%s<br>%s</sub>\n\n", strings.Join(legend, " · "), legendText(g))
	return b.String()
}

func markdownFacts(r *contract.Report) string {
	var b strings.Builder
	for _, f := range facts(r) {
		fmt.Fprintf(&b, "- **%s** %s\n", f.label, prose(f.text))
	}
	return b.String() + "\n"
}

func markdownNotes(r *contract.Report) []string {
	var parts []string
	for _, note := range withCalm(r, notes(r)) {
		parts = append(parts, "> "+prose(clip(note, 1000))+"\n\n")
	}
	return parts
}

func markdownFields(r *contract.Report) (parts []string) {
	all := told(r)
	for i, f := range all {
		line := fmt.Sprintf("- %s %s / %s (%v): %s\n", markOfField(r, f).look().emoji, codeName(f.Scenario),
			codeName(f.Invariant), f.Severity, prose(clip(standsText(r, f), 500)))
		if i == len(all)-1 {
			line += "\n"
		}
		parts = append(parts, line)
	}
	return parts
}

func markdownBroken(groups []*group) []string {
	var parts []string
	for _, g := range groups {
		var b strings.Builder
		fmt.Fprintf(&b, "<details>\n<summary>%s <code>%s</code> / <code>%s</code> (%v): %s</summary>\n\n",
			g.mark.look().emoji,
			name(g.cell.Cell.Scenario), name(g.cell.Cell.Invariant), g.cell.Severity, g.outcome())
		quote := func(label, text string) { fmt.Fprintf(&b, "<b>%s</b>\n\n<pre>%s</pre>\n\n", label, escape(text)) }
		quote("why", block(g.why(), shortText))
		if o := g.cell.Evidence; o != nil {
			quote("prompt", block(o.Prompt, shortText))
			quote("answer", cmp.Or(block(o.Response, shortText), "(none)"))
		}
		quote("faults", strings.Join(clipped(g.faults(maxFaults), 500), "\n"))
		if also := clipped(g.also(), 200); len(also) > 0 {
			quote("also", strings.Join(also, "\n"))
		}
		if g.cell.Rerun != "" {
			quote("rerun", clean(g.cell.Rerun))
		}
		b.WriteString("</details>\n\n")
		parts = append(parts, b.String())
	}
	return parts
}

func markdownUndecided(groups []*undecidedGroup) []string {
	var parts []string
	for _, u := range groups {
		parts = append(parts,
			fmt.Sprintf("%s %s: %s\n\n", u.mark.look().emoji, u.outcome(codeName), prose(clip(u.reason(), 500))))
	}
	return parts
}

// name returns the name of a scenario or an invariant with only the characters that
// a name may have: letters, digits, '.', '_' and '-'.
func name(s string) string {
	return clip(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '\ufffd'
	}, s), 2*maxName)
}

func codeName(s string) string { return "`" + name(s) + "`" }

// escape returns text for a <pre> element, with every character escaped that has a
// meaning in HTML or Markdown.
func escape(s string) string {
	return entities(s, func(r rune, _ string) (string, bool) {
		return "", strings.ContainsRune("@#:", r)
	})
}

// prose returns one line of text for use outside such an element. GitHub finds
// mentions, references and addresses after it has resolved entities. So an
// invisible space (U+200B) after the first sign prevents them, and an entity does
// not.
func prose(s string) string {
	return entities(s, func(r rune, rest string) (string, bool) {
		const space = "&#8203;"
		return space, strings.ContainsRune("@#", r) || r == ':' && strings.HasPrefix(rest, "//") ||
			r == 'w' && strings.HasPrefix(rest, "ww.")
	})
}

// entities writes characters as entities: those with a meaning anywhere, and those
// for which special reports true, followed by what it returns.
func entities(s string, special func(r rune, rest string) (behind string, yes bool)) string {
	var b strings.Builder
	for i, r := range s {
		behind, yes := special(r, s[i+utf8.RuneLen(r):])
		switch {
		case yes:
			fmt.Fprintf(&b, "&#%d;%s", r, behind)
		case strings.ContainsRune("<>&`|*_~[]\\$", r):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
