package when_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestStagesOfCalls(t *testing.T) {
	never, always := when.Prob(0), when.Always()
	for _, c := range []struct {
		why  string
		list []when.Stage
		want []int
	}{
		{"calm, then down, then over", []when.Stage{{Calls: 3, When: never}, {Calls: 4, When: always}}, []int{4, 5, 6, 7}},
		{"the last for good", []when.Stage{{Calls: 8, When: never}, {When: always}}, []int{9, 10}},
		{"a single one for good", []when.Stage{{When: always}}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{"counting from the stage's beginning", []when.Stage{{Calls: 4, When: when.Nth(1)}, {Calls: 4, When: when.Nth(1, 3)}}, []int{1, 5, 7}},
		{"stages within a stage", []when.Stage{{Calls: 2, When: never}, {Calls: 6, When: when.Stages(
			when.Stage{Calls: 1, When: always}, when.Stage{Calls: 1, When: never}, when.Stage{When: when.Every(2)})}}, []int{3, 6, 8}},
		{"none at all", nil, nil},
	} {
		t.Run(c.why, func(t *testing.T) { assert.Equal(t, c.want, numbers(when.Stages(c.list...))) })
	}
	rising := when.Stages(when.Stage{Calls: 4, When: always}, when.Stage{When: never})
	assert.Equal(t, []int{2, 4}, numbers(when.All(rising, when.Every(2))))
}

// What goes by the clock, asked once a second. A window is half open: it begins at from
// and is over at to.
func TestByTheClock(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		why  string
		when chaos.When
		want string
	}{
		{"from the start", when.Between(0, 2*s), "xx......."},
		{"in the middle", when.Between(s, 3*s), ".xx......"},
		{"without end", when.Since(3 * s), "...xxxxxx"},
		{"outside", when.Not(when.Between(s, 4*s)), "x...xxxxx"},
		{"on and off", when.Flapping(2*s, 3*s), "xx...xx.."},
		{"in stages", when.Stages(when.Stage{For: 2 * s, When: when.Prob(0)}, when.Stage{For: 3 * s, When: when.Always()},
			when.Stage{For: s, When: when.Prob(0)}, when.Stage{When: when.Since(7 * s)}), "..xxx..xx"},
	} {
		t.Run(c.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, err := chaos.NewPlan(1, chaos.Rule{Target: "t", When: c.when, Fault: fault.Fail(fault.ErrUnavailable)})
				require.NoError(t, err)
				ctx := chaos.NewContext(t.Context(), p.Injector("", nil))
				pattern := ""
				for range c.want {
					pattern += mark(chaos.Point(ctx, "t"))
					time.Sleep(s)
				}
				assert.Equal(t, c.want, pattern)
			})
		})
	}
}

func mark(err error) string {
	if err != nil {
		return "x"
	}
	return "."
}

// The stages of arguments ask for them, those of coordinates do not.
func TestStagesPassArgumentsOn(t *testing.T) {
	even := when.Args("even", func(n int) bool { return n%2 == 0 })
	w := when.Stages(when.Stage{Calls: 3, When: even}, when.Stage{When: when.Not(even)})
	p, err := chaos.NewPlan(1, chaos.Rule{Target: "t", When: w, Fault: fault.Fail(fault.ErrUnavailable)})
	require.NoError(t, err)
	ctx := chaos.NewContext(context.Background(), p.Injector("", nil))
	fn := chaos.Wrap("t", func(_ context.Context, n int) (int, error) { return n, nil })
	pattern := ""
	for n := range 6 {
		_, err := fn(ctx, n)
		pattern += mark(err)
	}
	assert.Equal(t, "x.xx.x", pattern)
	assert.NotImplements(t, (*chaos.ArgsWhen)(nil), when.Stages(when.Stage{When: when.Prob(1)}))
}

// The stages draw independently, and so do equal triggers in them.
func TestStagesDrawIndependently(t *testing.T) {
	half := when.Prob(0.5)
	w := when.Stages(when.Stage{Calls: 1000, When: half}, when.Stage{Calls: 1000, When: half})
	differ := 0
	for occurrence := range uint64(400) {
		if w.Match(chaos.Call{Target: "t", Occurrence: occurrence}) != w.Match(chaos.Call{Target: "t", Ordinal: 1000, Occurrence: occurrence}) {
			differ++
		}
	}
	assert.InDelta(t, 200, differ, 50)
}

// Each call of a run lies in exactly one third, none of which is empty; what
// comes after the run is late.
func TestThirds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 200).Draw(t, "calls")
		sizes := [3]int{}
		last := 0
		for i := range n + 5 {
			c := chaos.Call{Ordinal: uint64(i)}
			which := -1
			for k, w := range []chaos.When{when.Early(n), when.Mid(n), when.Late(n)} {
				if w.Match(c) {
					if which >= 0 {
						t.Fatalf("call %d of %d is in two thirds", i, n)
					}
					which = k
				}
			}
			if which < last {
				t.Fatalf("call %d of %d is in third %d, after one in %d", i, n, which, last)
			}
			if last = which; i < n {
				sizes[which]++
			}
		}
		if min(sizes[0], sizes[1], sizes[2]) < n/3 || max(sizes[0], sizes[1], sizes[2]) > n/3+1 {
			t.Fatalf("the thirds of %d calls have %v", n, sizes)
		}
	})
}

// A drawn burst is one run of n calls within the first calls, everywhere with
// the same probability, and all calls of a cell agree on it.
func TestDrawnBurst(t *testing.T) {
	const cells = 6000
	begins := make([]int, 6)
	for cell := range cells {
		var matched []int
		for i := range 20 {
			c := chaos.Call{Target: "t", Lane: string(rune('a' + cell%26)), Cell: time.Duration(cell).String(),
				Ordinal: uint64(i), Key: uint64(i * i), Occurrence: uint64(i % 3)}
			if when.BurstWithin(3, 8).Match(c) {
				matched = append(matched, i)
			}
		}
		require.Len(t, matched, 3)
		require.Equal(t, matched[0]+2, matched[2])
		require.Less(t, matched[2], 8)
		begins[matched[0]]++
	}
	for begin, n := range begins {
		assert.InDelta(t, cells/6, n, 130, "bursts that begin at call %d", begin)
	}
}
