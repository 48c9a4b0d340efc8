package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Picture shows runs over time, side by side: a row for each target in a lane, and a bar for each call. A part
// of the width is for the order of calls, so that those that take no time are seen, and the rest is for time.
type Picture struct {
	Caption string
	Runs    []Run
	Note    string // what is missing
}

// A Run is a column of a picture.
type Run struct {
	Head   string
	Answer Call // from the prompt to the answer
	Sign   Sign // of the answer
	End    string
	Calls  []Call // in the order in which they began
}

// A Call is a bar.
type Call struct {
	Target, Lane     string
	Start, End, Wait time.Duration
	Attempt          int // from 1
	Failed, Open     bool
	Fault            string // the kind; "": none was injected
	Idle             bool   // the fault was not delivered
	Effect           string // done, unknown or none
	Words            string // all of it
}

// The marks of calls, in the order of a legend.
const (
	markCall, markFailed, markOpen, markWait = "█", "▒", "▷", "░"
	markFault, markIdle, markRetry           = "↯", "-", "┄"
	markDone, markUnknown, markNone          = "●", "◐", "○"
)

var markMeanings = [...][2]string{{markCall, "a call"}, {markFailed, "its caller got an error"}, {markOpen, "it did not end"},
	{markWait, "held by a fault"}, {markFault, "a fault"}, {markIdle, "a fault without effect"}, {markRetry, "the next try, with its number"},
	{markDone, "the work was done"}, {markUnknown, "perhaps done"}, {markNone, "not done, or nothing to do"}}

// signs are the mark that the bar of a call is made of, and those before and behind it.
func (c *Call) signs() (before, body, behind string) {
	body = markCall
	if c.Open {
		body = markOpen
	} else if c.Failed {
		body = markFailed
	}
	if c.Attempt > 1 {
		before = fmt.Sprint(c.Attempt)
	}
	if c.Idle {
		behind = markIdle
	} else if c.Fault != "" {
		behind = markFault
	}
	return before, body, behind + map[string]string{"done": markDone, "unknown": markUnknown, "none": markNone}[c.Effect]
}

// A pictureRow has the calls of a target in one lane.
type pictureRow struct {
	name    string
	bars    [][]*bar // by run
	levels  int      // of bars that overlap
	differs string   // what the first run did otherwise than the second
	faults  []string // the kinds that were delivered in the first run
}

// A bar is a call at its place, in shares of the width of a run.
type bar struct {
	*Call
	from, to float64
	level    int
	before   *bar // the try before it
}

// A placed picture has places for its bars.
type placed struct {
	rows []*pictureRow
	runs []*bar // the answers
	need int    // columns of the run that needs most
}

// An instant is the begin or the end of a call.
type instant struct {
	at   time.Duration
	room int // columns until the next one
	put  *float64
}

// place gives each bar its place, in runs of so many columns.
func (p *Picture) place(columns int) *placed {
	d := new(placed)
	all, longest := make([][]instant, len(p.Runs)), time.Duration(0)
	for i := range p.Runs {
		all[i] = d.instants(&p.Runs[i], i, len(p.Runs))
		longest = max(longest, all[i][len(all[i])-1].at-all[i][0].at)
		need := 0
		for _, at := range all[i] {
			need += at.room
		}
		d.need = max(d.need, need)
	}
	order := min(1, max(.4, float64(d.need)/float64(columns)))
	if longest == 0 {
		order, longest = 1, 1
	}
	for _, points := range all {
		used := 0
		for _, at := range points {
			// In a file that was made by hand, times may be anything.
			taken := float64(at.at-points[0].at) / float64(longest)
			*at.put = order*float64(used)/float64(d.need) + (1-order)*min(1, max(0, taken))
			used += at.room
		}
	}
	for _, r := range d.rows {
		r.finish()
	}
	return d
}

// instants makes the bars of a run, and returns when they begin and end, in order. Calls that take no
// time are in the order in which they began.
func (d *placed) instants(r *Run, at, runs int) []instant {
	answer := &bar{Call: &r.Answer}
	d.runs = append(d.runs, answer)
	points := []instant{{answer.Start, 1, &answer.from}}
	for i := range r.Calls {
		b := &bar{Call: &r.Calls[i]}
		row := d.row(b.Call, runs)
		row.bars[at] = append(row.bars[at], b)
		before, _, behind := b.signs()
		points = append(points, instant{b.Start, 1 + width(before) + width(behind), &b.from}, instant{b.End, 1, &b.to})
	}
	points = append(points, instant{answer.End, 1, &answer.to})
	slices.SortStableFunc(points, func(a, b instant) int { return cmp.Compare(a.at, b.at) })
	return points
}

// row is that of a call, which it makes if there is none.
func (d *placed) row(c *Call, runs int) *pictureRow {
	name := c.Target
	if c.Lane != "" {
		name += " (" + c.Lane + ")"
	}
	for _, r := range d.rows {
		if r.name == name {
			return r
		}
	}
	r := &pictureRow{name: name, bars: make([][]*bar, runs)}
	d.rows = append(d.rows, r)
	return r
}

