package compare

import (
	"math"
	"slices"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/dist"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// An Overall is the change of all fields together. It tells what no field shows: a small drop
// everywhere.
type Overall struct {
	// Scenarios counts those compared, and Worse and Better those of them that fell and rose.
	Scenarios int `json:"scenarios"`
	Worse     int `json:"worse"`
	Better    int `json:"better"`
	// Difference is the mean over scenarios of the share after less the share before, with a
	// 95 % interval of Student's t; of one scenario there is none.
	Difference stats.Difference `json:"difference"`
	// These tells if the agent is worse in these scenarios: the trials of a scenario, each
	// with all its invariants together, are flipped, or shuffled if they are not paired.
	These Flip `json:"these"`
	// Such tells if the agent is worse in such scenarios, also others than these: whole
	// scenarios are flipped. nil: there are fewer than two. It is tested if These is worse, so
	// both together have the level of one.
	Such *Flip `json:"such,omitempty"`
	// Regression reports whether These is worse.
	Regression bool `json:"regression,omitempty"`
	// Sees is what These could have seen of a drop of all fields alike.
	Sees *Power `json:"sees"`
}

// A Flip is a test of all fields together: [stats.SignFlip] by scenario or by trial, or
// [stats.Shuffle] of trials that are not paired.
type Flip struct {
	// Units counts what may be flipped or shuffled: scenarios, pairs of trials, or the trials of
	// both sides.
	Units int          `json:"units"`
	P     stats.PValue `json:"p"`
	// Regression reports whether it is worse.
	Regression bool `json:"regression,omitempty"`
}

// overall makes the tests of all fields together, at a level.
func (c *Comparison) overall(was, is *table, level float64, seed uint64) error {
	at := map[string]int{}
	var sums []float64 // of the differences of a scenario's fields
	var numbers []int
	for i := range c.Fields {
		f := &c.Fields[i]
		if !f.decides(c.Unpaired == "") {
			continue
		}
		k, seen := at[f.Scenario]
		if !seen {
			k = len(sums)
			at[f.Scenario], sums, numbers = k, append(sums, 0), append(numbers, 0)
		}
		sums[k], numbers[k] = sums[k]+f.change(), numbers[k]+1
	}
	if len(sums) == 0 || c.Tested < 2 {
		return nil
	}
	o := &Overall{Scenarios: len(sums)}
	var net []float64
	for k, sum := range sums {
		switch {
		case sum < 0:
			o.Worse++
		case sum > 0:
			o.Better++
		}
		net = append(net, sum/float64(numbers[k]))
	}
	o.Difference = meanOf(net)
	u := unitsOf(c.Fields, was, is, at, c.Unpaired == "")
	p, err := u.test(seed)
	if err != nil {
		return fields.Because("trials", u.number, err, "")
	}
	o.These = Flip{Units: u.number, P: p, Regression: p.Worse <= level}
	o.Sees = u.sees(noiseOf(c.Fields), level)
	if len(net) > 1 {
		p, err := stats.SignFlip(net, seed)
		if err != nil {
			return fields.Because("scenarios", len(net), err, "")
		}
		o.Such = &Flip{Units: len(net), P: p, Regression: p.Worse <= level && o.These.Regression}
	}
	o.Regression = o.These.Regression
	c.Overall = o
	return nil
}

// decides reports whether a field was tested and has decided trials to compare. One with Repeats
// need not: it may break without a delivered fault.
func (f *Field) decides(paired bool) bool {
	return f.Test != "" && (f.Pairs != nil || !paired && f.Before.Decided > 0 && f.After.Decided > 0)
}

// change is the share after less the share before, of pairs if there are any. A scenario counts
// once, whether its trials are copies or not: so a field with Repeats has a change too.
func (f *Field) change() float64 {
	if f.Pairs != nil {
		return float64(f.Pairs.Better-f.Pairs.Worse) / float64(sizeOf(*f.Pairs))
	}
	return share(f.After.Held, f.After.Decided) - share(f.Before.Held, f.Before.Decided)
}

// meanOf is the mean of changes with the interval of Student's t; of one there is none.
func meanOf(net []float64) stats.Difference {
	n, sum, squares := float64(len(net)), 0.0, 0.0
	for _, x := range net {
		sum += x
	}
	d := stats.Difference{Value: sum / n}
	if len(net) < 2 {
		return d
	}
	for _, x := range net {
		squares += (x - d.Value) * (x - d.Value)
	}
	reach := dist.StudentQuantile(scoring.Level95, len(net)-1) * math.Sqrt(squares/(n-1)/n)
	d.Low, d.High, d.Level = max(-1, d.Value-reach), min(1, d.Value+reach), scoring.Level95
	return d
}

// units are the trials of each scenario, with all their invariants together.
type units struct {
	paired bool
	// before and after have the scores of the trials by scenario: how many more invariants held than
	// in the mean of both sides. Of paired trials after has how many got better less how many got
	// worse, and before has none.
	before, after [][]float64
	number        int
	// cells counts what was decided, on both sides or on the side with less. own is the sum of
	// the squares of each alone, and together that of the units, which is larger if the
	// invariants of a trial are alike.
	cells         [2]int
	own, together float64
	most          int // invariants of a scenario
}

// mostUnits is how many pairs the flip takes. Beyond, trials of a scenario are flipped together.
const mostUnits = 10_000

// unitsOf joins the cells of each trial. at has the places of the scenarios.
func unitsOf(all []Field, was, is *table, at map[string]int, paired bool) *units {
	u := &units{paired: paired}
	width := 1
	for _, t := range []*table{was, is} {
		for _, s := range t.sides {
			width = max(width, len(s.states))
		}
	}
	if paired {
		width = min(width, max(1, mostUnits/len(at)))
	}
	before, after := make([][]unit, len(at)), make([][]unit, len(at))
	for k := range before {
		before[k], after[k] = make([]unit, width), make([]unit, width)
	}
	invariants := make([]int, len(at))
	for i := range all {
		f := &all[i]
		k, ok := at[f.Scenario]
		if !ok || !f.decides(paired) {
			continue
		}
		invariants[k]++
		u.most = max(u.most, invariants[k])
		field := place{f.Scenario, f.Invariant}
		b, a := was.sides[field], is.sides[field]
		if f.Pairs != nil {
			n := u.add(after[k], b, func(trial int) (float64, bool) {
				return held(a.stateOf(trial)) - held(b.stateOf(trial)), decided(a.stateOf(trial))
			})
			u.cells[0], u.cells[1] = u.cells[0]+n, u.cells[1]+n
			continue
		}
		mean := share(b.Held+a.Held, b.Decided+a.Decided)
		own := func(s *side) func(int) (float64, bool) {
			return func(trial int) (float64, bool) { return held(s.states[trial]) - mean, true }
		}
		u.cells[0] += u.add(before[k], b, own(b))
		u.cells[1] += u.add(after[k], a, own(a))
	}
	for k := range before {
		if b, a := u.scores(before[k]), u.scores(after[k]); len(a) > 0 && (paired || len(b) > 0) {
			u.before, u.after = append(u.before, b), append(u.after, a)
		}
	}
	return u
}

// A unit is the score of a trial, and of how many cells.
type unit struct {
	score float64
	cells int
}

// held is 1 for a trial that held.
func held(s contract.CellState) float64 {
	if s == contract.Held {
		return 1
	}
	return 0
}

func (u *units) add(to []unit, s *side, score func(trial int) (x float64, ok bool)) (n int) {
	for trial, state := range s.states {
		if !decided(state) {
			continue
		}
		if x, ok := score(trial); ok {
			own := &to[trial%len(to)]
			own.score, own.cells = own.score+x, own.cells+1
			u.own += x * x
			n++
		}
	}
	return n
}

// scores are those of the trials of a scenario in which something was decided.
func (u *units) scores(all []unit) (scores []float64) {
	for _, own := range all {
		if own.cells > 0 {
			scores = append(scores, own.score)
			u.together += own.score * own.score
			u.number++
		}
	}
	return scores
}

func (u *units) test(seed uint64) (stats.PValue, error) {
	if u.paired {
		return stats.SignFlip(slices.Concat(u.after...), seed)
	}
	return stats.Shuffle(u.before, u.after, seed)
}
