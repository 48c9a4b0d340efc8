package document

import (
	"fmt"
	"html/template"
	"strings"
)

// The measures of a drawn picture, in units of which a letter takes six.
const (
	drawnName   = 190 // width of the names
	drawnRun    = 390 // of a run that needs no more
	drawnColumn = 10  // of a mark
	drawnGap    = 30  // between runs
	drawnBehind = 150 // of what is said behind a row
	drawnTop    = 52
	drawnLevel  = 30
	drawnBar    = 11
	drawnLetter = 6
)

// A drawing collects the elements of an SVG image. They have classes and no styles, which the page's
// content security policy forbids, and every text in them is escaped.
type drawing struct{ strings.Builder }

func escaped(s string, columns int) string { return template.HTMLEscapeString(Clip(s, columns)) }

func (d *drawing) text(x, y float64, class, s string, columns int) {
	fmt.Fprintf(d, `<text x="%.1f" y="%.1f" class="%s">%s</text>`, x, y, class, escaped(s, columns))
}

func (d *drawing) line(class string, x1, x2, y float64) {
	fmt.Fprintf(d, `<line class="%s" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"></line>`, class, x1, x2, y, y)
}

// svg draws the picture. All that it shows is in the table of calls in words, so it is one image for
// who does not see it.
func (p *Picture) svg() template.HTML {
	at := p.place(drawnRun / drawnColumn)
	wide := float64(max(drawnRun, at.need*drawnColumn))
	var d drawing
	y := float64(drawnTop)
	left := func(run int) float64 { return drawnName + float64(run)*(wide+drawnGap) }
	for i := range p.Runs {
		r := &p.Runs[i]
		end := left(i) + at.runs[i].to*wide
		d.text(left(i), 12, "head", r.Head, 60)
		d.line("run "+r.Sign.Class, left(i), end, 30)
		d.text(end+3, 35, "sign "+r.Sign.Class, r.Sign.Text, 2)
		d.text(left(i), 46, "quiet", r.End, int(wide)/drawnLetter)
	}
	d.text(0, 34, "name", "agent", 30)
	for _, r := range at.rows {
		d.text(0, y+22, "name", r.name, 30)
		for i, bars := range r.bars {
			for k, b := range bars {
				next := left(i) + wide + drawnGap
				if k+1 < len(bars) && bars[k+1].level == b.level {
					next = left(i) + bars[k+1].from*wide
				}
				d.bar(b, left(i), wide, next, y+float64(b.level*drawnLevel))
			}
		}
		d.text(left(len(p.Runs)), y+22, "differs", r.differs, 30)
		y += float64(max(1, r.levels) * drawnLevel)
		d.line("rule", 0, left(len(p.Runs))+drawnBehind, y+2)
	}
	width := left(len(p.Runs)) + drawnBehind
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 %.0f %.0f" width="%.0f" role="img" aria-label="%s">%s</svg>`,
		width, y+4, width, escaped(p.Caption, pageLine), d.String()))
}

// bar draws a call, with its marks; a label has room up to the next one.
func (d *drawing) bar(b *bar, left, wide, next, y float64) {
	x, end := left+b.from*wide, left+b.to*wide
	_, body, effect := (&Call{Effect: b.Effect, Open: b.Open, Failed: b.Failed}).signs()
	if effect != "" {
		end -= drawnColumn
	}
	end = max(x+5, end)
	class := map[string]string{markCall: "call", markFailed: "call failed", markOpen: "call open"}[body]
	fmt.Fprintf(d, `<g><title>%s</title>`, escaped(b.Words, pageLine))
	if b.before != nil {
		d.line("retry", left+b.before.to*wide, x, y+22)
	}
	fmt.Fprintf(d, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%d" rx="2"></rect>`, class, x, y+16, end-x, drawnBar)
	if b.Wait > 0 {
		d.line("wait", end-(end-x)*b.waits(), end, y+21.5)
	}
	d.text(end+1, y+26, "effect", effect, 2)
	label, brief := "", ""
	if b.Attempt > 1 {
		brief = fmt.Sprint(b.Attempt)
		label = "try " + brief + " "
	}
	switch {
	case b.Idle:
		label, brief = label+"("+b.Fault+")", brief+markIdle
	case b.Fault != "":
		label, brief = label+markFault+" "+b.Fault, brief+markFault
	}
	if float64(width(Clean(label))*drawnLetter) > next-x {
		label = brief
	}
	d.text(x, y+12, "fault", label, 60)
	d.WriteString("</g>")
}
