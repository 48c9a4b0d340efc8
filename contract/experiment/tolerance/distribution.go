package tolerance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"

	"github.com/shakedown-go/shakedown/contract/experiment"
)

// Distribution holds for a list in which each value has its share. "90 % are 200,
// 10 % are 201" is
//
//	tolerance.Distribution(map[string]float64{"200": 0.9, "201": 0.1}, 0.05)
//
// Each share may differ from the given one by at most within; values that are not
// named may together have at most that share. The shares sum to 1 within 0.001. A
// value is named by its text or its JSON; one with a member status, such as an HTTP
// answer, counts as that status. An empty list does not hold. An output that is not
// a list cannot be judged. [probe.Repeat] makes such lists.
//
// [probe.Repeat]: https://pkg.go.dev/github.com/shakedown-go/shakedown/contract/experiment/probe#Repeat
func Distribution(shares map[string]float64, within float64) experiment.Tolerance {
	return distribution{maps.Clone(shares), within}
}

type distribution struct {
	shares map[string]float64
	within float64
}

func (t distribution) Holds(_ context.Context, output any) (bool, error) {
	got, err := plain(output)
	if err != nil {
		return false, err
	}
	list, ok := got.([]any)
	if !ok {
		return false, fmt.Errorf("tolerance: a distribution is that of a list, and the output is %T", output)
	}
	if len(list) == 0 {
		return false, nil
	}
	counts, others := make(map[string]int), 0
	for _, v := range list {
		name, err := asText(status(v))
		if err != nil {
			return false, err
		}
		if _, named := t.shares[name]; named {
			counts[name]++
		} else {
			others++
		}
	}
	for name, share := range t.shares {
		if !t.near(counts[name], share, len(list)) {
			return false, nil
		}
	}
	return t.near(others, 0, len(list)), nil
}

// near allows for the rounding of shares such as 0.1.
func (t distribution) near(count int, share float64, all int) bool {
	return math.Abs(float64(count)/float64(all)-share) <= t.within+1e-9
}

// status returns the member status of an object that has one, else the value.
func status(v any) any {
	if object, ok := v.(map[string]any); ok {
		if s, ok := object["status"]; ok {
			return s
		}
	}
	return v
}

func (t distribution) Check() error {
	var problems []error
	sum := 0.0
	for name, share := range t.shares {
		if !(share >= 0 && share <= 1) {
			problems = append(problems, fmt.Errorf("tolerance: the share of %q is %v; allowed: 0 to 1", name, share))
		}
		sum += share
	}
	if !(math.Abs(sum-1) <= 0.001) {
		problems = append(problems, fmt.Errorf("tolerance: the shares sum to %v; allowed: 1", sum))
	}
	if !(t.within >= 0 && t.within < 1) {
		problems = append(problems, fmt.Errorf("tolerance: within is %v; allowed: from 0 to below 1", t.within))
	}
	return errors.Join(problems...)
}
