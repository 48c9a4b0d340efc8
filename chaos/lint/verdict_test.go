package lint_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lint"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// counting draws triggers that look at the number of a call alone.
func counting() *rapid.Generator[chaos.When] {
	n := rapid.IntRange(1, 6)
	leaf := rapid.Custom(func(t *rapid.T) chaos.When {
		a, b := n.Draw(t, "a"), n.Draw(t, "b")
		return rapid.SampledFrom([]chaos.When{
			when.Always(), when.Prob(0), when.Nth(a, b), when.First(a), when.After(a), when.Every(a), when.Burst(a, b),
			when.Intermittent(a, b), when.Early(a + 2), when.Mid(a + 2), when.Late(a + 2), when.BurstWithin(a, a),
		}).Draw(t, "leaf")
	})
	return combined(leaf, func(t *rapid.T, x, y chaos.When) chaos.When {
		return when.Stages(when.Stage{Calls: n.Draw(t, "calls"), When: x}, when.Stage{When: y})
	})
}

// Numbers as large as they can be are judged as what they are, or not at all.
func TestLargestNumbers(t *testing.T) {
	const most = math.MaxInt
	for _, c := range []struct {
		why  string
		when chaos.When
	}{
		{"the last of all calls, again and again", when.Every(most)},
		{"on for good, as far as anybody gets", when.Intermittent(most, most)},
		{"the last third of more calls than two thirds of them can be counted", when.Late(most)},
		{"the second third of as many", when.Mid(most)},
		{"a call that never comes in practice", when.Nth(most)},
		{"a burst that does not end in practice", when.Burst(most, most)},
		{"stages that last as long", when.Stages(when.Stage{Calls: most, When: when.Prob(0)}, when.Stage{Calls: most, When: when.Always()})},
		{"a turn that never comes in practice", when.Turn(most)},
	} {
		t.Run(c.why, func(t *testing.T) {
			for _, found := range lint.Rules([]chaos.Rule{{Name: "r", Target: "t", When: c.when, Fault: fault.Partition()}}, nil) {
				assert.NotEqual(t, lint.Never, found.Code, "%v", found)
			}
		})
	}
}

// anything draws triggers of all kinds.
func anything() *rapid.Generator[chaos.When] {
	leaf := rapid.OneOf(counting(), rapid.Custom(func(t *rapid.T) chaos.When {
		a := rapid.IntRange(0, 4).Draw(t, "a")
		s := time.Duration(a) * time.Second
		return rapid.SampledFrom([]chaos.When{
			when.Prob(0.5), when.Prob(1), when.Markov(0.3, 0.3), when.GilbertElliott(0.3, 0.3, float64(a%2), 1), when.Turn(a), when.TurnBetween(a, a+1),
			when.Lane("a", ""), when.Lane("*"), when.Exactly(when.Coord{Target: "t", Lane: "a", Key: uint64(a % 2)}, when.Coord{Target: "u"}),
			when.Since(s), when.Between(s, s+time.Second), when.Flapping(s+1, time.Second), when.BurstWithin(1, a+1),
		}).Draw(t, "leaf")
	}))
	return combined(leaf, func(t *rapid.T, x, y chaos.When) chaos.When {
		return when.Stages(when.Stage{For: time.Second, When: x}, when.Stage{When: y})
	})
}

func combined(leaf *rapid.Generator[chaos.When], stages func(*rapid.T, chaos.When, chaos.When) chaos.When) *rapid.Generator[chaos.When] {
	of := leaf
	for range 2 {
		inner := of
		of = rapid.OneOf(leaf, rapid.Custom(func(t *rapid.T) chaos.When {
			x, y := inner.Draw(t, "x"), inner.Draw(t, "y")
			return rapid.SampledFrom([]chaos.When{when.All(x, y), when.Any(x, y), when.Not(x), stages(t, x, y)}).Draw(t, "combination")
		}))
	}
	return of
}

