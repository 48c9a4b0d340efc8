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
	own, err := o.checked(m)
	if err == nil && r == nil {
		err = fields.Wrong("r", fielderror.Found("nil"), "a report of m")
	}
	if err != nil {
		return err
	}
	if err := ofMatrix(m, r); err != nil {
		return err
	}
	e := &explainer{matrix: m, report: r, o: own, secrets: redact.New(own.Secrets, redact.Patterns),
		sources: map[string]*source{}}
	e.group()
	if len(e.groups) == 0 {
		return nil
	}
	if e.runner, err = own.observer(ctx, m); err != nil {
		return err
	}
	defer e.runner.Close()
	return e.explain(ctx)
}

// ofMatrix returns an error if a broken cell has a scenario or an invariant that the matrix
// lacks: without the scenario's rules it would look as if it broke without any fault.
func ofMatrix(m *contract.Matrix, r *contract.Report) error {
	p := fields.List()
	scenarios, invariants := map[string]bool{}, map[string]bool{}
	for i := range m.Scenarios {
		scenarios[m.Scenarios[i].Name] = true
	}
	for i := range m.Invariants {
		invariants[m.Invariants[i].Name] = true
	}
	demand := func(known map[string]bool, field, name string) {
		p.Demand(known[name], field, name, "one of the matrix: r must be a report of m")
		known[name] = true // it is told once
	}
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Violated {
			demand(scenarios, "r: scenario", c.Cell.Scenario)
			demand(invariants, "r: invariant", c.Cell.Invariant)
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
	runs    *lockstep[*runDigest]

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
	once     bool // of a sweep that was cut: it broke in the one run that there was
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
		if !c.Violated || promised[field{c.Cell.Scenario, c.Cell.Invariant}] {
			continue
		}
		shape := e.shapes.shapeOf(c.Why)
		key := [3]string{c.Cell.Scenario, c.Cell.Invariant, shape}
		g := byKey[key]
		if g == nil {
			f := field{c.Cell.Scenario, c.Cell.Invariant}
			if shapes[f] == maxShapesOfField {
				e.left++
				continue
			}
			shapes[f]++
			g = &group{scenario: c.Cell.Scenario, severity: c.Severity, why: c.Why, first: c,
				culprit: culprit{Invariant: c.Cell.Invariant, Shape: shape}}
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
	for i := range e.report.Cells {
		for _, o := range e.report.Cells[i].Observations() {
			for k := range o.Events {
				names[o.Events[k].Target] = true
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
	e.view = newViewer(e.runner.Tools(), e.shapes)
	e.runs = newLockstep(e.runner.Run, e.o.bounds(), func(r runRequest, result *contract.Result) *runDigest {
		return e.view.Digest(result, r.Detail)
	})
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
	learn := make([]task[*runDigest], len(fresh))
	for i, s := range fresh {
		learn[i] = func(ask askRun) { s.Learn(e.observed(s), ask) }
	}
	err := e.runs.Run(ctx, learn...)
	e.matchSources(fresh)
	tasks := make([]task[*runDigest], len(groups))
	for i, g := range groups {
		tasks[i] = func(ask askRun) { g.Search(ask) }
	}
	return cmp.Or(err, e.runs.Run(ctx, tasks...))
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
	cells := make(map[contract.Cell]*contract.CellReport, len(e.report.Cells))
	for i := range e.report.Cells {
		cells[e.report.Cells[i].Cell] = &e.report.Cells[i]
	}
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

// ownerOf is the group whose faults a cell of g met: g itself, else another one of its scenario,
// invariant and shape; nil: none did.
func (e *explainer) ownerOf(g *group, c *contract.CellReport) *group {
	run := c.Observations()
	if c == g.first || len(run) == 0 || g.MetBy(run) {
		return g
	}
	i := slices.IndexFunc(e.groups, func(k *group) bool {
		return k.scenario == g.scenario && k.Invariant == g.Invariant && k.Smallest != nil && !k.Source.Random &&
			(k.Shape == g.Shape || k.Reason() == g.Shape) && k.MetBy(run)
	})
	if i < 0 {
		return nil
	}
	return e.groups[i]
}

func (e *explainer) stopped() string {
	var parts []string
	if e.runs.Cut != "" {
		parts = append(parts, e.runs.Cut)
	}
	if e.left > 0 {
		parts = append(parts, fmt.Sprintf("%s not searched: their reasons, or the faults behind these, are too many",
			text.Plural(e.left, "broken cell")))
	}
	return strings.Join(parts, "; ")
}

// assignSources gives each group the source of its first cell, and returns those that have
// not been learnt. Groups of a scenario, trial and prompt list share one.
func (e *explainer) assignSources(groups []*group) (fresh []*source) {
	probes := map[string]string{}
	for i := range e.matrix.Invariants {
		probes[e.matrix.Invariants[i].Name] = strings.Join(e.matrix.Invariants[i].Probes, "\x00")
	}
	for _, g := range groups {
		key := sourceKey(g.first.Cell, probes[g.Invariant])
		s := e.sources[key]
		if s == nil {
			s = &source{Cell: g.first.Cell, Key: strconv.Itoa(len(e.sources)),
				Rules: e.runner.Rules(g.scenario)}
			e.sources[key] = s
			if !e.isCalm(g) {
				fresh = append(fresh, s)
			}
		}
		if g.Source = s; e.isCalm(g) {
			g.Smallest = &runDigest{} // the cell itself is the run without any fault
		}
	}
	return fresh
}

// isCalm reports whether nothing was broken in a group's scenario.
func (e *explainer) isCalm(g *group) bool {
	return len(e.runner.Rules(g.scenario)) == 0 && e.besides(g) == withoutFault
}

// observed is the source's cell as the report has it; nil: it has it not.
func (e *explainer) observed(s *source) []*contract.Observation {
	for _, g := range e.groups {
		if g.Source == s && g.first.Cell == s.Cell {
			if all := g.first.Observations(); len(all) > 0 {
				return all
			}
		}
	}
	return nil
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
		s.BeRandom(differ)
	}
}
