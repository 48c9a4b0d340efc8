package dist

import "slices"

// ClopperPearson returns the ends of the exact interval of passes and failures at a level in
// (0, 1): the shares at which as many passes or more, and as many or fewer, have the chance
// (1−level)/2. Both are rounded outwards. The counts are 0 or more, and need not be whole: they
// may be those of an effective number of trials.
func ClopperPearson(passed, failed, level float64) (low, high float64) {
	tail, high := (1-level)/2, 1.0
	if passed > 0 {
		low = BetaQuantile(passed, failed+1, tail)
	}
	if failed > 0 {
		high = 1 - BetaQuantile(failed, passed+1, tail)
	}
	return low, high
}

// Effective returns how many independent trials say as much about a share as trials that come
// in m clusters and are alike within, from 1 to all of them. passed and trials are those of each
// cluster; trials are 1 or more.
//
// With p = Σx/Σn and the variance of a ratio v = m/(m−1)·Σ(xᵢ − p·nᵢ)²/(Σn)² (W. G. Cochran,
// Sampling Techniques, 3rd edition, section 3.12) the design effect is d = Σn·v/(p(1−p)), 1 or
// more. A few clusters that are not like the others say little about v: near a share of 0 or 1
// it is far too small, as the clusters that would show it were not met. So d is weighed with
// c, the larger of d and the Σn/m of clusters that are copies within, as (f²·d + c)/(f² + 1), where
// f is the fewer of the clusters with a pass and of those with a failure. Where p is 0 or 1 the
// result is m, which is always safe: all of m unequal clusters pass with a chance of at most pᵐ.
func Effective(passed, trials []int) float64 {
	m := float64(len(trials))
	x, n, with, without := 0, 0, 0, 0
	for i := range trials {
		x, n = x+passed[i], n+trials[i]
		if passed[i] > 0 {
			with++
		}
		if passed[i] < trials[i] {
			without++
		}
	}
	all := float64(n)
	if m < 2 {
		return all
	}
	f, d := float64(min(with, without)), 1.0
	if p := float64(x) / all; f > 0 {
		d = max(1, m/(m-1)*squares(passed, trials, p)/all/(p*(1-p)))
	}
	return min(all, max(1, all*(f*f+1)/(f*f*d+max(d, all/m))))
}

// squares is the sum of (x − p·n)², the small ones first, so that it does not depend on the
// order of the clusters.
func squares(passed, trials []int, p float64) float64 {
	all := make([]float64, len(trials))
	for i, n := range trials {
		d := float64(passed[i]) - p*float64(n)
		all[i] = d * d
	}
	slices.Sort(all)
	sum := 0.0
	for _, x := range all {
		sum += x
	}
	return sum
}
