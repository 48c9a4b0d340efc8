package fault_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// outcomes makes calls, one a second, and shows which came back well.
func outcomes(n int, call func() error) (s string) {
	for i := range n {
		if i > 0 {
			time.Sleep(time.Second)
		}
		if call() == nil {
			s += "."
		} else {
			s += "x"
		}
	}
	return s
}

// Budgets let calls through until they are used up; only calls that failed are
// reported as delivered.
func TestBudgets(t *testing.T) {
	const openai = `{"choices":[],"usage":{"prompt_tokens":30,"completion_tokens":10,"total_tokens":40}}`
	const anthropic = `{"content":[],"usage":{"input_tokens":10,"cache_creation_input_tokens":5,"cache_read_input_tokens":15,"output_tokens":10}}`
	const s = time.Second
	for _, c := range []struct {
		why    string
		fault  chaos.Fault
		answer string
		want   string // of eight calls, one a second
		is     error
		text   string // of the first error
	}{
		{"calls", fault.CallBudget(3, 0), "", "...xxxxx", fault.ErrResourceExhausted, "quota exceeded: 3 of 3 calls used"},
		{"calls, filled again", fault.CallBudget(2, 4*s), "", "..xx..xx", fault.ErrResourceExhausted, "quota exceeded: 2 of 2 calls used, try again in 2s"},
		{"a rate", fault.RateLimit(2, 3*s), "", "..x..x..", fault.ErrRateLimited, "too many requests: the limit is 2, try again in 1s"},
		{"tokens of OpenAI", fault.TokenBudget(100, fault.OpenAIUsage, 0), openai, "...xxxxx", fault.ErrResourceExhausted, "quota exceeded: 120 of 100 tokens used"},
		{"tokens of Anthropic", fault.TokenBudget(80, fault.AnthropicUsage, 0), anthropic, "..xxxxxx", fault.ErrResourceExhausted, "quota exceeded: 80 of 80 tokens used"},
		{"tokens that nobody counts", fault.TokenBudget(1, fault.OpenAIUsage, 0), `"ok"`, "........", nil, ""},
		{"cost", fault.CostBudget(0.001, 10, 20, fault.OpenAIUsage, 0), openai, "..xxxxxx", fault.ErrResourceExhausted, "quota exceeded: 0.001 of 0.001 used"},
		{"memory", fault.MemoryBudget(100, 0), openai, "..xxxxxx", syscall.ENOMEM, "cannot allocate memory"},
		{"a full disk", fault.DiskFull(), "", "xxxxxxxx", syscall.ENOSPC, "write: no space left on device"},
		{"time that nobody takes", fault.TimeBudget(s, 0), "", "........", nil, ""},
		{"concurrency of one after the other", fault.ConcurrencyLimit(1), "", "........", nil, ""},
	} {
		t.Run(c.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reached := 0
				tools := chaos.WrapRegistry(answering{func(context.Context) (json.RawMessage, error) {
					reached++
					return json.RawMessage(c.answer), nil
				}}, nil)
				ctx, in := withRules(t, chaos.Rule{Fault: c.fault})
				var first error
				got := outcomes(8, func() error {
					_, err := tools.CallTool(ctx, target, json.RawMessage(`{"n":123456}`))
					if first == nil {
						first = err
					}
					return err
				})
				assert.Equal(t, c.want, got)
				failed := 0
				for i, e := range in.Events() {
					assert.Equal(t, got[i] == 'x', e.Delivered)
					if e.Delivered {
						failed++
					}
				}
				assert.Equal(t, 8-failed, reached)
				if c.is == nil {
					assert.NoError(t, first)
					return
				}
				assert.ErrorIs(t, first, c.is)
				assert.ErrorIs(t, first, chaos.ErrInjected)
				assert.ErrorIs(t, first, fault.ErrResourceExhausted)
				assert.EqualError(t, first, c.text)
				var budget *fault.BudgetError
				assert.ErrorAs(t, first, &budget)
			})
		})
	}
}

// answering is a registry whose tools give one answer.
type answering struct {
	answer func(context.Context) (json.RawMessage, error)
}

func (a answering) Tools(context.Context) ([]chaos.Tool, error) { return nil, nil }
func (a answering) CallTool(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
	return a.answer(ctx)
}

