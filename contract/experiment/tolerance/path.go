package tolerance

import (
	"context"
	"errors"
	"fmt"

	"github.com/shakedown-go/shakedown/internal/jsonpath"
)

// Path finds values in the output by a JSON path. A text is read as JSON if it is
// valid JSON. Without Count or Expect it holds if at least one value is found.
//
// Of RFC 9535 a path may use: members (.name, ['name'], several, *, at any depth
// ..), elements ([0], [-1], [1:3]) and filters ([?(@.status=='ok' && @.age>3)]).
func Path(path string) JSONPath {
	p, err := jsonpath.Parse(path)
	return JSONPath{path: p, err: err}
}

// A JSONPath is the tolerance that [Path] makes. The zero value is invalid.
type JSONPath struct {
	path   *jsonpath.Path
	err    error
	count  *int
	expect []any
	exact  bool
}

// Count returns a copy of t that holds only for exactly n values.
func (t JSONPath) Count(n int) JSONPath {
	t.count = &n
	return t
}

// Expect returns a copy of t that holds only for exactly these values, in this
// order. It takes precedence over Count.
func (t JSONPath) Expect(values ...any) JSONPath {
	t.expect, t.exact = values, true
	return t
}

// Holds reports whether the path finds the values in the output. The error is that
// of Check, or of an output without JSON.
func (t JSONPath) Holds(_ context.Context, output any) (bool, error) {
	if err := t.Check(); err != nil {
		return false, err
	}
	doc, err := plain(output)
	if err != nil {
		return false, err
	}
	if text, ok := doc.(string); ok {
		if read, err := decode([]byte(text)); err == nil {
			doc = read
		}
	}
	found := t.path.Find(doc)
	switch {
	case t.exact:
		return t.expected(found)
	case t.count != nil:
		return len(found) == *t.count, nil
	}
	return len(found) > 0, nil
}

func (t JSONPath) expected(found []jsonpath.Match) (bool, error) {
	if len(found) != len(t.expect) {
		return false, nil
	}
	for i, m := range found {
		want, err := plain(t.expect[i])
		if err != nil || !equal(m.Value, want) {
			return false, err
		}
	}
	return true, nil
}

// Check returns an error for an invalid path and for a negative count.
func (t JSONPath) Check() error {
	switch {
	case t.err != nil:
		return fmt.Errorf("tolerance: %w", t.err)
	case t.path == nil:
		return errors.New("tolerance: a JSONPath without a path; allowed: one made by Path")
	case t.count != nil && *t.count < 0:
		return fmt.Errorf("tolerance: count is %d; allowed: 0 or more", *t.count)
	}
	for _, v := range t.expect {
		if _, err := plain(v); err != nil {
			return err
		}
	}
	return nil
}
