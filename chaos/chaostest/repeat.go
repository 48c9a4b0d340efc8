package chaostest

import (
	"fmt"
	"reflect"
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
	first, sureFirst := t.inOrder()
	again, sureAgain := t.inOrder()
	_, stateful := t.fault.(chaos.Stateful)
	check := Repeatable
	if stateful {
		check = Fresh
	}
	t.compare(check, "in a second injector", first, again, sureFirst && sureAgain)
	crowd, sureCrowd := t.atOnce()
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

// inOrder makes a call in each of some lanes, one after the other. sure reports that
// none was cancelled after clock.guard: its result would depend on the machine.
func (t *faultCheck) inOrder() (summaries []callSummary, sure bool) {
	s := t.fixture()
	outcomes := make([]outcome, lanes)
	for i := range outcomes {
		outcomes[i] = s.complete(laneName(i))
		if outcomes[i].cut || outcomes[i].stuck {
			return nil, false
		}
	}
	return s.summaries(outcomes), true
}

// atOnce makes the same calls, each in a goroutine of its own.
func (t *faultCheck) atOnce() (summaries []callSummary, sure bool) {
	s := t.fixture()
	outcomes := make([]outcome, lanes)
	var all sync.WaitGroup
	for i := lanes - 1; i >= 0; i-- {
		all.Go(func() { outcomes[i] = s.complete(laneName(i)) })
	}
	all.Wait()
	for _, o := range outcomes {
		if o.cut || o.stuck {
			return nil, false
		}
	}
	return s.summaries(outcomes), true
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
