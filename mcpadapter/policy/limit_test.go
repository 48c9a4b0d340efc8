package policy_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

func TestATokenBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk("look", "other")
		_, j := d.behind(t, policy.Options{Limit: &policy.Limit{PerSecond: 0.5, Burst: 2},
			Tools: []policy.Tool{{Name: "look", Capability: policy.Read}, {Name: "other", Capability: policy.Read}}})
		cs := d.connect(t, oldEra, nil)
		passes := func(tool string) bool { return !call(t, cs, tool, `{}`).IsError }
		assert.True(t, passes("look"))
		assert.True(t, passes("look"), "a burst of two")
		e := envelope(t, call(t, cs, "look", `{}`))
		assert.Equal(t, []any{429, policy.CodeRateLimited, "tool look: the server allows 0.5 calls a second", "retry after 2s"}, []any{e.Status, e.Code, e.Detail, e.Hint})
		assert.True(t, passes("other"), "each tool has its own bucket")
		time.Sleep(1999 * time.Millisecond)
		assert.Equal(t, "retry after 1ms", envelope(t, call(t, cs, "look", `{}`)).Hint)
		time.Sleep(time.Millisecond)
		assert.True(t, passes("look"), "who follows the hint gets through")
		time.Sleep(time.Hour)
		assert.True(t, passes("look"))
		assert.True(t, passes("look"))
		assert.False(t, passes("look"), "a long rest saves up the burst and no more")
		assert.Len(t, j.lines(t), 9)
	})
}

func TestRefusalsUseUpNothing(t *testing.T) {
	d := newDesk("room.delete")
	d.behind(t, policy.Options{Mode: policy.ReadWrite, EnableWrite: true,
		Tools:   []policy.Tool{{Name: "room.delete", Limit: &policy.Limit{Budget: 1}}},
		Confirm: []policy.Confirm{{Tool: "room.delete"}}})
	cs := d.connect(t, oldEra, nil)
	for range 3 {
		require.Equal(t, 400, envelope(t, call(t, cs, "room.delete", `{}`)).Status)
	}
	assert.False(t, call(t, cs, "room.delete", `{"confirm":true}`).IsError)
	assert.Equal(t, 429, envelope(t, call(t, cs, "room.delete", `{"confirm":true}`)).Status)
}

func TestABudgetHoldsUnderConcurrentCalls(t *testing.T) {
	const calls, budget = 100, 37
	d := newDesk("look")
	_, j := d.behind(t, policy.Options{Tools: []policy.Tool{{Name: "look", Capability: policy.Read, Limit: &policy.Limit{Budget: budget}}}})
	cs := d.connect(t, newEra, nil)
	var wg sync.WaitGroup
	for range calls {
		wg.Go(func() { call(t, cs, "look", `{}`) })
	}
	wg.Wait()
	assert.Len(t, d.reached(), budget)
	lines := j.lines(t)
	assert.Len(t, lines, calls)
	ids := make(map[any]bool)
	for _, line := range lines {
		ids[line["request_id"]] = true
	}
	assert.Len(t, ids, calls, "every call has an identifier of its own")
}

// The law of the bucket: in any stretch of time no more than burst + rate·time
// calls pass, and who waits as long as the hint says gets through.
func TestTheLawOfTheBucket(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		limit := policy.Limit{PerSecond: rapid.Float64Range(0.01, 1000).Draw(r, "rate"), Burst: rapid.IntRange(1, 20).Draw(r, "burst")}
		b := policy.NewTestBucket(limit)
		now := time.Unix(0, 0)
		began, passed := now, 0
		for i, wait := range rapid.SliceOfN(rapid.Int64Range(0, int64(3*time.Second)), 1, 100).Draw(r, "waits") {
			now = now.Add(time.Duration(wait))
			hint, ok := b(now)
			if !ok {
				var d time.Duration
				if _, err := fmt.Sscanf(hint, "retry after %s", &hint); err != nil {
					r.Fatal(err)
				}
				d, err := time.ParseDuration(hint)
				if err != nil || d <= 0 {
					r.Fatalf("call %d: hint %q", i, hint)
				}
				now = now.Add(d)
				if _, ok = b(now); !ok {
					r.Fatalf("call %d: refused after waiting %v as told", i, d)
				}
			}
			passed++
			if most := float64(limit.Burst) + limit.PerSecond*now.Sub(began).Seconds() + 1e-6; float64(passed) > most {
				r.Fatalf("%d calls passed, at most %g may", passed, most)
			}
		}
	})
}

func TestCallersAreForgottenInTurn(t *testing.T) {
	got := policy.ForgettingTest()
	assert.LessOrEqual(t, got.Buckets, 4096)
	assert.True(t, got.ServerRefuses, "the server's own limit is never forgotten")
}
