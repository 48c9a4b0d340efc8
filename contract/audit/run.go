package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/text"
)

// Invariant is the name of the one invariant of an audit: that a treatment leaves the state of one
// call, and that the caller gets an answer.
const Invariant = "done-once"

const (
	watchdog = time.Hour // for a treatment, which may call a slow tool a hundred times
	mostName = 60        // bytes of a tool's name in that of a scenario
)

// Run makes the audit and judges it. run may be nil; its Keep is always [contract.KeepAll], because
// the evidence makes the result.
//
// Errors are those of [Matrix] and of [contract.Matrix.Run]. With an error of the run the
// result has what was found until then, if anything was.
func Run(ctx context.Context, o *Options, run *contract.RunOptions) (*Result, error) {
	m, l, err := Matrix(ctx, o)
	if err != nil {
		return nil, err
	}
	own := *cmp.Or(run, new(contract.RunOptions))
	own.Keep = contract.KeepAll
	own.Watchdog = cmp.Or(own.Watchdog, watchdog)
	if o.Every > 0 {
		own.Workers = 1
	}
	r, err := m.Run(ctx, &own)
	if r == nil {
		return nil, err
	}
	return Judge(l, r), err
}

// Matrix returns the audit as a matrix, and what it does. A scenario is a tool and a treatment, named such as
// "refund.reply-lost". [Judge] needs a report with the evidence of all cells.
//
// Errors are those of [Plan], and a [*FieldError] if no tool may be called.
func Matrix(ctx context.Context, o *Options) (*contract.Matrix, *Listing, error) {
	l, err := Plan(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	own := *o
	l.cases = map[string]trialCase{}
	m := &contract.Matrix{Name: "audit", SkipStateProbe: true, Secrets: own.Secrets,
		Invariants: []contract.Invariant{{Name: Invariant, Severity: contract.Critical, Check: check}}}
	refused, taken := []string{}, map[string]bool{}
	for i := range l.Tools {
		m.Scenarios = append(m.Scenarios, l.scenarios(&own, i, taken)...)
		refused = append(refused, l.Tools[i].Tool+": "+l.Tools[i].Refused)
	}
	if len(m.Scenarios) == 0 {
		allowed := "the name of a tool, or Sandbox"
		if own.Sandbox {
			allowed = "the name of a tool: Sandbox is set, and allows none of these"
		}
		return nil, nil, fields.Wrong("Allow", fielderror.Found("no tool that may be called; "+text.Some(refused, 3)), allowed)
	}
	w := &contract.World{Tools: l.listed, Agent: l.agent(&own)}
	if own.NewWorld == nil {
		m.World = w // so one treatment is made after the other
	} else {
		m.NewWorld = func(context.Context) (*contract.World, error) { return w, nil }
	}
	return m, l, nil
}

// A trialCase is a scenario of the matrix.
type trialCase struct {
	tool      int // in the listing
	treatment treatment
}

// scenarios are those of a tool. taken are the beginnings of names that other tools have.
func (l *Listing) scenarios(o *Options, tool int, taken map[string]bool) (all []contract.Scenario) {
	p := &l.Tools[tool]
	base := text.Name(p.Tool, mostName)
	for n := 2; taken[base]; n++ {
		base = fmt.Sprintf("%s-%d", text.Name(p.Tool, mostName), n)
	}
	taken[base] = true
	for _, t := range o.treatments() {
		if !slices.Contains(p.Treatments, t.name) {
			continue
		}
		s := contract.Scenario{Name: base + "." + t.name, Layer: chaos.LayerTool, Prompts: []string{p.Tool + ": " + t.does}}
		if t.fault != nil {
			s.Rules = []chaos.Rule{{Target: glob.Literal(p.Tool), When: when.First(1), Fault: t.fault}}
		}
		l.cases[s.Name] = trialCase{tool, t}
		all = append(all, s)
	}
	return all
}

// agent makes the treatment of its scenario, in worlds that it opens itself.
func (l *Listing) agent(o *Options) contract.Agent {
	return func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
		cell, _ := contract.CellOf(ctx)
		c, ok := l.cases[cell.Scenario]
		if !ok {
			return "", fmt.Errorf("%w: a run that is no cell has no treatment", contract.ErrNotTheAgent)
		}
		t := &trial{o: o, plan: &l.Tools[c.tool], treatment: &c.treatment}
		doc, err := t.run(ctx)
		if err != nil { // a function of the options panicked
			return "", fmt.Errorf("%w: %w", contract.ErrNotTheAgent, err)
		}
		return string(o.redactor().JSON(doc, true)), nil
	}
}

// check judges a cell by the evidence that its response is.
func check(_ context.Context, o *contract.Observation) error {
	var e struct { // of Evidence: its calls and states are many
		Treatment, Why string
		Verdict        Verdict
	}
	if err := json.Unmarshal([]byte(o.Response), &e); err != nil {
		return fmt.Errorf("%w: the response is no evidence: %w", contract.ErrUndecided, err)
	}
	switch {
	case e.Verdict == Safe, informs(e.Treatment) && e.Verdict != Unknown:
		return nil
	case e.Verdict == NotTried, informs(e.Treatment):
		return fmt.Errorf("%w: %s", contract.ErrDoesNotApply, e.Why)
	case e.Verdict == Unknown:
		return fmt.Errorf("%w: %s", contract.ErrUndecided, e.Why)
	}
	return errors.New(string(e.Verdict) + ": " + e.Why)
}
