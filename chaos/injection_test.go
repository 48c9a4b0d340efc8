package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
)

// second has a fault of every phase, to act after a delay.
func second() map[string]chaos.Fault {
	return map[string]chaos.Fault{
		"failure": down(), "twice": twice(), "delay": delay(time.Hour), "change": replace(7), "lost reply": loseReply(),
	}
}

// A rule whose turn does not come, because the call ended before, is not delivered
// and does not use up its limit.
func TestARuleWhoseTurnDoesNotComeIsMasked(t *testing.T) {
	for name, f := range second() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, ctx := recording(t, chaos.Rule{Name: "slow", Target: "work", Fault: delay(time.Hour)},
					chaos.Rule{Name: "second", Target: "work", Limit: 1, Fault: f})
				brief, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				_, err := chaos.Wrap("work", double)(brief, 1)
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				e := only(t, in)
				assert.Equal(t, "slow", e.Rule)
				assert.Empty(t, e.Also)
				assert.Empty(t, e.Idle)
				assert.Equal(t, []string{"second"}, e.Masked)
				assert.Equal(t, []string{"second"}, in.Undelivered())
				_, _ = chaos.Wrap("work", double)(ctx, 1)
				assert.NotContains(t, in.Undelivered(), "slow")
				if name != "delay" {
					assert.Empty(t, in.Undelivered(), "its limit is still there for the next call")
				}
			})
		})
	}
}

func TestMaskedRulesAreNamedInTheirOrder(t *testing.T) {
	in, ctx := recording(t,
		chaos.Rule{Name: "a", Target: "work", Fault: replace(7)}, chaos.Rule{Name: "b", Target: "work", Fault: down()},
		chaos.Rule{Name: "c", Target: "work", Fault: loseReply()}, chaos.Rule{Name: "d", Target: "work", Fault: down()},
		chaos.Rule{Name: "e", Target: "work", Fault: replace(8)})
	_, _ = chaos.Wrap("work", double)(ctx, 1)
	assert.Equal(t, []string{"a", "c", "d", "e"}, only(t, in).Masked)
}

// The wrapper swallows no error: if a fault replaces the callee's error by a result
// that does not fit, the caller gets the error.
func TestAMisfitDoesNotSwallowTheCalleesError(t *testing.T) {
	own := errors.New("the callee's own")
	in, ctx := recording(t, chaos.Rule{Target: "work", Fault: faultFunc{chaos.PhaseChange,
		func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			_, _ = next(ctx, args)
			return "seven", nil
		}}})
	_, err := chaos.Wrap("work", func(context.Context, int) (int, error) { return 0, own })(ctx, 1)
	assert.Equal(t, own, err)
	e := only(t, in)
	assert.False(t, e.Delivered)
	assert.Contains(t, e.Note, "string, want int")
}

// At a point that passes documents as []byte, JSON is the document itself.
func TestBytesAreADocument(t *testing.T) {
	_, ctx := recording(t, chaos.Rule{Target: "work", Fault: replace(json.RawMessage(`"aGVsbG8="`))})
	out, err := chaos.Wrap("work", func(context.Context, int) ([]byte, error) { return []byte(`"x"`), nil })(ctx, 1)
	assert.NoError(t, err)
	assert.Equal(t, `"aGVsbG8="`, string(out), "not what base64 makes of it")
}

func TestArgumentsAreKeptAsTheyWereGiven(t *testing.T) {
	for _, rules := range [][]chaos.Rule{nil, {{Target: "work", Fault: delay(0)}}} {
		in := plan(t, rules...).Injector("c", &chaos.InjectorOptions{RecordAll: true, KeepValues: true})
		ctx := chaos.NewContext(context.Background(), in)
		work := chaos.Wrap("work", func(_ context.Context, m map[string]int) (int, error) { m["a"] = 2; return 0, nil })
		_, _ = work(ctx, map[string]int{"a": 1})
		assert.JSONEq(t, `{"a":1}`, string(only(t, in).Args), "the callee changes its arguments later")
	}
}

func TestLongDelaysAddUpWithoutOverflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := chaos.Wrap("work", double)
		in, ctx := recording(t, chaos.Rule{Name: "a", Target: "work", Fault: faultFunc{chaos.PhaseBefore,
			func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
				brief, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				_ = chaos.Sleep(brief, math.MaxInt64)
				_ = chaos.Sleep(ctx, time.Second)
				return next(ctx, args)
			}}})
		_, _ = work(ctx, 1)
		e := only(t, in)
		assert.Equal(t, time.Duration(math.MaxInt64), e.Asked)
		assert.Equal(t, 2*time.Second, e.Spent)
	})
}

func TestChangesOfOneRuleAreBounded(t *testing.T) {
	many := make([]chaos.Change, 1000)
	in, ctx := recording(t, chaos.Rule{Name: "many", Target: "work", Fault: faultFunc{chaos.PhaseChange,
		func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			_, err := next(ctx, args)
			chaos.Changed(ctx, many...)
			chaos.Changed(ctx, many...)
			return 7, err
		}}})
	_, _ = chaos.Wrap("work", double)(ctx, 1)
	e := only(t, in)
	assert.Len(t, e.Changes, 256)
	assert.Equal(t, `rule "many": 1744 more changes not kept`, e.Note)
}

// A thousand rules on one target: each matches, acts, and is named.
func TestManyRulesOnOneTarget(t *testing.T) {
	in := chaos.NewInjector(1, nil)
	ctx := chaos.NewContext(context.Background(), in)
	work := chaos.Wrap("work", double)
	_, _ = work(ctx, 1)
	const n = 1000
	for i := range n {
		assert.NoError(t, in.Register(chaos.Rule{Name: fmt.Sprint(i), Target: "work", Fault: replace(i)}))
	}
	out, err := work(ctx, 1)
	assert.NoError(t, err)
	assert.Equal(t, n-1, out, "the last change counts")
	e := only(t, in)
	assert.Len(t, e.Idle, n-1, "which replaced what the others had put there")
	assert.Len(t, in.Undelivered(), n-1)
}
