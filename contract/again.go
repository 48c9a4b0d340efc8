package contract

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/hash"
)

// RunAgain runs some units of a run again, and returns their report, by which Verify of package
// contract/compare checks r, such as the report of a run file. The seed draws so many of the units
// that ran in r, all if there are fewer. Whoever made r must not know it.
// Cells that are not drawn are NotRun. Of the options, Workers, Watchdog, Harness and Build matter.
//
// Errors: those of [Matrix.CheckReport] and of [Matrix.Run].
func (m *Matrix) RunAgain(ctx context.Context, r *Report, units int, seed uint64, o *RunOptions) (*Report, error) {
	own := RunOptions{Keep: KeepNone}
	around := func(_ Cell, run func(Bubble) *CellReport) { run(nil) }
	if o != nil {
		own.Workers, own.Watchdog, own.Harness, own.Build = o.Workers, o.Watchdog, o.Harness, o.Build
	}
	if own.Harness.Around != nil {
		around = own.Harness.Around
	}
	if _, err := m.CheckReport(r, own.Build); err != nil {
		return nil, err
	}
	if units < 1 {
		return nil, fields.Wrong("units", units, "1 or more")
	}
	byUnit := map[string][]Cell{}
	for i := range r.Cells {
		if c := &r.Cells[i]; c.State != NotRun || c.DoesNotApply {
			unit := fmt.Sprint(c.Cell.Scenario, "/", c.Cell.Trial)
			byUnit[unit] = append(byUnit[unit], c.Cell)
		}
	}
	place := func(unit string) uint64 { return hash.Combine(hash.Mix(seed), hash.String(unit)) }
	drawn := slices.SortedFunc(maps.Keys(byUnit), func(a, b string) int { return cmp.Compare(place(a), place(b)) })
	asked := map[Cell]bool{}
	for _, unit := range drawn[:min(units, len(drawn))] {
		for _, c := range byUnit[unit] {
			asked[c] = true
		}
	}
	own.Harness.Around = func(c Cell, run func(Bubble) *CellReport) {
		if asked[c] {
			around(c, run)
		}
	}
	again, err := m.Run(ctx, &own)
	if err == nil {
		p := fields.List()
		r.head.checkAsks(p, "report", again.head, running)
		err = p.Err()
	}
	return again, err
}

// CheckReport checks that a report, such as that of a run file, is of the matrix, and of the library and the program
// that run now. build names that program; "": its executable does. compared is false where a build is not known: then
// nothing shows that it was this program.
//
// Errors: a [*FieldError] for each difference of fingerprint, seed, trials, library or build, and for a report without
// cells; and those of [Matrix.Validate].
func (m *Matrix) CheckReport(r *Report, build string) (compared bool, err error) {
	own, err := m.Fingerprint()
	if err != nil {
		return false, err
	}
	p := fields.List()
	if r == nil || r.head == nil || r.head.Fingerprint == nil || len(r.Cells) == 0 {
		p.Wrong("report", fielderror.Found("without cells or fingerprint"), "that of a run, or of its run file, with its cells")
		return false, p.Err()
	}
	if r.head.Build != "" && build == "" { // else the executable need not be read
		build = buildHash()
	}
	now := &runHead{Fingerprint: own, Library: libraryVersion(), Build: build}
	r.head.checkSame(p, "report", now, running)
	return r.head.buildIsKnown() && now.buildIsKnown(), p.Err()
}

// A whose says in errors of heads what they are compared with.
type whose struct{ matrix, program string }

// running is what runs now.
var running = whose{", that of the matrix", ", which is running"}

// bareHead is what is known of the head of a run before its worlds are.
func (e *engine) bareHead() *runHead {
	return &runHead{Fingerprint: e.m.fingerprint(e.scenarios), Library: libraryVersion(), Build: e.build()}
}

func (h *runHead) buildIsKnown() bool { return h.Build != "" && h.Build != unknownBuild }

// checkSame checks that a run was of the fingerprint, the library and the program of another. A build that is not
// known is none to compare.
func (h *runHead) checkSame(p *fielderror.List, name string, own *runHead, of whose) {
	was, is := h.Fingerprint, own.Fingerprint
	switch {
	case was == nil && is == nil: // of reports that no run made
	case was == nil || is == nil:
		p.Wrong(name+".fingerprint", nil, "one in both files, or in none"+of.matrix)
	case was.Seed == is.Seed && was.Trials == is.Trials:
		p.Demand(was.Sum == is.Sum, name+".fingerprint", was.Sum, is.Sum+of.matrix+": it asks something else, first in "+was.firstDifference(is))
	default:
		p.Demand(was.Seed == is.Seed, name+".seed", was.Seed, fmt.Sprint(is.Seed, of.matrix))
		p.Demand(was.Trials == is.Trials, name+".trials", was.Trials, fmt.Sprint(is.Trials, of.matrix))
	}
	p.Demand(h.Library == own.Library, name+".library", h.Library, own.Library+of.program)
	p.Demand(!h.buildIsKnown() || !own.buildIsKnown() || h.Build == own.Build, name+".build", h.Build,
		own.Build+of.program+"; RunOptions.Build of both runs may name it")
}

// checkAsks checks that a run asked what another did, in all that no fingerprint has: goals, limits and tools.
func (h *runHead) checkAsks(p *fielderror.List, name string, own *runHead, of whose) {
	if p.Count() > 0 { // which says why
		return
	}
	p.Demand(maps.Equal(h.Tools, own.Tools), name+".tools", fielderror.Found("other ones"), "those of the worlds"+of.matrix)
	if at, is, want := firstDifference(name, reflect.ValueOf(h.asked()), reflect.ValueOf(own.asked())); at != "" {
		p.Wrong(at, fielderror.Found(is), want+of.matrix)
	}
}

// asked is what a head says of the matrix.
func (h *runHead) asked() runHead {
	return runHead{Name: h.Name, Seed: h.Seed, Trials: h.Trials, Shared: h.Shared, Sequential: h.Sequential,
		Scenarios: h.Scenarios, AllowInconclusive: h.AllowInconclusive, Invariants: h.Invariants, Goals: h.Goals}
}
