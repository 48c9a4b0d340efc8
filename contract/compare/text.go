package compare

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// mostNamed bounds the names in one line.
const mostNamed = 5

// String is the comparison as text, a line for each thing that matters: how the matrices
// differ, what is worse, what changed over all, what could not be compared, and what the
// trials could have seen. Fields that did not change have no line.
func (c *Comparison) String() string {
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, printable(fmt.Sprintf(format, args...))) }
	for _, m := range c.Matrices {
		say("matrix: %s", m)
	}
	worse := 0
	for i := range c.Fields {
		f := &c.Fields[i]
		if f.Regression {
			worse++
		}
		if f.Regression || f.Unclear == "" && f.moved() {
			say("%s", f.line(c.Before, c.After, c.Tested))
		}
	}
	if o := c.Overall; o != nil {
		say("%s", o.line())
	}
	for _, f := range c.Fields {
		if f.Unclear != "" {
			say("%s / %s: neither better nor worse: %s", f.Scenario, f.Invariant, f.Unclear)
		}
	}
	for _, note := range c.notes(mostNamed) {
		say("%s", note)
	}
	for _, sees := range c.sees() {
		say("%s", sees)
	}
	say("%s of %s compared, %d worse", text.Number(c.Compared()), text.Plural(len(c.Fields), "field"), worse)
	return strings.Join(lines, "\n") + "\n"
}

// A left is a list of fields that were not compared, and why.
type left struct {
	what  string
	names []string
}

func (c *Comparison) left() []left {
	return []left{{"only in " + c.Before, c.OnlyBefore}, {"only in " + c.After, c.OnlyAfter},
		{"not compared, as their scenario or prompts changed", c.Changed}}
}

// notes say which fields were not compared, with at most so many names in a line, and how the
// others were not.
func (c *Comparison) notes(most int) (all []string) {
	for _, list := range c.left() {
		if n := len(list.names); n > 0 {
			all = append(all, fmt.Sprintf("%s %s: %s", text.Plural(n, "field"), list.what, text.Some(list.names, most)))
		}
	}
	if c.Unpaired != "" {
		all = append(all, "not compared trial by trial: "+c.Unpaired)
	}
	return all
}

// line is the change of all fields together as text.
func (o *Overall) line() string {
	s := fmt.Sprintf("over %s: %d worse, %d better, mean difference %s", text.Plural(o.Scenarios, "scenario"), o.Worse,
		o.Better, points(o.Difference, overAll))
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

// line is one field as text: the counts of both sides, what moved, the test, and the size of
// the difference.
func (f *Field) line(before, after string, tested int) string {
	s := fmt.Sprintf("%s / %s: %d of %d %s, %d of %d %s", f.Scenario, f.Invariant, f.Before.Held, f.Before.Decided,
		in(before), f.After.Held, f.After.Decided, after)
	if f.Pairs != nil {
		s += fmt.Sprintf(", %d worse, %d better", f.Pairs.Worse, f.Pairs.Better)
	}
	switch {
	case f.Repeats != nil:
		s += fmt.Sprintf(" (%d runs that met the same were alike before and %d now, p %s one-sided, Holm over %s %s)",
			f.Repeats.Before, f.Repeats.After, pText(f.P.Worse), text.Plural(tested, "field"), pText(f.Adjusted))
	case f.Test != "":
		s += fmt.Sprintf(" (%s p %s one-sided, Holm over %s %s; %s)", f.Test, pText(f.P.Worse),
			text.Plural(tested, "field"), pText(f.Adjusted), points(f.Difference, ofField))
	}
	if note := f.unprovoked(); note != "" {
		s += ", " + note
	}
	return s + marked(f.Regression)
}

// unprovoked says of a field that is worse how many of its trials broke without a delivered
// fault: the counts of what was decided do not have them.
func (f *Field) unprovoked() string {
	if !f.Regression || f.Before.Unprovoked+f.After.Unprovoked == 0 {
		return ""
	}
	return fmt.Sprintf("without a delivered fault %d broke before and %d now", f.Before.Unprovoked,
		f.After.Unprovoked)
}

// in puts "in" before the name of a file.
func in(name string) string {
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

// sees says what could have been seen: in a field, and in all together.
func (c *Comparison) sees() (all []string) {
	if c.Sees != nil {
		all = append(all, c.Sees.String())
	}
	if c.Overall != nil && c.Overall.Sees != nil {
		all = append(all, c.Overall.Sees.String())
	}
	return all
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

// String is the contrast as text: the noise floor, and a line for each field.
func (c *Contrast) String() string {
	noise := "no noise floor: there is no second calm scenario"
	if c.Again != "" {
		noise = "no noise floor: the states of trials were not kept"
	}
	if c.Noise != nil {
		noise = fmt.Sprintf("noise floor %.1f %%: %s and %s disagree on %d of %s", 100*c.Noise.Share(), c.Calm, c.Again,
			c.Noise.Differ, text.Plural(c.Noise.Pairs, "pair"))
	}
	lines := []string{noise}
	for i := range c.Fields {
		f := &c.Fields[i]
		if f.Unclear != "" {
			lines = append(lines,
				fmt.Sprintf("%s / %s: neither better nor worse: %s", f.Scenario, f.Invariant, f.Unclear))
			continue
		}
		beside := "no noise floor"
		if c.Noise != nil {
			beside = fmt.Sprintf("noise floor %.1f %% of %s", 100*c.Noise.Share(), text.Plural(c.Noise.Pairs, "pair"))
		}
		lines = append(lines, f.line("in "+c.Calm, "in "+f.Scenario, c.Tested)+"; "+beside)
	}
	if len(c.NotInCalm) > 0 {
		lines = append(lines, fmt.Sprintf("%s not asked in %s: %s", text.Plural(len(c.NotInCalm), "field"), c.Calm,
			text.Some(c.NotInCalm, mostNamed)))
	}
	if c.Unpaired != "" {
		lines = append(lines, "not compared trial by trial: "+c.Unpaired)
	}
	if c.Sees != nil {
		lines = append(lines, c.Sees.String())
	}
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	return strings.Join(lines, "\n") + "\n"
}

// printable replaces what a terminal might act on, in names of a report that came from a file.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// The kinds of the intervals of differences.
const (
	ofField = "Newcombe"    // of a field
	overAll = "by scenario" // of all scenarios together
)

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
	switch {
	case p >= 0.995:
		return "1"
	case p < 0.0001:
		return "below .0001"
	case p < 0.001:
		return strings.TrimPrefix(strconv.FormatFloat(p, 'f', 4, 64), "0")
	case p < 0.1:
		return strings.TrimPrefix(strings.TrimRight(strconv.FormatFloat(p, 'f', 3, 64), "0"), "0")
	}
	return strings.TrimPrefix(strings.TrimRight(strconv.FormatFloat(p, 'f', 2, 64), "0"), "0")
}
