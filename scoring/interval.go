package scoring

import "github.com/shakedown-go/shakedown/internal/dist"

// Level95 is the confidence level of the intervals in a [ContractScore].
const Level95 = 0.95

// An Interval is a two-sided confidence interval of a share. The zero value means
// that there is none: a real interval has a level above 0.
type Interval struct {
	Low   float64 `json:"low"`   // from 0 to 1
	High  float64 `json:"high"`  // from Low to 1
	Level float64 `json:"level"` // confidence, between 0 and 1, both exclusive
	// Clusters is the number of clusters that the trials come in, such as scenarios, if the
	// interval is by cluster. 0: each trial is a draw of its own.
	Clusters int `json:"clusters,omitempty"`
}

// A clustered counts trials by cluster: cells by scenario, mutations by text.
type clustered struct {
	at              map[string]int
	passed, decided []int
}

func (c *clustered) add(cluster string, passed, decided int) {
	if decided == 0 {
		return
	}
	k, seen := c.at[cluster]
	if !seen {
		if c.at == nil {
			c.at = map[string]int{}
		}
		k = len(c.decided)
		c.at[cluster] = k
		c.passed, c.decided = append(c.passed, 0), append(c.decided, 0)
	}
	c.passed[k], c.decided[k] = c.passed[k]+passed, c.decided[k]+decided
}

// interval is that by cluster, with at most so many draws; 0: no limit. Of one cluster alone
// each trial counts as a draw of its own.
func (c *clustered) interval(draws int) Interval {
	if len(c.decided) == 0 {
		return Interval{}
	}
	in := Interval{Level: Level95}
	passed, decided, effective := 0, 0, dist.Effective(c.passed, c.decided)
	for k := range c.decided {
		passed, decided = passed+c.passed[k], decided+c.decided[k]
	}
	if len(c.decided) > 1 {
		in.Clusters = len(c.decided)
	}
	if draws > 0 {
		effective = min(effective, float64(draws))
	}
	p := float64(passed) / float64(decided)
	in.Low, in.High = dist.ClopperPearson(p*effective, (1-p)*effective, Level95)
	return in
}

// Wilson returns the score interval of passed successes in n independent trials of
// one unknown probability. It needs no large n, and it holds its level near 0 and
// 1, where the textbook p ± z·√(pq/n) shrinks to a point. Ten passes of ten give at
// least 0.72 at level 0.95, not certainty.
//
// With p = passed/n, q = 1−p and z the normal quantile of (1+level)/2 its ends are
//
//	(2np + z² ± z·√(z² + 4npq)) / (2(n + z²))
//
// (E. B. Wilson, Probable inference, the law of succession, and statistical
// inference, JASA 22, 1927; without continuity correction). Low is exactly 0 when
// nothing passed, High exactly 1 when everything did, and p always lies within.
//
// Errors are [*FieldError], joined: for n below 1, passed outside 0…n, and a level
// that is not between 0 and 1.
func Wilson(passed, n int, level float64) (Interval, error) {
	errs := fields.List()
	errs.Demand(n >= 1, "n", n, "1 or more")
	errs.Demand(passed >= 0 && passed <= max(n, 0), "passed", passed, "0 to n")
	errs.Demand(level > 0 && level < 1, "level", level, "above 0 and below 1")
	if err := errs.Err(); err != nil {
		return Interval{}, err
	}
	low, high := dist.Wilson(float64(passed)/float64(n), float64(n), dist.NormalQuantile(level))
	return Interval{Low: low, High: high, Level: level}, nil
}
