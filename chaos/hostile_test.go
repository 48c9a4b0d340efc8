package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
)

// User code that misbehaves must leave the counts and events of the wrapper right.

// unsteady is a failer that panics, or ends its goroutine, at its first call.
type unsteady struct {
	n   *int
	end func()
}

func (f unsteady) Fail(chaos.Call) error {
	if *f.n++; *f.n == 1 {
		f.end()
	}
	return errDown
}

func (f unsteady) Inject(_ context.Context, c chaos.Call, _ any, _ chaos.Next) (any, error) {
	return nil, f.Fail(c)
}

// apart runs do in another goroutine, which do may end by a panic or a Goexit.
func apart(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		do()
	}()
	<-done
}

// A fault or callee that panics or ends its goroutine leaves an event, and
// gives back what it reserved of a limit.
func TestNoReservationIsLost(t *testing.T) {
	boom := func() { panic("boom") }
	for name, end := range map[string]func(){"panic": boom, "goexit": runtime.Goexit} {
		for _, keep := range []bool{false, true} { // by way of the slow path, too
			t.Run(name, func(t *testing.T) {
				o := &chaos.InjectorOptions{KeepValues: keep}
				in := plan(t, chaos.Rule{Target: "work", Limit: 2, Fault: unsteady{new(int), end}}).Injector("", o)
				ctx := chaos.NewContext(context.Background(), in)
				work := chaos.Wrap("work", double)
				apart(func() { _, _ = work(ctx, 1) })
				e := only(t, in)
				assert.Equal(t, chaos.OutcomePanicked, e.Outcome)
				assert.True(t, e.Delivered)
				assert.Equal(t, []int{0}, hits(t, ctx, 3, work), "one of two deliveries is left")
			})
		}
		t.Run(name+" of the callee", func(t *testing.T) {
			n := 0
			in := plan(t, chaos.Rule{Target: "work", Limit: 1, Fault: replace(7)}).Injector("", nil)
			work := chaos.Wrap("work", func(context.Context, int) (int, error) {
				if n++; n == 1 {
					end()
				}
				return 0, nil
			})
			ctx := chaos.NewContext(context.Background(), in)
			apart(func() { _, _ = work(ctx, 1) })
			out, _ := work(ctx, 1)
			assert.Equal(t, 7, out, "the first change was not delivered")
		})
	}
}

// uncomparable is of a type that can be compared, though its value cannot.
type uncomparable struct{ with any }

func (uncomparable) Error() string { return "uncomparable" }

func TestErrorsThatCannotBeCompared(t *testing.T) {
	_, ctx := recording(t, chaos.Rule{Target: "work", Fault: delay(0)})
	own := uncomparable{[]int{1}}
	_, err := chaos.Wrap("work", func(context.Context, int) (int, error) { return 0, own })(ctx, 1)
	assert.Equal(t, own, err)
	assert.NotErrorIs(t, err, chaos.ErrInjected)
}

type explosive struct{}

func (*explosive) UnmarshalJSON([]byte) error  { panic("boom") }
func (explosive) MarshalJSON() ([]byte, error) { panic("boom") }

func TestJSONMethodsThatPanic(t *testing.T) {
	in := plan(t, chaos.Rule{Target: "work", Fault: replace(json.RawMessage(`1`))}).
		Injector("", &chaos.InjectorOptions{KeepValues: true})
	work := chaos.Wrap("work", func(context.Context, explosive) (explosive, error) { return explosive{}, nil })
	assert.NotPanics(t, func() { _, _ = work(chaos.NewContext(context.Background(), in), explosive{}) })
	e := only(t, in)
	assert.False(t, e.Delivered)
	assert.Contains(t, e.Note, "does not decode")
	assert.Contains(t, e.Note, "arguments not kept")
}

// The panic of a listener reaches the caller whose event it got, and the injector
// goes on.
func TestAListenerThatPanics(t *testing.T) {
	n := 0
	o := &chaos.InjectorOptions{RecordAll: true, OnEvent: func(context.Context, chaos.Event) {
		if n++; n <= 2 {
			panic("listener")
		}
	}}
	in := plan(t, chaos.Rule{Target: "work", Limit: 2, Fault: down()}).Injector("", o)
	ctx := chaos.NewContext(context.Background(), in)
	work := chaos.Wrap("work", double)
	assert.PanicsWithValue(t, "listener", func() { _, _ = work(ctx, 1) })
	assert.PanicsWithValue(t, "listener", func() { _, _ = chaos.Wrap("calm", double)(ctx, 1) })
	assert.Equal(t, []int{0}, hits(t, ctx, 3, work), "the first delivery counted")
	assert.Len(t, in.Events(), 5)
}

// A listener may call wrapped functions and methods of the injector: no lock is held.
func TestAListenerThatCallsBack(t *testing.T) {
	var in *chaos.Injector
	depth := 0
	work := chaos.Wrap("work", double)
	in = chaos.NewInjector(1, &chaos.InjectorOptions{RecordAll: true, OnEvent: func(context.Context, chaos.Event) {
		if depth++; depth > 3 {
			return
		}
		_, _ = work(chaos.NewContext(context.Background(), in), 1)
		_, _ = in.InjectNow(context.Background(), "r")
		in.Disarm()
		in.Arm()
		assert.NoError(t, in.Register(chaos.Rule{Name: "r", Target: "x", Fault: down()}))
		_ = in.Events()
	}})
	_, _ = work(chaos.NewContext(context.Background(), in), 1)
	assert.NotEmpty(t, in.Events())
}

