package chaostest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaostest"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

type match func(chaos.Call) bool

func (f match) Match(c chaos.Call) bool { return f(c) }

// reading is an ArgsWhen that may write to the arguments.
type reading struct {
	match
	read func(args any) bool
}

func (w reading) MatchArgs(_ chaos.Call, args any) bool { return w.read(args) }

// likely is a trigger that claims a probability.
type likely struct {
	match
	p func() float64
}

func (w likely) Probability() float64 { return w.p() }

// counting is a trigger that claims to look at the ordinal alone.
type counting struct {
	match
	of func(ordinal uint64) bool
}

func (w counting) MatchOrdinal(ordinal uint64) bool { return w.of(ordinal) }

// kindly is a Described trigger.
type kindly struct {
	match
	d chaos.Description
}

func (w kindly) Describe() chaos.Description { return w.d }

type brokenWhen struct {
	why   string
	check chaostest.Check
	make  func() chaos.When
	o     *chaostest.WhenOptions
}

func brokenWhens() []brokenWhen {
	never := match(func(chaos.Call) bool { return false })
	is := func(w chaos.When) func() chaos.When { return func() chaos.When { return w } }
	count := func(f func(n int64) bool) func() chaos.When {
		return func() chaos.When {
			var n atomic.Int64
			return match(func(chaos.Call) bool { return f(n.Add(1)) })
		}
	}
	return []brokenWhen{
		{why: "no trigger", check: chaostest.Present, make: is(nil)},
		{why: "refused by its own Check", check: chaostest.Checked, make: is(when.First(0))},
		{why: "no kind", check: chaostest.Described, make: is(kindly{match: never})},
		{why: "parameters that are no object", check: chaostest.Described, make: is(kindly{never, chaos.Description{Kind: "x", Params: json.RawMessage(`null`)}})},
		{why: "counts for itself", check: chaostest.Pure, make: count(func(n int64) bool { return n%2 == 0 })},
		{why: "grows tired", check: chaostest.Pure, make: count(func(n int64) bool { return n > 300 })},
		{why: "grows tired among many", check: chaostest.Concurrent, make: count(func(n int64) bool { return n > 410 })},
		{why: "panics on a late call", check: chaostest.Panics, make: is(match(func(c chaos.Call) bool { return []bool{true}[c.Ordinal/1000] }))},
		{why: "panics without arguments", check: chaostest.Panics, make: is(reading{never, func(args any) bool { return len(args.(json.RawMessage)) > 0 }})},
		{why: "writes to the arguments", check: chaostest.Arguments, make: is(reading{never, func(args any) bool {
			if doc, ok := args.(json.RawMessage); ok {
				doc[0] = '['
			}
			return false
		}})},
		{why: "does not match as it says", check: chaostest.Probable, make: is(likely{never, func() float64 { return 0.5 }})},
		{why: "counts from one in one way and from none in the other", check: chaostest.Ordinal, make: is(counting{
			func(c chaos.Call) bool { return c.Ordinal+1 == 4 }, func(ordinal uint64) bool { return ordinal == 4 }})},
		{why: "looks at the key too", check: chaostest.Ordinal, make: is(counting{
			func(c chaos.Call) bool { return c.Ordinal > 9 && c.Key == 1 }, func(ordinal uint64) bool { return ordinal > 9 }})},
		{why: "panics on a late ordinal", check: chaostest.Panics, make: is(counting{never, func(n uint64) bool { return []bool{false}[n/1000] }})},
		{why: "has no probability", check: chaostest.Probable, make: is(likely{never, func() float64 { return 2 }})},
	}
}

// Each check fails on a trigger that does not meet it, and no other check does.
func TestBrokenTriggers(t *testing.T) {
	for _, c := range brokenWhens() {
		t.Run(c.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := chaostest.When(c.make(), c.o)
				time.Sleep(20_000 * time.Hour)
				require.Error(t, err)
				for _, check := range checks(err) {
					assert.Equal(t, c.check, check, "%v", err)
				}
			})
		})
	}
}

// Every check can fail: some fake does not meet it.
func TestEveryCheckCanFail(t *testing.T) {
	seen := map[chaostest.Check]bool{}
	for _, c := range brokenFaults() {
		seen[c.check] = true
	}
	for _, c := range brokenWhens() {
		seen[c.check] = true
	}
	for _, c := range brokenWrappers() {
		seen[c.check] = true
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), "violation.go", nil, 0)
	require.NoError(t, err)
	n := 0
	ast.Inspect(parsed, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		lit, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		require.NoError(t, err)
		assert.True(t, seen[chaostest.Check(text)], "no fake breaks %q", text)
		n++
		return true
	})
	assert.Equal(t, len(seen), n)
}

var errBusy = errors.New("upstream is busy")

