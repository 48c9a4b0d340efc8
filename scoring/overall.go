package scoring

import (
	"errors"
	"math"
	"strconv"
)

// weightTolerance is how far from 1 the sum of weights may be: far enough for
// thirds written with three decimals. 1 − 0.999 is a hair above 0.001 in
// binary, and is meant to be allowed.
const weightTolerance = 0.001 + 1e-12

// Weights say how much each part counts in the overall score. They are finite,
// not negative, and sum to 1 within 0.001; the zero value is therefore an error.
type Weights struct {
	Mutation float64 `json:"mutation"`
	Chaos    float64 `json:"chaos"`
	Contract float64 `json:"contract"`
	Replay   float64 `json:"replay"`
}

// DefaultWeights returns mutation 0.20, chaos 0.35, contract 0.35, replay 0.10.
func DefaultWeights() Weights {
	return Weights{Mutation: 0.20, Chaos: 0.35, Contract: 0.35, Replay: 0.10}
}

// Parts are the scores to join, each from 0 to 100. Nil says that the part did
// not run, which is not the same as a score of 0.
type Parts struct {
	Mutation *float64 `json:"mutation,omitempty"`
	Chaos    *float64 `json:"chaos,omitempty"`
	Contract *float64 `json:"contract,omitempty"`
	Replay   *float64 `json:"replay,omitempty"`
}

// OverallOptions are the settings of [Weights.Overall]. In the zero value a part
// that did not run is an error.
type OverallOptions struct {
	_ struct{}

	// Renormalise scores the parts that ran alone, their weights scaled up to sum
	// to 1. The result says so, because it is not comparable to a full one.
	Renormalise bool
}

// An Overall is the joined score of the parts that ran.
type Overall struct {
	Value        float64     `json:"value"`        // 0 to 100, two decimals
	Ran          []PartScore `json:"ran"`          // mutation, chaos, contract, replay, without those that did not run
	Missing      []string    `json:"missing"`      // names of the parts that did not run
	Renormalised bool        `json:"renormalised"` // the weights in Ran are not the ones that were asked for
}

// A PartScore is one part that ran, with the weight that was used for it.
type PartScore struct {
	Name   string  `json:"name"`   // mutation, chaos, contract or replay
	Score  float64 `json:"score"`  // 0 to 100
	Weight float64 `json:"weight"` // 0 to 1; after renormalising, if that was done
}

// Overall returns Σ weight×part, rounded to two decimals as in [Contract]. Where
// weights sum to a little more than 1 the value is capped at 100.
//
// Weights that break their rules, parts that are not finite or not from 0 to
// 100, and parts that are missing without leave are [*FieldError]s, all joined.
// A missing part of weight 0 needs no leave. It is an error too when no part ran
// that has a weight above 0.
func (w Weights) Overall(p Parts, o OverallOptions) (Overall, error) {
	parts := pair(w, p)
	if err := errors.Join(checkWeights(parts), checkParts(parts, o)); err != nil {
		return Overall{}, err
	}
	out := Overall{Ran: []PartScore{}, Missing: []string{}}
	var ran float64 // weight of what ran
	for _, part := range parts {
		if part.score == nil {
			out.Missing = append(out.Missing, part.name)
			out.Renormalised = out.Renormalised || part.weight > 0
			continue
		}
		ran += part.weight
		out.Ran = append(out.Ran, PartScore{Name: part.name, Score: *part.score, Weight: part.weight})
	}
	if ran == 0 {
		return Overall{}, invalid("parts", "all without weight or missing", "one part or more of a weight above 0")
	}
	var sum float64
	for i := range out.Ran {
		if out.Renormalised {
			out.Ran[i].Weight /= ran
		}
		sum += out.Ran[i].Weight * out.Ran[i].Score
	}
	out.Value = min(100, round2(sum))
	return out, nil
}

// A part is a weight and the score it belongs to, nil when it did not run.
type part struct {
	name   string
	weight float64
	score  *float64
}

func pair(w Weights, p Parts) [4]part {
	return [4]part{
		{"mutation", w.Mutation, p.Mutation},
		{"chaos", w.Chaos, p.Chaos},
		{"contract", w.Contract, p.Contract},
		{"replay", w.Replay, p.Replay},
	}
}

func checkWeights(parts [4]part) error {
	var errs []error
	var sum float64
	for _, p := range parts {
		if !(p.weight >= 0) || math.IsInf(p.weight, 1) { // NaN is not >= 0
			errs = append(errs, invalid("weights."+p.name, p.weight, "0 or more, and finite"))
		}
		sum += p.weight
	}
	if len(errs) == 0 && math.Abs(sum-1) > weightTolerance {
		errs = append(errs, invalid("sum of weights", strconv.FormatFloat(sum, 'g', -1, 64), "1 within 0.001"))
	}
	return errors.Join(errs...)
}

func checkParts(parts [4]part, o OverallOptions) error {
	var errs []error
	for _, p := range parts {
		switch {
		case p.score == nil:
			if p.weight > 0 && !o.Renormalise {
				errs = append(errs, invalid("parts."+p.name, "missing", "a score; or set OverallOptions.Renormalise to go without"))
			}
		case !(*p.score >= 0 && *p.score <= 100):
			errs = append(errs, invalid("parts."+p.name, *p.score, "0 to 100"))
		}
	}
	return errors.Join(errs...)
}
