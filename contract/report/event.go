package report

import (
	"fmt"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/text"
)

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
		fmt.Fprintf(&b, ", %s%s became %s", changedPath(c), clip(string(c.Before), 40), clip(string(c.After), 40))
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