// What a fault is made for is no violation if the options state it.
func TestFaultsThatAreMeantTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := inject(func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			_ = chaos.Sleep(context.WithoutCancel(ctx), time.Second)
			return next(ctx, args)
		})
		assert.Equal(t, []chaostest.Check{chaostest.Cancelled}, checks(chaostest.Fault(deaf, nil)))
		assert.NoError(t, chaostest.Fault(deaf, &chaostest.FaultOptions{IgnoresContext: true}))
		hides := inject(func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			result, _ := next(ctx, args)
			return result, nil
		})
		assert.Equal(t, []chaostest.Check{chaostest.PassesErrors}, checks(chaostest.Fault(hides, nil)))
		assert.NoError(t, chaostest.Fault(hides, &chaostest.FaultOptions{LosesErrors: true}))
	})
}

// part is a trigger that keeps what it is asked; it makes no sense if it has an error.
type part struct {
	answer, asked bool
	draw          float64
	args          any
	err           error
}

func (p *part) Check() error            { return p.err }
func (p *part) Match(c chaos.Call) bool { return p.MatchArgs(c, nil) }
func (p *part) MatchArgs(c chaos.Call, args any) bool {
	p.asked, p.draw, p.args = true, c.Draw(0), args
	return p.answer
}

// A combination gives each part draws of its own and the arguments, and passes on what is
// wrong with it.
func TestCombinationsAskTheirParts(t *testing.T) {
	for name, combine := range map[string]func(a, b chaos.When) chaos.When{
		"All": func(a, b chaos.When) chaos.When { return when.All(a, b) },
		"Any": func(a, b chaos.When) chaos.When { return when.Any(a, b) },
		"Not": func(a, _ chaos.When) chaos.When { return when.Not(a) },
		"Stages": func(a, b chaos.When) chaos.When {
			return when.Stages(when.Stage{Calls: 50, When: a}, when.Stage{When: b})
		},
	} {
		both, asked := 0, [2]bool{}
		for ordinal := range uint64(200) {
			for answers := range 4 {
				a, b := &part{answer: answers&1 > 0}, &part{answer: answers&2 > 0}
				c := chaos.Call{Target: "search", Ordinal: ordinal, Occurrence: ordinal}
				combine(a, b).(chaos.ArgsWhen).MatchArgs(c, "args")
				for i, p := range []*part{a, b} {
					if asked[i] = asked[i] || p.asked; p.asked {
						assert.NotEqual(t, c.Draw(0), p.draw, "%s: a part has the draw of the combination", name)
						assert.Equal(t, "args", p.args, name)
					}
				}
				if a.asked && b.asked {
					both++
					assert.NotEqual(t, a.draw, b.draw, "%s: two parts share their draw", name)
				}
			}
		}
		assert.Equal(t, name == "All" || name == "Any", both > 0, name)
		for i, w := range []chaos.When{combine(&part{err: errBusy}, &part{}), combine(&part{}, &part{err: errBusy})} {
			assert.Equal(t, asked[i], errors.Is(w.(chaos.Checked).Check(), errBusy), "%s, part %d", name, i)
		}
	}
}

type inject func(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error)

func (f inject) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	return f(ctx, c, args, next)
}

// phased is a fault of a phase.
type phased struct {
	inject
	phase chaos.Phase
}

func (f phased) Phase() chaos.Phase { return f.phase }

// saying is a Described fault.
type saying struct {
	chaos.Fault
	d chaos.Description
}

func (f saying) Describe() chaos.Description { return f.d }

// failing is a Failer whose Fail and Inject differ.
type failing struct {
	inject
	err error
}

func (f failing) Fail(chaos.Call) error { return f.err }

// latePhase is a Failer that says it acts elsewhere.
type latePhase struct{ failing }

func (latePhase) Phase() chaos.Phase { return chaos.PhaseAfter }

// remembering is a fault whose Fresh forgets nothing.
type remembering struct {
	inject
	fresh chaos.Fault
}

func (f *remembering) Fresh() chaos.Fault { return f.fresh }

func changing(v any) inject {
	return func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
		result, err := next(ctx, args)
		if err != nil {
			return result, err
		}
		chaos.Changed(ctx, chaos.Change{})
		return v, nil
	}
}

var errAny = errors.New("connection lost")

// brokenFault is a fault that fails one check.
type brokenFault struct {
	why   string
	check chaostest.Check
	make  func() chaos.Fault
	o     *chaostest.FaultOptions
	also  chaostest.Check
}

