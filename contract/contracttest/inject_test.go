package contracttest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract/contracttest"
)

// endingT is a test that ends when its end is called.
type endingT struct {
	fakeT
	skipped  bool
	cleanups []func()
}

func (e *endingT) Failed() bool             { return e.failed }
func (e *endingT) Skipped() bool            { return e.skipped }
func (e *endingT) Cleanup(f func())         { e.cleanups = append(e.cleanups, f) }
func (e *endingT) Context() context.Context { return context.Background() }
func (e *endingT) Fatalf(format string, args ...any) {
	e.Errorf(format, args...)
	e.stopped = true
	panic(e.text)
}

func (e *endingT) end() string {
	e.text = ""
	for _, f := range e.cleanups {
		f()
	}
	return e.text
}

// idles is a fault that changes nothing.
type idles struct{}

func (idles) Phase() chaos.Phase { return chaos.PhaseChange }
func (idles) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	return next(ctx, args)
}

// length is a call whose result is a number.
var length = chaos.Wrap("length of a", func(_ context.Context, s string) (int, error) { return len(s), nil })

// TestInject: the rules act under the context, and the test fails at its end if one
// tested nothing.
func TestInject(t *testing.T) {
	down := errors.New("connection refused")
	rule := func(name, target string, w chaos.When, f chaos.Fault) chaos.Rule {
		return chaos.Rule{Name: name, Target: target, When: w, Fault: f}
	}
	for _, tc := range []struct {
		why   string
		rules []chaos.Rule
		calls []string
		end   func(*endingT)
		want  string
	}{
		{"delivered", []chaos.Rule{rule("r", "a", nil, fault.Fail(down))}, []string{"a"}, nil, ""},
		{"no rules", nil, []string{"a"}, nil, ""},
		{"no call", []chaos.Rule{rule("r", "a", nil, fault.Fail(down))}, nil, nil,
			`contracttest: no call got the fault of rule "r": its target is a, and the test called no injection point with this context`},
		{"a call of another name", []chaos.Rule{rule("r", "a", nil, fault.Fail(down))}, []string{"b", "c"}, nil,
			`contracttest: no call got the fault of rule "r": its target is a, and the test called b, c with this context`},
		{"too few calls", []chaos.Rule{rule("r", "a", when.Nth(3), fault.Fail(down))}, []string{"a", "a"}, nil,
			`contracttest: no call got the fault of rule "r": its target is a, and it matched no call of a: its trigger, or a condition of the rule, was never true`},
		{"one of two", []chaos.Rule{rule("r", "a", nil, fault.Fail(down)), rule("q", "b", nil, fault.Fail(down))}, []string{"a"}, nil,
			`contracttest: no call got the fault of rule "q": its target is b, and the test called a with this context`},
		{"another one decided", []chaos.Rule{rule("r", "a", nil, fault.Fail(down)), rule("q", "*", nil, fault.Fail(down))}, []string{"a"}, nil,
			`contracttest: no call got the fault of rule "q": another rule decided the call of a that it matched`},
		{"a fault that changes nothing", []chaos.Rule{rule("r", "a", nil, idles{})}, []string{"a"}, nil,
			`contracttest: no call got the fault of rule "r": it was injected into a call of a and changed nothing`},
		{"a fault that returns another type", []chaos.Rule{rule("r", "length of a", nil, fault.Replace("four"))}, []string{"length of a"}, nil,
			`contracttest: no call got the fault of rule "r": it was injected into a call of length of a and changed nothing ` +
				`(rule "r" replaced the result by one of the wrong type: string, want int)`},
		{"the test failed", []chaos.Rule{rule("r", "a", nil, fault.Fail(down))}, nil, func(e *endingT) { e.failed = true }, ""},
		{"the test was skipped", []chaos.Rule{rule("r", "a", nil, fault.Fail(down))}, nil, func(e *endingT) { e.skipped = true }, ""},
	} {
		e := &endingT{}
		ctx := contracttest.Inject(e, 1, tc.rules...)
		for i, target := range tc.calls {
			if target == "length of a" {
				_, _ = length(ctx, "abcd")
				continue
			}
			err := chaos.Point(ctx, target)
			if i == 0 && tc.why == "delivered" {
				assert.ErrorIs(t, err, down)
			}
		}
		if tc.end != nil {
			tc.end(e)
		}
		assert.Equal(t, tc.want, e.end(), tc.why)
		assert.ErrorIs(t, chaos.Point(ctx, "a"), chaos.ErrCellEnded, "%s: the test is over", tc.why)
	}
}

func TestInjectRefusesBadRules(t *testing.T) {
	e := &endingT{}
	assert.Panics(t, func() { contracttest.Inject(e, 1, chaos.Rule{Name: "r", Target: "["}, chaos.Rule{Name: "q"}) })
	assert.True(t, e.stopped)
	assert.Contains(t, e.text, "contracttest: the rules are not valid: ")
	assert.Contains(t, e.text, `rule "r"`)
	assert.Contains(t, e.text, `rule "q"`)
}

// TestInjectSeesACallThatOutlivesTheTest: the test ended without the answer, so the fault
// that holds the call is delivered.
func TestInjectSeesACallThatOutlivesTheTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endingT{}
		ctx, cancel := context.WithCancel(contracttest.Inject(e, 1, chaos.Rule{Name: "stop", Target: "a", Fault: fault.Hang()}))
		go func() { _ = chaos.Point(ctx, "a") }()
		time.Sleep(3 * time.Second)
		assert.Empty(t, e.end())
		events := chaos.FromContext(ctx).Events()
		if assert.Len(t, events, 1) {
			assert.Equal(t, chaos.OutcomeOpen, events[0].Outcome)
			assert.Equal(t, "stop", events[0].Rule)
		}
		cancel()
	})
}

// TestInjectInABubble: an hour takes no time.
func TestInjectInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := contracttest.Inject(t, 1, chaos.Rule{Target: "a", Fault: fault.Delay(time.Hour)})
		start := time.Now()
		assert.NoError(t, chaos.Point(ctx, "a"))
		assert.Equal(t, time.Hour, time.Since(start))
	})
}

// The draws of a test follow its name and the seed, so that it repeats.
func TestInjectRepeats(t *testing.T) {
	outcome := func(seed uint64) (text string) {
		e := &endingT{}
		ctx := contracttest.Inject(e, seed, chaos.Rule{Name: "r", Target: "a", When: when.Prob(0.5), Fault: fault.Fail(errors.New("down"))})
		for range 64 {
			text += fmt.Sprint(chaos.Point(ctx, "a") == nil)
		}
		return text
	}
	assert.Equal(t, outcome(1), outcome(1))
	assert.NotEqual(t, outcome(1), outcome(2))
}
