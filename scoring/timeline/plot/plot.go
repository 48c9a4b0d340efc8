// Package plot draws the timeline of a run as an SVG picture.
//
//	err := plot.SVG(file, run, &plot.Options{Title: "The database is down"})
//
// For every node it shows the served and the failed operations, bin by bin, the bins
// in which faults were delivered, and the outages and degradations with their ends.
// The picture follows the reader's light or dark preference, and needs no script and
// no font of its own. The same run gives the same picture.
package plot

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// Options are the settings of [SVG]. The zero value draws the whole run.
type Options struct {
	_ struct{}
	// Title is the heading; "" means "Timeline".
	Title string
	// Query chooses the window, nodes and classes.
	Query timeline.Query
	// Rule is the rule by which outages are marked.
	Rule timeline.OutageRule
	// MaxNodes bounds the panels, one for each node; 0 means 12. The picture says
	// how many were left out.
	MaxNodes int
}

const defaultNodes = 12

// fields makes the errors of options.
const fields = fielderror.Package("plot")

// SVG writes the picture of a run. o may be nil. Errors are those of the writer, and
// those of [timeline.Run.Panels].
func SVG(w io.Writer, r *timeline.Run, o *Options) error {
	o = cmp.Or(o, &Options{})
	if o.MaxNodes < 0 {
		return fields.Wrong("maxNodes", o.MaxNodes, "0 or more")
	}
	if o.Query.Nodes != nil && len(o.Query.Nodes) == 0 {
		return fields.Wrong("nodeIds", nil, "at least one node")
	}
	found, err := r.Panels(o.Query, o.Rule)
	if err != nil {
		return err
	}
	panels := make([]panel, len(found))
	for i, p := range found {
		panels[i] = panel{p}
	}
	_, err = w.Write(draw(panels, o))
	return err
}

// A panel is the drawing of one node.
type panel struct{ timeline.Panel }

func (p panel) bins() int { return len(p.Served) }

// The dimensions of the picture, in pixels.
const (
	plotWidth   = 960
	marginLeft  = 56
	marginRight = 24
	innerWidth  = plotWidth - marginLeft - marginRight
	headHeight  = 76 // title and legend
	panelHeight = 130
	panelTop    = 46 // within a panel: its name, and the labels of incidents
	barsHeight  = 64
	faultHeight = 6
	axisHeight  = 44
)

// draw makes the picture of at least one panel.
func draw(panels []panel, o *Options) []byte {
	shown := panels[:min(len(panels), cmp.Or(o.MaxNodes, defaultNodes))]
	height := headHeight + len(shown)*panelHeight + axisHeight
	c := &canvas{}
	c.open(plotWidth, height)
	title := cmp.Or(o.Title, "Timeline")
	c.element("title", title)
	c.rect("paper", 0, 0, plotWidth, float64(height))
	c.text("heading", marginLeft, 28, "start", title)
	first := shown[0]
	caption := fmt.Sprintf("from %s, %d bins of %s", first.Start.Format(time.RFC3339), first.bins(),
		brief(first.BinSize))
	if left := len(panels) - len(shown); left > 0 {
		caption += fmt.Sprintf(", %d more nodes not shown", left)
	}
	c.text("faint", plotWidth-marginRight, 28, "end", caption)
	c.legend(marginLeft, 52)
	for i, p := range shown {
		p.draw(c, float64(headHeight+i*panelHeight))
	}
	first.axis(c, float64(height-axisHeight))
	c.close()
	return c.Bytes()
}

// x returns the horizontal position at which a bin of the window begins.
func (p panel) x(bin int) float64 {
	return marginLeft + innerWidth*float64(bin)/float64(p.bins())
}