func brokenFaults() []brokenFault {
	good := chaos.Description{Kind: "lost", Class: chaos.ClassCrash, Visibility: chaos.Explicit, Persistence: chaos.Transient, Effect: chaos.EffectNone}
	says := func(f chaos.Fault, change func(*chaos.Description)) func() chaos.Fault {
		return func() chaos.Fault { d := good; change(&d); return saying{f, d} }
	}
	fails := inject(func(context.Context, chaos.Call, any, chaos.Next) (any, error) { return nil, errAny })
	passes := inject(func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
		return next(ctx, args)
	})
	is := func(f chaos.Fault) func() chaos.Fault { return func() chaos.Fault { return f } }
	return []brokenFault{
		{why: "no fault", check: chaostest.Present, make: is(nil)},
		{why: "refused by its own Check", check: chaostest.Checked, make: is(fault.Delay(0))},
		{why: "no kind", check: chaostest.Described, make: says(fails, func(d *chaos.Description) { d.Kind = "Lost Reply" })},
		{why: "parameters that are a list", check: chaostest.Described, make: says(fails, func(d *chaos.Description) { d.Params = json.RawMessage(`[1]`) })},
		{why: "no class", check: chaostest.Described, make: says(fails, func(d *chaos.Description) { d.Class = "" })},
		{why: "no visibility", check: chaostest.Described, make: says(fails, func(d *chaos.Description) { d.Visibility = "" })},
		{why: "no persistence", check: chaostest.Described, make: says(fails, func(d *chaos.Description) { d.Persistence = "" })},
		{why: "no effect", check: chaostest.Described, make: says(fails, func(d *chaos.Description) { d.Effect = "" })},
		{why: "a layer that there is not", check: chaostest.Described, make: says(fails, func(d *chaos.Description) { d.Layer = "cake" })},
		{why: "says explicit and is not", check: chaostest.Described, make: says(changing(nil), func(d *chaos.Description) { d.Effect = chaos.EffectDone })},
		{why: "says implicit and is not", check: chaostest.Described, make: says(fails, func(d *chaos.Description) { d.Visibility = chaos.Implicit })},
		{why: "says that nothing is done", check: chaostest.Described, make: says(fault.LoseReplyAfter(0), func(*chaos.Description) {})},
		{why: "says that the work is done", check: chaostest.Described, make: says(fails, func(d *chaos.Description) { d.Effect = chaos.EffectDone })},
		{why: "describes itself differently each time", check: chaostest.Described, make: func() chaos.Fault { return &fickle{inject: fails} }},
		{why: "a phase that there is not", check: chaostest.Phases, also: chaostest.Checked, make: is(phased{passes, 7})},
		{why: "a Failer in another phase", check: chaostest.Phases, make: is(latePhase{failing{fails, errAny}})},
		{why: "ignores its context", check: chaostest.Cancelled, make: is(inject(func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			time.Sleep(time.Second)
			return next(ctx, args)
		}))},
		{why: "ignores its context for longer than anyone waits", check: chaostest.Cancelled, make: is(inject(func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			time.Sleep(5000 * time.Hour)
			return next(ctx, args)
		}))},
		{why: "ignores its context for some seconds", check: chaostest.Cancelled, make: is(inject(func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			time.Sleep(4 * time.Second)
			return next(ctx, args)
		}))},
		{why: "calls the callee when the context has ended the wait", check: chaostest.Cancelled, make: is(phased{func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			_ = chaos.Sleep(ctx, time.Minute)
			return next(ctx, args)
		}, chaos.PhaseBefore})},
		{why: "has an error of its own for that", check: chaostest.Cancelled, make: is(inject(func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			if err := chaos.Sleep(ctx, time.Minute); err != nil && !errors.Is(err, chaos.ErrDisarmed) {
				return nil, errAny
			}
			return next(ctx, args)
		}))},
		{why: "waits by itself", check: chaostest.Disarmed, make: is(phased{func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			select {
			case <-time.After(time.Minute):
				return next(ctx, args)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}, chaos.PhaseBefore})},
		{why: "fails when disarmed", check: chaostest.Disarmed, make: is(inject(func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			return nil, chaos.Sleep(ctx, time.Minute)
		}))},
		{why: "answers when disarmed", check: chaostest.Disarmed, make: is(inject(func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			if err := chaos.Sleep(ctx, time.Minute); errors.Is(err, chaos.ErrDisarmed) {
				return json.RawMessage(`{}`), nil
			} else if err != nil {
				return nil, err
			}
			return nil, errAny
		}))},
		{why: "calls next from several goroutines", check: chaostest.NextInTurn, make: is(inject(func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (result any, err error) {
			var all sync.WaitGroup
			begin := make(chan struct{})
			for range 16 {
				all.Go(func() { <-begin; _, _ = next(ctx, args) })
			}
			close(begin)
			all.Wait()
			return next(ctx, args)
		}))},
		{why: "calls next when it is over", check: chaostest.NextInTime, make: is(inject(func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			result, err := next(ctx, args)
			go func() { time.Sleep(time.Millisecond); _, _ = next(ctx, args) }()
			return result, err
		}))},
		{why: "makes a context of its own", check: chaostest.Context, make: is(inject(func(_ context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			return next(context.Background(), args)
		}))},
		{why: "passes on other arguments", check: chaostest.Types, make: is(inject(func(ctx context.Context, _ chaos.Call, _ any, next chaos.Next) (any, error) {
			return next(ctx, 7)
		}))},
		{why: "returns another type", check: chaostest.Types, make: is(changing(7)), o: &chaostest.FaultOptions{Result: "shipped"}},
		{why: "returns what has no JSON", check: chaostest.Types, make: is(changing(make(chan int)))},
		{why: "tells that it is a test", check: chaostest.Text, make: is(fault.Fail(errors.New("chaos: injected")))},
		{why: "has no text", check: chaostest.Text, make: is(fault.Fail(errors.New("")))},
		{why: "swallows an error", check: chaostest.PassesErrors, make: is(phased{func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			result, err := next(ctx, args)
			if err != nil {
				return nil, fmt.Errorf("the shop: %w", err)
			}
			return result, nil
		}, chaos.PhaseChange})},
		{why: "changes without saying so", check: chaostest.Honest, make: is(phased{func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			_, err := next(ctx, args)
			if err != nil {
				return nil, err
			}
			return json.RawMessage(`{"id":1}`), nil
		}, chaos.PhaseChange})},
		{why: "says so without changing", check: chaostest.Honest, make: is(phased{func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			result, err := next(ctx, args)
			chaos.Changed(ctx)
			return result, err
		}, chaos.PhaseChange})},
		{why: "claims changes elsewhere without changing", check: chaostest.Honest, make: is(inject(func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			result, err := next(ctx, args)
			chaos.Changed(ctx, chaos.Change{Path: "$.id"})
			return result, err
		}))},
		{why: "claims a change of an error", check: chaostest.Honest, make: is(phased{func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			_, err := next(ctx, args)
			chaos.Changed(ctx)
			return json.RawMessage(`{"id":1}`), err
		}, chaos.PhaseChange})},
		{why: "draws from a stream", check: chaostest.Repeatable, make: is(inject(func(context.Context, chaos.Call, any, chaos.Next) (any, error) {
			return nil, fmt.Errorf("code %d", rand.Uint64())
		}))},
		{why: "remembers across injectors", check: chaostest.Repeatable, make: func() chaos.Fault {
			var n atomic.Int64
			return inject(func(context.Context, chaos.Call, any, chaos.Next) (any, error) {
				return nil, fmt.Errorf("call %d", n.Add(1))
			})
		}},
		{why: "depends on what else is going on", check: chaostest.Concurrent, make: func() chaos.Fault {
			var now atomic.Int64
			return inject(func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
				defer now.Add(-1)
				if now.Add(1) > 1 {
					return nil, errBusy
				}
				if err := chaos.Sleep(ctx, time.Second); err != nil && !errors.Is(err, chaos.ErrDisarmed) {
					return nil, err
				}
				return next(ctx, args)
			})
		}},
		{why: "is as fresh as before", check: chaostest.Fresh, make: func() chaos.Fault {
			var n atomic.Int64
			f := &remembering{inject: func(context.Context, chaos.Call, any, chaos.Next) (any, error) {
				return nil, fmt.Errorf("call %d", n.Add(1))
			}}
			f.fresh = f
			return f
		}},
		{why: "has nothing fresh", check: chaostest.Fresh, make: is(&remembering{inject: fails})},
	}
}

// fickle describes itself in another way each time.
type fickle struct {
	inject
	n int
}

func (f *fickle) Describe() chaos.Description {
	f.n++
	return chaos.Description{Kind: fmt.Sprint("kind_", f.n), Class: chaos.ClassCrash, Visibility: chaos.Explicit, Persistence: chaos.Transient, Effect: chaos.EffectNone}
}

// checks returns the checks that an error says failed.
func checks(err error) (names []chaostest.Check) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			names = append(names, checks(err)...)
		}
		return names
	}
	var v *chaostest.Violation
	if errors.As(err, &v) {
		names = append(names, v.Check)
	}
	return names
}

// Each check fails on a fault that does not meet it, and no other check does.
func TestBrokenFaults(t *testing.T) {
	for _, c := range brokenFaults() {
		t.Run(c.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := chaostest.Fault(c.make(), c.o)
				time.Sleep(20_000 * time.Hour) // until all abandoned goroutines have ended
				require.Error(t, err)
				for _, check := range checks(err) {
					assert.Contains(t, []chaostest.Check{c.check, c.also}, check, "%v", err)
				}
				assert.ErrorContains(t, err, "chaostest: "+string(c.check)+": ")
			})
		})
	}
}
