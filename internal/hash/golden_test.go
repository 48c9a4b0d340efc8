package hash_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/internal/hash"
)

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
