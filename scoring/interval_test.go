package scoring

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestWilsonPublishedValues(t *testing.T) {
	const newcombe = "Newcombe 1998, Statistics in Medicine 17, table I, method 3"
	for _, tc := range []struct {
		passed, n int
		low, high float64
		source    string
	}{
		{81, 263, 0.2553, 0.3662, newcombe},
		{15, 148, 0.0624, 0.1605, newcombe},
		{0, 20, 0.0000, 0.1611, newcombe},
		{1, 29, 0.0061, 0.1718, newcombe},
		{8, 10, 0.4902, 0.9433, "worked by hand from the formula"},
		{0, 10, 0.0000, 0.2775, "z²/(n+z²)"},
		{10, 10, 0.7225, 1.0000, "n/(n+z²)"},
	} {
		iv, err := Wilson(tc.passed, tc.n, Level95)
		require.NoError(t, err)
		assert.InDelta(t, tc.low, iv.Low, 0.00005, "%d/%d: %s", tc.passed, tc.n, tc.source)
		assert.InDelta(t, tc.high, iv.High, 0.00005, "%d/%d: %s", tc.passed, tc.n, tc.source)
		assert.Equal(t, 0.95, iv.Level)
	}
}

func TestWilsonEndsAreExact(t *testing.T) {
	for n := 1; n <= 300; n++ {
		none, err := Wilson(0, n, Level95)
		require.NoError(t, err)
		all, err := Wilson(n, n, Level95)
		require.NoError(t, err)
		assert.Equal(t, 0.0, none.Low, "0/%d", n)
		assert.Equal(t, 1.0, all.High, "%d/%d", n, n)
	}
}

func TestWilsonRefuses(t *testing.T) {
	for _, tc := range []struct {
		passed, n int
		level     float64
		want      string
	}{
		{0, 0, 0.95, "scoring: n is 0; allowed: 1 or more"},
		{-1, 3, 0.95, "scoring: passed is -1; allowed: 0 to n"},
		{4, 3, 0.95, "scoring: passed is 4; allowed: 0 to n"},
		{1, 3, 0, "scoring: level is 0; allowed: above 0 and below 1"},
		{1, 3, 1, "scoring: level is 1; allowed: above 0 and below 1"},
		{1, 3, math.NaN(), "scoring: level is NaN; allowed: above 0 and below 1"},
		{1, -1, 2, "scoring: n is -1; allowed: 1 or more\nscoring: passed is 1; allowed: 0 to n\nscoring: level is 2; allowed: above 0 and below 1"},
	} {
		iv, err := Wilson(tc.passed, tc.n, tc.level)
		assert.EqualError(t, err, tc.want)
		assert.Zero(t, iv)
	}
}

func TestWilsonLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 1_000_000).Draw(t, "n")
		passed := rapid.IntRange(0, n).Draw(t, "passed")
		level := rapid.Float64Range(1e-9, 1-1e-9).Draw(t, "level")
		iv, err := Wilson(passed, n, level)
		require.NoError(t, err)
		p := float64(passed) / float64(n)
		assert.True(t, 0 <= iv.Low && iv.Low <= p && p <= iv.High && iv.High <= 1, "%v contains %v", iv, p)

		mirror, err := Wilson(n-passed, n, level)
		require.NoError(t, err)
		assert.InDelta(t, 1-iv.High, mirror.Low, 1e-12, "what fails mirrors what passes")

		more, err := Wilson(4*passed, 4*n, level)
		require.NoError(t, err)
		assert.LessOrEqual(t, more.High-more.Low, iv.High-iv.Low+1e-15, "the same share of more is surer")
	})
}
