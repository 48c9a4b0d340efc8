package chaoshttp

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
)

// LogicalCall marks a context as that of one call of a program, however often a
// client library sends it. The attempts under it are numbered from 1 in
// [chaos.Event.Attempt], for each target apart. Without it an attempt's number
// follows from the failures directly before it, as at every injection point,
// and a program that repeats a request after it gave up goes on counting.
func LogicalCall(ctx context.Context) context.Context {
	return context.WithValue(ctx, logicalKey{}, &logical{sent: make(map[string]int)})
}

type logicalKey struct{}

type logical struct {
	mu   sync.Mutex
	sent map[string]int // by target; a call has few
}

// numbered is the context of the next attempt at a target.
func numbered(ctx context.Context, target string) context.Context {
	l, ok := ctx.Value(logicalKey{}).(*logical)
	if !ok {
		return ctx
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent[target]++
	return chaos.WithAttempt(ctx, l.sent[target])
}

// A Tally counts the calls of one target.
type Tally struct {
	Target   string `json:"target"`
	Calls    int    `json:"calls"`    // that the program made: first attempts
	Attempts int    `json:"attempts"` // that went over the wire, or would have
	Failures int    `json:"failures"` // attempts that failed
	Failed   int    `json:"failed"`   // calls whose last attempt failed
}

// Count counts attempts and logical calls: for each HTTP target of the events,
// sorted, how many attempts there were and how many calls they belong to. The
// events are those of an injector that records, in its order; without recording
// they hold only attempts that a rule matched.
func Count(events []chaos.Event) []Tally {
	tallies := make(map[string]*Tally)
	type strand struct {
		lane, caller, target string
		key                  uint64
	}
	broken := make(map[strand]bool)
	for _, e := range events {
		if e.Layer != chaos.LayerHTTP && e.Layer != chaos.LayerLLM {
			continue
		}
		t := tallies[e.Target]
		if t == nil {
			t = &Tally{Target: e.Target}
			tallies[e.Target] = t
		}
		s := strand{e.Lane, e.Caller, e.Target, e.Key}
		t.Attempts++
		if e.Attempt <= 1 {
			t.Calls++
		} else if broken[s] {
			t.Failed-- // it went on after all
		}
		if broken[s] = e.Outcome != chaos.OutcomeOK; broken[s] {
			t.Failures++
			t.Failed++
		}
	}
	list := make([]Tally, 0, len(tallies))
	for _, t := range tallies {
		list = append(list, *t)
	}
	slices.SortFunc(list, func(a, b Tally) int { return cmp.Compare(a.Target, b.Target) })
	return list
}
