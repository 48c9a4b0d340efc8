package audit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/document"
	"github.com/shakedown-go/shakedown/internal/enum"
)

// A Verdict says what happens if a tool is called again: of a treatment, or of all treatments of a tool.
type Verdict uint8

// The verdicts. The zero value is Unknown.
const (
	Unknown     Verdict = iota // it could not be told
	Safe                       // every treatment leaves the state of one call, and the caller gets an answer
	SafeWithKey                // so it is with the same idempotency key, and not without
	Doubles                    // some treatment does the work more than once
	PartlyDone                 // some treatment leaves the work undone or half done, and the call succeeds
	Wedged                     // after some treatment the call fails again and again
	NotTried                   // of a treatment alone
)

var verdicts = enum.Names[Verdict]{Package: fields, Field: "verdict", Of: []string{Unknown: "unknown", Safe: "safe",
	SafeWithKey: "safe with key", Doubles: "doubles", PartlyDone: "partly done", Wedged: "wedged", NotTried: "not tried"}}

// String is the verdict in words.
func (v Verdict) String() string { return verdicts.String(v) }

// MarshalText is the verdict in words.
func (v Verdict) MarshalText() ([]byte, error) { return verdicts.MarshalText(v) }

// UnmarshalText reads what MarshalText writes.
func (v *Verdict) UnmarshalText(text []byte) error { return verdicts.UnmarshalText(text, v) }

// A Standing is how a claim compares with what was found.
type Standing uint8

// The standings. The zero value is NotClaimed.
const (
	NotClaimed   Standing = iota // it is not claimed, or the claim promises nothing, as idempotentHint: false
	Confirmed                    // nothing that was tried contradicts it
	Contradicted                 // a treatment contradicts it
	NotDecided                   // it could not be told
)

var standings = enum.Names[Standing]{Package: fields, Field: "standing", Of: []string{NotClaimed: "not claimed",
	Confirmed: "confirmed", Contradicted: "contradicted", NotDecided: "not decided"}}

// String is the standing in words.
func (s Standing) String() string { return standings.String(s) }

// MarshalText is the standing in words.
func (s Standing) MarshalText() ([]byte, error) { return standings.MarshalText(s) }

// UnmarshalText reads what MarshalText writes.
func (s *Standing) UnmarshalText(text []byte) error { return standings.UnmarshalText(text, s) }

// A Result is the outcome of an audit.
type Result struct {
	// Tools has an element for each tool, in their order.
	Tools []ToolResult `json:"tools"`
	// Report is that of the matrix, for the run file and all other formats.
	Report *contract.Report `json:"-"`
}

