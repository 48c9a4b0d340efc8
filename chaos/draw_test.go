package chaos

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// drawOf is the draw of a rule as an injector makes it.
func drawOf(seed uint64, cell, lane, target string, key, occurrence uint64, rule string, salt uint64) float64 {
	in := &Injector{scope: cellHash(seed, cell)}
	s := &site{in: in, lane: lane, target: target}
	c := &planRule{Rule: Rule{Name: rule, Target: "*", Fault: failFault{}}}
	c.setName(rule)
	call := Call{Key: key, Occurrence: occurrence, coord: s.coord(callSite, target, c.hash)}
	return call.Draw(salt)
}

// The golden vectors keep the hash across releases: an update of the library must
// not change which calls a plan's rules match. Never change one.
func TestDrawGolden(t *testing.T) {
	for _, v := range []struct {
		seed               uint64
		cell, lane, target string
		key, occurrence    uint64
		rule               string
		salt               uint64
		want               float64
	}{
		{0, "", "", "", 0, 0, "r", 0, 0.7055855004052916},
		{1, "cell", "", "work", 0, 0, "r", 0, 0.8890035768084104},
		{1, "cell", "", "work", 0, 1, "r", 0, 0.1076191844274682},
		{1, "cell", "lane", "work", 0, 0, "r", 0, 0.17495865549743306},
		{1, "cell", "", "work", 7, 0, "r", 0, 0.41909805270221856},
		{1, "cell", "", "work", 0, 0, "r", 1, 0.1064928977717583},
		{math.MaxUint64, "refund-lost/3", "worker-1", "orders.lookup", 0x9E3779B97F4A7C15, 12, "orders.*:error", 3, 0.30832205296963533},
	} {
		got := drawOf(v.seed, v.cell, v.lane, v.target, v.key, v.occurrence, v.rule, v.salt)
		assert.Equal(t, v.want, got, "%+v", v)
	}
}

// Each coordinate alone must change the draw, and give a uniform sequence when it
// alone counts up.
func TestDrawIsUniformAlongEveryCoordinate(t *testing.T) {
	const n, buckets = 100_000, 64
	for name, draw := range map[string]func(i int) float64{
		"seed":         func(i int) float64 { return drawOf(uint64(i), "c", "l", "t", 0, 0, "r", 0) },
		"cell":         func(i int) float64 { return drawOf(1, strconv.Itoa(i), "l", "t", 0, 0, "r", 0) },
		"lane":         func(i int) float64 { return drawOf(1, "c", strconv.Itoa(i), "t", 0, 0, "r", 0) },
		"target":       func(i int) float64 { return drawOf(1, "c", "l", strconv.Itoa(i), 0, 0, "r", 0) },
		"key":          func(i int) float64 { return drawOf(1, "c", "l", "t", uint64(i), 0, "r", 0) },
		"occurrence":   func(i int) float64 { return drawOf(1, "c", "l", "t", 0, uint64(i), "r", 0) },
		"rule":         func(i int) float64 { return drawOf(1, "c", "l", "t", 0, 0, strconv.Itoa(i), 0) },
		"salt":         func(i int) float64 { return drawOf(1, "c", "l", "t", 0, 0, "r", uint64(i)) },
		"part":         func(i int) float64 { return Call{coord: 1}.Sub(i).Draw(0) },
		"part of part": func(i int) float64 { return Call{coord: 1}.Sub(i / 300).Sub(i % 300).Draw(0) },
	} {
		t.Run(name, func(t *testing.T) {
			var counts [buckets]int
			var pairs [16]int // successive draws must be independent too
			last := 0.0
			for i := range n {
				u := draw(i)
				counts[int(u*buckets)]++
				pairs[int(last*4)*4+int(u*4)]++
				last = u
			}
			assert.Less(t, chiSquare(counts[:], n), 120.0, "63 degrees of freedom: above 120 once in 60,000")
			assert.Less(t, chiSquare(pairs[:], n), 48.0, "15 degrees of freedom: above 48 once in 40,000")
		})
	}
}

func chiSquare(counts []int, n int) (x float64) {
	want := float64(n) / float64(len(counts))
	for _, c := range counts {
		x += (float64(c) - want) * (float64(c) - want) / want
	}
	return x
}

// The integer comparison of a probabilistic trigger must agree with Draw < p.
func TestDrawLimitAgreesWithDraw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 1, 0.5, 1.0 / 3, 5e-324, 1 - 1.0/(1<<53)})).Draw(t, "p")
		c := Call{coord: 1 | rapid.Uint64().Draw(t, "coord"), Key: rapid.Uint64().Draw(t, "key"), Occurrence: rapid.Uint64().Draw(t, "occurrence")}
		got := place(c.coord, c.Key, c.Occurrence, 0)>>11 < drawLimit(p)
		assert.Equal(t, c.Draw(0) < p, got)
	})
	assert.Zero(t, drawLimit(0), "never")
	assert.EqualValues(t, uint64(1)<<53, drawLimit(1), "always: every draw is below")
}

func TestCallMadeByHandDrawsFromItsNames(t *testing.T) {
	a, b := Call{Target: "a"}, Call{Target: "b"}
	assert.NotEqual(t, a.Draw(0), b.Draw(0))
	assert.Equal(t, a.Draw(0), Call{Target: "a", Ordinal: 9, Turn: 2}.Draw(0), "ordinal and turn are no coordinates of a draw")
	assert.NotEqual(t, a.Draw(0), a.Draw(1))
	assert.NotEqual(t, a.Sub(0).Draw(0), a.Draw(0))
	assert.NotEqual(t, a.Sub(0).Draw(0), a.Sub(1).Draw(0))
	assert.NotEqual(t, a.Sub(0).Sub(1).Draw(0), a.Sub(1).Sub(0).Draw(0))
	assert.Equal(t, Call{Target: "a", Occurrence: 3, Ordinal: 5}.Draw(0), Call{Target: "a", Occurrence: 3}.Draw(0))
	assert.Zero(t, a.Elapsed())
}