func (p panel) draw(c *canvas, top float64) {
	floor := top + panelTop + barsHeight
	for _, i := range p.Incidents {
		left, right := p.x(i.StartBin-p.FirstBin), p.x(i.EndBin+1-p.FirstBin)
		c.begin("g")
		c.element("title", fmt.Sprintf("%s, %s: %s", i.Type, i.Severity, i.Details))
		c.rect(i.Type, left, floor-barsHeight, right-left, barsHeight)
		c.end("g")
	}
	served, errors := p.Served, p.Errors
	highest := 1.0
	for i := range served {
		highest = max(highest, float64(served[i]+errors[i]))
	}
	c.steps("served", p, floor, highest, nil, served)
	c.steps("errors", p, floor, highest, served, errors)
	c.line("rule", marginLeft, floor, plotWidth-marginRight, floor)
	c.text("faint", marginLeft-8, floor-barsHeight+10, "end", timeline.Value(highest).String())
	c.text("faint", marginLeft-8, floor, "end", "0")
	for first := 0; first < len(p.Faulty); first++ {
		last := first
		for last < len(p.Faulty) && p.Faulty[last] {
			last++
		}
		if last > first {
			c.rect("fault", p.x(first), floor+3, p.x(last)-p.x(first), faultHeight)
			first = last
		}
	}
	p.recoveries(c, floor)
	c.label("name", marginLeft, top+16, p.Node)
	c.text("faint", plotWidth-marginRight, top+16, "end",
		fmt.Sprintf("%d served · %d errors · %s", sum(served), sum(errors), incidents(len(p.Incidents))))
}

func sum(values []timeline.Value) (total int64) {
	for _, v := range values {
		total += int64(v)
	}
	return total
}

func incidents(n int) string {
	if n == 1 {
		return "1 incident"
	}
	return fmt.Sprintf("%d incidents", n)
}

// recoveries marks the end of each incident, and writes its length where the last
// label leaves room.
func (p panel) recoveries(c *canvas, floor float64) {
	free, head := 0.0, 0.0
	for _, i := range p.Incidents {
		length := time.Duration(i.Bins()) * p.BinSize
		label := i.Type + " " + brief(length)
		end := p.x(i.EndBin + 1 - p.FirstBin)
		if i.EndBin < p.FirstBin+p.bins()-1 {
			c.line("recovered", end, floor-barsHeight-8, end, floor)
			if end >= head {
				c.flag("recovered", end, floor-barsHeight-8)
				head = end + flagWidth + 2
			}
		} else {
			label += ", not over"
		}
		const letter = 6.2 // about the width of a letter
		width := letter * float64(len(label))
		left := min(p.x(i.StartBin-p.FirstBin), plotWidth-marginRight-width)
		if left >= free {
			c.text("mark", left, floor-barsHeight-13, "start", label)
			free = left + width + 2*letter
		}
	}
}

// axis draws the time axis, from the beginning of the run.
func (p panel) axis(c *canvas, bottom float64) {
	start := time.Duration(p.FirstBin) * p.BinSize
	length := time.Duration(p.bins()) * p.BinSize
	step := niceStep(length)
	for t := (start + step - 1) / step * step; t <= start+length; t += step {
		x := marginLeft + innerWidth*float64(t-start)/float64(length)
		c.line("grid", x, bottom-8, x, bottom-2)
		c.text("faint", x, bottom+12, "middle", brief(t))
	}
	c.text("faint", marginLeft+innerWidth/2, bottom+30, "middle", "time since the epoch of the run; operations a bin")
}

// brief formats a duration without zeros at its end: 1m, not 1m0s.
func brief(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// niceStep returns the shortest round step that gives at most nine ticks.
func niceStep(length time.Duration) time.Duration {
	const most = 9
	for unit := time.Millisecond; unit < 10*time.Second; unit *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if length/(n*unit) < most {
				return n * unit
			}
		}
	}
	for _, step := range []time.Duration{
		10 * time.Second, 20 * time.Second, 30 * time.Second,
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	} {
		if length/step < most {
			return step
		}
	}
	step := 24 * time.Hour
	for length/step >= most {
		step *= 2
	}
	return step
}

type canvas struct{ bytes.Buffer }
