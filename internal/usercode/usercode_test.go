package usercode_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/internal/usercode"
)

// endings are the ways in which a function ends, and the error of each.
var endings = map[string]struct {
	fn   func() error
	is   error  // errors.Is
	text string // of the error
}{
	"it returns":            {func() error { return nil }, nil, ""},
	"an error":              {func() error { return io.EOF }, io.EOF, "EOF"},
	"a panic":               {func() error { panic("boom") }, nil, "panic: boom"},
	"a panic with an error": {func() error { panic(io.EOF) }, io.EOF, "panic: EOF"},
	"a panic with nil":      {func() error { panic(nil) }, nil, "panic: " + new(runtime.PanicNilError).Error()},
	"a Goexit":              {func() error { runtime.Goexit(); return nil }, usercode.ErrExited, usercode.ErrExited.Error()},
	"a Goexit in a defer":   {func() error { defer runtime.Goexit(); panic("first") }, usercode.ErrExited, usercode.ErrExited.Error()},
}

func check(t *testing.T, how string, err error) {
	t.Helper()
	want := endings[how]
	if want.text == "" {
		require.NoError(t, err, how)
		return
	}
	assert.EqualError(t, err, want.text, how)
	if want.is != nil {
		assert.ErrorIs(t, err, want.is, how)
	}
	if p, ok := errors.AsType[*usercode.PanicError](err); ok {
		assert.Contains(t, p.Stack, "usercode_test.go", "the stack is that of the panic")
	} else {
		assert.False(t, strings.HasPrefix(how, "a panic"), how)
	}
}

func TestEndings(t *testing.T) {
	var loop usercode.Loop
	defer loop.Release()
	for how, e := range endings {
		check(t, how, <-usercode.Go(nil, e.fn))
		_, err, left := usercode.Do(t.Context(), usercode.Options[int]{}, func(context.Context) (int, error) { return 1, e.fn() })
		assert.False(t, left)
		check(t, how, err)
		check(t, how, loop.Call(usercode.Limits{Ctx: t.Context(), Cancel: func() {}}, e.fn).Err)
		check(t, how, loop.Received(<-loop.Start(e.fn)))
	}
	exited := errors.New("it left")
	assert.Equal(t, exited, <-usercode.Go(exited, endings["a Goexit"].fn))
	named := usercode.Loop{Exited: exited}
	assert.Equal(t, usercode.Ending{Err: exited}, named.Aside(time.Hour, func() { runtime.Goexit() }))
	assert.Equal(t, usercode.Ending{}, named.Aside(time.Hour, func() {}), "the next call has a new goroutine")
	named.Release()
	named.Release()
}

func TestLoopKeepsItsGoroutine(t *testing.T) {
	var loop usercode.Loop
	defer loop.Release()
	fn := func() error { return nil }
	loop.Received(<-loop.Start(fn))
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() { loop.Received(<-loop.Start(fn)) }), 1.0)
}

func TestRecover(t *testing.T) {
	try := func(fn func()) (err error) {
		defer usercode.Recover(&err, "its method")
		fn()
		return io.EOF
	}
	assert.EqualError(t, try(func() { panic("boom") }), "its method panicked: boom")
	assert.Equal(t, io.EOF, try(func() {}))
}

// What happens when the time is over: how long the function takes to notice, and
// what is seen.
func TestDoWithinItsGrace(t *testing.T) {
	for _, tc := range []struct {
		reason string
		takes  time.Duration // from its start
		value  int
		err    error
		left   bool
		after  time.Duration // when Do returns
	}{
		{"in time", time.Second, 1, nil, false, time.Second},
		{"within the grace", 5500 * time.Millisecond, 1, nil, false, 5500 * time.Millisecond},
		{"too late", 7 * time.Second, 0, context.DeadlineExceeded, true, 6 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			began, late := time.Now(), 0
			value, err, left := usercode.Do(ctx, usercode.Options[int]{Grace: usercode.Patient(usercode.Grace), Late: func(v int) { late = v }},
				func(context.Context) (int, error) { time.Sleep(tc.takes); return 1, nil })
			assert.Equal(t, tc.after, time.Since(began), tc.reason)
			assert.Equal(t, tc.value, value, tc.reason)
			assert.Equal(t, tc.err, err, tc.reason)
			assert.Equal(t, tc.left, left, tc.reason)
			time.Sleep(time.Minute)
			synctest.Wait()
			assert.Equal(t, tc.left, late == 1, "%s: what came too late is handed on, and nothing else", tc.reason)
		})
	}
}

func TestDoAsksForItsGraceByTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(io.EOF)
		began := time.Now()
		_, err, left := usercode.Do(ctx, usercode.Options[int]{Grace: func(cause error) time.Duration {
			assert.Equal(t, io.EOF, cause)
			return time.Hour
		}}, func(context.Context) (int, error) { time.Sleep(2 * time.Hour); return 0, nil })
		assert.Equal(t, io.EOF, err)
		assert.True(t, left)
		assert.Equal(t, time.Hour, time.Since(began))
		time.Sleep(2 * time.Hour)
	})
}

func TestCuts(t *testing.T) {
	for _, tc := range []struct {
		reason string
		limits func(l *usercode.Limits)
		takes  time.Duration // after its context ended; below 0: it never looks, and takes an hour
		want   usercode.Ending
	}{
		{"it notices the end of its context", func(l *usercode.Limits) { l.Ctx, l.Cancel = context.WithTimeout(l.Ctx, 1) }, 0, usercode.Ending{Err: context.DeadlineExceeded}},
		{"it does not", func(l *usercode.Limits) { l.Ctx, l.Cancel = context.WithTimeout(l.Ctx, 1) }, -1, usercode.Ending{Cut: usercode.CutByCtx, Left: true}},
		{"it hangs, until it is cancelled", func(l *usercode.Limits) { l.Patience = time.Second }, 0, usercode.Ending{Err: context.Canceled, Cut: usercode.CutHung}},
		{"it hangs for good", func(l *usercode.Limits) { l.Patience = time.Second }, -1, usercode.Ending{Cut: usercode.CutHung, Left: true}},
		{"the watchdog", func(l *usercode.Limits) { l.Watchdog = time.After(1) }, -1, usercode.Ending{Cut: usercode.CutWatchdog, Left: true}},
		{"the watchdog, and it ends within the grace", func(l *usercode.Limits) { l.Watchdog = time.After(1) }, usercode.Grace / 2,
			usercode.Ending{Err: context.Canceled, Cut: usercode.CutWatchdog}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var loop usercode.Loop
			ctx, cancel := context.WithCancel(t.Context())
			l := usercode.Limits{Ctx: ctx, Cancel: cancel}
			tc.limits(&l)
			code := l.Ctx
			got := loop.Call(l, func() error {
				if tc.takes < 0 {
					time.Sleep(time.Hour)
					return nil
				}
				<-code.Done()
				time.Sleep(tc.takes)
				return code.Err()
			})
			assert.Equal(t, tc.want, got, tc.reason)
			assert.Equal(t, usercode.Ending{Err: io.EOF}, loop.Call(usercode.Limits{Ctx: t.Context(), Cancel: func() {}}, func() error { return io.EOF }), "the loop goes on")
			cancel()
			loop.Release()
			time.Sleep(2 * time.Hour) // what was left ends, and its goroutine with it, or the bubble fails
		})
	}
}
