package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/glob"
)

// Invariant is the name of the one invariant of an audit: that a treatment leaves the state of one
// call, and that the caller gets an answer.
const Invariant = "done-once"

// Run makes the audit and judges it. run may be nil; [contract.RunOptions].Keep is always
// [contract.KeepAll], because the evidence makes the result.
//
// Errors are those of [Plan] and of [contract.Matrix.Run]. With an error of the run the
// result has what was found until then, if anything was.
func Run(ctx context.Context, o *Options, run *contract.RunOptions) (*Result, error) {
	m, l, err := Matrix(ctx, o)
	if err != nil {
		return nil, err
	}
	own := *cmp.Or(run, new(contract.RunOptions))
	own.Keep = contract.KeepAll
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
	a := &auditor{o: &own, cases: map[string]trialCase{}}
	m := &contract.Matrix{Name: "audit", SkipStateProbe: true, Secrets: own.Secrets,
		Invariants: []contract.Invariant{{Name: Invariant, Severity: contract.High, Check: check}}}
	for i := range l.Tools {
		a.add(m, &l.Tools[i])
	}
	if len(m.Scenarios) == 0 {
		return nil, l, fields.Wrong("Allow", fielderror.Found("no tool that may be called"), "the name of a tool, or Sandbox: "+a.reasons(l))
	}
	if own.NewWorld == nil {
		m.Reset, m.World = own.Reset, a.world(own.World)
		m.World.Close = own.World.Close
		return m, l, nil
	}
	m.NewWorld = func(ctx context.Context) (*contract.World, error) {
		w, closing, err := own.open(ctx)
		if err != nil {
			return nil, err
		}
		cw := a.world(w)
		cw.Close = closing
		return cw, nil
	}
	return m, l, nil
}

type trialCase struct {
	plan      *Planned
	treatment treatment
}

// auditor is the agent of the matrix: it makes the treatment of its scenario.
type auditor struct {
	o     *Options
	cases map[string]trialCase // by scenario
}

func (a *auditor) reasons(l *Listing) string {
	var all []string
	for _, p := range l.Tools {
		all = append(all, p.Tool+": "+p.Why)
	}
	return cmp.Or(strings.Join(all, "; "), "there is no tool")
}

func (a *auditor) add(m *contract.Matrix, p *Planned) {
	planned := map[string]bool{}
	for _, name := range p.Treatments {
		planned[name] = true
	}
	base := nameOf(p.Tool)
	for n := 2; a.cases[base+".once"].plan != nil; n++ { // two tools whose names differ in other signs
		base = fmt.Sprintf("%s-%d", nameOf(p.Tool), n)
	}
	for _, t := range treatments() {
		if !planned[t.name] {
			continue
		}
		s := contract.Scenario{Name: base + "." + t.name, Layer: chaos.LayerTool,
			Prompts: []string{a.o.redactor().Text(fmt.Sprintf("%s %s: %s", p.Tool, p.Args, t.does))}}
		if t.fault != nil {
			s.Rules = []chaos.Rule{{Target: glob.Literal(p.Tool), Limit: 1, Fault: t.fault}}
		}
		a.cases[s.Name] = trialCase{p, t}
		m.Scenarios = append(m.Scenarios, s)
	}
}

// nameOf is the name of a tool with the signs that the name of a scenario may have.
func nameOf(tool string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '_'
	}, tool)
}

func (a *auditor) world(w *World) *contract.World {
	return &contract.World{Tools: w.Tools, Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		cell, _ := contract.CellOf(ctx)
		c, ok := a.cases[cell.Scenario]
		if !ok {
			return "", fmt.Errorf("%w: the audit has no treatment for a run that is no cell", contract.ErrNotTheAgent)
		}
		t := &trial{o: a.o, plan: c.plan, treatment: &c.treatment}
		doc, err := json.Marshal(t.run(ctx, w, tools))
		return string(a.o.redactor().JSON(doc, true)), err
	}}
}

// check judges a cell by the evidence that its response is.
func check(_ context.Context, o *contract.Observation) error {
	var e Evidence
	if err := json.Unmarshal([]byte(o.Response), &e); err != nil {
		return fmt.Errorf("%w: the response is no evidence: %w", contract.ErrUndecided, err)
	}
	informs := false
	for _, t := range treatments() {
		informs = informs || t.name == e.Treatment && t.informs()
	}
	switch {
	case e.Verdict == Safe:
		return nil
	case e.Verdict == NotTried || informs && e.Verdict == Unknown:
		return fmt.Errorf("%w: %s", contract.ErrDoesNotApply, e.Why)
	case e.Verdict == Unknown:
		return fmt.Errorf("%w: %s", contract.ErrUndecided, e.Why)
	case informs: // without the same key the work may be done twice
		return nil
	}
	return errors.New(e.Verdict.String() + ": " + e.Why)
}
