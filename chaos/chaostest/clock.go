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

// clock holds how long to wait for what, in virtual and in real time.
type clock struct {
	virtual bool
	glance  time.Duration // after which a call that waits is known to wait
	guard   time.Duration // after which a call that has not returned is cut short
	prompt  time.Duration // the most that "at once" may take
	retries int           // of what a slow machine may have disturbed
}

// read finds out whether time is virtual. In a bubble of testing/synctest a
// sleep takes exactly as long as it says; a real one of a nanosecond takes longer.
func read() clock {
	start := time.Now()
	time.Sleep(time.Nanosecond)
	if time.Since(start) == 1 {
		return clock{virtual: true, glance: 1, guard: 1000 * time.Hour, prompt: 0, retries: 1}
	}
	return clock{glance: time.Millisecond, guard: 5 * time.Millisecond, prompt: 5 * time.Second, retries: 3}
}

// outcome is how a call ended.
type outcome struct {
	result   any
	err      error
	panicked any
	took     time.Duration
	cut      bool          // the guard cancelled it
	after    time.Duration // what it took to end, once it was to
	stuck    bool          // it has not ended
}

var errExit = errors.New("it ended its goroutine")

// task is a call under way in a goroutine of its own.
type task struct {
	start time.Time
	done  chan outcome
}

// start makes a call, in a goroutine that is marked with a label: those that
// it starts inherit it.
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
	o, ok := t.within(c.patience())
	o.after, o.stuck = time.Since(since), !ok
	return o
}

// patience is how long a call that should have ended is waited for: its
// tardiness is measured.
func (c clock) patience() time.Duration { return max(2*c.prompt, c.guard) }

const labelKey = "chaostest"

// labels are made unique by counting; two checks in one process differ in the address.
type labels struct{ n atomic.Int64 }

func (l *labels) next() string { return fmt.Sprintf("%p/%d", l, l.n.Add(1)) }

// left reports whether a goroutine of a label is still there, after all had the
// time to end.
func left(label string, c clock) bool {
	for waited := time.Duration(0); ; waited += time.Millisecond {
		pause := time.Millisecond
		if c.virtual {
			pause = 1
		}
		if !alive(label) {
			return false
		}
		if waited > c.prompt {
			return true
		}
		time.Sleep(pause)
	}
}

// alive looks for goroutines of a label in the runtime's own list.
func alive(label string) bool {
	var list bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&list, 1) // a buffer takes everything
	return bytes.Contains(list.Bytes(), fmt.Appendf(nil, "%q:%q", labelKey, label))
}
