package contract

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/hash"
)

// RunAgain runs some units of a run again, and returns their report, by which Verify of package
// contract/compare checks r, such as the report of a run file. The seed draws so many of the units
// that ran in r, all if there are fewer. Whoever made r must not know it.
// Cells that are not drawn are NotRun. Of the options, Workers, Watchdog, Harness and Build matter.
//
// Errors: a [*FieldError] for each difference of fingerprint, seed, trials, library or build, and
// for a report without cells; and those of [Matrix.Run].
func (m *Matrix) RunAgain(ctx context.Context, r *Report, units int, seed uint64, o *RunOptions) (*Report, error) {
	own := RunOptions{Keep: KeepNone}
	around := func(_ Cell, run func(Bubble) *CellReport) { run(nil) }
	if o != nil {
		own.Workers, own.Watchdog, own.Harness, own.Build = o.Workers, o.Watchdog, o.Harness, o.Build
	}
	if own.Harness.Around != nil {
		around = own.Harness.Around
	}
	if err := m.checkAgain(r, units, own.Build); err != nil {
		return nil, err
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
	if err == nil && !bytes.Equal(again.head.asked(), r.head.asked()) {
		err = fields.Wrong("report", fielderror.Found("one with the fingerprint of the matrix, and other scenarios, invariants, goals or limits"),
			"what a run of the matrix wrote")
	}
	return again, err
}

func (m *Matrix) checkAgain(r *Report, units int, build string) error {
	own, err := m.Fingerprint()
	if err != nil {
		return err
	}
	p := fields.List()
	p.Demand(units > 0, "units", units, "1 or more")
	if r == nil || r.head == nil || r.head.Fingerprint == nil || len(r.Cells) == 0 {
		p.Wrong("report", fielderror.Found("without cells or fingerprint"), "that of a run, or of its run file, with its cells")
		return p.Err()
	}
	if r.head.Build != "" && build == "" { // else the executable need not be read
		build = buildHash()
	}
	r.head.checkSame(p, "report", own, build)
	return p.Err()
}

// checkSame checks that a run was of the matrix, the library and the program that run now. A build that
// is not known is none to compare.
func (h *runHead) checkSame(p *fielderror.List, name string, own *Fingerprint, build string) {
	const here = ", that of the matrix"
	was := h.Fingerprint
	if was == nil {
		p.Wrong(name+".fingerprint", nil, own.Sum+here)
		return
	}
	p.Demand(was.Seed == own.Seed, name+".seed", was.Seed, fmt.Sprint(own.Seed, here))
	p.Demand(was.Trials == own.Trials, name+".trials", was.Trials, fmt.Sprint(own.Trials, here))
	if was.Seed == own.Seed && was.Trials == own.Trials {
		p.Demand(was.Sum == own.Sum, name+".fingerprint", was.Sum, own.Sum+here+": it asks something else")
	}
	p.Demand(h.Library == libraryVersion(), name+".library", h.Library, libraryVersion()+", which is running")
	known := h.Build != "" && h.Build != unknownBuild && build != unknownBuild
	p.Demand(!known || h.Build == build, name+".build", h.Build, build+
		", which is running; RunOptions.Build of both runs may name it")
}

// asked is what a head says of the matrix, as JSON.
func (h *runHead) asked() []byte {
	return encoded(runHead{Name: h.Name, Seed: h.Seed, Trials: h.Trials, Shared: h.Shared, Scenarios: h.Scenarios,
		AllowInconclusive: h.AllowInconclusive, Invariants: h.Invariants, Goals: h.Goals})
}
