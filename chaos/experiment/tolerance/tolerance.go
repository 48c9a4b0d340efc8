// Package tolerance has ready-made tolerances for the outputs of probes.
//
//	Tolerance: tolerance.Equal(200)                                  // exactly this
//	Tolerance: tolerance.Range(0, 250)                               // a number between two
//	Tolerance: tolerance.Func(ready)                                 // a function, which sees the Go value
//
// An output is judged by its JSON, as in a journal. So an int, an int64 and a
// json.Number of the same value are equal, and so are a struct and the map with its
// members. An output without JSON cannot be judged, which is an error.
//
// All tolerances are immutable and safe for concurrent use.
// [experiment.Experiment.Validate] reports one that is invalid.
//
// Stability: may change.
package tolerance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

// rule is a tolerance that judges the JSON of an output. wrong is the error of its
// parameters.
type rule struct {
	wrong error
	holds func(doc json.RawMessage) bool
}

func (r rule) Check() error { return r.wrong }

func (r rule) Holds(_ context.Context, output any) (bool, error) {
	if r.wrong != nil {
		return false, r.wrong
	}
	doc, err := document(output)
	return err == nil && r.holds(doc), err
}

// document returns the JSON of a value. Bytes are text.
func document(v any) (json.RawMessage, error) {
	if b, ok := v.([]byte); ok {
		v = string(b)
	}
	doc, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("tolerance: the value has no JSON: %w", err)
	}
	return doc, nil
}

// Equal holds for an output equal to want: a boolean, a text, a number, or any
// other value with a JSON form. Numbers are compared exactly.
func Equal(want any) experiment.Tolerance {
	doc, err := document(want)
	return rule{err, func(got json.RawMessage) bool { return jsonhash.Same(got, doc) }}
}

// Range holds for a number from lo to hi, both included, also if it is written as a
// text. It does not hold for anything else. Numbers are compared as float64.
func Range(lo, hi float64) experiment.Tolerance {
	var err error
	if !(lo <= hi) || math.IsInf(lo, 1) || math.IsInf(hi, -1) {
		err = fmt.Errorf("tolerance: range from %v to %v; allowed: two numbers, the lower one first", lo, hi)
	}
	return rule{err, func(doc json.RawMessage) bool {
		text := string(doc)
		_ = json.Unmarshal(doc, &text)                                 // anything but a text stays as it is
		if text = strings.TrimSpace(text); !json.Valid([]byte(text)) { // ParseFloat takes more than decimal numbers
			return false
		}
		n, err := strconv.ParseFloat(text, 64)
		return err == nil && lo <= n && n <= hi
	}}
}

// Func holds if fn returns true.
func Func(fn func(ctx context.Context, output any) (bool, error)) experiment.Tolerance {
	return function(fn)
}

type function func(context.Context, any) (bool, error)

func (t function) Holds(ctx context.Context, output any) (bool, error) { return t(ctx, output) }

func (t function) Check() error {
	if t == nil {
		return errors.New("tolerance: no function")
	}
	return nil
}
