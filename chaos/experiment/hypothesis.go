package experiment

import (
	"context"
	"strings"
)

// verify runs all probes of the hypothesis.
func (r *run) verify(ctx context.Context) *SteadyState {
	h := r.exp.Hypothesis
	state := &SteadyState{Met: true, Probes: []ActivityResult{}}
	var failures []string
	for i := range h.Probes {
		a := &h.Probes[i]
		rec, err := r.execute(ctx, task{Activity: a, kind: Probe, timeout: r.opts.Timeout, judge: true, steady: true})
		if err != nil {
			failures = append(failures, rec.Exception)
		}
		if err != nil || rec.ToleranceMet != nil && !*rec.ToleranceMet {
			state.Met = false
		}
		state.Probes = append(state.Probes, rec)
	}
	state.Error = strings.Join(failures, "; ")
	return state
}
