package hash_test

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/internal/hash"
)

// The outputs of splitmix64 are published for these two seeds; Mix of a state is the output that follows it.
func TestMixIsSplitmix64(t *testing.T) {
	const gamma = 0x9E3779B97F4A7C15
	for seed, outputs := range map[uint64][]uint64{
		0:       {0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F},
		1234567: {6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821},
	} {
		state := seed
		for _, want := range outputs {
			assert.Equal(t, want, hash.Mix(state), "seed %d", seed)
			state += gamma
		}
	}
}

func TestUnit(t *testing.T) {
	for _, row := range []struct {
		why  string
		x    uint64
		want float64
	}{
		{"the least", 0, 0},
		{"the lowest eleven bits do not count", 1<<11 - 1, 0},
		{"the step", 1 << 11, 0x1p-53},
		{"the middle", 1 << 63, 0.5},
		{"the greatest is below 1", math.MaxUint64, 1 - 0x1p-53},
	} {
		assert.Equal(t, row.want, hash.Unit(row.x), row.why)
	}
}

// slowString is String byte by byte and with the standard library's reading of words.
func slowString(s string) uint64 {
	const k0, k1, k2 = 0x9E3779B97F4A7C15, 0x243F6A8885A308D3, 0xB7E151628AED2A6B
	fold := func(x uint64) uint64 {
		hi, lo := bits.Mul64(x, k1)
		return hi ^ lo
	}
	b, n := []byte(s), len(s)
	var words []uint64
	switch {
	case n == 0:
		words = []uint64{0}
	case n < 4:
		words = []uint64{uint64(b[0]) + uint64(b[n/2])<<8 + uint64(b[n-1])<<16}
	case n < 8:
		words = []uint64{uint64(binary.LittleEndian.Uint32(b)) + uint64(binary.LittleEndian.Uint32(b[n-4:]))<<32}
	default:
		for i := 0; i+8 < n; i += 8 {
			words = append(words, binary.LittleEndian.Uint64(b[i:]))
		}
		words = append(words, binary.LittleEndian.Uint64(b[n-8:]))
	}
	h := uint64(k0)
	for _, w := range words {
		h = fold(h ^ w)
	}
	return fold(h ^ uint64(n)*k2)
}

func TestStringAgreesWithTheSlowOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "b")
		assert.Equal(t, slowString(string(b)), hash.String(string(b)))
		assert.Equal(t, slowString(string(b)), hash.Bytes(b))
	})
}

func TestCombineLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, x, y := rapid.Uint64().Draw(t, "h"), rapid.Uint64().Draw(t, "x"), rapid.Uint64().Draw(t, "y")
		assert.NotEqual(t, h, hash.Combine(h, 0), "zero is a coordinate too")
		assert.NotEqual(t, hash.Mix(h), hash.Combine(h, 0), "and not the absence of one")
		if x != y {
			assert.NotEqual(t, hash.Combine(h, x), hash.Combine(h, y), "a bijection of the coordinate")
			assert.NotEqual(t, hash.Combine(x, h), hash.Combine(y, h), "a bijection of the state")
			assert.NotEqual(t, hash.Combine(x, y), hash.Combine(y, x), "the order matters")
		}
	})
}

func TestNothingAllocates(t *testing.T) {
	b := []byte(strings.Repeat("x", 100))
	s := string(b)
	var h uint64
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		h ^= hash.Combine(hash.Mix(h), hash.Bytes(b)) ^ hash.String(s)
	}))
}

// These constants must never change: with one of them, every draw that users have recorded changes.

func TestCombineGolden(t *testing.T) {
	for _, row := range []struct{ h, x, want uint64 }{
		{0, 0, 0xc423ec22b0fb9757},
		{0, 1, 0x78f35e6d9cf89d23},
		{1, 0, 0x567d3963a8866ccd},
		{1, 2, 0xd286c6181196394b},
		{2, 1, 0x39286da985f06068},
		{1<<64 - 1, 1<<64 - 1, 0x9d09ab94d9ddaa2},
		{0x0123456789ABCDEF, 0xFEDCBA9876543210, 0x381bc0665d8737cb},
	} {
		assert.Equal(t, row.want, hash.Combine(row.h, row.x), "%#x, %#x", row.h, row.x)
	}
}

func TestStringGolden(t *testing.T) {
	for _, row := range []struct {
		s    string
		want uint64
	}{
		{"", 0xfdbd920ba628a4b8},
		{"a", 0xd6604527c29829d5},
		{"ab", 0x94a5c5c28bd3d300},
		{"abc", 0xb7347021ab4983c5},
		{"abcd", 0xbbf2c601279ad243},
		{"abcdefg", 0xd03deb891cba36bf},
		{"abcdefgh", 0x886191ce60aa2376},
		{"orders.get", 0x92179798565a570f},
		{"0123456789abcdef", 0x5f985f2c18ca947d},
		{"0123456789abcdefg", 0xdb7981e353f917f5},
		{"\x00\xff Größe, 東京", 0x91f559de85fd0e7b},
	} {
		assert.Equal(t, row.want, hash.String(row.s), "%q", row.s)
	}
}

// A draw as the package comment makes it.
func TestDrawGolden(t *testing.T) {
	h := hash.Combine(hash.Combine(hash.Mix(7), hash.String("orders.get")), 3)
	assert.Equal(t, 0.9814350487517846, hash.Unit(h))
}
