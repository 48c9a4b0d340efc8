package plot

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// style colours both themes by class. It uses no variables, because not every
// viewer of SVG files knows them.
const style = `
text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: #1f2328 }
.heading { font-size: 18px; font-weight: 600 }
.name { font-weight: 600 }
.faint, .mark { font-size: 11px; fill: #59636e }
.paper { fill: #ffffff }
.served { fill: #2f81c4 }
.errors { fill: #d1242f }
.fault { fill: #8250df }
.outage { fill: #d1242f; fill-opacity: .16 }
.degradation { fill: #bf8700; fill-opacity: .18 }
.recovered { stroke: #1a7f37; stroke-width: 1.5; fill: #1a7f37 }
.rule { stroke: #8c959f }
.grid { stroke: #8c959f }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.faint, .mark { fill: #9198a1 }
.paper { fill: #0d1117 }
.served { fill: #388bfd }
.errors { fill: #ff6a60 }
.fault { fill: #bc8cff }
.outage { fill: #f85149; fill-opacity: .28 }
.degradation { fill: #d29922; fill-opacity: .28 }
.recovered { stroke: #3fb950; fill: #3fb950 }
.rule, .grid { stroke: #656c76 }
}
`

func (c *canvas) open(width, height int) {
	fmt.Fprintf(c,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n", width,
		height, width, height)
	fmt.Fprintf(c, "<style>%s</style>\n", style)
}

func (c *canvas) close() { c.WriteString("</svg>\n") }

func (c *canvas) begin(tag string) { fmt.Fprintf(c, "<%s>", tag) }

func (c *canvas) end(tag string) { fmt.Fprintf(c, "</%s>\n", tag) }

func (c *canvas) element(tag, text string) {
	fmt.Fprintf(c, "<%s>%s</%s>\n", tag, escaped(text), tag)
}

func (c *canvas) rect(class string, x, y, width, height float64) {
	fmt.Fprintf(c, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`+"\n", class, px(x), px(y), px(width),
		px(height))
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(c, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`+"\n", class, px(x1), px(y1), px(x2), px(y2))
}

const flagWidth = 7

// flag draws a flag at the top of an upright line, so that it is visible before the
// bars.
func (c *canvas) flag(class string, x, top float64) {
	fmt.Fprintf(c, `<path class="%s" d="M%s %sl%d 4l-%d 4z"/>`+"\n", class, px(x), px(top), flagWidth, flagWidth)
}

func (c *canvas) text(class string, x, y float64, anchor, text string) {
	fmt.Fprintf(c, `<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>`+"\n", class, px(x), px(y), anchor,
		escaped(text))
}

// label writes a text, cut if it is long, with the whole text as its tooltip.
func (c *canvas) label(class string, x, y float64, text string) {
	const most = 60
	short := []rune(text)
	if len(short) <= most {
		c.text(class, x, y, "start", text)
		return
	}
	c.begin("g")
	c.element("title", text)
	c.text(class, x, y, "start", string(short[:most-1])+"…")
	c.end("g")
}

// steps draws values as one area of steps, stacked on the values of under, if any.
// Bins with value 0 draw nothing, so that the picture stays small.
func (c *canvas) steps(class string, p panel, floor, highest float64, under, values []timeline.Value) {
	var path strings.Builder
	for i, v := range values {
		if v == 0 {
			continue
		}
		base := 0.0
		if under != nil {
			base = float64(under[i])
		}
		height := barsHeight * float64(v) / highest
		fmt.Fprintf(&path, "M%s %sH%sv-%sH%sz", px(p.x(i)), px(floor-barsHeight*base/highest), px(p.x(i+1)), px(height),
			px(p.x(i)))
	}
	if path.Len() > 0 {
		fmt.Fprintf(c, `<path class="%s" d="%s"/>`+"\n", class, path.String())
	}
}

func (c *canvas) legend(x, y float64) {
	for _, item := range []struct{ class, text string }{
		{"served", "served"}, {"errors", "errors"}, {"fault", "faults delivered"},
		{timeline.Outage, timeline.Outage}, {timeline.Degradation, timeline.Degradation}, {"recovered", "recovered"},
	} {
		if item.class == "recovered" {
			c.line(item.class, x+4, y-10, x+4, y+2)
			c.flag(item.class, x+4, y-10)
		} else {
			c.rect(item.class, x, y-9, 10, 10)
		}
		c.text("faint", x+16, y, "start", item.text)
		x += 40 + 6.2*float64(len(item.text))
	}
}

// px formats a length with at most two decimals.
func px(v float64) string {
	s := strconv.FormatFloat(v, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// escaped returns text escaped for XML.
func escaped(text string) string {
	var b strings.Builder
	// A strings.Builder never returns an error.
	_ = xml.EscapeText(&b, []byte(text))
	return b.String()
}