// finish puts bars that overlap on levels, joins tries, and compares the first run with the second.
func (r *pictureRow) finish() {
	done := make([]int, len(r.bars))
	for i, bars := range r.bars {
		var ends []float64 // of the levels
		for k, b := range bars {
			for b.level < len(ends) && ends[b.level] > b.from {
				b.level++
			}
			if b.level == len(ends) {
				ends = append(ends, 0)
			}
			ends[b.level] = b.to
			if b.Attempt > 1 && k > 0 && bars[k-1].Attempt == b.Attempt-1 {
				b.before = bars[k-1]
			}
			if b.Effect == "done" {
				done[i]++
			}
			if i == 0 && b.Fault != "" && !b.Idle && !slices.Contains(r.faults, b.Fault) {
				r.faults = append(r.faults, b.Fault)
			}
		}
		r.levels = max(r.levels, len(ends))
	}
	if len(r.bars) < 2 {
		return
	}
	switch is, calm := len(r.bars[0]), len(r.bars[1]); {
	case done[0] != done[1]:
		r.differs = fmt.Sprintf("done %d×, calm %d×", done[0], done[1])
	case is != calm:
		r.differs = fmt.Sprintf("called %d×, calm %d×", is, calm)
	}
}

// behind is what stands behind a row in a text, where bars have no room for the names of their faults.
func (r *pictureRow) behind() string {
	if len(r.faults) == 0 {
		return r.differs
	}
	return strings.TrimSuffix(markFault+" "+Clean(strings.Join(r.faults, ", "))+"; "+r.differs, "; ")
}

// legend explains the marks that occur.
func (p *Picture) legend() string {
	seen := map[string]bool{}
	for i := range p.Runs {
		for k := range p.Runs[i].Calls {
			c := &p.Runs[i].Calls[k]
			before, body, behind := c.signs()
			seen[body], seen[markRetry], seen[markWait] = true, seen[markRetry] || before != "", seen[markWait] || c.Wait > 0
			for _, sign := range behind {
				seen[string(sign)] = true
			}
		}
	}
	var parts []string
	for _, m := range markMeanings {
		if seen[m[0]] {
			parts = append(parts, m[0]+" "+m[1])
		}
	}
	return strings.Join(parts, "   ")
}

// under is what stands below the picture on a page.
func (p *Picture) under() string { return strings.TrimSpace(p.legend() + "   " + p.Note) }

// drawn has words for the bars of a drawing.
var drawn = strings.NewReplacer(markCall, "filled:", markFailed, "red:", markOpen, "dashed:", markWait, "hatched:", "   ", " · ")

const (
	pictureName = 24 // columns of a row's name
	pictureCols = 30 // of a run in a text, if it needs no more
)

// text draws the picture in lines: a run beside the other.
func (p *Picture) text() (lines []string) {
	d := p.place(pictureCols)
	columns, named := max(pictureCols, d.need), len("agent")
	for _, r := range d.rows {
		named = min(pictureName, max(named, width(Clean(r.name))))
	}
	line := func(name string, parts []string, behind string) {
		s := pad(Clip(name, named), named)
		for _, part := range parts {
			s += "  " + pad(part, columns+1)
		}
		lines = append(lines, strings.TrimRight(s+"  "+behind, " "))
	}
	var heads, ends []string
	for i := range p.Runs {
		r := &p.Runs[i]
		heads = append(heads, Clip(r.Head, columns))
		ends = append(ends, strings.Repeat("─", int(d.runs[i].to*float64(columns)))+r.Sign.Text)
	}
	line("", heads, "")
	line("agent", ends, "")
	for _, r := range d.rows {
		for level := range r.levels {
			var parts []string
			for _, bars := range r.bars {
				parts = append(parts, barsText(bars, level, columns))
			}
			name, behind := r.name, r.behind()
			if level > 0 {
				name, behind = "", ""
			}
			line(name, parts, behind)
		}
	}
	for _, r := range p.Runs {
		lines = append(lines, r.Head+": "+r.Sign.Text+" "+r.End)
	}
	return append(lines, p.under())
}

func pad(s string, columns int) string { return s + strings.Repeat(" ", max(0, columns-width(s))) }

// barsText draws the bars of a level. A mark that has no room moves what follows.
func barsText(bars []*bar, level, columns int) string {
	line, used := "", 0
	for _, b := range bars {
		if b.level != level {
			continue
		}
		from, to := int(b.from*float64(columns)), int(b.to*float64(columns))
		gap := " "
		if b.before != nil && b.before.level == level {
			gap = markRetry
		}
		before, mark, behind := b.signs()
		room := max(1, to-from-width(before)-width(behind))
		held := 0
		if b.Wait > 0 {
			held = max(1, min(int(b.waits()*float64(room)), room-1))
		}
		body := strings.Repeat(mark, max(1, room-held)) + strings.Repeat(markWait, held)
		line += strings.Repeat(gap, max(0, from-used)) + before + body + behind
		used = width(line)
	}
	return line
}

// waits is the share of a call that a fault held it.
func (c *Call) waits() float64 {
	return min(1, float64(c.Wait)/float64(max(1, c.End-c.Start)))
}
