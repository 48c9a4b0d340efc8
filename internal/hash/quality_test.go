package hash_test

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/internal/hash"
)

// Every input here is fixed, so a bound that holds once holds always; the bounds are wide enough that a sound change of the
// arithmetic would keep them.

const samples = 1 << 16

// sequences are the coordinates that draws are really made of: counters, small grids and names that differ in a digit.
func sequences() map[string]func(i uint64) uint64 {
	return map[string]func(i uint64) uint64{
		"mix of a counter":         hash.Mix,
		"mix of high bits":         func(i uint64) uint64 { return hash.Mix(i << 48) },
		"a counter appended":       func(i uint64) uint64 { return hash.Combine(42, i) },
		"a counter as the state":   func(i uint64) uint64 { return hash.Combine(i, 42) },
		"a grid of small numbers":  func(i uint64) uint64 { return hash.Combine(i>>8, i&0xFF) },
		"three small coordinates":  func(i uint64) uint64 { return hash.Combine(hash.Combine(i>>11, i>>6&31), i&63) },
		"equal coordinates":        func(i uint64) uint64 { return hash.Combine(i, i) },
		"numbers as text":          func(i uint64) uint64 { return hash.String(strconv.FormatUint(i, 10)) },
		"names with a number":      func(i uint64) uint64 { return hash.String("orders.list/" + strconv.FormatUint(i, 10)) },
		"a number before the name": func(i uint64) uint64 { return hash.String(strconv.FormatUint(i, 10) + "/orders.list") },
		"two bytes":                func(i uint64) uint64 { return hash.String(string([]byte{byte(i), byte(i >> 8)})) },
		"a name with a counter":    func(i uint64) uint64 { return hash.Combine(hash.String("orders.get"), i) },
	}
}

// TestUniform sorts the results into 256 buckets by each of eight bytes and by Unit. The statistic of a uniform sample has
// mean 255 and standard deviation √510; six deviations are allowed to either side.
func TestUniform(t *testing.T) {
	for name, f := range sequences() {
		var buckets [9][256]float64
		for i := range uint64(samples) {
			h := f(i)
			for b := range 8 {
				buckets[b][byte(h>>(8*b))]++
			}
			buckets[8][int(hash.Unit(h)*256)]++
		}
		for b, counts := range buckets {
			chi := 0.0
			for _, n := range counts {
				chi += (n - samples/256) * (n - samples/256) / (samples / 256)
			}
			assert.InDelta(t, 255, chi, 6*math.Sqrt(510), "%s, byte %d", name, b)
		}
	}
}

// TestSuccessorsAreIndependent looks at pairs of neighbours: the top four bits of one against those of the next.
func TestSuccessorsAreIndependent(t *testing.T) {
	for name, f := range sequences() {
		for _, shift := range []int{0, 60} {
			var counts [256]float64
			for i := range uint64(samples) {
				counts[f(i)>>shift&15<<4|f((i+1)%samples)>>shift&15]++
			}
			chi := 0.0
			for _, n := range counts {
				chi += (n - samples/256) * (n - samples/256) / (samples / 256)
			}
			assert.InDelta(t, 255, chi, 6*math.Sqrt(510), "%s, shift %d", name, shift)
		}
	}
}

// TestAvalanche flips each bit of the input and asks of each bit of the result that it flips in half of the cases.
func TestAvalanche(t *testing.T) {
	text := func(n int) func(x uint64) uint64 {
		return func(x uint64) uint64 {
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(x >> (8 * (i % 8)))
			}
			return hash.Bytes(b)
		}
	}
	for name, f := range map[string]func(uint64) uint64{
		"mix":       hash.Mix,
		"appended":  func(x uint64) uint64 { return hash.Combine(1, x) },
		"the state": func(x uint64) uint64 { return hash.Combine(x, 1) },
		"8 bytes":   text(8), "10 bytes": text(10), "20 bytes": text(20),
	} {
		worst := 0.0
		const rounds = 4096
		for in := range 64 {
			var flips [64]int
			for i := range uint64(rounds) {
				x := i * 0xD1342543DE82EF95
				d := f(x) ^ f(x^1<<in)
				for out := range 64 {
					flips[out] += int(d >> out & 1)
				}
			}
			for _, n := range flips {
				worst = max(worst, math.Abs(float64(n)/rounds-0.5))
			}
		}
		assert.Less(t, worst, 0.05, name)
	}
}

func TestNoCollisionsAmongNeighbours(t *testing.T) {
	seen := make(map[uint64]string, 1<<19)
	check := func(h uint64, what string) {
		if other, ok := seen[h]; ok {
			t.Fatalf("%s and %s share %#x", what, other, h)
		}
		seen[h] = what
	}
	for i := range uint64(1 << 17) {
		check(hash.String(fmt.Sprint("t", i)), fmt.Sprintf("string t%d", i))
	}
	for i := range uint64(512) {
		for j := range uint64(512) {
			check(hash.Combine(i, j), fmt.Sprintf("pair %d, %d", i, j))
		}
	}
}
