package chaostest

import (
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// fate is the result of one call, without what is measured.
type fate struct {
	result, text string
	panicked     bool
	delivered    bool
	asked        time.Duration
	changes      int
}

const lanes = 8

// repeats makes the same calls in several injectors: in order, in order again,
// and all at once in the opposite order.
func (t *trial) repeats() {
	if t.has(Cancelled) || t.has(Disarmed) {
		return // each call would take for ever
	}
	first, sureFirst := t.inOrder()
	again, sureAgain := t.inOrder()
	_, stateful := t.fault.(chaos.Stateful)
	rule := Repeatable
	if stateful {
		rule = Fresh
	}
	t.compare(rule, "in a second injector", first, again, sureFirst && sureAgain)
	crowd, sureCrowd := t.atOnce()
	if !stateful && !t.has(Repeatable) {
		t.compare(Concurrent, "among other calls", first, crowd, sureFirst && sureCrowd)
	}
}

func (t *trial) compare(rule Check, where string, a, b []fate, sure bool) {
	if !sure {
		return
	}
	for i := range a {
		if !reflect.DeepEqual(a[i], b[i]) {
			t.add(rule, "one call met %s, and %s %s", a[i], where, b[i])
			return
		}
	}
}

func (f fate) String() string {
	switch {
	case f.panicked:
		return "a panic"
	case f.text != "":
		return fmt.Sprintf("the error %q after %v", f.text, f.asked)
	}
	return fmt.Sprintf("the result %s after %v", f.result, f.asked)
}

// inOrder makes a call in each of some lanes, one after the other. sure: none
// was cut short, which would leave its fate to the machine.
func (t *trial) inOrder() (fates []fate, sure bool) {
	s := t.scene()
	outcomes := make([]outcome, lanes)
	for i := range outcomes {
		outcomes[i] = s.let(laneName(i))
		if outcomes[i].cut || outcomes[i].stuck {
			return nil, false
		}
	}
	return s.fates(outcomes), true
}

// atOnce makes the same calls, each in a goroutine of its own.
func (t *trial) atOnce() (fates []fate, sure bool) {
	s := t.scene()
	outcomes := make([]outcome, lanes)
	var all sync.WaitGroup
	for i := lanes - 1; i >= 0; i-- {
		all.Go(func() { outcomes[i] = s.let(laneName(i)) })
	}
	all.Wait()
	for _, o := range outcomes {
		if o.cut || o.stuck {
			return nil, false
		}
	}
	return s.fates(outcomes), true
}

func laneName(i int) string { return fmt.Sprint("lane-", i) }

func (s *scene) fates(outcomes []outcome) []fate {
	fates := make([]fate, lanes)
	for i, o := range outcomes {
		fates[i] = fate{result: show(o.result), panicked: o.panicked != nil}
		if o.err != nil {
			fates[i].text = o.err.Error()
		}
	}
	for _, e := range s.in.Events() {
		for i := range fates {
			if e.Lane == laneName(i) {
				fates[i].delivered, fates[i].asked, fates[i].changes = e.Delivered, e.Asked, len(e.Changes)
			}
		}
	}
	return fates
}
