package chaostest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"sync/atomic"
	"time"
)

// clock has the times that the checks wait, in virtual or in real time.
type clock struct {
	virtual bool
	settle  time.Duration // after which a call under way is taken to wait
	guard   time.Duration // after which a call under way is cancelled
	prompt  time.Duration // the most that "at once" may take
}

// read makes the clock for virtual or real time. In a bubble of testing/synctest a
// sleep takes exactly as long as it says; a real one of a nanosecond takes longer.
func read() clock {
	start := time.Now()
	time.Sleep(time.Nanosecond)
	if time.Since(start) == 1 {
		return clock{virtual: true, settle: 1, guard: 1000 * time.Hour, prompt: 0}
	}
	return clock{settle: time.Millisecond, guard: time.Second, prompt: 5 * time.Second}
}

// outcome is how a call ended.
type outcome struct {
	result   any
	err      error
	panicked any
	took     time.Duration
	cut      bool          // it was cancelled after clock.guard
	after    time.Duration // how long it took to end after it was cancelled
	stuck    bool          // it has not ended
}

var errExit = errors.New("it ended its goroutine")

// task is a call under way in a goroutine of its own.
type task struct {
	start time.Time
	done  chan outcome
}

// start makes a call in a goroutine with a label, which the goroutines that it starts
// inherit.
func start(label string, call func() (any, error)) *task {
	t := &task{start: time.Now(), done: make(chan outcome, 1)}
	go pprof.Do(context.Background(), pprof.Labels(labelKey, label), func(context.Context) {
		o := outcome{panicked: errExit}
		defer func() {
			if p := recover(); p != nil {
				o.panicked = p
			}
			o.took = time.Since(t.start)
			t.done <- o
		}()
		o.result, o.err = call()
		o.panicked = nil
	})
	return t
}

// within waits for the call for at most d.
func (t *task) within(d time.Duration) (outcome, bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case o := <-t.done:
		return o, true
	case <-timer.C:
		return outcome{}, false
	}
}

// ended waits for a call that should end now.
func (t *task) ended(c clock) outcome {
	since := time.Now()
	o, ok := t.within(c.maxWait())
	o.after, o.stuck = time.Since(since), !ok
	return o
}

// maxWait is how long to wait for a call that should have ended. It is longer than
// prompt, so that a slow end is measured.
func (c clock) maxWait() time.Duration { return max(2*c.prompt, c.guard) }

const labelKey = "chaostest"

// labels makes labels that are unique in the process: by the address of the check,
// and a count.
type labels struct{ n atomic.Int64 }

func (l *labels) next() string { return fmt.Sprintf("%p/%d", l, l.n.Add(1)) }

// left reports whether a goroutine of a label is still there after it had time to
// end.
func left(label string, c clock) bool {
	for waited := time.Duration(0); waited <= c.prompt; waited += c.settle {
		if !alive(label) {
			return false
		}
		time.Sleep(c.settle)
	}
	return alive(label)
}

// alive reports whether the runtime lists a goroutine of a label.
func alive(label string) bool {
	var list bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&list, 1) // a buffer takes everything
	return bytes.Contains(list.Bytes(), fmt.Appendf(nil, "%q:%q", labelKey, label))
}
