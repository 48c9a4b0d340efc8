package contract

import (
	"context"
	"fmt"
	"reflect"
	"strings"
)

// statefulWarning begins with the sentence that is usual in the field, and adds
// what it means here.
const statefulWarning = "Warning: No reset_endpoint configured. Contract matrix cells may share state. Results may be contaminated. " +
	"Add reset_endpoint to your config for accurate isolation. Here that is Matrix.Reset, or Matrix.NewWorld for a world per cell: " +
	"the first prompt was sent twice without faults, and %s differed."

// probes reports whether the state probe is to be made.
func (e *engine) probes() bool {
	return e.m.NewWorld == nil && e.m.Reset == nil && !e.m.SkipStateProbe
}

// probe finds out whether a shared world without a reset remembers: it sends the
// first prompt twice, without faults. A calm run that was made for a baseline is
// the first of the two.
func (w *worker) probe(ctx context.Context) {
	e := w.engine
	if !e.probes() || ctx.Err() != nil {
		return
	}
	prompts := e.m.Prompts
	if len(prompts) == 0 {
		prompts = e.m.Invariants[0].Probes
	}
	var first *run
	if list := e.listOf(prompts); list >= 0 { // else every invariant has probes of its own
		first = e.calm[list].run
	}
	if first == nil {
		first = w.runCalmly(ctx, prompts[:1])
	}
	second := w.runCalmly(ctx, prompts[:1])
	e.probed = true
	var differ []string
	if first.answer() != second.answer() {
		differ = append(differ, "the answers")
	}
	if !sameState(first, second) {
		differ = append(differ, "the states of the world")
	}
	if len(differ) > 0 {
		e.warnings = append(e.warnings, fmt.Sprintf(statefulWarning, strings.Join(differ, " and ")))
	}
}

// sameState reports whether the first prompt left the state of the world as it
// was, both times. A state that could not be read is not compared.
func sameState(first, second *run) bool {
	var states []any
	for _, r := range []*run{first, second} {
		if len(r.observations) > 0 && r.observations[0].noState == nil {
			states = append(states, r.observations[0].Before, r.observations[0].After)
		}
	}
	for _, state := range states {
		if !reflect.DeepEqual(state, states[0]) {
			return false
		}
	}
	return true
}

// answer is the outcome of the first prompt, as text to compare.
func (r *run) answer() string {
	if len(r.observations) == 0 {
		return fmt.Sprint("undecided: ", r.undecided)
	}
	o := r.observations[0]
	if o.Err != nil {
		return fmt.Sprint("error: ", o.Err)
	}
	return "answer: " + strings.TrimSpace(o.Response)
}
