package golden

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

const (
	// context is how many equal lines are shown around a change.
	context = 3
	// maxLines bounds a message; a report that changed altogether is easier to read in version control.
	maxLines = 200
	// maxCompared bounds the lines that are compared, from the first difference on: the time grows with their square.
	maxCompared = 1000
)

// A line is one line of a comparison: '-' if only want has it, '+' if only got has it, ' ' if both have.
type line struct {
	mark      byte
	text      string
	want, got int // the line's number in each, counted from 1; that of the next line where it is missing
}

// diff shows the lines in which want and got differ, in hunks that start with the two line numbers.
func diff(want, got []byte) string {
	a, b := slices.Collect(strings.Lines(string(want))), slices.Collect(strings.Lines(string(got)))
	skip := 0
	for skip < min(len(a), len(b)) && a[skip] == b[skip] {
		skip++
	}
	skip = max(0, skip-context)
	lines := compare(window(a, skip), window(b, skip), skip+1)
	shown := near(lines)
	var out strings.Builder
	printed, cut := 0, max(len(a), len(b)) > skip+maxCompared
	for i, l := range lines {
		if !shown[i] {
			continue
		}
		if printed == maxLines {
			cut = true
			break
		}
		if i == 0 || !shown[i-1] {
			fmt.Fprintf(&out, "@@ -%d +%d @@\n", l.want, l.got)
		}
		out.WriteString(l.String())
		printed++
	}
	if cut {
		fmt.Fprintf(&out, "not all is shown: want has %d lines, got %d\n", len(a), len(b))
	}
	return out.String()
}

func window(lines []string, skip int) string {
	return strings.Join(lines[skip:min(len(lines), skip+maxCompared)], "")
}

// compare lists the lines of both texts in one order; first is the number of their first line.
func compare(want, got string, first int) []line {
	d := diffmatchpatch.New()
	d.DiffTimeout = 0 // the shortest script however long it takes: the same message on any machine
	a, b, texts := d.DiffLinesToRunes(want, got)
	var lines []line
	at := line{want: first, got: first}
	for _, change := range d.DiffCharsToLines(d.DiffMainRunes(a, b, false), texts) {
		for text := range strings.Lines(change.Text) {
			at.mark, at.text = mark(change.Type), text
			lines = append(lines, at)
			if at.mark != '+' {
				at.want++
			}
			if at.mark != '-' {
				at.got++
			}
		}
	}
	return lines
}

func mark(op diffmatchpatch.Operation) byte {
	switch op {
	case diffmatchpatch.DiffDelete:
		return '-'
	case diffmatchpatch.DiffInsert:
		return '+'
	}
	return ' '
}

// near marks the lines that are changed or have a change at most context lines away.
func near(lines []line) []bool {
	shown := make([]bool, len(lines))
	for i, l := range lines {
		if l.mark != ' ' {
			for j := max(0, i-context); j < min(len(lines), i+context+1); j++ {
				shown[j] = true
			}
		}
	}
	return shown
}

func (l line) String() string {
	text, complete := strings.CutSuffix(l.text, "\n")
	s := string(l.mark) + visible(text) + "\n"
	if !complete {
		s += "\\ no newline at the end\n"
	}
	return s
}

// visible quotes a line in which something could be overlooked: trailing space, control characters, wrong bytes.
func visible(s string) string {
	hidden := func(r rune) bool { return r != '\t' && !unicode.IsPrint(r) }
	if strings.TrimRight(s, " \t") != s || strings.ContainsFunc(s, hidden) || !utf8.ValidString(s) {
		return strconv.Quote(s)
	}
	return s
}