// A goroutine that a callee leaves behind has the context of its call, but changes
// nothing of the event.
func TestAGoroutineLeftBehindDoesNotTouchTheEvent(t *testing.T) {
	in, ctx := recording(t, chaos.Rule{Target: "work", Fault: delay(time.Microsecond)})
	var left sync.WaitGroup
	_, _ = chaos.Wrap("work", func(ctx context.Context, _ int) (int, error) {
		left.Go(func() {
			_ = chaos.Sleep(ctx, time.Millisecond)
			chaos.Note(ctx, "late")
			chaos.Changed(ctx, chaos.Change{})
		})
		return 0, nil
	})(ctx, 1)
	first := only(t, in)
	left.Wait()
	assert.Equal(t, first, only(t, in))
}

// detached has a deadline and does not end at it, as contexts do that forward Value
// and Deadline alone.
type detached struct{ context.Context }

func (detached) Done() <-chan struct{} { return nil }
func (detached) Err() error            { return nil }

func TestOddContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, ctx := recording(t, chaos.Rule{Target: "work", Fault: delay(time.Hour)})
		brief, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		start := time.Now()
		_, err := chaos.Wrap("work", double)(detached{brief}, 1)
		assert.NoError(t, err)
		assert.Equal(t, time.Hour, time.Since(start), "the wait has an end of its own")

		var none context.Context
		_, err = chaos.WrapWith("work", double, &chaos.WrapOptions[int]{Injector: in})(none, 1)
		assert.NoError(t, err, "a nil context is like context.Background()")
		_, err = chaos.Wrap("work", double)(chaos.NewContext(none, in), 1)
		assert.NoError(t, err)
		assert.NoError(t, chaos.Point(none, "work"))
		assert.Nil(t, chaos.WithTurn(chaos.WithLane(none, "a"), 1).Value("key"))
		assert.Len(t, in.Events(), 3)
	})
}

// Names may contain anything.
func TestOddNames(t *testing.T) {
	for _, name := range []string{"*", `a"b`, "a/b.c", "\x00", "\xff\xfe", " ", "{", strings.Repeat("x", 1<<16), "名前"} {
		in := chaos.NewInjector(1, &chaos.InjectorOptions{RecordAll: true})
		require.NoError(t, in.Register(chaos.Rule{Name: name, Target: "*", Fault: down()}))
		ctx := chaos.WithLane(chaos.NewContext(context.Background(), in), name)
		_, err := chaos.Wrap(name, double)(ctx, 1)
		assert.ErrorIs(t, err, errDown)
		injected, err := in.InjectNow(ctx, name)
		assert.True(t, injected)
		assert.ErrorIs(t, err, errDown)
		for _, e := range in.Events() {
			assert.Equal(t, name, e.Rule)
			assert.Equal(t, name, e.Target)
			_, err := json.Marshal(e)
			assert.NoError(t, err)
		}
		assert.True(t, in.Remove(name))
	}
}

// An event with any values and errors has JSON, and is decoded from it as it was.
func FuzzEventHasJSON(f *testing.F) {
	f.Add("work", "connection refused", "/a/0", []byte(`1`), []byte(`{"a":`), []byte{})
	f.Add("\xff", "\x00\u2028", "", []byte{}, []byte("null"), []byte("\xff"))
	f.Add("\xe6", "\xbc", "\xa2", []byte{}, []byte{}, []byte{}) // a character only when they are joined
	f.Add("", "", "~", []byte(nil), []byte(`"\ud800"`), []byte(`[1,`))
	f.Fuzz(func(t *testing.T, target, text, path string, before, after, result []byte) {
		in := plan(t, chaos.Rule{Name: "r", Target: "*", Fault: faultFunc{chaos.PhaseChange,
			func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
				chaos.Changed(ctx, chaos.Change{Path: path, Before: before, After: after})
				chaos.Note(ctx, text)
				if len(before) == 0 {
					return nil, errors.New(text)
				}
				_, err := next(ctx, args)
				return append(json.RawMessage(`0`), before...), err
			}}}).Injector(text, &chaos.InjectorOptions{KeepValues: true})
		work := chaos.Wrap(target, func(context.Context, json.RawMessage) (json.RawMessage, error) { return result, nil })
		_, _ = work(chaos.NewContext(context.Background(), in), after)
		e := only(t, in)
		doc, err := json.Marshal(e)
		require.NoError(t, err)
		var back chaos.Event
		require.NoError(t, json.Unmarshal(doc, &back))
		assert.Equal(t, e.Key, back.Key)
		if utf8.ValidString(target) && utf8.ValidString(text) && utf8.ValidString(path) {
			assert.Equal(t, []any{e.Target, e.Cell, e.Err, e.Note}, []any{back.Target, back.Cell, back.Err, back.Note})
			require.Len(t, back.Changes, len(e.Changes))
			for i, ch := range e.Changes {
				assert.Equal(t, ch.Path, back.Changes[i].Path)
			}
		}
	})
}
