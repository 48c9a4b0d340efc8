package chaos_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
)

// took returns how long a call of "work" takes, whose callee takes no time.
func took(in *chaos.Injector) (time.Duration, error) {
	start := time.Now()
	_, err := chaos.WrapWith("work", double, &chaos.WrapOptions[int]{Injector: in})(context.Background(), 1)
	return time.Since(start), err
}

func hang() chaos.Fault { return delay(-1) }

// What stops a rule ends its waits at that moment, and the call goes through.
func TestWhatStopsARuleEndsItsWaits(t *testing.T) {
	for _, tt := range []struct {
		name  string
		rules []chaos.Rule
		stop  func(in *chaos.Injector)
		took  time.Duration
		fails bool
	}{
		{"removed", []chaos.Rule{{Name: "slow", Target: "work", Fault: delay(time.Hour)}}, func(in *chaos.Injector) { in.Remove("slow") }, time.Minute, false},
		{"a hang, removed", []chaos.Rule{{Name: "slow", Target: "work", Fault: hang()}}, func(in *chaos.Injector) { in.Remove("slow") }, time.Minute, false},
		{"another one removed", []chaos.Rule{{Name: "slow", Target: "work", Fault: delay(time.Hour)}, {Name: "other", Target: "*", When: ordinals(9), Fault: hang()}},
			func(in *chaos.Injector) { in.Remove("other") }, time.Hour, false},
		{"replaced, which leaves the call its rule", []chaos.Rule{{Name: "slow", Target: "work", Fault: delay(time.Hour)}},
			func(in *chaos.Injector) {
				_ = in.Register(chaos.Rule{Name: "slow", Target: "work", Fault: delay(time.Second)})
			}, time.Hour, false},
		{"replaced and removed", []chaos.Rule{{Name: "slow", Target: "work", Fault: delay(time.Hour)}},
			func(in *chaos.Injector) {
				_ = in.Register(chaos.Rule{Name: "slow", Target: "never", Fault: down()})
				in.Remove("slow")
			}, time.Minute, false},
		{"removed, with another fault on the call", []chaos.Rule{{Name: "slow", Target: "work", Fault: delay(time.Hour)}, {Name: "fails", Target: "work", Fault: down()}},
			func(in *chaos.Injector) { in.Remove("slow") }, time.Minute, true},
		{"the other fault on the call is removed", []chaos.Rule{{Name: "slow", Target: "work", Fault: delay(time.Hour)}, {Name: "fails", Target: "work", Fault: down()}},
			func(in *chaos.Injector) { in.Remove("fails") }, time.Hour, false},
		{"all are removed", []chaos.Rule{{Name: "slow", Target: "work", Fault: delay(time.Hour)}, {Name: "fails", Target: "work", Fault: down()}},
			func(in *chaos.Injector) { in.RemoveAll() }, time.Minute, false},
		{"all are removed while two delays are due", []chaos.Rule{{Name: "slow", Target: "work", Fault: delay(time.Hour)}, {Name: "slower", Target: "work", Fault: hang()}},
			func(in *chaos.Injector) { in.RemoveAll() }, time.Minute, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := chaos.NewInjector(1, nil)
				for _, r := range tt.rules {
					require.NoError(t, in.Register(r))
				}
				go func() {
					time.Sleep(time.Minute)
					tt.stop(in)
				}()
				d, err := took(in)
				assert.Equal(t, tt.took, d)
				assert.Equal(t, tt.fails, err != nil, "%v", err)
			})
		})
	}
}

