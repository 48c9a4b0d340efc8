package planjson_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos/planjson"
)

// The time to read a document grows with its size, however much of it is wrong. With
// time that grows as the square of the size each of these takes minutes.
func TestLargeDocumentsAreReadOnce(t *testing.T) {
	const n = 50_000
	member := func(i int) string { return fmt.Sprintf(`"k%d":1`, i) }
	many := func(part func(i int) string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = part(i)
		}
		return strings.Join(parts, ",")
	}
	value := func(v string) string {
		return `{"seed":"1","rules":[{"target":"a","fault":{"kind":"replace","params":{"value":` + v + `}}}]}`
	}
	long := strings.Repeat("k", 1<<18)
	for _, c := range []struct{ why, doc, want string }{
		{"rules without anything", `{"seed":"1","rules":[` + many(func(int) string { return `{}` }) + `]}`, "and 99900 more problems"},
		{"unknown kinds", `{"seed":"1","rules":[` + many(func(int) string { return `{"target":"a","fault":{"kind":"hagn"}}` }) + `]}`, "and 49900 more problems"},
		{"unknown members", `{"seed":"1","rules":[],` + many(member) + `}`, "and 49900 more problems"},
		{"one member over and over", `{"seed":"1","rules":[],` + many(func(int) string { return `"seed":"1"` }) + `}`, "and 49900 more problems"},
		{"an object with many members", value(`{` + many(member) + `}`), ""},
		{"a list of a member with a long name", value(`{"` + long + `":[` + many(func(int) string { return "1" }) + `]}`), ""},
		{"a list of wrong values in a member with a long name", `{"seed":"1","rules":[{"target":"a","fault":{"kind":"http_status","params":{"code":500,"header":{"` +
			long + `":[` + many(func(int) string { return "1" }) + `]}}}}]}`, "and 49900 more problems"},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := planjson.Decode([]byte(c.doc), nil)
			if c.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.want)
			assert.Less(t, len(err.Error()), 1<<20, "the text of an error stays readable")
		})
	}
}