// A ToolResult is the outcome for one tool.
type ToolResult struct {
	Planned
	Verdict Verdict `json:"verdict"`
	// Because is the reason of the verdict, with the treatment that decided, and Mend is what would help;
	// empty: nothing is to be said.
	Because string `json:"because,omitempty"`
	Mend    string `json:"mend,omitempty"`
	// The standings of the claims.
	ReadOnly    Standing `json:"readOnly"`
	Idempotent  Standing `json:"idempotent"`
	Destructive Standing `json:"destructive"` // of the claim that it is not
	// Evidence is what each treatment showed, with all that was sent.
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Judge makes the result of a report of the matrix that [Matrix] returned with the listing. The evidence of
// several trials is judged together.
func Judge(l *Listing, r *contract.Report) *Result {
	result := &Result{Report: r}
	for _, p := range l.Tools {
		result.Tools = append(result.Tools, ToolResult{Planned: p})
	}
	ofScenario := map[string]*ToolResult{}
	a := &auditor{o: new(Options), cases: map[string]trialCase{}}
	m := new(contract.Matrix)
	for i := range result.Tools {
		n := len(m.Scenarios)
		a.add(m, &result.Tools[i].Planned)
		for _, s := range m.Scenarios[n:] {
			ofScenario[s.Name] = &result.Tools[i]
		}
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		tool := ofScenario[c.Cell.Scenario]
		if tool == nil {
			continue
		}
		e := Evidence{Tool: tool.Tool, Treatment: a.cases[c.Cell.Scenario].treatment.name, Why: cmp.Or(c.Why, c.State.String())}
		var read Evidence
		decided := c.State == contract.Held || c.State == contract.Broken || c.DoesNotApply || c.Undecided
		if decided && c.Evidence != nil && json.Unmarshal([]byte(c.Evidence.Response), &read) == nil {
			e = read
		}
		tool.Evidence = append(tool.Evidence, e)
	}
	for i := range result.Tools {
		result.Tools[i].judge()
	}
	return result
}

func (t *ToolResult) judge() {
	if t.Because = t.Why; t.Because != "" {
		t.weigh(Unknown)
		return
	}
	var worst [NotTried + 1]*Evidence // the first of each verdict, in treatments with the same key
	keyless, needed, tried := Safe, false, map[string]bool{}
	for i := range t.Evidence {
		e := &t.Evidence[i]
		tried[e.Treatment] = e.Verdict != NotTried
		switch e.Treatment {
		case "other-key", "without-key":
			needed = needed || e.Verdict != Safe
			if e.Treatment == "without-key" {
				keyless = e.Verdict
			}
		default:
			if worst[e.Verdict] == nil {
				worst[e.Verdict] = e
			}
		}
	}
	decides := worst[Unknown]
	for _, v := range []Verdict{Doubles, PartlyDone, Wedged} {
		if worst[v] != nil {
			t.Verdict, decides = v, worst[v]
			break
		}
	}
	missing := slices.ContainsFunc(treatments(), func(d treatment) bool {
		return !d.informs() && !d.restart && d.part == 0 && !tried[d.name]
	})
	switch {
	case decides != nil:
		t.Because = decides.Treatment + ": " + decides.Why
	case missing:
		t.Because = "not all treatments were tried"
	case needed:
		t.Verdict = SafeWithKey
	default:
		t.Verdict = Safe
	}
	t.Mend = t.mend()
	t.weigh(keyless)
}

func (t *ToolResult) mend() string {
	switch t.Verdict {
	case Doubles:
		if t.Key != "" {
			return fmt.Sprintf("store the key (%s) with the outcome in the transaction that does the work, and answer a known key with that outcome", t.Key)
		}
		return "take an idempotency key as an argument, or derive one from the arguments, pass it on, and answer a known key with the stored outcome"
	case PartlyDone:
		return "do all steps in one transaction, or record each and let a repeated call do those that are missing"
	case Wedged:
		return "answer a repeated call as the first one was or would have been, and release what a call that ended has locked"
	case SafeWithKey:
		if !t.KeyRequired {
			return fmt.Sprintf("callers must send the same key (%s) again; make it a required argument", t.Key)
		}
		return fmt.Sprintf("callers must send the same key (%s) again", t.Key)
	case Unknown:
		return "see why: an example call that succeeds, a state that shows its work and is the same in each fresh world"
	}
	return ""
}

// weigh compares the claims with what was found. keyless is what calls without a key showed.
func (t *ToolResult) weigh(keyless Verdict) {
	effect := ""
	for _, e := range t.Evidence {
		effect = cmp.Or(effect, e.Effect)
	}
	safe := t.Verdict == Safe || t.Verdict == SafeWithKey
	if claims(t.Claims.ReadOnly) {
		t.ReadOnly = standing(safe && effect == effectNone, t.Verdict == Doubles || effect != "" && effect != effectNone)
	}
	if claims(t.Claims.Idempotent) {
		keyed := t.Key == "" || t.KeyRequired || keyless == Safe
		t.Idempotent = standing(safe && keyed, t.Verdict == Doubles || keyless == Doubles)
	}
	if d := t.Claims.Destructive; d != nil && !*d {
		t.Destructive = standing(effect == effectNone || effect == effectAdds, effect == effectRemoves)
	}
}

func standing(confirmed, contradicted bool) Standing {
	switch {
	case contradicted:
		return Contradicted
	case confirmed:
		return Confirmed
	}
	return NotDecided
}

// Text writes the result for a terminal, in lines of at most 100 columns: a table of the tools, then what
// decided, and what would mend it.
func (r *Result) Text(w io.Writer) error {
	const columns = 100
	return document.Text(w, []*document.Section{r.section()}, columns)
}

// Markdown returns the result as a comment of at most so many bytes, in GitHub's dialect.
func (r *Result) Markdown(most int) []byte {
	d := document.Document{Title: "Audit of retry safety", Sections: []*document.Section{r.section()}}
	return d.Markdown(most)
}

func (r *Result) section() *document.Section {
	s := &document.Section{Name: "tools", Head: "AUDIT", Table: &document.Table{Corner: "tool",
		Heads: []document.Head{{Name: "called again"}, {Name: "readOnlyHint"}, {Name: "idempotentHint"}, {Name: "destructiveHint"}}}}
	for i := range r.Tools {
		t := &r.Tools[i]
		verdict := t.Verdict.String()
		if t.Why != "" {
			verdict = "not called"
		}
		row := document.Row{Name: t.Tool}
		for _, text := range []string{verdict, t.ReadOnly.String(), t.Idempotent.String(), t.Destructive.String()} {
			row.Cells = append(row.Cells, document.Cell{Text: text})
		}
		s.Table.Rows = append(s.Table.Rows, row)
		s.Items = append(s.Items, t.item(verdict))
	}
	return s
}

func (t *ToolResult) item(verdict string) document.Item {
	var sent, untried []string
	for _, e := range t.Evidence {
		if e.Verdict == NotTried {
			untried = append(untried, e.Treatment+": "+e.Why)
			continue
		}
		sent = append(sent, fmt.Sprintf("%s: %s (%d calls)", e.Treatment, e.Verdict, len(e.Calls)))
	}
	for _, d := range treatments() {
		if why := t.NotTried[d.name]; why != "" {
			untried = append(untried, d.name+": "+why)
		}
	}
	args := string(t.Args)
	if t.Made {
		args += " (made from its input schema)"
	}
	return document.Item{Lead: verdict, Names: []string{t.Tool}, Details: []document.Detail{
		{Label: "why", Text: t.Because}, {Label: "mend", Text: t.Mend}, {Label: "arguments", Kind: document.OneLine, Text: args},
		{Label: "tried", Text: strings.Join(sent, ", ")}, {Label: "not tried", List: untried}}}
}
