package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

// A jsonTolerance judges an output by its JSON, as in a journal. So an int, an int64 and a
// json.Number of the same value are equal, and so are a struct and the map with its members. An
// output without JSON cannot be judged, which is an error.
type jsonTolerance struct {
	wrong error // of the parameters
	holds func(doc json.RawMessage) bool
}

func (t jsonTolerance) Check() error { return t.wrong }

func (t jsonTolerance) Holds(_ context.Context, output any) (bool, error) {
	if t.wrong != nil {
		return false, t.wrong
	}
	doc, err := judged(output)
	return err == nil && t.holds(doc), err
}

func judged(v any) (json.RawMessage, error) {
	doc, err := marshal(v)
	if err != nil {
		return nil, fmt.Errorf("tolerance: the value has no JSON: %w", err)
	}
	return doc, nil
}

// Equal is a tolerance that holds for an output whose JSON is equal to that of want: a boolean, a text,
// a number, or any other value with a JSON form. Numbers are compared exactly. Bytes are text.
func Equal(want any) Tolerance {
	doc, err := judged(want)
	return jsonTolerance{err, func(got json.RawMessage) bool { return jsonhash.Same(got, doc) }}
}

// Range is a tolerance that holds for a number from lo to hi, both included, also if it is written as a
// text. It does not hold for anything else. Numbers are compared as float64.
func Range(lo, hi float64) Tolerance {
	var err error
	if !(lo <= hi) || math.IsInf(lo, 1) || math.IsInf(hi, -1) {
		err = fmt.Errorf("tolerance: range from %v to %v; allowed: two numbers, the lower one first", lo, hi)
	}
	return jsonTolerance{err, func(doc json.RawMessage) bool {
		text := string(doc)
		_ = json.Unmarshal(doc, &text)                                 // anything but a text stays as it is
		if text = strings.TrimSpace(text); !json.Valid([]byte(text)) { // ParseFloat takes more than decimal numbers
			return false
		}
		n, err := strconv.ParseFloat(text, 64)
		return err == nil && lo <= n && n <= hi
	}}
}

// A ToleranceFunc is a tolerance that holds if the function returns true. It gets the output as it is.
type ToleranceFunc func(ctx context.Context, output any) (bool, error)

// Holds calls the function.
func (t ToleranceFunc) Holds(ctx context.Context, output any) (bool, error) { return t(ctx, output) }

// Check returns an error for a nil function.
func (t ToleranceFunc) Check() error {
	if t == nil {
		return errors.New("tolerance: no function")
	}
	return nil
}
