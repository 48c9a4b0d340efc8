package experiment

import (
	"context"
	"errors"
	"strings"
	"time"
)

// maxChecks is the number of checks during the method that a journal keeps.
const maxChecks = 1000

// verify runs all probes of the hypothesis.
func (r *run) verify(ctx context.Context) *SteadyState {
	h := r.exp.Hypothesis
	state := &SteadyState{Met: true, Probes: []ActivityResult{}}
	step := Step{Level: LevelHypothesis, Name: h.Name}
	r.tell(ctx, step)
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
	step.SteadyState, step.Ended = state, true
	r.tell(ctx, step)
	return state
}

var errMissed = errors.New("the steady state was missed during the method")

// during verifies the steady state again and again until the method is over, at
// least once. cancel ends the method.
func (r *run) during(ctx context.Context, cancel context.CancelCauseFunc, over <-chan struct{}) {
	t := time.NewTicker(r.exp.CheckEvery)
	defer t.Stop()
	for {
		state := r.verify(ctx)
		if ctx.Err() != nil { // a cancelled check says nothing about the system
			return
		}
		if r.checked(state) {
			cancel(&stop{Failed, errMissed})
			return
		}
		select {
		case <-t.C:
		case <-over:
			return
		case <-ctx.Done():
			return
		}
	}
}

// checked records a check during the method, and reports whether it fails the
// method.
func (r *run) checked(state *SteadyState) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := &r.journal.SteadyStates
	if all.Checks++; all.Checks <= maxChecks {
		all.During = append(all.During, state)
	}
	if state.Met {
		return false
	}
	all.Missed++
	r.journal.Deviated = true
	return r.exp.FailFast
}