// A result that does not say what it used is free, which its event notes.
func TestUnknownUsage(t *testing.T) {
	ctx, in := withRules(t, chaos.Rule{Fault: fault.TokenBudget(1, fault.OpenAIUsage, 0)})
	_, err := wrapped(t, &desk{})(ctx)
	assert.NoError(t, err)
	assert.Contains(t, onlyEvent(t, in).Note, "does not say what it used of the token budget")
}

// The time of all calls counts, whoever makes them.
func TestTimeBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := chaos.Wrap(target, func(context.Context, int) (int, error) {
			time.Sleep(2 * time.Second)
			return 0, nil
		})
		ctx, _ := withRules(t, chaos.Rule{Fault: fault.TimeBudget(5*time.Second, 0)})
		assert.Equal(t, "...xx", outcomes(5, func() error { _, err := work(ctx, 0); return err }))
	})
}

// Of more calls at once than the limit the later ones fail; one that ends, even
// by a panic, makes room.
func TestConcurrencyLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := chaos.Wrap(target, func(_ context.Context, n int) (int, error) {
			time.Sleep(time.Second)
			if n == 0 {
				panic("boom")
			}
			return 0, nil
		})
		ctx, in := withRules(t, chaos.Rule{Fault: fault.ConcurrencyLimit(2)})
		var callers sync.WaitGroup
		var mu sync.Mutex
		var failed []error
		for i := range 6 {
			callers.Go(func() {
				defer func() { _ = recover() }()
				time.Sleep(time.Duration(i) * 400 * time.Millisecond)
				if _, err := work(ctx, i); err != nil {
					mu.Lock()
					defer mu.Unlock()
					failed = append(failed, err)
				}
			})
		}
		callers.Wait()
		require.Len(t, failed, 2, "the third, while two were under way, and the sixth")
		assert.ErrorIs(t, failed[0], fault.ErrRateLimited)
		assert.Len(t, in.Events(), 6)
	})
}

// Two cells share no budget, and all targets of a rule share one.
func TestBudgetsOfCellsAndTargets(t *testing.T) {
	p, err := chaos.NewPlan(1, chaos.Rule{Target: "*", Fault: fault.CallBudget(2, 0)})
	require.NoError(t, err)
	for range 2 {
		ctx := chaos.NewContext(t.Context(), p.Injector("cell", nil))
		assert.NoError(t, chaos.Point(ctx, "a"))
		assert.NoError(t, chaos.Point(ctx, "b"))
		assert.ErrorIs(t, chaos.Point(ctx, "c"), fault.ErrResourceExhausted)
	}
}

// A budget hides no other fault, and pays for no call that another one failed.
func TestBudgetsBesideOtherFaults(t *testing.T) {
	ctx, in := withRules(t, chaos.Rule{Name: "budget", Fault: fault.CallBudget(1, 0)}, chaos.Rule{Name: "down", Fault: fault.Fail(errBusy)})
	assert.ErrorIs(t, chaos.Point(ctx, target), errBusy)
	err := chaos.Point(ctx, target)
	assert.ErrorIs(t, err, fault.ErrResourceExhausted)
	assert.False(t, errors.Is(err, errBusy))
	events := in.Events()
	assert.Equal(t, []string{"down", "budget"}, []string{events[0].Rule, events[1].Rule})
	assert.Equal(t, []string{"down"}, events[1].Masked)
}

// Counted by many goroutines at once, a budget is spent exactly.
func TestBudgetsOfManyCallers(t *testing.T) {
	var through, reached sync.Map
	work := chaos.Wrap(target, func(_ context.Context, n int) (int, error) {
		reached.Store(n, true)
		return 0, nil
	})
	ctx, _ := withRules(t, chaos.Rule{Name: "calls", Fault: fault.CallBudget(50, 0)}, chaos.Rule{Name: "rate", Fault: fault.RateLimit(60, time.Hour)})
	var callers sync.WaitGroup
	for w := range 8 {
		callers.Go(func() {
			for i := range 25 {
				if _, err := work(ctx, 100*w+i); err == nil {
					through.Store(100*w+i, true)
				}
			}
		})
	}
	callers.Wait()
	count := func(m *sync.Map) (n int) {
		m.Range(func(any, any) bool { n++; return true })
		return n
	}
	assert.Equal(t, 50, count(&through))
	assert.Equal(t, 50, count(&reached))
}
