package report

import (
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/document"
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

// sign returns how the mark is written in each format.
func (m mark) sign() document.Sign {
	return [marks]document.Sign{
		markBroken: {Text: "✗", Emoji: "❌", Meaning: "broken", Class: "broken"},
		markUnprovoked: {Text: "!", Emoji: "❗", Meaning: "broken without a fault",
			Class: "unprovoked"},
		markInconclusive: {Text: "?", Emoji: "❔", Meaning: "inconclusive", Class: "inconclusive"},
		markUndelivered: {Text: "○", Emoji: "⚪", Meaning: "undelivered: no fault was delivered",
			Class: "undelivered"},
		markHeld:   {Text: "✓", Emoji: "✅", Meaning: "held", Class: "held"},
		markNotRun: {Text: "-", Emoji: "➖", Meaning: "not run", Class: "notrun"},
	}[m]
}

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

func (m mark) short() string {
	switch m {
	case markUndelivered:
		return "undelivered"
	case markUnprovoked:
		return "broken although no fault was delivered"
	}
	return m.sign().Meaning
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

func (f *field) ran() int { return f.cells - f.count[markNotRun] }

func (f *field) marks() (all []document.Mark) {
	for m := range marks {
		if n := f.count[m]; n == f.cells {
			all = append(all, document.Mark{Sign: m.sign()})
		} else if n > 0 {
			all = append(all, document.Mark{Sign: m.sign(), Count: n})
		}
	}
	return all
}

func (f *field) words() string {
	var parts []string
	for m := range marks {
		if n := f.count[m]; n > 0 {
			parts = append(parts, strconv.Itoa(n)+" "+m.short())
		}
	}
	return strings.Join(parts, ", ")
}
