package invariant

import (
	"cmp"
	"context"
	"fmt"

	"github.com/shakedown-go/shakedown/contract"
)

// defaultThreshold is the least similarity to a baseline that holds.
const defaultThreshold = 0.75

// BehaviorOptions are the settings of [BehaviorUnchanged]; nil and the zero value work.
type BehaviorOptions struct {
	_ struct{}
	// Baseline is what the answer is compared with; "" or "auto": a calm answer
	// to the same prompt.
	Baseline string
	// Threshold is the least similarity that holds, itself included, in [0,1];
	// nil: 0.75. With 0 everything holds.
	Threshold *float64
	// Similarity returns how similar two answers are, in [0,1]; nil:
	// [WordSimilarity]. If it returns an error or a number outside, the invariant is
	// undecided. It must be safe for concurrent use.
	Similarity func(ctx context.Context, baseline, answer string) (float64, error)
}

// BehaviorUnchanged holds when the answer is similar to a calm answer to the same
// prompt. The built-in [WordSimilarity] compares words, not meanings; to compare
// meanings, set a Similarity over embeddings. If there is no calm answer, the cell
// is inconclusive.
func BehaviorUnchanged(id string, severity contract.Severity, o *BehaviorOptions) contract.Invariant {
	d := newDraft("BehaviorUnchanged", id, severity)
	d.Needs = contract.NeedBaseline
	o = cmp.Or(o, &BehaviorOptions{})
	d.Baseline = o.Baseline
	threshold, similarity := defaultThreshold, o.Similarity
	if o.Threshold != nil {
		threshold = *o.Threshold
		d.demand(threshold >= 0 && threshold <= 1, "Threshold", threshold, "a number from 0 to 1")
	}
	if similarity == nil {
		similarity = func(_ context.Context, baseline, answer string) (float64, error) {
			return WordSimilarity(baseline, answer), nil
		}
	}
	return d.judge(func(ctx context.Context, o *contract.Observation) error {
		alike, err := similarity(ctx, o.Baseline, o.Response)
		if err != nil {
			return undecided("the similarity to the baseline could not be had: %w", err)
		}
		if !(alike >= 0 && alike <= 1) {
			return undecided("the similarity to the baseline is %v; allowed: a number from 0 to 1", alike)
		}
		if alike < threshold {
			return fmt.Errorf("the answer is %.3f like the baseline, at least %v is expected: %s, baseline %s",
				alike, threshold, quote(o.Response), quote(o.Baseline))
		}
		return nil
	})
}
