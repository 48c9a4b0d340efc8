package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

const (
	flipExact = 20      // up to so many clusters all signs are tried
	flipDraws = 100_000 // beyond, so many are drawn
	mostFlips = 10_000  // bounds the time
)

// SignFlip returns the p values of a change over clusters, such as scenarios. Each change
// is the share after less the share before, or the trials that got better less those that
// got worse. A p value is the share of sign flips whose sum is at least as extreme: as far
// from 0 for TwoSided, as low for Worse.
//
// It is the randomisation test of R. A. Fisher, The Design of Experiments, 1935,
// section 21: exact over all signs for up to 20 clusters that changed, else
// (1 + hits)/(1 + draws) over 100,000 draws made from seed (B. Phipson and G. K. Smyth,
// 2010). Clusters that did not change do not count. The order does not matter.
//
// Assumptions: the clusters are independent, and without a real change each one's is
// as likely up as down. Trials within a cluster may depend on each other in any way:
// this is why clusters are flipped and not trials. With fewer than six clusters that
// changed it is two-sided never below 0.05. Do not use it for a change of one scenario.
//
// Errors are [*FieldError], joined: for none, more than 10,000, and each that is not
// a finite number.
func SignFlip(changes []float64, seed uint64) (PValue, error) {
	errs := newList()
	errs.Demand(len(changes) >= 1 && len(changes) <= mostFlips, "changes", len(changes), "1 to 10000 clusters")
	largest := 0.0
	for i, x := range changes {
		if !finite(x) {
			errs.Wrongf("a finite number", x, "changes[%d]", i)
		}
		largest = max(largest, math.Abs(x))
	}
	if err := errs.Err(); err != nil {
		return PValue{}, err
	}
	if largest == 0 {
		return PValue{TwoSided: 1, Worse: 1}, nil
	}
	sum, size := 0.0, 0.0
	var sizes []float64 // between 0 and 1, so that sums are finite; largest first
	changes = slices.Clone(changes)
	slices.SortFunc(changes, func(a, b float64) int { // a total order, so that sums do not depend on the given one
		switch x, y := math.Abs(a), math.Abs(b); {
		case x > y || x == y && a > b:
			return -1
		case x < y || x == y && a < b:
			return 1
		}
		return 0
	})
	for _, x := range changes {
		if x /= largest; x != 0 {
			sum += x
			sizes = append(sizes, math.Abs(x))
			size += math.Abs(x)
		}
	}
	f := flips{sum: sum, slack: 1e-9 * size}
	if len(sizes) <= flipExact {
		f.all(sizes)
		return PValue{TwoSided: float64(f.far) / float64(f.tried), Worse: float64(f.low) / float64(f.tried)}, nil
	}
	f.some(sizes, seed)
	return PValue{TwoSided: float64(1+f.far) / float64(1+f.tried), Worse: float64(1+f.low) / float64(1+f.tried)}, nil
}

// flips counts sums with other signs.
type flips struct {
	sum   float64 // that of the signs that were seen
	slack float64 // equal sums differ by rounding

	tried, far, low int // all, those as far from 0, and those as low
}

func (f *flips) count(sum float64) {
	f.tried++
	if math.Abs(sum) >= math.Abs(f.sum)-f.slack {
		f.far++
	}
	if sum <= f.sum+f.slack {
		f.low++
	}
}

// all tries all signs. Each sum differs from the one before by one sign, and the
// first sign stays: the sums of the other half are the same, negated.
func (f *flips) all(sizes []float64) {
	sum := 0.0
	for _, x := range sizes {
		sum += x
	}
	half := 1 << (len(sizes) - 1)
	negative := make([]bool, len(sizes))
	for i := 1; ; i++ {
		f.count(sum)
		f.count(-sum)
		if i == half {
			return
		}
		at := 1 + bits.TrailingZeros(uint(i)) // Gray code
		if negative[at] {
			sum += 2 * sizes[at]
		} else {
			sum -= 2 * sizes[at]
		}
		negative[at] = !negative[at]
	}
}

// some draws signs.
func (f *flips) some(sizes []float64, seed uint64) {
	draw := rand.NewPCG(seed, 0)
	for range flipDraws {
		sum := 0.0
		var signs uint64
		for i, x := range sizes {
			if i%64 == 0 {
				signs = draw.Uint64()
			}
			// The lowest bit becomes the sign.
			sum += math.Float64frombits(math.Float64bits(x) | signs<<63)
			signs >>= 1
		}
		f.count(sum)
	}
}
