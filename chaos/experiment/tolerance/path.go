package tolerance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/shakedown-go/shakedown/internal/jsonhash"
	"github.com/shakedown-go/shakedown/internal/jsonpath"
)

// Path finds values in the output by a JSON path. A text is read as JSON if it is
// valid JSON. Without Expect it holds if at least one value is found.
//
// Of RFC 9535 a path may use: members (.name, ['name'], several, *, at any depth
// ..), elements ([0], [-1], [1:3]) and filters ([?(@.status=='ok' && @.age>3)]).
func Path(path string) JSONPath {
	p, err := jsonpath.Parse(path)
	if err != nil {
		err = fmt.Errorf("tolerance: %w", err)
	}
	return JSONPath{path: p, wrong: err}
}

// A JSONPath is the tolerance that [Path] makes. The zero value is invalid.
type JSONPath struct {
	path    *jsonpath.Path
	wrong   error
	expects bool
	expect  []json.RawMessage
}

// Expect returns a copy of t that holds only for exactly these values, in this order.
func (t JSONPath) Expect(values ...any) JSONPath {
	expect, err := documents(values)
	t.expects, t.expect, t.wrong = true, expect, errors.Join(t.wrong, err)
	return t
}

// Check returns an error for an invalid path or parameter.
func (t JSONPath) Check() error {
	if t.path == nil && t.wrong == nil {
		return errors.New("tolerance: a JSONPath without a path; allowed: one made by Path")
	}
	return t.wrong
}

// Holds reports whether the path finds the values in the output. The error is that
// of Check, or of an output without JSON.
func (t JSONPath) Holds(_ context.Context, output any) (bool, error) {
	if err := t.Check(); err != nil {
		return false, err
	}
	doc, err := document(output)
	if err != nil {
		return false, err
	}
	if inner := textOf(doc); json.Valid([]byte(inner)) {
		doc = json.RawMessage(inner)
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return false, err
	}
	found := t.path.Find(v)
	if !t.expects {
		return len(found) > 0, nil
	}
	if len(found) != len(t.expect) {
		return false, nil
	}
	for i, want := range t.expect {
		got, err := document(found[i].Value)
		if err != nil || !jsonhash.Same(got, want) {
			return false, err
		}
	}
	return true, nil
}
