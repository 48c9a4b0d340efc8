package chaostest

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// callSummary is what must be the same when a call is repeated.
type callSummary struct {
	result, text string
	panicked     bool
	delivered    bool
	asked        time.Duration
	changes      int
}

const lanes = 8

// repeats makes the same calls in several injectors: in order, in order again,
// and all at once in the opposite order.
func (t *faultCheck) repeats() {
	if t.has(Cancelled) || t.has(Disarmed) {
		return // a call could block
	}
	first, sureFirst := t.calls(false)
	again, sureAgain := t.calls(false)
	_, stateful := t.fault.(chaos.Stateful)
	check := Repeatable
	if stateful {
		check = Fresh
	}
	t.compare(check, "in a second injector", first, again, sureFirst && sureAgain)
	crowd, sureCrowd := t.calls(true)
	if !stateful && !t.has(Repeatable) {
		t.compare(Concurrent, "among other calls", first, crowd, sureFirst && sureCrowd)
	}
}

func (t *faultCheck) compare(check Check, where string, a, b []callSummary, sure bool) {
	if !sure {
		return
	}
	for i := range a {
		if !reflect.DeepEqual(a[i], b[i]) {
			t.add(check, "one call met %s, and %s %s", a[i], where, b[i])
			return
		}
	}
}

func (f callSummary) String() string {
	switch {
	case f.panicked:
		return "a panic"
	case f.text != "":
		return fmt.Sprintf("the error %q after %v", f.text, f.asked)
	}
	return fmt.Sprintf("the result %s after %v", f.result, f.asked)
}

// calls makes a call in each of some lanes, one after the other, or all at once. sure
// reports that none was cancelled after clock.guard: its result would depend on the machine.
func (t *faultCheck) calls(atOnce bool) (summaries []callSummary, sure bool) {
	s := t.fixture()
	outcomes := make([]outcome, lanes)
	var all sync.WaitGroup
	for i := range outcomes {
		if !atOnce {
			outcomes[i] = s.complete(laneName(i))
			continue
		}
		i = lanes - 1 - i // in the opposite order
		all.Go(func() { outcomes[i] = s.complete(laneName(i)) })
	}
	all.Wait()
	sure = !slices.ContainsFunc(outcomes, func(o outcome) bool { return o.cut || o.stuck })
	return s.summaries(outcomes), sure
}

func laneName(i int) string { return fmt.Sprint("lane-", i) }

func (s *fixture) summaries(outcomes []outcome) []callSummary {
	summaries := make([]callSummary, lanes)
	for i, o := range outcomes {
		summaries[i] = callSummary{result: show(o.result), panicked: o.panicked != nil}
		if o.err != nil {
			summaries[i].text = o.err.Error()
		}
	}
	for _, e := range s.in.Events() {
		for i := range summaries {
			if e.Lane == laneName(i) {
				summaries[i].delivered, summaries[i].asked, summaries[i].changes = e.Delivered, e.Asked, len(e.Changes)
			}
		}
	}
	return summaries
}
