package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

type probWhen struct{ p float64 }

func (w probWhen) Probability() float64 { return w.p }

type customWhen struct{ p float64 }

func (w customWhen) Match(c Call) bool { return c.Draw(0) < w.p }

func (w probWhen) Match(c Call) bool { return c.Draw(0) < w.p }

type failFault struct{ err error }

func (f failFault) Fail(Call) error { return f.err }
func (f failFault) Inject(ctx context.Context, c Call, args any, next Next) (any, error) {
	return nil, f.err
}

var errDown = errors.New("connection refused")

//go:noinline
func bare(_ context.Context, n int) (int, error) { return n + 1, nil }

func bench(b *testing.B, ctx context.Context, fn func(context.Context, int) (int, error)) {
	b.Helper()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		_, _ = fn(ctx, i)
	}
}

func mustPlan(tb testing.TB, rules ...Rule) *Plan {
	tb.Helper()
	p, err := NewPlan(1, rules...)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func others(n int) []Rule {
	rules := make([]Rule, n)
	for i := range rules {
		rules[i] = Rule{Target: "other." + strconv.Itoa(i), Fault: failFault{errDown}}
	}
	return rules
}

func neverFires() Rule {
	return Rule{Target: "work", When: probWhen{1e-12}, Fault: failFault{errDown}}
}

func deeper(ctx context.Context, n int) context.Context {
	type key int
	for i := range n {
		ctx = context.WithValue(ctx, key(i), i)
	}
	return ctx
}

// handlerContext is the context that a net/http server gives a handler.
func handlerContext(tb testing.TB) context.Context {
	var ctx context.Context
	done := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		ctx = r.Context()
		close(done)
	}))
	defer s.Close()
	resp, err := http.Get(s.URL)
	if err != nil {
		tb.Fatal(err)
	}
	resp.Body.Close()
	<-done
	return ctx
}

func BenchmarkCall(b *testing.B) {
	background := context.Background()
	wrapped := Wrap("work", bare)
	under := func(o *InjectorOptions, rules ...Rule) context.Context {
		return NewContext(background, mustPlan(b, rules...).Injector("cell", o))
	}
	b.Run("bare", func(b *testing.B) { bench(b, background, bare) })
	b.Run("byHand", func(b *testing.B) {
		var mu sync.Mutex
		rng := rand.New(rand.NewSource(1))
		bench(b, background, func(ctx context.Context, n int) (int, error) {
			mu.Lock()
			fire := rng.Float64() < 1e-12
			mu.Unlock()
			if fire {
				return 0, errDown
			}
			return bare(ctx, n)
		})
	})
	b.Run("noInjector", func(b *testing.B) { bench(b, background, wrapped) })
	b.Run("noInjectorHandler", func(b *testing.B) { bench(b, handlerContext(b), wrapped) })
	b.Run("noRuleForTarget", func(b *testing.B) { bench(b, under(nil, others(1)...), wrapped) })
	b.Run("noRuleForTarget100", func(b *testing.B) { bench(b, under(nil, others(100)...), wrapped) })
	b.Run("drawn", func(b *testing.B) { bench(b, under(nil, neverFires()), wrapped) })
	b.Run("drawnCustom", func(b *testing.B) {
		bench(b, under(nil, Rule{Target: "work", When: customWhen{1e-12}, Fault: failFault{errDown}}), wrapped)
	})
	b.Run("drawnDepth4", func(b *testing.B) { bench(b, deeper(under(nil, neverFires()), 3), wrapped) })
	b.Run("drawn100", func(b *testing.B) { bench(b, under(nil, append(others(100), neverFires())...), wrapped) })
	b.Run("drawnParallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			ctx := under(nil, neverFires())
			for i := 0; pb.Next(); i++ {
				_, _ = wrapped(ctx, i)
			}
		})
	})
	b.Run("drawnLane", func(b *testing.B) { bench(b, WithLane(under(nil, neverFires()), "worker-1"), wrapped) })
	b.Run("drawnKeyed", func(b *testing.B) {
		keyed := WrapWith("work", bare, &WrapOptions[int]{Key: func(n int) uint64 { return uint64(n&1023) + 1 }})
		bench(b, under(nil, neverFires()), keyed)
	})
	b.Run("bareParallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				_, _ = bare(background, i)
			}
		})
	})
	b.Run("byHandParallel", func(b *testing.B) {
		var mu sync.Mutex
		rng := rand.New(rand.NewSource(1))
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				mu.Lock()
				fire := rng.Float64() < 1e-12
				mu.Unlock()
				if !fire {
					_, _ = bare(background, i)
				}
			}
		})
	})
	b.Run("fired", func(b *testing.B) { bench(b, under(nil, Rule{Target: "work", Fault: failFault{errDown}}), wrapped) })
	b.Run("recorded", func(b *testing.B) { bench(b, under(&InjectorOptions{RecordAll: true}), wrapped) })
	b.Run("recordedValues", func(b *testing.B) {
		bench(b, under(&InjectorOptions{RecordAll: true, KeepValues: true}), wrapped)
	})
	b.Run("recordedValuesTool", func(b *testing.B) {
		ctx := under(&InjectorOptions{RecordAll: true, KeepValues: true})
		tools := WrapRegistry(echo{}, nil)
		_, _ = tools.Tools(ctx)
		args := json.RawMessage(`{"order":1042,"reason":"damaged"}`)
		b.ReportAllocs()
		for b.Loop() {
			_, _ = tools.CallTool(ctx, "work", args)
		}
	})
	b.Run("injector10", func(b *testing.B) {
		p := mustPlan(b, others(10)...)
		b.ReportAllocs()
		for b.Loop() {
			p.Injector("cell", nil)
		}
	})
}

// BenchmarkFloor measures the parts of a call on this machine, to compare the other
// figures with.
func BenchmarkFloor(b *testing.B) {
	b.Run("atomicAdd", func(b *testing.B) {
		var n atomic.Uint64
		for b.Loop() {
			n.Add(1)
		}
	})
	b.Run("mutex", func(b *testing.B) {
		var mu sync.Mutex
		for b.Loop() {
			mu.Lock()
			//lint:ignore SA2001 the pair is what is measured
			mu.Unlock()
		}
	})
	b.Run("clock", func(b *testing.B) {
		start := time.Now()
		for b.Loop() {
			_ = time.Since(start)
		}
	})
	b.Run("alloc64", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			floor = new([8]*int)
		}
	})
}

var floor *[8]*int

// BenchmarkScaling is the control of the parallel figures: they mean something
// only where this loop takes about half as long with two goroutines as with one.
func BenchmarkScaling(b *testing.B) {
	spin := func() (x uint64) {
		for i := range uint64(1000) {
			x = x*6364136223846793005 + i
		}
		return x
	}
	b.Run("serial", func(b *testing.B) {
		var x uint64
		for range b.N {
			x ^= spin()
		}
		runtime.KeepAlive(x)
	})
	b.Run("parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			var x uint64
			for pb.Next() {
				x ^= spin()
			}
			runtime.KeepAlive(x)
		})
	})
}

type echo struct{}

func (echo) Tools(context.Context) ([]Tool, error) { return []Tool{{Name: "work"}}, nil }
func (echo) CallTool(_ context.Context, _ string, args json.RawMessage) (json.RawMessage, error) {
	return args, nil
}
