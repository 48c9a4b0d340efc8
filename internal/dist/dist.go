// Package dist has the probability distributions that scores and statistics rest
// on: binomial, beta, Student's t, the normal one, and Wilson's interval. All are
// pure functions.
//
// Arguments are trusted: callers check them. Within the stated ranges no result is
// NaN or infinite, and errors are below 1e-10.
package dist

import "math"

// NormalQuantile returns the z with P(−z ≤ Z ≤ z) = level for a standard normal Z
// and a level in (0, 1).
func NormalQuantile(level float64) float64 { return math.Sqrt2 * math.Erfinv(level) }

// Wilson returns the ends of the score interval of a share of size trials for the
// quantile z. The share is from 0 to 1, size above 0. size need not be whole: it may
// be an effective number of trials.
//
//	(2np + z² ± z·√(z² + 4npq)) / (2(n + z²))
func Wilson(share, size, z float64) (low, high float64) {
	middle := 2*size*share + z*z
	half := z * math.Sqrt(z*z+4*size*share*(1-share))
	scale := 2 * (size + z*z)
	// Algebra puts the share between the ends, and the ends between 0 and 1, where
	// they touch at shares of 0 and 1; rounding may be off by a unit.
	return max(0, min(share, (middle-half)/scale)), min(1, max(share, (middle+half)/scale))
}

// LogBinomial returns the logarithm of the probability of x passes in n trials that
// pass with probability p each, 0 ≤ x ≤ n, 0 < p < 1. x and n need not be whole.
//
// It is Loader's expansion around x/n, which cancels nothing for large n (C. Loader,
// Fast and accurate computation of binomial probabilities, 2000).
func LogBinomial(x, n, p float64) float64 { return logBinomial(x, n-x, p, 1-p) }

// logBinomial takes the failures and q = 1−p apart, as a difference may lose them.
func logBinomial(x, y, p, q float64) float64 {
	n := x + y
	switch {
	case n == 0:
		return 0
	case x == 0:
		return n * logOf(q, p)
	case y == 0:
		return n * logOf(p, q)
	}
	spread := -0.5 * (math.Log(2*math.Pi) + math.Log(x) + math.Log(y/n))
	return spread + stirlingError(n) - stirlingError(x) - stirlingError(y) - deviance(x, n*p) - deviance(y, n*q)
}

// logOf is the logarithm of p = 1−q by the smaller of the two.
func logOf(p, q float64) float64 {
	if q < p {
		return math.Log1p(-q)
	}
	return math.Log(p)
}

// stirlingError is ln z! less Stirling's formula, for z > 0:
// ln Γ(z+1) − (z+½)·ln z + z − ½·ln 2π.
func stirlingError(z float64) float64 {
	if z < 16 {
		lg, _ := math.Lgamma(z + 1)
		return lg - (z+0.5)*math.Log(z) + z - 0.5*math.Log(2*math.Pi)
	}
	s := 1 / (z * z)
	return (1.0/12 - s*(1.0/360-s*(1.0/1260-s*(1.0/1680-s/1188)))) / z
}

// deviance is x·ln(x/m) + m − x for x, m > 0.
func deviance(x, m float64) float64 {
	if math.Abs(x-m) >= 0.1*(x+m) {
		return x*math.Log(x/m) + m - x
	}
	// A series in v = (x−m)/(x+m), as the difference of the terms above would cancel.
	v := (x - m) / (x + m)
	sum, term := (x-m)*v, 2*x*v
	for j := 3.0; ; j += 2 {
		term *= v * v
		next := sum + term/j
		if next == sum {
			return sum
		}
		sum = next
	}
}

// Beta returns the regularised incomplete beta function I_x(a, b) for a, b > 0 and x
// from 0 to 1. For whole a and b it is the chance of a or more passes in a+b−1
// trials that pass with probability x. Its time grows with √(a+b).
func Beta(a, b, x float64) float64 { return beta(a, b, x, 1-x) }

func beta(a, b, x, y float64) float64 {
	switch {
	case x <= 0:
		return 0
	case y <= 0:
		return 1
	case x > (a+1)/(a+b+2):
		return max(0, 1-beta(b, a, y, x))
	}
	// x^a·y^b / (a·B(a, b)), times a continued fraction (DLMF 8.17.22).
	front := b / (a + b) * math.Exp(logBinomial(a, b, x, y))
	return min(1, front*betaFraction(a, b, x))
}

// betaFraction is the continued fraction of the incomplete beta function by the
// method of Lentz, for x below the mean.
func betaFraction(a, b, x float64) float64 {
	const tiny = 1e-300
	away := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/away(1-(a+b)*x/(a+1))
	f := d
	for m := 1.0; m < 1e6; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d, c = 1/away(1+even*d), away(1+even/c)
		f *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d, c = 1/away(1+odd*d), away(1+odd/c)
		step := d * c
		f *= step
		if math.Abs(step-1) < 1e-16 {
			break
		}
	}
	return f
}

// AtMost returns the chance of x or fewer passes in n trials that pass with
// probability p each: 0 for x < 0, 1 for x ≥ n.
func AtMost(x, n int, p float64) float64 {
	switch {
	case x < 0:
		return 0
	case x >= n:
		return 1
	}
	return beta(float64(n-x), float64(x+1), 1-p, p)
}

// BetaQuantile returns the x with I_x(a, b) = chance, for a, b > 0 and a chance in
// (0, 1), rounded towards 0.
func BetaQuantile(a, b, chance float64) float64 {
	low, _ := Bisect(0, 1, func(x float64) bool { return Beta(a, b, x) < chance })
	return low
}

// StudentQuantile returns the t with P(−t ≤ T ≤ t) = level for a T of Student's
// distribution with that many degrees of freedom, 1 or more, and a level in (0, 1).
func StudentQuantile(level float64, degrees int) float64 {
	nu := float64(degrees)
	inside := func(t float64) bool {
		// Of the two tails the one is computed in which nothing is lost.
		x, y := nu/(nu+t*t), t*t/(nu+t*t)
		if level >= 0.5 {
			return beta(nu/2, 0.5, x, y) > 1-level
		}
		return beta(0.5, nu/2, y, x) < level
	}
	high := 1.0
	for high < 1e100 && inside(high) {
		high *= 2
	}
	low, _ := Bisect(0, high, inside)
	return low
}

// Bisect halves the range from low to high until its ends are neighbours, or nearly
// so. before reports whether a point lies before the one that is looked for; it is
// not asked about the ends. The point lies between the results.
func Bisect(low, high float64, before func(float64) bool) (float64, float64) {
	for range 200 { // a root near 0 would take a thousand: its first 200 bits are enough
		middle := low + (high-low)/2
		if middle <= low || middle >= high {
			break
		}
		if before(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low, high
}
