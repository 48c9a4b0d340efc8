package prose

import (
	"math"
	"slices"
	"time"
)

// computes reports whether a number can be computed from numbers of the sources. It can
// be a sum, difference, product, share or rounding of one or two, the sum of several in
// a row, or one of them in another unit.
func (s *Source) computes(value float64) bool {
	if s.derived == nil {
		s.derived = make(map[int64]struct{})
		know := func(v float64) {
			if v = math.Abs(v); v < 1e12 {
				s.derived[int64(math.Round(v*100))] = struct{}{}
			}
		}
		for i, a := range s.operands {
			for _, factor := range []float64{100, 1000, 60, 24, 7, 3600, 1024} {
				know(a * factor)
				know(a / factor)
			}
			for _, factor := range unitFactors {
				for _, v := range []float64{a * factor, a / factor} {
					know(v)
					know(math.Round(v*10) / 10)
					know(math.Round(v))
				}
			}
			know(math.Round(a*1.8 + 32)) // degrees
			know(math.Round((a - 32) / 1.8))
			know(math.Round(a))
			know(math.Floor(a))
			know(math.Ceil(a))
			for digits := 10.0; digits <= a; digits *= 10 {
				know(math.Round(a/digits) * digits)
			}
			sum := a
			for _, b := range s.operands[i+1:] {
				sum += b
				know(sum)
				know(a + b)
				know(a - b)
				know(a * b)
				know(a / b)
				know(b / a)
				know(a * b / 100)
				know(a - a*b/100)
				know(100 * a / b)
				know(100 * b / a)
			}
		}
		if len(s.operands) <= mixedOperands {
			s.mix(know)
		}
		for _, key := range keysOf(s.keys[factDate]) {
			for _, other := range keysOf(s.keys[factDate]) {
				a, err := time.Parse("2006-01-02", key)
				b, wrong := time.Parse("2006-01-02", other)
				if err == nil && wrong == nil && a != b {
					know(b.Sub(a).Hours() / 24)
				}
			}
		}
	}
	_, ok := s.derived[int64(math.Round(math.Abs(value)*100))]
	return ok
}

// unitFactors are parts and multiples, and the factors between kilograms and pounds,
// miles and kilometres, inches and centimetres, metres and feet, ounces and grams,
// gallons and litres.
var unitFactors = []float64{2, 3, 4, 5, 10, 12, 2.20462, 1.60934, 2.54, 3.28084, 28.3495, 3.78541}

// mix computes sums and differences of numbers and their products, such as two of
// one and one of another, or a price less a discount.
func (s *Source) mix(know func(float64)) {
	var terms []float64
	for i, a := range s.operands {
		terms = append(terms, a, 2*a)
		for _, b := range s.operands[i:] {
			terms = append(terms, a*b, a*b/100)
		}
	}
	for i, a := range terms {
		for _, b := range terms[i+1:] {
			know(a + b)
			know(a - b)
		}
	}
}

// keysOf returns the first maxOperands dates with a year, sorted.
func keysOf(set map[string]struct{}) []string {
	keys := make([]string, 0, len(set))
	for key := range set {
		if key[0] != '-' {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys[:min(len(keys), maxOperands)]
}
