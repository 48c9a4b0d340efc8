// Package hash holds the arithmetic of every random draw in this module.
//
// A draw is not taken from a stream. It is a pure function of where the call stands: the seed, the cell, the lane, the
// target and so on are combined into one number, and that number is compared with a threshold:
//
//	h := hash.Combine(hash.Mix(seed), hash.String("orders.get"))
//	h = hash.Combine(h, occurrence)
//	matches := hash.Unit(h) < 0.3
//
// Users rely on these functions: the same coordinates give the same number in every release, in every process and on
// every architecture. Golden vectors in the tests hold that. A change of one of them changes every recorded run.
//
// Nothing here allocates, locks or is seeded per process. Nothing here is cryptographic either: a caller who chooses
// the inputs freely can construct collisions.
package hash

import (
	"math/bits"
	"unsafe"
)

const (
	// Gamma is 2^64 divided by the golden ratio, made odd: the increment of splitmix64 in the paper cited at Mix.
	Gamma = 0x9E3779B97F4A7C15

	// foldMul and lenMul are the first 64 bits of the fractions of π and of e, the latter made odd. Any odd constants
	// with about as many ones as zeros would do; these cannot have been chosen for a hidden property.
	foldMul = 0x243F6A8885A308D3
	lenMul  = 0xB7E151628AED2A6B
)

// Mix spreads x over all 64 bits: it is a bijection, and flipping any bit of x flips each bit of the result with
// probability close to one half. Mix(0) is not 0.
//
// It is one step of splitmix64: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014,
// figure 17, whose finaliser is variant 13 of David Stafford's "Better Bit Mixing" (2011).
func Mix(x uint64) uint64 {
	x += Gamma
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// Combine appends the coordinate x to the state h. The order of coordinates matters, and appending zero changes the
// state as any other value does. For a fixed h it is a bijection of x, and for a fixed x one of h.
//
// It is small enough for the compiler to inline, and has to stay so: a draw calls it once a coordinate.
func Combine(h, x uint64) uint64 {
	// The multiplication takes x out of the lattice that small coordinates form with small states, so that (1, 2) and
	// (2, 1), or (0, 3) and (3, 0), do not meet; the addition keeps Combine(h, 0) apart from Mix(h).
	return Mix(h ^ (x*foldMul + lenMul))
}

// Unit maps x to a number in [0, 1): its top 53 bits, as many as a float64 holds exactly, so that every result is a
// multiple of 2^-53 and 1 is never reached.
func Unit(x uint64) float64 {
	return float64(x>>(64-UnitBits)) * (1.0 / (1 << UnitBits))
}

// UnitBits is the number of bits that Unit keeps.
const UnitBits = 53

// Bytes hashes b, its length included. It is the same number as String of the same bytes; nil is an empty slice.
func Bytes(b []byte) uint64 {
	// String does not keep the string, so a later change of b does no harm. A type parameter would need no unsafe, but
	// b would then escape in callers of other packages.
	return String(unsafe.String(unsafe.SliceData(b), len(b)))
}

// String hashes the bytes of s, its length included.
func String(s string) uint64 {
	// It reads eight bytes at a time, then the last eight, which may overlap those before. The length tells how many of
	// them are new. It is mixed in last, so that no word has to wait for it.
	h, n := uint64(Gamma), len(s)
	if n < 8 {
		return fold(fold(h^short(s)) ^ uint64(n)*lenMul)
	}
	last := word(s[n-8:])
	for len(s) > 8 {
		h = fold(h ^ word(s))
		s = s[8:]
	}
	return fold(fold(h^last) ^ uint64(n)*lenMul)
}

// fold multiplies to 128 bits and adds the halves without carry. A plain 64-bit product would keep the top bit of its
// input in the top bit alone, where the next word could cancel it.
func fold(x uint64) uint64 {
	hi, lo := bits.Mul64(x, foldMul)
	return hi ^ lo
}

// short reads fewer than eight bytes. Those from the two ends may overlap; the length tells by how much.
func short(s string) uint64 {
	n := len(s)
	switch {
	case n >= 4:
		return uint64(half(s[:4])) | uint64(half(s[n-4:]))<<32
	case n > 0:
		return uint64(s[0]) | uint64(s[n/2])<<8 | uint64(s[n-1])<<16
	}
	return 0
}

// word reads eight bytes, the first one lowest on any architecture. Where it can, the compiler makes one load of it.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func half(s string) uint32 {
	_ = s[3]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}