// A rule with a time limit is injected before it expires and never afterwards. Its
// waits end when it expires, even those that would end at that moment anyway.
func TestARuleWithATimeLimit(t *testing.T) {
	timesOut := func(d time.Duration) chaos.Fault {
		return faultFunc{chaos.PhaseInstead, func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			if err := chaos.Sleep(ctx, d); err != nil {
				return next(ctx, args)
			}
			return nil, errDown
		}}
	}
	for _, tt := range []struct {
		name  string
		fault chaos.Fault
		at    time.Duration // of the call
		took  time.Duration
		fails bool
	}{
		{"just before", down(), time.Minute - 1, 0, true},
		{"at that moment", down(), time.Minute, 0, false},
		{"afterwards", down(), time.Hour, 0, false},
		{"a wait that ends before", timesOut(30 * time.Second), 10 * time.Second, 30 * time.Second, true},
		{"a wait that would end at that moment", timesOut(30 * time.Second), 30 * time.Second, 30 * time.Second, false},
		{"a wait that is cut off", timesOut(time.Hour), 10 * time.Second, 50 * time.Second, false},
		{"a hang that is cut off", timesOut(-1), 10 * time.Second, 50 * time.Second, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := chaos.NewInjector(1, nil)
				_, err := in.RegisterFor(chaos.Rule{Name: "f", Target: "work", Fault: tt.fault}, time.Minute)
				require.NoError(t, err)
				assert.Equal(t, time.Now().Add(time.Minute), in.States()[0].Expires)
				time.Sleep(tt.at)
				d, err := took(in)
				assert.Equal(t, tt.took, d)
				assert.Equal(t, tt.fails, err != nil)
				if tt.at+tt.took >= time.Minute {
					assert.Empty(t, in.Rules())
					_, err := in.InjectNow(t.Context(), "f")
					assert.ErrorIs(t, err, chaos.ErrUnknownRule)
					assert.False(t, in.Remove("f"))
				}
			})
		})
	}
}

// A fault whose rule was removed before its wait does not wait.
func TestAWaitOfARuleThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, end := range map[string]func(in *chaos.Injector){
			"removed":     func(in *chaos.Injector) { in.Remove("f") },
			"all removed": func(in *chaos.Injector) { in.RemoveAll() },
			"expired":     func(*chaos.Injector) { time.Sleep(time.Minute) },
			"replaced and removed": func(in *chaos.Injector) {
				_ = in.Register(chaos.Rule{Name: "f", Target: "never", Fault: down()})
				in.Remove("f")
			},
		} {
			in := chaos.NewInjector(1, nil)
			var waits []error
			var life time.Duration
			if name == "expired" {
				life = time.Minute
			}
			_, err := in.RegisterFor(chaos.Rule{Name: "f", Target: "work", Fault: faultFunc{chaos.PhaseBefore,
				func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
					end(in)
					waits = append(waits, chaos.Sleep(ctx, -1), chaos.Sleep(ctx, time.Hour), chaos.Sleep(ctx, 0))
					return next(ctx, args)
				}}}, life)
			require.NoError(t, err)
			_, err = took(in)
			require.NoError(t, err)
			assert.Equal(t, []error{chaos.ErrDisarmed, chaos.ErrDisarmed, chaos.ErrDisarmed}, waits, name)
		}
	})
}

// An expired rule is dropped by the first call that it matches, without any method
// call and without a goroutine.
func TestAnExpiredRuleIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := chaos.NewInjector(1, nil)
		_, err := in.RegisterFor(chaos.Rule{Target: "work", Fault: down()}, time.Second)
		require.NoError(t, err)
		_, _ = took(in)
		assert.True(t, in.MayAffect("work"))
		time.Sleep(time.Second)
		_, err = took(in)
		assert.NoError(t, err)
		assert.False(t, in.MayAffect("work"))
	})
}

// When a rule that changes or delays a stream is removed, the consumer gets the rest
// unchanged.
func TestRemovingARuleOfAStreamUnderWay(t *testing.T) {
	for name, f := range map[string]chaos.Fault{"changed": faultFunc{chaos.PhaseChange, replace("x").(faultFunc).do}, "lost": faultFunc{chaos.PhaseAfter,
		func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			out, err := next(ctx, args)
			if chaos.Sleep(ctx, 0) != nil {
				return out, err
			}
			return nil, errDown
		}}} {
		t.Run(name, func(t *testing.T) {
			in := chaos.NewInjector(1, nil)
			require.NoError(t, in.Register(chaos.Rule{Name: "f", Target: "words", Fault: f}))
			words := chaos.WrapStream("words", func(context.Context, int) iter.Seq2[string, error] {
				return func(yield func(string, error) bool) {
					for _, w := range []string{"a", "b", "c"} {
						if w == "b" {
							in.Remove("f")
						}
						if !yield(w, nil) {
							return
						}
					}
				}
			})
			var got []string
			for w, err := range words(chaos.NewContext(t.Context(), in), 0) {
				assert.NoError(t, err)
				got = append(got, w)
			}
			assert.Equal(t, map[string][]string{"changed": {"x", "b", "c"}, "lost": {"a", "b", "c"}}[name], got)
		})
	}
}

