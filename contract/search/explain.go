package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// Bounds of what is explained. The rest is counted.
const (
	maxShapesOfField = 8 // reasons of an invariant in a scenario
	maxGroups        = 64
)

// Explain finds the defects behind the broken cells of r, a report of m, and sets
// Defects and the fields Search of the report. It changes nothing else in r. The package
// comment says what it looks for. Without broken cells it makes no run.
//
// The error joins a [*FieldError] for each problem of the options and for each scenario or
// invariant of a broken cell that m lacks, or is that of ctx or of
// [contract.Matrix.Runner]. What was found before the end of ctx is in r.
func Explain(ctx context.Context, m *contract.Matrix, r *contract.Report, o *Options) error {
	e, err := newExplainer(m, r, o)
	if err != nil {
		return err
	}
	e.group()
	if len(e.groups) == 0 {
		return nil
	}
	if err = e.begin(ctx, toCompare); err != nil {
		return err
	}
	defer e.runner.Close()
	return e.explain(ctx)
}

// newExplainer checks what [Explain] and [Cure] are given.
func newExplainer(m *contract.Matrix, r *contract.Report, o *Options) (*explainer, error) {
	own, err := o.checked(m)
	if err == nil && r == nil {
		err = fields.Wrong("r", fielderror.Found("nil"), "a report of m")
	}
	if err == nil {
		err = ofMatrix(m, r)
	}
	if err != nil {
		return nil, err
	}
	e := &explainer{matrix: m, report: r, o: own, secrets: redact.New(own.Secrets, redact.Patterns),
		probes: map[string]string{}, sources: map[string]*source{}}
	for i := range m.Invariants {
		e.probes[m.Invariants[i].Name] = strings.Join(m.Invariants[i].Probes, "\x00")
	}
	return e, nil
}

// begin makes the runner, and what keeps and remembers its runs.
func (e *explainer) begin(ctx context.Context, gather contract.Needs) (err error) {
	if e.runner, err = e.o.runner(ctx, e.matrix, gather); err != nil {
		return err
	}
	e.view = newViewer(e.runner.Tools(), e.shapes)
	e.runs = newLockstep(e.runner, e.o, func(r runRequest, result *contract.Result) *runDigest {
		return e.view.Digest(result, r.Detail)
	})
	return nil
}

// ofMatrix returns an error if a broken cell has a scenario or an invariant that the matrix
// lacks: without the scenario's rules it would look as if it broke without any fault.
func ofMatrix(m *contract.Matrix, r *contract.Report) error {
	p := fields.List()
	known := map[[2]string]bool{}
	for i := range m.Scenarios {
		known[[2]string{"scenario", m.Scenarios[i].Name}] = true
	}
	for i := range m.Invariants {
		known[[2]string{"invariant", m.Invariants[i].Name}] = true
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		for _, at := range [][2]string{{"scenario", c.Cell.Scenario}, {"invariant", c.Cell.Invariant}} {
			p.Demand(!c.Violated || known[at], "r: "+at[0], at[1], "one of the matrix: r must be a report of m")
			known[at] = known[at] || c.Violated // it is told once
		}
	}
	return p.Err()
}

type explainer struct {
	matrix  *contract.Matrix
	report  *contract.Report
	o       *Options
	runner  *contract.Runner
	view    *viewer
	shapes  *shaper
	secrets *redact.Redactor
	runs    *lockstep
	probes  map[string]string // of each invariant its own prompts: those with equal ones are judged by the same runs

	groups  []*group
	sources map[string]*source
	left    int // broken cells of groups beyond the bounds
}

// A group is the broken cells that broke an invariant in one scenario for reasons of
// one shape.
type group struct {
	scenario string
	severity contract.Severity
	why      string
	cells    []contract.Cell
	first    *contract.CellReport
	once     bool   // of a sweep that was cut: it broke in the one run that there was
	instead  string // of a sweep: what a further run showed in place of a break
	culprit
}

// group groups the broken cells of the report, the most severe first. A broken trial of
// a promised rate that was not rejected is none: such trials were to be expected. One whose
// trials are copies is judged by its cells.
func (e *explainer) group() {
	e.shapes = newShaper(e.targets())
	type field struct{ scenario, invariant string }
	promised := map[field]bool{}
	for _, f := range e.report.Fields {
		promised[field{f.Scenario, f.Invariant}] = f.AtLeast != 0 && !f.Copies &&
			f.Standing.Decision != stats.Rejected
	}
	byKey, shapes := map[[3]string]*group{}, map[field]int{}
	for i := range e.report.Cells {
		c := &e.report.Cells[i]
		at := field{c.Cell.Scenario, c.Cell.Invariant}
		if !c.Violated || promised[at] {
			continue
		}
		shape := e.shapes.shapeOf(c.Why)
		key := [3]string{at.scenario, at.invariant, shape}
		g := byKey[key]
		if g == nil {
			if shapes[at] == maxShapesOfField {
				e.left++
				continue
			}
			shapes[at]++
			g = &group{scenario: at.scenario, severity: c.Severity, why: c.Why, first: c,
				culprit: culprit{Invariant: at.invariant, Shape: shape}}
			byKey[key] = g
			e.groups = append(e.groups, g)
		}
		g.cells = append(g.cells, c.Cell)
	}
	slices.SortStableFunc(e.groups, func(a, b *group) int { return cmp.Compare(b.severity, a.severity) })
	for len(e.groups) > maxGroups {
		last := len(e.groups) - 1
		e.left += len(e.groups[last].cells)
		e.groups = e.groups[:last]
	}
}

