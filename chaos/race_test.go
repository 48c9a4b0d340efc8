package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
)

// All methods of a live injector are called at once while calls are under way, for
// the race detector. None may block.
func TestALiveInjectorUnderEverythingAtOnce(t *testing.T) {
	var in *chaos.Injector
	var seen atomic.Int64
	in = chaos.NewInjector(1, &chaos.InjectorOptions{RecordAll: true, KeepValues: true, MaxLog: 64, OnEvent: func(context.Context, chaos.Event) {
		if seen.Add(1)%32 == 0 { // a listener may ask the injector back
			_, _, _, _ = in.Events(), in.Rules(), in.Targets(), in.Undelivered()
			in.Remove("gone")
		}
	}})
	rules := []chaos.Rule{
		{Name: "a", Target: "work*", When: chance(0.3), Limit: 1000, Fault: down()},
		{Name: "b", Target: "*", Group: "g", When: ordinals(1, 5, 9), Limit: 3, CoolDown: time.Microsecond, Fault: delay(time.Microsecond)},
		{Name: "c", Target: "work1", Group: "g", Limit: 3, CoolDown: time.Microsecond, Fault: replace(7)},
		{Name: "d", Target: "work{1,2}", Group: "h", When: chance(0.5), Fault: loseReply()},
		{Name: "e", Target: "*", When: argsWhen(func(args any) bool { return args == 3 }), Fault: twice()},
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	until := func(do func(i int)) {
		wg.Go(func() {
			for i := 0; !stop.Load(); i++ {
				do(i)
			}
		})
	}
	until(func(i int) { assert.NoError(t, in.Register(rules[i%len(rules)])) })
	until(func(i int) { in.Remove(rules[i%3].Name) })
	until(func(int) { in.Disarm(); in.Arm() })
	until(func(i int) { _, _ = in.InjectNow(context.Background(), rules[i%len(rules)].Name) })
	until(func(int) {
		for _, e := range in.Events() {
			_, err := json.Marshal(e)
			assert.NoError(t, err)
		}
	})
	ctx := chaos.NewContext(context.Background(), in)
	var calls sync.WaitGroup
	for worker := range 4 {
		calls.Go(func() {
			ctx := chaos.WithLane(ctx, fmt.Sprint("lane", worker%3))
			for i := range 400 {
				target := fmt.Sprint("work", i%4)
				inner := chaos.Wrap("inner", double)
				_, _ = chaos.Wrap(target, func(ctx context.Context, n int) (int, error) { return inner(ctx, n) })(ctx, i%5)
			}
		})
	}
	calls.Wait()
	in.Close()
	stop.Store(true)
	wg.Wait()
	assert.ErrorIs(t, chaos.Point(ctx, "work1"), chaos.ErrCellEnded)
}

type argsWhen func(args any) bool

func (argsWhen) Match(chaos.Call) bool                   { return false }
func (w argsWhen) MatchArgs(_ chaos.Call, args any) bool { return w(args) }

// Cells run side by side without waiting for each other: whatever two
// injectors of one plan share holds no lock and no atomic.
func TestInjectorsOfOnePlanShareNoLockAndNoAtomic(t *testing.T) {
	p := plan(t,
		chaos.Rule{Target: "*", When: chance(0.5), Limit: 3, Fault: down()},
		chaos.Rule{Name: "g", Target: "*", Group: "g", CoolDown: time.Second, Fault: delay(0)},
		chaos.Rule{Name: "s", Target: "*", Fault: counter{new(int)}})
	work := chaos.Wrap("work", double)
	locks := make([]map[uintptr]string, 2)
	for i := range locks {
		in := p.Injector("cell", &chaos.InjectorOptions{RecordAll: true})
		_, _ = work(chaos.WithLane(chaos.NewContext(context.Background(), in), "a"), 1)
		locks[i] = map[uintptr]string{}
		synchronised(reflect.ValueOf(in).Elem(), locks[i], map[uintptr]bool{})
		require.Greater(t, len(locks[i]), 30, "the walk finds them")
	}
	for at, what := range locks[0] {
		assert.NotContains(t, locks[1], at, what)
	}
}

// synchronised collects the addresses of all locks and atomics reachable from v.
func synchronised(v reflect.Value, found map[uintptr]string, seen map[uintptr]bool) {
	if pkg := v.Type().PkgPath(); v.CanAddr() && (pkg == "sync" || pkg == "sync/atomic") {
		found[v.UnsafeAddr()] = v.Type().String()
		if strings.HasPrefix(v.Type().Name(), "Pointer[") { // its first field is a [0]*T
			to := reflect.NewAt(v.Type().Field(0).Type.Elem().Elem(), v.FieldByName("v").UnsafePointer())
			synchronised(to, found, seen)
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && !seen[v.Pointer()] {
			seen[v.Pointer()] = true
			synchronised(v.Elem(), found, seen)
		}
	case reflect.Interface:
		if !v.IsNil() {
			synchronised(v.Elem(), found, seen)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			synchronised(v.Field(i), found, seen)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			synchronised(v.Index(i), found, seen)
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			synchronised(it.Key(), found, seen)
			synchronised(it.Value(), found, seen)
		}
	}
}

// chatty is a fault that calls Changed and Note from another goroutine.
type chatty struct{}

func (chatty) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		chaos.Changed(ctx)
		chaos.Note(ctx, "meanwhile")
		_ = chaos.Sleep(ctx, 0)
	}()
	result, err := next(ctx, args)
	<-done
	return result, err
}

func (chatty) Phase() chaos.Phase { return chaos.PhaseChange }

// A fault may start goroutines that end with it.
func TestAFaultThatTalksFromAGoroutine(t *testing.T) {
	plan, err := chaos.NewPlan(1, chaos.Rule{Target: "x", Fault: chatty{}})
	require.NoError(t, err)
	in := plan.Injector("", nil)
	call := chaos.Wrap("x", func(context.Context, int) (int, error) { return 1, nil })
	for range 50 {
		_, err = call(chaos.NewContext(t.Context(), in), 1)
		require.NoError(t, err)
	}
	assert.Len(t, in.Events(), 50)
	assert.Contains(t, in.Events()[49].Note, "meanwhile")
}
