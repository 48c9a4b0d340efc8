package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/document"
	"github.com/shakedown-go/shakedown/internal/text"
)

// maxFaults bounds the lines of a broken cell for its faults.
const maxFaults = 8

// A rankedFault is one line about equal faults of a cell.
type rankedFault struct {
	event       *chaos.Event  // the first of them
	calls       []uint64      // their numbers from 1, as in [when.Nth]
	least, most time.Duration // that they waited
	weighty     bool          // the work was done, or it is the last one
	text        string
}

// rankedFaults describes the faults delivered in a cell, equal ones on one line. First
// are those whose call did its work, and the last that the run met, then the others. Both are
// in the order of the calls.
func rankedFaults(c *contract.CellReport) []*rankedFault {
	o := c.Evidence
	var all []*rankedFault
	var last *rankedFault
	byText := make(map[string]*rankedFault)
	for i := range o.Events {
		e := &o.Events[i]
		if e.Rule == "" || !e.Delivered {
			continue
		}
		key := faultLine(e, "", "")
		f := byText[key]
		if f == nil {
			f = &rankedFault{event: e, least: e.Spent, most: e.Spent}
			byText[key] = f
			all = append(all, f)
		}
		f.calls = append(f.calls, e.Ordinal+1)
		f.least, f.most = min(f.least, e.Spent), max(f.most, e.Spent)
		f.weighty = f.weighty || e.Effect == chaos.EffectDone
		last = f
	}
	for _, f := range all {
		f.text = f.line()
		f.weighty = f.weighty || f == last
	}
	slices.SortStableFunc(all, func(a, b *rankedFault) int { return -compareBool(a.weighty, b.weighty) })
	return all
}

func (f *rankedFault) line() string {
	calls, waited := "call ", ""
	if len(f.calls) > 1 {
		calls = "calls "
		slices.Sort(f.calls)
	}
	switch {
	case f.least < f.most:
		waited = fmt.Sprintf("%v to %v", f.least, f.most)
	case f.most > 0:
		waited = f.most.String()
	}
	return faultLine(f.event, calls+numbered(f.calls), waited)
}

// faults describes the faults delivered in the group's cell, one line each, at most so many. A
// last line counts the faults that were left out.
func (b *group) faults(most int) []string {
	c := b.cell
	if c.Evidence == nil && c.Delivered == 0 && c.Layer != "" {
		return []string{ownFaults(c)}
	}
	if c.Evidence == nil {
		return []string{sawFaults(c, "") + "; the evidence was not kept"}
	}
	var lines []string
	if original := c.Evidence.Original; original != nil {
		lines = append(lines, "the prompt was rewritten; it was: "+cmp.Or(*original, "(empty)"))
	}
	left := 0
	for i, f := range rankedFaults(c) {
		if i < most {
			lines = append(lines, f.text)
		} else {
			left += len(f.calls)
		}
	}
	switch {
	case left > 0:
		lines = append(lines, fmt.Sprintf("… and %d more", left))
	case len(lines) == 0 && c.Delivered > 0: // the evidence is one prompt of several
		lines = append(lines, "none in this answer; "+sawFaults(c, " of the cell"))
	case len(lines) == 0 && c.Layer != "":
		lines = append(lines, ownFaults(c))
	case len(lines) == 0:
		lines = append(lines, "none was delivered")
	}
	if dropped := c.Evidence.Dropped; dropped > 0 {
		lines = append(lines, text.Plural(dropped, "event")+" did not fit the log")
	}
	return lines
}

// ownFaults says that the scenario breaks something without rules.
func ownFaults(c *contract.CellReport) string {
	return fmt.Sprintf("those that the scenario has by itself, in the layer %q", document.Clip(string(c.Layer), 60))
}

// sawFaults counts the calls with a fault and the prompts that were rewritten.
func sawFaults(c *contract.CellReport, of string) string {
	var parts []string
	if calls := c.Delivered - c.Rewritten; calls > 0 || c.Rewritten == 0 {
		parts = append(parts, text.Plural(calls, "call")+of+" saw a fault")
	}
	if c.Rewritten > 0 {
		parts = append(parts,
			text.Plural(c.Rewritten, "prompt")+of+text.Noun(c.Rewritten, " was", " were")+" rewritten")
	}
	return strings.Join(parts, ", ")
}

// maxChanges bounds the changed values in one line.
const maxChanges = 3

// faultLine describes in one line the fault of a call, or of several equal ones.
// waited is how long they waited; "" for not at all.
func faultLine(e *chaos.Event, calls, waited string) string {
	var b strings.Builder
	b.WriteString(e.Target + ", " + calls)
	if e.Lane != "" {
		fmt.Fprintf(&b, " in lane %s", e.Lane)
	}
	fmt.Fprintf(&b, ": %s (rule %s", e.Fault, e.Rule)
	for _, also := range e.Also {
		fmt.Fprintf(&b, ", with %s", also)
	}
	b.WriteString(")")
	if waited != "" {
		b.WriteString(", waited " + waited)
	}
	for i, c := range e.Changes {
		if i == maxChanges {
			fmt.Fprintf(&b, ", and %s", text.Plural(len(e.Changes)-i, "more change"))
			break
		}
		fmt.Fprintf(&b, ", %s%s became %s", changedPath(c), document.Clip(string(c.Before), 40),
			document.Clip(string(c.After), 40))
	}
	if e.Outcome == chaos.OutcomeOpen {
		b.WriteString(", the call was still open when its cell ended")
	}
	if e.Err != "" {
		fmt.Fprintf(&b, ", the caller got: %s", e.Err)
		if e.Effect == chaos.EffectDone {
			b.WriteString("; the work was done")
		}
	}
	return b.String()
}

func changedPath(c chaos.Change) string {
	if c.Path == "" {
		return ""
	}
	return c.Path + ": "
}

// rulesText describes briefly what rules did to a call; empty if nothing.
func rulesText(e *chaos.Event) string {
	var parts []string
	if e.Rule != "" {
		parts = append(parts, e.Fault+" by "+e.Rule)
		if !e.Delivered {
			parts[0] += ", not delivered"
		}
	}
	for _, list := range []struct {
		what  string
		rules []string
	}{{"with ", e.Also}, {"without effect: ", e.Idle}, {"masked: ", e.Masked}, {"held back: ", e.HeldBack}} {
		if len(list.rules) > 0 {
			parts = append(parts, list.what+strings.Join(list.rules, ", "))
		}
	}
	if e.Note != "" {
		parts = append(parts, e.Note)
	}
	return strings.Join(parts, "; ")
}