// targets are the names of injection points that a reason may have.
func (e *explainer) targets() map[string]bool {
	names := map[string]bool{}
	for _, c := range e.report.Cells {
		for _, o := range c.Observations() {
			for _, e := range o.Events {
				names[e.Target] = true
			}
			for _, t := range o.Tools {
				names[t.Name] = true
			}
		}
	}
	for _, f := range e.report.Faults {
		names[f.Target] = true
	}
	return names
}

// explain searches, and fills in the report.
func (e *explainer) explain(ctx context.Context) error {
	var err error
	for groups := e.groups; len(groups) > 0; {
		err = cmp.Or(err, e.searchAll(ctx, groups))
		groups = e.split(groups)
		e.groups = append(e.groups, groups...)
	}
	e.report.Defects = e.defects()
	e.report.SearchRuns, e.report.SearchElapsed = e.runs.Spent.Runs, time.Since(e.runs.Begun)
	e.report.SearchStopped = e.stopped()
	return err
}

// searchAll searches groups. After an error they end: nothing more was searched.
func (e *explainer) searchAll(ctx context.Context, groups []*group) error {
	fresh := e.assignSources(groups)
	learn, search := make([]task, len(fresh)), make([]task, len(groups))
	for i, s := range fresh {
		learn[i] = s.Learn
	}
	err := e.runs.Run(ctx, learn...)
	e.matchSources(fresh)
	for i, g := range groups {
		search[i] = g.Search
	}
	return cmp.Or(err, e.runs.Run(ctx, search...))
}

// split makes groups of what the search of groups brought up: other causes in their sources, and
// the cells that met no known cause, which other faults broke. Of a cell without evidence that
// is not known. An agent that does not repeat itself would take too many runs.
func (e *explainer) split(groups []*group) (more []*group) {
	for _, g := range groups {
		for _, other := range g.Others {
			e.groups = append(e.groups, &group{scenario: g.scenario, severity: g.severity, first: g.first,
				why: cmp.Or(other.Smallest.judgedBy(g.Invariant).Why, g.why), culprit: *other})
		}
		g.Others = nil
	}
	cells := e.cellReports()
	for _, g := range groups {
		if g.Smallest == nil || g.Source.Random {
			continue
		}
		rest := &group{scenario: g.scenario, severity: g.severity,
			culprit: culprit{Invariant: g.Invariant, Shape: g.Shape}}
		all := g.cells
		g.cells = nil
		for _, c := range all {
			r := cells[c]
			if owner := e.ownerOf(g, r); owner != nil {
				owner.cells = append(owner.cells, c)
				continue
			}
			if rest.first == nil {
				rest.first, rest.why = r, r.Why
			}
			rest.cells = append(rest.cells, c)
		}
		switch {
		case rest.first == nil:
		case len(e.groups)+len(more) >= maxGroups:
			e.left += len(rest.cells)
		default:
			more = append(more, rest)
		}
	}
	return more
}

func (e *explainer) cellReports() map[contract.Cell]*contract.CellReport {
	cells := make(map[contract.Cell]*contract.CellReport, len(e.report.Cells))
	for i := range e.report.Cells {
		cells[e.report.Cells[i].Cell] = &e.report.Cells[i]
	}
	return cells
}

// runOf names the run of a cell: it is judged by all invariants with its prompts.
func (e *explainer) runOf(at contract.Cell) string {
	return fmt.Sprintf("%q %d %q", at.Scenario, at.Trial, e.probes[at.Invariant])
}

// ownerOf is the group whose faults a cell of g met: g itself, else another one of its scenario,
// invariant and shape; nil: none did.
func (e *explainer) ownerOf(g *group, c *contract.CellReport) *group {
	run := c.Observations()
	if c == g.first || len(run) == 0 || g.MetBy(run) {
		return g
	}
	for _, k := range e.groups {
		if k.scenario == g.scenario && k.Invariant == g.Invariant && k.Smallest != nil && !k.Source.Random &&
			(k.Shape == g.Shape || k.Reason() == g.Shape) && k.MetBy(run) {
			return k
		}
	}
	return nil
}

func (e *explainer) stopped() string {
	cut := e.runs.Cut
	if e.left > 0 {
		left := text.Plural(e.left, "broken cell") +
			" not searched: their reasons, or the faults behind these, are too many"
		cut = strings.TrimPrefix(cut+"; "+left, "; ")
	}
	return cut
}

// assignSources gives each group the source of its first cell, and returns those that have
// not been learnt. Groups of a scenario, trial and prompt list share one.
func (e *explainer) assignSources(groups []*group) (fresh []*source) {
	for _, g := range groups {
		calm := len(e.runner.Rules(g.scenario)) == 0 && e.besides(g) == withoutFault // nothing was broken in it
		key := e.runOf(g.first.Cell)
		s := e.sources[key]
		if s == nil {
			s = &source{Cell: g.first.Cell, before: g.first.Observations(), Key: strconv.Itoa(len(e.sources)),
				Rules: e.runner.Rules(g.scenario)}
			e.sources[key] = s
			if !calm {
				fresh = append(fresh, s)
			}
		}
		if g.Source = s; calm {
			g.Smallest = &runDigest{} // the cell itself is the run without any fault
		}
	}
	return fresh
}

// matchSources says of sources that they are random if one is, or if the report says so of
// the agent: a random agent may repeat itself once by chance.
func (e *explainer) matchSources(all []*source) {
	differ := ""
	if e.report.Repeatable == "no" {
		differ = cmp.Or(e.report.Difference, "the report says so")
	}
	if i := slices.IndexFunc(all, func(s *source) bool { return s.Random }); i >= 0 {
		differ = all[i].Differ
	}
	if differ == "" {
		return
	}
	for _, s := range all {
		if !s.Random {
			s.Random, s.Differ = true, differ
		}
	}
}
