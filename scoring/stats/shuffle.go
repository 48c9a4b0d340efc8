package stats

import (
	"math"
	"math/rand/v2"
)

const (
	shuffles     = 10_000 // at a p value of 0.02 their standard deviation is 0.0014
	mostShuffled = 1_000_000
)

// Shuffle returns the p value of a change of scores, where trials are not paired and need not
// be as many before and after. Both have the trials by stratum, such as a scenario: a score is how
// many invariants held, or any other number of which less is worse. It is the chance of a sum
// of the scores after as far from what is expected or farther, or as low or lower, if the trials
// of each stratum had as well been made on the other side.
//
// It is the permutation test of E. J. G. Pitman (Significance tests which may be applied to
// samples from any populations, 1937) within strata: (1 + hits)/(1 + draws) over 10,000 shuffles
// made from seed (B. Phipson and G. K. Smyth, 2010).
//
// Assumptions: the trials of a stratum are independent, and without a real change alike on both
// sides. What belongs to one trial, such as all its invariants, is one score. Do not use it where
// equal trials met equal conditions: [SignFlip] of their differences sees more.
//
// Errors are [*FieldError], joined: for no strata, other strata on one side, a side without
// scores, more than 10⁶ scores, and each that is not a finite number.
func Shuffle(before, after [][]float64, seed uint64) (PValue, error) {
	errs := newList()
	errs.Demand(len(before) >= 1, "before", len(before), "one stratum or more")
	errs.Demand(len(before) == len(after), "after", len(after), "as many strata as before")
	total, largest := 0, 0.0
	for _, side := range []struct {
		name   string
		strata [][]float64
	}{{"before", before}, {"after", after}} {
		for i, scores := range side.strata {
			if len(scores) == 0 {
				errs.Wrongf("one score or more", 0, "%s[%d]", side.name, i)
			}
			for k, x := range scores {
				if !finite(x) {
					errs.Wrongf("a finite number", x, "%s[%d][%d]", side.name, i, k)
				}
				largest = max(largest, math.Abs(x))
			}
			total += len(scores)
		}
	}
	errs.Demand(total <= mostShuffled, "before+after", total, "1000000 scores or fewer")
	if err := errs.Err(); err != nil {
		return PValue{}, err
	}
	if largest == 0 {
		return PValue{TwoSided: 1, Worse: 1}, nil
	}
	return shuffled(before, after, largest, seed), nil
}

// shuffled draws, with scores between −1 and 1 so that sums are finite.
func shuffled(before, after [][]float64, largest float64, seed uint64) PValue {
	type hat struct {
		scores []float64
		drawn  int // those of the side with fewer
		sign   float64
	}
	var hats []hat
	var f flips
	for k := range before {
		before, after := before[k], after[k]
		// The scores less their mean sum to 0: those of one side are those of the other, negated.
		h, mean := hat{drawn: len(after), sign: 1}, 0.0
		for _, side := range [][]float64{after, before} {
			for _, x := range side {
				h.scores = append(h.scores, x/largest)
				mean += x / largest
			}
		}
		mean /= float64(len(h.scores))
		for i := range h.scores {
			h.scores[i] -= mean
			f.slack += 1e-9 * math.Abs(h.scores[i])
			if i < len(after) {
				f.sum += h.scores[i]
			}
		}
		if len(before) < len(after) {
			h.drawn, h.sign = len(before), -1
		}
		hats = append(hats, h)
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	for range shuffles {
		sum := 0.0
		for _, h := range hats {
			for i := range h.drawn {
				k := i + int(rng.Uint64N(uint64(len(h.scores)-i)))
				h.scores[i], h.scores[k] = h.scores[k], h.scores[i]
				sum += h.sign * h.scores[i]
			}
		}
		f.count(sum)
	}
	return PValue{TwoSided: float64(1+f.far) / float64(1+f.tried), Worse: float64(1+f.low) / float64(1+f.tried)}
}
