package fielderror_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/internal/fielderror"
)

const shop = fielderror.Package("shop")

type mode string

func TestMessage(t *testing.T) {
	for _, tc := range []struct {
		reason string
		err    error
		want   string
	}{
		{"nothing was found", shop.Wrong("name", nil, "a name"), "shop: name is missing; allowed: a name"},
		{"no package says so", &fielderror.Error{Field: "name", Allowed: "a name"}, "name is missing; allowed: a name"},
		{"a text is quoted", shop.Wrong("name", "a\nb", "a name"), `shop: name is "a\nb"; allowed: a name`},
		{"so is an empty one", shop.Wrong("name", "", "a name"), `shop: name is ""; allowed: a name`},
		{"and one of a type of its own", shop.Wrong("mode", mode("x"), "on"), `shop: mode is "x"; allowed: on`},
		{"words are not", shop.Wrong("list", fielderror.Found("empty"), "one"), "shop: list is empty; allowed: one"},
		{"a number", shop.Wrong("share", 1.5, "0 to 1"), "shop: share is 1.5; allowed: 0 to 1"},
		{"a number as it was written", shop.Wrong("share", json.Number("1e9"), "0 to 1"), "shop: share is 1e9; allowed: 0 to 1"},
		{"a type that has words", shop.Wrong("wait", -time.Second, "0 or more"), "shop: wait is -1s; allowed: 0 or more"},
		{"a list", shop.Wrong("tags", []string{"a b", "c"}, "words"), `shop: tags is ["a b","c"]; allowed: words`},
		{"JSON", shop.Wrong("x", json.RawMessage("null"), "a list"), "shop: x is null; allowed: a list"},
		{"what has no JSON", shop.Wrong("x", []any{func() {}}[:0:0], "y"), "shop: x is []; allowed: y"},
		{"a long value is cut", shop.Wrong("x", strings.Repeat("é", 60), ""), `shop: x is "` + strings.Repeat("é", 40) + `…"`},
		{"a cause", shop.Because("x", nil, io.EOF, ""), "shop: x: EOF"},
		{"a cause beside a value", shop.Because("x", "a", io.EOF, "b"), `shop: x is "a": EOF; allowed: b`},
		{"the package's name is not repeated", shop.Because("x", nil, errors.New("shop: closed"), ""), "shop: x: closed"},
		{"a line", shop.Wrong("x", nil, "y").At(3, 0), "shop: line 3: x is missing; allowed: y"},
		{"a line and a column, and no field", shop.Because("", nil, io.EOF, "").At(3, 7), "shop: line 3, column 7: EOF"},
	} {
		assert.EqualError(t, tc.err, tc.want, tc.reason)
	}
}

func TestCauseIsReached(t *testing.T) {
	assert.ErrorIs(t, shop.Because("x", nil, io.EOF, ""), io.EOF)
	assert.NoError(t, errors.Unwrap(shop.Wrong("x", nil, "")))
}

func TestList(t *testing.T) {
	l := shop.List()
	require.NoError(t, l.Err())
	l.Add(nil, nil)
	l.Demand(true, "a", 1, "2")
	require.NoError(t, l.Err(), "nothing is wrong")
	l.Demand(false, "a", 1, "2")
	l.Wrongf("4", 3, "b[%d]", 7)
	l.Because("c", nil, io.EOF, "")
	l.Each("d", errors.Join(io.EOF, io.ErrClosedPipe))
	l.Each("e", io.EOF)
	assert.EqualError(t, l.Err(), "shop: a is 1; allowed: 2\nshop: b[7] is 3; allowed: 4\nshop: c: EOF\n"+
		"shop: d: EOF\nshop: d: io: read/write on closed pipe\nshop: e: EOF")
	assert.Equal(t, 6, l.Count())
	first, ok := errors.AsType[*fielderror.Error](l.Err())
	require.True(t, ok)
	assert.Equal(t, fielderror.Error{Package: "shop", Field: "a", Value: 1, Allowed: "2"}, *first)
}

func TestListUpTo(t *testing.T) {
	l := shop.ListUpTo(2)
	for range 5 {
		l.Wrong("x", nil, "")
	}
	for range 2 { // asking changes nothing
		assert.EqualError(t, l.Err(), "shop: x is missing\nshop: x is missing\nshop: and 3 more problems")
		assert.Equal(t, 5, l.Count())
	}
}

type several struct{}

func (several) Error() string   { return "a text of its own" }
func (several) Unwrap() []error { return []error{io.EOF, io.ErrClosedPipe} }

func TestApart(t *testing.T) {
	assert.Empty(t, fielderror.Apart(nil))
	assert.Equal(t, []error{io.EOF}, fielderror.Apart(io.EOF), "one")
	assert.Equal(t, []error{io.EOF, io.ErrClosedPipe}, fielderror.Apart(errors.Join(io.EOF, io.ErrClosedPipe)), "those that were joined")
	assert.Equal(t, []error{several{}}, fielderror.Apart(several{}), "its text would be lost")
}
