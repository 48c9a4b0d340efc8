package scoring

import (
	"cmp"
	"math"
	"strings"

	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// weightTolerance is how far from 1 the sum of weights may be: enough for thirds
// written with three decimals. In binary 1 − 0.999 is slightly above 0.001, and has
// to be allowed.
const weightTolerance = 0.001 + 1e-12

// Weights are the shares of the parts in the overall score. Each is finite and not
// negative, and they sum to 1 within 0.001. So the zero value is an error.
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

// Parts are the scores to join, each from 0 to 100. Nil means that the part did not
// run, which is not a score of 0.
type Parts struct {
	// ContractVerdict is the verdict of the contract part. It counts also where
	// that part has no score because no cell was decided. The zero value is
	// Inconclusive.
	ContractVerdict Verdict `json:"contractVerdict"`

	Mutation *float64 `json:"mutation,omitempty"`
	Chaos    *float64 `json:"chaos,omitempty"`
	Contract *float64 `json:"contract,omitempty"`
	Replay   *float64 `json:"replay,omitempty"`
}

// OverallOptions are the settings of [Weights.Overall]. With the zero value a part
// that did not run is an error.
type OverallOptions struct {
	_ struct{}

	// Renormalise scores only the parts that ran, with their weights scaled up to
	// sum to 1. [Overall].Renormalised then says so, because the result is not
	// comparable to a full one. A part that did not run does not count in the verdict.
	// Nor does a contract whose verdict is Inconclusive, if another part with a
	// weight ran.
	Renormalise bool
}

// An Overall is the joined score of the parts that ran.
type Overall struct {
	Value        float64     `json:"value"`        // 0 to 100, two decimals
	Verdict      Verdict     `json:"verdict"`      // see [Weights.Overall]
	Why          string      `json:"why"`          // the reason for the verdict, as a phrase without a full stop
	Ran          []PartScore `json:"ran"`          // mutation, chaos, contract, replay, without those that did not run
	Missing      []string    `json:"missing"`      // names of the parts that did not run
	Renormalised bool        `json:"renormalised"` // the weights in Ran were scaled up
}

// A PartScore is one part that ran, with the weight that was used for it.
type PartScore struct {
	Name   string  `json:"name"`   // mutation, chaos, contract or replay
	Score  float64 `json:"score"`  // 0 to 100
	Weight float64 `json:"weight"` // 0 to 1; scaled up if Renormalised
}

// Overall returns Σ weight×part, rounded to two decimals as in [Contract], and at
// most 100: weights may sum to a little more than 1.
//
// The verdict is Fail when that of the contract is Fail, whatever the number and
// the weights. Else it is Inconclusive when the contract ran and its verdict is
// Inconclusive, unless OverallOptions.Renormalise was set and another part with a
// weight ran. Else it is Pass: the other parts are numbers without a verdict.
//
// Errors are [*FieldError], all joined: for weights out of bounds, parts that are
// not from 0 to 100, a contract verdict that has no name, and parts that did not
// run. A part of weight 0 may be missing, and with Renormalise every part may be,
// as long as one with a weight above 0 ran. With an error the result is zero, so
// its verdict is Inconclusive.
func (w Weights) Overall(p Parts, options *OverallOptions) (Overall, error) {
	o := *cmp.Or(options, new(OverallOptions))
	parts := pair(w, p)
	if err := checkOverall(parts, p.ContractVerdict, o); err != nil {
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
		return Overall{}, fields.Wrong("parts", fielderror.Found("all without weight or missing"),
			"one part or more of a weight above 0")
	}
	var sum float64
	for i := range out.Ran {
		if out.Renormalised {
			out.Ran[i].Weight /= ran
		}
		sum += out.Ran[i].Weight * out.Ran[i].Score
	}
	out.Value = min(100, round2(sum))
	out.Verdict, out.Why = overallVerdict(p, out, o)
	return out, nil
}

func overallVerdict(p Parts, out Overall, o OverallOptions) (Verdict, string) {
	others := 0 // parts that count, the contract apart
	for _, part := range out.Ran {
		if part.Name != "contract" && part.Weight > 0 {
			others++
		}
	}
	switch {
	case p.ContractVerdict == Fail:
		return Fail, "the contract failed"
	case p.Contract == nil && !out.Renormalised:
		return Pass, "no part failed; the contract has no weight and did not run"
	case p.Contract == nil:
		return Pass, "no part that ran failed; these did not run: " + strings.Join(out.Missing, ", ")
	case p.ContractVerdict == Pass && out.Renormalised:
		return Pass, "the contract passed; these did not run: " + strings.Join(out.Missing, ", ")
	case p.ContractVerdict == Pass:
		return Pass, "the contract passed"
	case o.Renormalise && others > 0:
		return Pass, "no part failed; the contract was inconclusive"
	}
	return Inconclusive, "the contract was inconclusive"
}

// A part is a weight and its score, which is nil when the part did not run.
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

func checkOverall(parts [4]part, contract Verdict, o OverallOptions) error {
	errs := fields.List()
	var sum float64
	for _, p := range parts { // NaN is not >= 0
		errs.Demand(p.weight >= 0 && !math.IsInf(p.weight, 1), "weights."+p.name, p.weight, "0 or more, and finite")
		sum += p.weight
	}
	if errs.Count() == 0 && math.Abs(sum-1) > weightTolerance {
		errs.Wrong("sum of weights", sum, "1 within 0.001")
	}
	for _, p := range parts {
		switch {
		case p.score != nil:
			errs.Demand(*p.score >= 0 && *p.score <= 100, "parts."+p.name, *p.score, "0 to 100")
		case p.weight > 0 && !o.Renormalise:
			errs.Wrong("parts."+p.name, nil, "a score; or set OverallOptions.Renormalise to go without")
		}
	}
	errs.Demand(contract <= Fail, "parts.contractVerdict", contract, verdicts.Allowed())
	return errs.Err()
}
