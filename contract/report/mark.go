package report

import (
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
)

// A mark is the outcome of a cell as it is shown. There is one mark more than there
// are states: an invariant that broke without a delivered fault. That says
// something about the agent and nothing about its resilience.
type mark uint8

// The marks, the most urgent first: a field lists them in this order.
const (
	markBroken mark = iota
	markUnprovoked
	markInconclusive
	markUndelivered
	markHeld
	markNotRun
	marks // how many there are
)

// look returns how the mark is written in each format.
func (m mark) look() look {
	return [marks]look{
		markBroken:       {"✗", "❌", "broken", "31;1", "broken"},
		markUnprovoked:   {"!", "❗", "broken without a fault", "35;1", "unprovoked"},
		markInconclusive: {"?", "❔", "inconclusive", "33", "inconclusive"},
		markUndelivered:  {"○", "⚪", "undelivered: no fault was delivered", "36", "undelivered"},
		markHeld:         {"✓", "✅", "held", "32", "held"},
		markNotRun:       {"-", "➖", "not run", "2", "notrun"},
	}[m]
}

type look struct {
	sign    string // one column wide
	emoji   string // coloured, for formats without styles
	meaning string // in a legend
	colour  string // parameters of the terminal's SGR sequence
	class   string // in a style sheet; a single word, so it serves as a short name as well
}

// empty is the sign of a field without cells: the invariant does not apply.
const empty = "·"

func markOf(c *contract.CellReport) mark {
	switch c.State {
	case contract.Held:
		return markHeld
	case contract.Broken:
		return markBroken
	case contract.Inconclusive:
		return markInconclusive
	case contract.Undelivered:
		if c.Violated {
			return markUnprovoked
		}
		return markUndelivered
	}
	return markNotRun
}

func (m mark) broken() bool { return m == markBroken || m == markUnprovoked }

// short is the name of the mark in a sentence.
func (m mark) short() string {
	switch m {
	case markUndelivered:
		return "undelivered"
	case markUnprovoked:
		return "broken although no fault was delivered"
	}
	return m.look().meaning
}

// A field is all trials of one invariant in one scenario.
type field struct {
	count [marks]int
	cells int
}

func (f *field) add(m mark, n int) {
	f.count[m] += n
	f.cells += n
}

// ran returns the number of trials that were run.
func (f *field) ran() int { return f.cells - f.count[markNotRun] }

// worst returns the most urgent mark. The field has a cell.
func (f *field) worst() mark {
	for m := range marks {
		if f.count[m] > 0 {
			return m
		}
	}
	return markNotRun
}

// join writes one part for each mark that occurs.
func (f *field) join(sep string, part func(m mark, n int) string) string {
	var parts []string
	for m := range marks {
		if n := f.count[m]; n > 0 {
			parts = append(parts, part(m, n))
		}
	}
	return strings.Join(parts, sep)
}

// signs formats the field in the signs of one format, each after its number of
// trials, such as "3✗ 2✓". If all trials have the same mark, it is the sign alone.
func (f *field) signs(sign func(m mark) string) string {
	return f.join(" ", func(m mark, n int) string {
		if n == f.cells {
			return sign(m)
		}
		return strconv.Itoa(n) + sign(m)
	})
}

// words formats the field without signs, such as "3 broken, 2 held".
func (f *field) words() string {
	return f.join(", ", func(m mark, n int) string { return strconv.Itoa(n) + " " + m.short() })
}
