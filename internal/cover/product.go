package cover

import "slices"

// A field is a finite field of a prime power of elements, 0 to size−1.
type field struct {
	size, prime int
	top         []int // what the first power beyond the digits is, as digits; nil: size is prime
}

// fieldOf returns the smallest field of n elements or more, of those that are known.
func fieldOf(n int) field {
	for size := max(2, n); ; size++ {
		switch size { // x² = x + 1, x³ = x + 1, x² = 2
		case 4:
			return field{4, 2, []int{1, 1}}
		case 8:
			return field{8, 2, []int{1, 1, 0}}
		case 9:
			return field{9, 3, []int{2, 0}}
		}
		if isPrime(size) {
			return field{size: size, prime: size}
		}
	}
}

func isPrime(n int) bool {
	for d := 2; d*d <= n; d++ {
		if n%d == 0 {
			return false
		}
	}
	return n > 1
}

// line is a·x + b.
func (f field) line(a, x, b int) int {
	if f.top == nil {
		return (a*x + b) % f.size
	}
	n := len(f.top)
	digits := func(v int) []int {
		d := make([]int, 2*n)
		for i := 0; v > 0; i++ {
			d[i], v = v%f.prime, v/f.prime
		}
		return d
	}
	sum, da, dx := digits(b), digits(a), digits(x)
	for i := range n {
		for j := range n {
			sum[i+j] += da[i] * dx[j]
		}
	}
	for i := 2*n - 1; i >= n; i-- { // the powers beyond, from the highest
		for j, t := range f.top {
			sum[i-n+j] += sum[i] * t
		}
	}
	value := 0
	for i := n - 1; i >= 0; i-- {
		value = value*f.prime + sum[i]%f.prime
	}
	return value
}

// productRows is how many rows product makes.
func productRows(f field, factors int) int {
	if factors <= f.size+1 {
		return f.size * f.size
	}
	return productRows(f, (factors+f.size-1)/f.size) + f.size*f.size - f.size
}

// product covers all pairs of that many factors with as many levels as the field has
// elements.
//
// Up to size+1 factors are the lines of the plane: each pair of levels occurs in
// exactly one row (R. C. Bose, 1938). More are copies of fewer: copies of different
// factors meet in the rows of those, copies of one factor at equal levels too, and at
// unequal ones in the lines that are not level (B. Stevens and E. Mendelsohn, 1999).
func product(f field, factors int) [][]int {
	var rows [][]int
	if factors <= f.size+1 {
		for a := range f.size {
			for b := range f.size {
				row := make([]int, factors)
				for x := range row {
					row[x] = a // the slope, if the lines are used up
					if x < f.size {
						row[x] = f.line(a, x, b)
					}
				}
				rows = append(rows, row)
			}
		}
		return rows
	}
	fewer := (factors + f.size - 1) / f.size
	for _, row := range product(f, fewer) {
		rows = append(rows, slices.Repeat(row, f.size)[:factors])
	}
	for a := 1; a < f.size; a++ {
		for b := range f.size {
			row := make([]int, factors)
			for i := range row {
				row[i] = f.line(a, i/fewer, b)
			}
			rows = append(rows, row)
		}
	}
	return rows
}
