package audit

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/shakedown-go/shakedown/contract"
)

// A Verdict says what happens if a tool is called again: of a treatment, or of all treatments of a tool.
type Verdict string

// The verdicts.
const (
	Unknown     Verdict = "unknown"       // it could not be told
	Safe        Verdict = "safe"          // all that was tried leaves the state of one call, and the caller has an answer
	SafeWithKey Verdict = "safe with key" // so it is with the same idempotency key, and not without
	Doubles     Verdict = "doubles"       // some treatment does the work more than once
	PartlyDone  Verdict = "partly done"   // some treatment leaves work undone or half done, and the call succeeds
	Wedged      Verdict = "wedged"        // after some treatment the call fails again and again
	NotTried    Verdict = "not tried"     // of a treatment alone
)

// A Standing is how a claim compares with what was found.
type Standing string

// The standings. A claim that promises nothing, such as idempotentHint: false, is NotClaimed.
const (
	NotClaimed   Standing = "not claimed"
	Confirmed    Standing = "confirmed" // by all that was tried
	Contradicted Standing = "contradicted"
	NotDecided   Standing = "not decided"
)

// A Result is the outcome of an audit.
type Result struct {
	// Tools has an element for each tool, in their order.
	Tools     []ToolResult `json:"tools"`
	StateNote string       `json:"stateNote,omitempty"` // that of the options
	// Report is that of the matrix, for the run file and all other formats.
	Report *contract.Report `json:"-"`
}

// A ToolResult is the outcome for one tool.
type ToolResult struct {
	Planned
	Verdict Verdict `json:"verdict" bounds:"enum=unknown|safe|safe with key|doubles|partly done|wedged"`
	// Why is the reason of a verdict other than Safe, with the treatment that decided, and Mend what would
	// help.
	Why  string `json:"why,omitempty"`
	Mend string `json:"mend,omitempty"`
	// The claims; Destructive is the claim that the tool is not.
	ReadOnly    Standing `json:"readOnly"`
	Idempotent  Standing `json:"idempotent"`
	Destructive Standing `json:"destructive"`
	// Evidence is what each treatment showed, with all that was sent.
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Judge makes the result of a report of the matrix that [Matrix] returned with the listing. Several
// trials are judged together.
func Judge(l *Listing, r *contract.Report) *Result {
	result := &Result{Report: r, StateNote: l.StateNote}
	for _, p := range l.Tools {
		result.Tools = append(result.Tools, ToolResult{Planned: p})
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		of, known := l.cases[c.Cell.Scenario]
		if !known {
			continue
		}
		tool := &result.Tools[of.tool]
		e := Evidence{Tool: tool.Tool, Treatment: of.treatment.name, Verdict: Unknown}
		e.Why = cmp.Or(c.Why, c.State.String())
		decided := c.State == contract.Held || c.State == contract.Broken || c.DoesNotApply || c.Undecided
		if decided && c.Evidence != nil {
			var read Evidence
			if json.Unmarshal([]byte(c.Evidence.Response), &read) == nil && read.Treatment == e.Treatment {
				e = read
			}
		}
		tool.Evidence = append(tool.Evidence, e)
	}
	for i := range result.Tools {
		result.Tools[i].judge()
	}
	return result
}

func (t *ToolResult) judge() {
	needed, missing := false, false
	for name := range t.NotTried {
		missing = missing || name != restarting
	}
	t.NotTried = maps.Clone(t.NotTried) // the listing keeps its own
	var worst *Evidence                 // of treatments with the same key; the first of its verdict
	for i := range t.Evidence {
		e := &t.Evidence[i]
		if e.Verdict == SafeWithKey || e.Verdict.rank() < 0 {
			e.Verdict = Unknown // also what a redactor made of it
		}
		if e.Verdict == NotTried {
			t.NotTried[e.Treatment] = e.Why
		}
		switch {
		case informs(e.Treatment):
			needed = needed || e.Verdict != Safe
		case e.Treatment == otherSpelling && e.Verdict == NotTried: // there is no other
		case worst == nil || e.Verdict.rank() < worst.Verdict.rank():
			worst = e
		}
	}
	showed, effect := t.showed()
	for _, name := range t.Treatments {
		missing = missing || showed[name] == ""
	}
	t.Verdict = Unknown
	switch {
	case t.Refused != "":
		t.Why = "it was not called: " + t.Refused
	case worst != nil && worst.Verdict != Safe:
		t.Why = worst.Treatment + ": " + worst.Why
		if worst.Verdict != NotTried { // what was not tried may not be safe
			t.Verdict = worst.Verdict
		}
	case missing || worst == nil:
		t.Why = "not all treatments were tried"
	case needed:
		t.Verdict, t.Why = SafeWithKey, "without the same key ("+t.Key+") it is not known to be safe"
	default:
		t.Verdict = Safe
	}
	t.Mend = known[t.Verdict].mend
	t.weigh(cmp.Or(showed[withoutKey], Safe), effect)
}

// showed is the worst verdict of each treatment, and the most that a call did to the state.
func (t *ToolResult) showed() (by map[string]Verdict, effect string) {
	by = map[string]Verdict{}
	for _, e := range t.Evidence {
		if was, again := by[e.Treatment]; !again || e.Verdict.rank() < was.rank() {
			by[e.Treatment] = e.Verdict
		}
		effect = graverEffect(effect, e.Effect)
	}
	return by, effect
}

// known is what a verdict says of a tool, in a sentence about it, and what would mend it.
var known = map[Verdict]struct{ says, mend string }{
	Doubles: {"it doubles", "keep an idempotency key, or what identifies the request, with its outcome, in the transaction that " +
		"does the work; answer a known one with that outcome"},
	PartlyDone: {"its work may be left half done", "do all steps in one transaction, or let a repeated call do the steps " +
		"that are missing"},
	Wedged: {"a repeated call of it may fail for ever", "answer a repeated call as the first one, also if its work is done: " +
		"deleting what is gone succeeds; release what a call that ended has locked"},
	SafeWithKey: {"it is safe to repeat with the same idempotency key alone", "send the same key again with a repeated call; " +
		"make it a required argument"},
}

// weigh compares the claims with what was found. keyless is what calls without a key showed, effect what calls did.
func (t *ToolResult) weigh(keyless Verdict, effect string) {
	safe := t.Verdict == Safe || t.Verdict == SafeWithKey && keyless == Safe
	doubles, changed := t.Verdict == Doubles, slices.Contains([]string{"adds", "changes", "removes"}, effect)
	t.ReadOnly = standing(claims(t.Claims.ReadOnly), safe && effect == "none", doubles || changed)
	t.Idempotent = standing(claims(t.Claims.Idempotent), safe, doubles || keyless == Doubles)
	d := t.Claims.Destructive
	t.Destructive = standing(d != nil && !*d, effect == "none" && safe || effect == "adds", effect == "removes")
}

func standing(claimed, confirmed, contradicted bool) Standing {
	switch {
	case !claimed:
		return NotClaimed
	case contradicted:
		return Contradicted
	case confirmed:
		return Confirmed
	}
	return NotDecided
}
