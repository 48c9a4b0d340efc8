package chaos_test

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
)

// tail is a result that goes on after the call, until its receiver ends it.
type tail struct {
	late context.Context
	end  func(err error, made bool) error
}

// outlasting is a fault that keeps the call of a tail open.
func outlasting() chaos.Fault {
	return faultFunc{chaos.PhaseChange, func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
		if _, err := next(ctx, args); err != nil {
			return nil, err
		}
		late, end := chaos.KeepOpen(ctx)
		return tail{late, end}, nil
	}}
}

func openTail(context.Context, int) (tail, error) { return tail{}, nil }

// A wait that a fault left behind counts as far as the call took, and once.
func TestAWaitThatOutlastsItsCallIsCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leaves := faultFunc{chaos.PhaseBefore, func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			go func() { _ = chaos.Sleep(ctx, time.Hour) }()
			time.Sleep(time.Second)
			return next(ctx, args)
		}}
		in, ctx := recording(t, chaos.Rule{Target: "work", Fault: leaves})
		_, err := chaos.Wrap("work", func(context.Context, int) (int, error) { return 1, nil })(ctx, 1)
		require.NoError(t, err)
		assert.Equal(t, time.Second, only(t, in).Spent)
		in.Disarm() // ends the wait
	})
}

func TestACallThatOutlastsItsFaultIsSettledAtItsEnd(t *testing.T) {
	for _, tt := range []struct {
		name, why string
		read      func(tail) error
		is        error
		outcome   chaos.Outcome
		delivered bool
		end       time.Duration
	}{
		{"nothing done", "a fault that did nothing was not delivered", func(r tail) error { return r.end(nil, false) }, nil, chaos.OutcomeOK, false, 0},
		{"changed", "a late change counts", func(r tail) error {
			chaos.Changed(r.late, chaos.Change{Path: "/late"})
			return r.end(nil, false)
		}, nil, chaos.OutcomeOK, true, 0},
		{"slept", "a late wait belongs to the call", func(r tail) error {
			err := chaos.Sleep(r.late, time.Hour)
			chaos.Changed(r.late)
			return errors.Join(err, r.end(nil, false))
		}, nil, chaos.OutcomeOK, true, time.Hour},
		{"failed by the fault", "its error is an injected one", func(r tail) error { return r.end(io.ErrUnexpectedEOF, true) },
			io.ErrUnexpectedEOF, chaos.OutcomeInjected, true, 0},
		{"failed by itself", "a real error is not", func(r tail) error { return r.end(io.ErrClosedPipe, false) },
			io.ErrClosedPipe, chaos.OutcomeFailed, false, 0},
		{"ended twice", "the first end counts", func(r tail) error {
			_ = r.end(nil, false)
			chaos.Changed(r.late)
			return r.end(io.ErrClosedPipe, false)
		}, io.ErrClosedPipe, chaos.OutcomeOK, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, ctx := recording(t, chaos.Rule{Target: "work", Fault: outlasting(), Limit: 1})
				r, err := chaos.Wrap("work", openTail)(ctx, 1)
				require.NoError(t, err)
				assert.Empty(t, in.Events(), "the call is under way")
				err = tt.read(r)
				if tt.is == nil {
					assert.NoError(t, err, tt.why)
				} else {
					assert.ErrorIs(t, err, tt.is, tt.why)
				}
				assert.Equal(t, tt.outcome == chaos.OutcomeInjected, errors.Is(err, chaos.ErrInjected), tt.why)
				require.Len(t, in.Events(), 1)
				e := in.Events()[0]
				assert.Equal(t, tt.outcome, e.Outcome, tt.why)
				assert.Equal(t, tt.delivered, e.Delivered, tt.why)
				assert.Equal(t, tt.end, e.End, tt.why)
				assert.Equal(t, tt.end, e.Spent, tt.why)
				assert.Zero(t, chaos.Pending(in), "the limit is settled too")
			})
		})
	}
}

