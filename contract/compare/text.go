package compare

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/internal/document"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

const mostNamed = 5 // names in one line

// String is the comparison as text, with a line for each thing that matters: how the matrices
// differ, the fields that moved or could not be compared, what changed over all, and what the
// trials could have seen. Fields that did not change have no line.
func (c *Comparison) String() string {
	var lines []string
	for _, m := range c.Matrices {
		lines = append(lines, "matrix: "+m)
	}
	for _, f := range c.notable() {
		lines = append(lines, fmt.Sprintf("%s / %s: %s", f.Scenario, f.Invariant, c.Line(f)))
	}
	var b strings.Builder
	for _, line := range append(lines, c.Notes()...) {
		b.WriteString(document.Clean(line) + "\n")
	}
	return b.String()
}

// Notes are sentences on the comparison as a whole: what changed over all fields, which were not
// compared and why, what could have been seen, and how many fields are worse.
func (c *Comparison) Notes() (all []string) {
	if c.Overall != nil {
		all = append(all, c.Overall.line())
	}
	worse := 0
	for i := range c.Fields {
		if c.Fields[i].Regression {
			worse++
		}
	}
	return append(append(all, c.notes()...), fmt.Sprintf("%s of %s compared, %d worse", text.Number(c.Compared()),
		text.Plural(len(c.Fields), "field"), worse))
}

// Line is what String says of a field of the comparison: its counts on both sides, its test, and the size of
// the difference; or why nothing can be said.
func (c *Comparison) Line(f *Field) string { return f.line(c.Before, c.After, c.Tested) }

// notable are the fields that moved or that could not be compared: the worse ones first, then
// those that moved.
func (c *Comparison) notable() (all []*Field) {
	for _, is := range []func(*Field) bool{
		func(f *Field) bool { return f.Regression },
		func(f *Field) bool { return !f.Regression && f.Unclear == "" && f.moved() },
		func(f *Field) bool { return !f.Regression && f.Unclear != "" },
	} {
		for i := range c.Fields {
			if is(&c.Fields[i]) {
				all = append(all, &c.Fields[i])
			}
		}
	}
	return all
}

// notes say which fields were not compared, how the others were not, and what could have been
// seen: in a field, and in all together.
func (c *Comparison) notes() (all []string) {
	for _, list := range []struct {
		why   string
		names []string
	}{{"only in " + c.Before, c.OnlyBefore}, {"only in " + c.After, c.OnlyAfter},
		{"not compared, as their scenario or prompts changed", c.Changed}} {
		if n := len(list.names); n > 0 {
			all = append(all, fmt.Sprintf("%s %s: %s", text.Plural(n, "field"), list.why,
				text.Some(list.names, mostNamed)))
		}
	}
	if c.Unpaired != "" {
		all = append(all, "not compared trial by trial: "+c.Unpaired)
	}
	if c.Sees != nil {
		all = append(all, c.Sees.String())
	}
	if c.Overall != nil && c.Overall.Sees != nil {
		all = append(all, c.Overall.Sees.String())
	}
	return all
}

// line is the change of all fields together as text.
func (o *Overall) line() string {
	s := fmt.Sprintf("over %s: %d worse, %d better, mean difference %s", text.Plural(o.Scenarios, "scenario"), o.Worse,
		o.Better, points(o.Difference, "by scenario"))
	for _, f := range []struct {
		*Flip
		where, of string
	}{{o.These, "in these scenarios", "trial"}, {o.Such, "in such scenarios", "scenario"}} {
		if f.Flip != nil {
			s += fmt.Sprintf("; %s: p %s one-sided over %s%s", f.where, pText(f.P.Worse), text.Plural(f.Units, f.of),
				marked(f.Regression))
		}
	}
	return s
}

