package mutate

import (
	"fmt"

	"github.com/shakedown-go/shakedown/internal/hash"
)

// A Draw is where a mutation gets its random numbers. They depend on the seed of the set,
// the kind, the variant and the prompt, and on nothing else: neither on other prompts and
// kinds nor on the order of calls. A Draw is a value; it may be copied and used by several
// goroutines.
type Draw struct {
	_ struct{}
	// Variant is the number of the variant, 1 and up.
	Variant int
	// Strength is the share of words to touch, above 0 and up to 1; see [Options].
	Strength float64

	seed uint64 // of seed, kind, variant, prompt
	turn uint64 // of seed, kind, prompt, plus the variant
}

func newDraw(seed uint64, kind string, variant int, prompt uint64, strength float64) Draw {
	base := hash.Combine(hash.Combine(hash.Mix(seed), hash.String(kind)), prompt)
	return Draw{Variant: variant, Strength: strength, seed: hash.Combine(base, uint64(variant)),
		turn: base + uint64(variant)}
}

// Uint64 returns the i-th random number.
func (d Draw) Uint64(i uint64) uint64 { return hash.Combine(d.seed, i) }

// Below returns the i-th random number as one from 0 to n-1. It panics if n is below 1.
func (d Draw) Below(i uint64, n int) int {
	if n < 1 {
		panic(fmt.Sprintf("mutate: Draw.Below: n is %d; allowed: 1 or more", n))
	}
	return int(d.Uint64(i) % uint64(n))
}

// at returns the draw of one word.
func (d Draw) at(i int) Draw {
	d.seed = hash.Combine(d.seed, uint64(i))
	return d
}

// oneOf returns one of n, another one for each of n variants in a row.
func (d Draw) oneOf(n int) int { return int(d.turn % uint64(n)) }