func TestNothingOutlastsACallThatFailed(t *testing.T) {
	in, ctx := recording(t, chaos.Rule{Target: "work", Fault: outlasting()},
		chaos.Rule{Name: "lost", Target: "work", Fault: faultFunc{chaos.PhaseAfter, func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			_, _ = next(ctx, args)
			return nil, errDown
		}}})
	_, err := chaos.Wrap("work", openTail)(ctx, 1)
	assert.ErrorIs(t, err, errDown)
	require.Len(t, in.Events(), 1, "the tail was thrown away: nobody can end it")
	assert.Equal(t, chaos.OutcomeInjected, in.Events()[0].Outcome)
}

// Two faults may keep one call open: it ends with the last of them.
func TestTheLastEndSettles(t *testing.T) {
	var ends []func(error, bool) error
	collect := faultFunc{chaos.PhaseChange, func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
		v, err := next(ctx, args)
		late, end := chaos.KeepOpen(ctx)
		ends = append(ends, end)
		chaos.Changed(late)
		return v, err
	}}
	in, ctx := recording(t, chaos.Rule{Name: "a", Target: "work", Fault: collect}, chaos.Rule{Name: "b", Target: "work", Fault: collect})
	_, err := chaos.Wrap("work", double)(ctx, 1)
	require.NoError(t, err)
	require.Len(t, ends, 2)
	_ = ends[1](nil, false)
	assert.Empty(t, in.Events())
	_ = ends[0](nil, false)
	require.Len(t, in.Events(), 1)
	assert.Equal(t, "b", in.Events()[0].Rule)
	assert.Equal(t, []string{"a"}, in.Events()[0].Also)
}

func TestOutlastOutsideAFault(t *testing.T) {
	late, end := chaos.KeepOpen(t.Context())
	assert.Equal(t, t.Context(), late)
	assert.Equal(t, errDown, end(errDown, true), "there is no rule to name")
}

func TestConcerns(t *testing.T) {
	in := chaos.NewInjector(1, nil)
	assert.False(t, in.MayAffectPrefix("GET example.com/"), "there is no rule")
	require.NoError(t, in.Register(chaos.Rule{Name: "r", Target: "POST example.com/chat#gpt-*", Fault: down()}))
	for target, want := range map[string]struct{ whole, longer bool }{
		"POST example.com/chat":       {false, true},
		"POST example.com/chat#gpt-5": {true, true},
		"POST example.com/chat#gpt":   {false, true},
		"POST example.com/chat#o3":    {},
		"POST example.com/chats":      {},
		"GET example.com/":            {},
	} {
		for range 2 { // asked again
			assert.Equal(t, want.whole, in.MayAffect(target), target)
			assert.Equal(t, want.longer, in.MayAffectPrefix(target), "%s…", target)
		}
	}
	assert.Empty(t, in.Targets(), "a question is no injection point")
	require.True(t, in.Remove("r"))
	assert.False(t, in.MayAffectPrefix("POST example.com/chat"), "the rule is gone")
	in.Close()
	assert.True(t, in.MayAffect("GET example.com/"), "a closed injector refuses every call")
	assert.True(t, chaos.NewInjector(1, &chaos.InjectorOptions{RecordAll: true}).MayAffect("x"), "a recorder sees every call")
}

func TestRulesFindAPointUnderItsAlias(t *testing.T) {
	for pattern, want := range map[string]bool{"chat": true, "chat#gpt-5": true, "chat#*": true, "cha": false, "chat#o3": false} {
		in, ctx := recording(t, chaos.Rule{Target: pattern, Fault: down()})
		_, err := chaos.WrapWith("chat#gpt-5", double, &chaos.WrapOptions[int]{Alias: "chat", Layer: chaos.LayerLLM})(ctx, 1)
		assert.Equal(t, want, err != nil, pattern)
		require.Len(t, in.Events(), 1)
		assert.Equal(t, "chat#gpt-5", in.Events()[0].Target)
		assert.Equal(t, chaos.LayerLLM, in.Events()[0].Layer)
	}
}

func TestAnInjectedErrorSaysWhetherItIsATimeout(t *testing.T) {
	for err, want := range map[error]bool{errDown: false, os.ErrDeadlineExceeded: true, context.DeadlineExceeded: true} {
		assert.Equal(t, want, (&chaos.InjectedError{Err: err}).Timeout(), err)
	}
}