// verdict asks the linter whether a trigger matches nothing, and whether it
// matches everything: then its rule hides a second one.
func verdict(w chaos.When) (never, always bool) {
	found := lint.Rules([]chaos.Rule{
		{Name: "first", Target: "t", When: w, Fault: fault.Partition()},
		{Name: "second", Target: "t", Fault: fault.Partition()},
	}, nil)
	has := func(rule string, code lint.Code) bool {
		return slices.ContainsFunc(found, func(f lint.Finding) bool { return f.Rule == rule && f.Code == code })
	}
	return has("first", lint.Never), has("second", lint.Shadowed)
}

// Of triggers that count, the verdict is exact: the linter says that one never
// matches, or always, where trying all calls shows it.
func TestVerdictOnCountsIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := counting().Draw(t, "trigger")
		some, all := false, true
		for n := range uint64(500) {
			hit := w.Match(chaos.Call{Target: "t", Ordinal: n})
			some, all = some || hit, all && hit
		}
		never, always := verdict(w)
		if never && some || always && !all {
			t.Fatalf("%s: said never %v, always %v; matched some %v, all %v", describe(w), never, always, some, all)
		}
		if !never && !some || !always && all {
			t.Fatalf("%s: not seen: never %v, always %v; matched some %v, all %v", describe(w), never, always, some, all)
		}
	})
}

// Of any trigger, what the linter says is true.
func TestVerdictIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anything().Draw(t, "trigger")
		never, always := verdict(w)
		if !never && !always {
			return
		}
		for range 200 {
			c := chaos.Call{Cell: rapid.StringN(0, 1, 4).Draw(t, "cell"), Target: "t", Lane: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "lane"),
				Key: rapid.Uint64Range(0, 1).Draw(t, "key"), Occurrence: rapid.Uint64Range(0, 1).Draw(t, "occurrence"),
				Ordinal: rapid.Uint64Range(0, 20).Draw(t, "ordinal"), Turn: rapid.IntRange(-1, 6).Draw(t, "turn")}
			if hit := w.Match(c); hit && never || !hit && always {
				t.Fatalf("%s: said never %v, always %v; for %+v it says %v", describe(w), never, always, c, hit)
			}
		}
	})
}

// windows draws triggers that look at the clock alone, at half seconds.
func windows() *rapid.Generator[chaos.When] {
	half := func(n int) time.Duration { return time.Duration(n) * time.Second / 2 }
	leaf := rapid.Custom(func(t *rapid.T) chaos.When {
		a, b := rapid.IntRange(0, 6).Draw(t, "a"), rapid.IntRange(1, 6).Draw(t, "b")
		return rapid.SampledFrom([]chaos.When{when.Always(), when.Prob(0), when.Since(half(a)), when.Between(half(a), half(a+b))}).Draw(t, "leaf")
	})
	return combined(leaf, func(t *rapid.T, x, y chaos.When) chaos.When {
		return when.Stages(when.Stage{For: half(rapid.IntRange(1, 6).Draw(t, "for")), When: x}, when.Stage{When: y})
	})
}

// Of triggers by the clock the verdict is exact too.
func TestVerdictOnWindowsIsExact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := windows().Draw(rt, "trigger")
		some, all := false, true
		synctest.Test(t, func(t *testing.T) {
			p, err := chaos.NewPlan(1, chaos.Rule{Target: "t", When: w, Fault: fault.Partition()})
			if err != nil {
				rt.Fatal(err)
			}
			ctx := chaos.NewContext(t.Context(), p.Injector("", nil))
			for range 30 {
				hit := chaos.Point(ctx, "t") != nil
				some, all = some || hit, all && hit
				time.Sleep(time.Second / 2)
			}
		})
		if never, always := verdict(w); never == some || always != all {
			rt.Fatalf("%s: said never %v, always %v; matched some %v, all %v", describe(w), never, always, some, all)
		}
	})
}

func describe(w chaos.When) string {
	d := w.(chaos.Described).Describe()
	return fmt.Sprintf("%s %s", d.Kind, d.Params)
}
