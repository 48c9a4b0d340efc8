package jsonhash_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

func TestSame(t *testing.T) {
	for _, tc := range []struct {
		reason string
		a, b   string
		same   bool
	}{
		{"order and white space of an object", `{"a":1,"b":2}`, ` { "b" : 2.0, "a" : 1 } `, true},
		{"an escape", `"\u00e9"`, `"é"`, true},
		{"another number", `[1]`, `[2]`, false},
		{"an empty object is not null", `{}`, `null`, false},
		{"nothing is not null", ``, `null`, false},
		{"nothing is not an empty object", ``, `{}`, false},
		{"nothing is nothing", ``, ``, true},
		{"empty objects", `{}`, `{ }`, true},
		{"null with white space", `null`, ` null`, true},
		{"white space is not JSON", ` `, ``, false},
		{"white space is not other white space", ` `, "\n", false},
		{"what is not JSON, the same bytes", `{"a"`, `{"a"`, true},
		{"what is not JSON, other bytes", `{"a"`, `{ "a"`, false},
	} {
		assert.Equal(t, tc.same, jsonhash.Same([]byte(tc.a), []byte(tc.b)), tc.reason)
		assert.Equal(t, tc.same, jsonhash.Same([]byte(tc.b), []byte(tc.a)), tc.reason)
	}
}

// Within a list Sum distinguishes all values, so it is the oracle for single documents.
func TestSameIsTheSumWithinAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := documents().Draw(t, "a"), documents().Draw(t, "b")
		assert.Equal(t, jsonhash.Sum([]byte("["+a+"]")) == jsonhash.Sum([]byte("["+b+"]")), jsonhash.Same([]byte(a), []byte(b)), "%s and %s", a, b)
		assert.True(t, jsonhash.Same([]byte(a), []byte(" "+a+"\n")))
	})
}