func TestWhyARuleIsNotInForce(t *testing.T) {
	kill := make(chan struct{})
	in := chaos.NewInjector(1, &chaos.InjectorOptions{Safeguards: &chaos.Safeguards{Kill: kill, Budget: 2, Targets: []string{"work", "play"}}})
	reasons := func() (all []string) {
		for _, s := range in.States() {
			all = append(all, s.Reason)
		}
		return all
	}
	require.NoError(t, in.Register(chaos.Rule{Name: "once", Target: "work", Limit: 1, Fault: down()}))
	require.NoError(t, in.Register(chaos.Rule{Name: "always", Target: "work", Fault: down()}))
	assert.Equal(t, []string{"", ""}, reasons())
	_, _ = took(in)
	assert.Equal(t, []string{"its limit of 1 deliveries is used up", ""}, reasons())
	_, _ = took(in)
	spent := "the safeguards' budget of 2 faults is used up"
	assert.Equal(t, []string{spent, spent}, reasons())
	in.Disarm()
	assert.Equal(t, "the injector is disarmed", reasons()[0])
	in.Arm()
	assert.Equal(t, spent, reasons()[0])
	close(kill)
	assert.Equal(t, "the kill switch was thrown", reasons()[0])
	in.Close()
	assert.Equal(t, "the injector was closed by its host", reasons()[0])

	in = plan(t, chaos.Rule{Name: "out of reach", Target: "elsewhere", Fault: down()}).Injector("", &chaos.InjectorOptions{Safeguards: &chaos.Safeguards{Targets: []string{"work"}}})
	assert.Equal(t, []string{"the safeguards allow none of its targets"}, reasons())
	in = plan(t, chaos.Rule{Target: "work", Fault: down()}).Injector("", &chaos.InjectorOptions{Safeguards: &chaos.Safeguards{Budget: -1}})
	assert.Contains(t, reasons()[0], "the safeguards are invalid: ")
}

// Names that are registered and removed leave nothing behind: they are no targets,
// and the counts of calls go on.
func TestNamesThatComeAndGo(t *testing.T) {
	in := chaos.NewInjector(1, nil)
	work := chaos.WrapWith("work", double, &chaos.WrapOptions[int]{Injector: in})
	var ordinal uint64
	probe := whenFunc(func(c chaos.Call) bool { ordinal = c.Ordinal; return false })
	require.NoError(t, in.Register(chaos.Rule{Name: "probe", Target: "work", When: probe, Fault: down()}))
	call := func() {
		_, err := work(t.Context(), 1)
		require.NoError(t, err)
	}
	call()
	const many = 20_000 // more than an injector has slots
	for i := range many {
		name := fmt.Sprint("cut ", i)
		require.NoError(t, in.Register(chaos.Rule{Name: name, Target: "*", Group: name, When: ordinals(), Fault: down()}))
		_, err := in.InjectNow(t.Context(), name)
		require.NoError(t, err)
		require.True(t, in.Remove(name))
	}
	call()
	assert.Equal(t, uint64(1), ordinal, "the counts of the calls go on")
	assert.Equal(t, []string{"work"}, in.Targets())
	assert.Equal(t, 1, chaos.SiteCount(in), "the point alone is left")
	assert.LessOrEqual(t, chaos.RequestedCount(in), 1<<14)
}

// A name that is registered anew for every request gets another draw each time.
func TestARemovedNameKeepsItsCountForAWhile(t *testing.T) {
	in := chaos.NewInjector(1, nil)
	injected := 0
	for range 200 {
		require.NoError(t, in.Register(chaos.Rule{Name: "f", Target: "work", When: chance(0.5), Fault: down()}))
		if hit, _ := in.InjectNow(t.Context(), "f"); hit {
			injected++
		}
		in.Remove("f")
	}
	assert.InDelta(t, 100, injected, 40)
}

func TestWatch(t *testing.T) {
	var first, second, own []string
	in := chaos.NewInjector(1, &chaos.InjectorOptions{OnEvent: func(_ context.Context, e chaos.Event) { own = append(own, e.Rule) }})
	require.NoError(t, in.Register(chaos.Rule{Name: "f", Target: "work", Fault: down()}))
	stopFirst := in.Watch(func(_ context.Context, e chaos.Event) { first = append(first, e.Rule) })
	stopSecond := in.Watch(func(_ context.Context, e chaos.Event) { second = append(second, e.Rule) })
	_, _ = took(in)
	stopFirst()
	stopFirst()
	_, _ = took(in)
	stopSecond()
	_, _ = took(in)
	assert.Equal(t, [][]string{{"f"}, {"f", "f"}, {"f", "f", "f"}}, [][]string{first, second, own})
}