// line is what is said of a field: the counts of both sides, what moved, the test, and the size
// of the difference; or why nothing can be said.
func (f *Field) line(before, after string, tested int) string {
	if f.Unclear != "" {
		return "neither better nor worse: " + f.Unclear
	}
	s := fmt.Sprintf("%d of %d %s, %d of %d %s", f.Before.Held, f.Before.Decided, inFile(before), f.After.Held,
		f.After.Decided, after)
	if f.Pairs != nil {
		s += fmt.Sprintf(", %d worse, %d better", f.Pairs.Worse, f.Pairs.Better)
	}
	switch {
	case f.Repeats != nil:
		s += fmt.Sprintf(" (%d runs that met the same were alike before and %d now, p %s one-sided, Holm over %s %s)",
			f.Repeats.Before, f.Repeats.After, pText(f.P.Worse), text.Plural(tested, "field"), pText(f.Adjusted))
	case f.Test != "":
		s += fmt.Sprintf(" (%s p %s one-sided, Holm over %s %s; %s)", f.Test, pText(f.P.Worse),
			text.Plural(tested, "field"), pText(f.Adjusted), points(f.Difference, "Newcombe"))
	}
	if f.Regression && f.Before.Unprovoked+f.After.Unprovoked > 0 { // the counts of what was decided lack them
		s += fmt.Sprintf(", without a delivered fault %d broke before and %d now", f.Before.Unprovoked,
			f.After.Unprovoked)
	}
	return s + marked(f.Regression)
}

// inFile puts "in" before the name of a file that has none.
func inFile(name string) string {
	if strings.Contains(name, ".") && !strings.HasPrefix(name, "in ") {
		return "in " + name
	}
	return name
}

func marked(regression bool) string {
	if regression {
		return ": worse"
	}
	return ""
}

// moved reports whether anything of a field is not as it was.
func (f *Field) moved() bool {
	if f.Pairs != nil {
		return f.Pairs.Better+f.Pairs.Worse > 0
	}
	return f.Before.Held*f.After.Decided != f.After.Held*f.Before.Decided
}

// String says what the trials can see, such as "20 trials a field can see a drop from 95 % to
// 55 % (paired, 9.5 % noise, one-sided .03, power 80 %)".
func (s *Power) String() string {
	how, level := "not paired", "one-sided "+pText(s.Alpha)
	if s.Paired {
		how = fmt.Sprintf("paired, %.1f %% noise", 100*s.Noise)
	}
	what := text.Plural(s.Trials, "trial") + " of all fields together"
	if s.Fields > 0 {
		what = text.Plural(s.Trials, "trial") + " a field"
	}
	if s.Fields > 1 {
		level += " in each of " + text.Plural(s.Fields, "field")
	}
	drop := "any drop"
	if !s.Nothing {
		drop = "a drop"
	}
	verb := map[bool]string{true: "cannot", false: "can"}[s.Nothing]
	line := fmt.Sprintf("%s %s see %s from %.0f %%", what, verb, drop, 100*s.From)
	if !s.Nothing {
		line += fmt.Sprintf(" to %.0f %%", math.Floor(100*s.To)) // so that it does not say too much
	}
	return line + fmt.Sprintf(" (%s, %s, power %.0f %%)", how, level, 100*s.Chance)
}

// points is a difference in percentage points, with its interval and the kind of it.
func points(d stats.Difference, kind string) string {
	if d.Level == 0 {
		return fmt.Sprintf("%+.0f points", 100*d.Value)
	}
	return fmt.Sprintf("%+.0f points, %.0f %% interval %+.0f to %+.0f, %s", 100*d.Value, 100*d.Level, 100*d.Low,
		100*d.High, kind)
}

// pText is a p value with two digits, without the 0 before the point.
func pText(p float64) string {
	digits := 2
	switch {
	case p >= 0.995:
		return "1"
	case p < 0.0001:
		return "below .0001"
	case p < 0.001:
		digits = 4
	case p < 0.1:
		digits = 3
	}
	return strings.TrimPrefix(strings.TrimRight(strconv.FormatFloat(p, 'f', digits, 64), "0"), "0")
}
