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
	// These tells if the agent is worse in these scenarios: the pairs of trials of a scenario,
	// each with all its invariants together, are flipped. nil: trials are not paired.
	These *Flip `json:"these,omitempty"`
	// Such tells if the agent is worse in such scenarios, also others than these: whole
	// scenarios are flipped. nil: there are fewer than two, or there is These and it is not worse:
	// Such is tested after it, so both together have the level of one.
	Such *Flip `json:"such,omitempty"`
	// Regression reports whether These is worse; where trials are not paired, whether Such is.
	Regression bool `json:"regression,omitempty"`
	// Sees is what These could have seen of a drop of all fields alike; nil without it.
	Sees *Power `json:"sees,omitempty"`
}

// A Flip is a test of all fields together: [stats.SignFlip] by scenario or by trial.
type Flip struct {
	Units int          `json:"units"` // what may be flipped: scenarios, or pairs of trials
	P     stats.PValue `json:"p"`
	// Regression reports whether it is worse.
	Regression bool `json:"regression,omitempty"`
}

// overall makes the tests of all fields together, at a level.
func (c *Comparison) overall(was, is *table, level float64, seed uint64) error {
	paired := c.Unpaired == ""
	at := map[string]int{}
	var scenarios [][]*Field
	for i := range c.Fields {
		f := &c.Fields[i]
		if !f.decides(paired) {
			continue
		}
		k, seen := at[f.Scenario]
		if !seen {
			k = len(scenarios)
			at[f.Scenario], scenarios = k, append(scenarios, nil)
		}
		scenarios[k] = append(scenarios[k], f)
	}
	if len(scenarios) == 0 || c.Tested < 2 {
		return nil
	}
	o := &Overall{Scenarios: len(scenarios)}
	var net []float64 // the mean change of a scenario's fields
	u := newUnits(len(scenarios), was, is)
	for _, of := range scenarios {
		sum := 0.0
		for _, f := range of {
			sum += f.change()
		}
		switch {
		case sum < 0:
			o.Worse++
		case sum > 0:
			o.Better++
		}
		net = append(net, sum/float64(len(of)))
		if paired {
			u.add(of, was, is)
		}
	}
	o.Difference = meanOf(net)
	var err error
	if paired {
		if o.These, err = flip("trials", u.scores, seed, level); err != nil {
			return err
		}
		o.Sees = u.sees(noiseOf(c.Fields), level)
		o.Regression = o.These.Regression
	}
	if len(net) > 1 {
		if o.Such, err = flip("scenarios", net, seed, level); err != nil {
			return err
		}
		o.Such.Regression = o.Such.Regression && (o.Regression || !paired)
		o.Regression = o.Regression || o.Such.Regression
	}
	c.Overall = o
	return nil
}

// flip tests the changes of units.
func flip(units string, changes []float64, seed uint64, level float64) (*Flip, error) {
	p, err := stats.SignFlip(changes, seed)
	if err != nil {
		return nil, fields.Because(units, len(changes), err, "")
	}
	return &Flip{Units: len(changes), P: p, Regression: p.Worse <= level}, nil
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

// units are the pairs of trials of all scenarios, each with all its invariants together.
type units struct {
	width  int       // pairs of a scenario; beyond, several are one unit
	scores []float64 // of each unit, how many invariants got better less how many got worse
	cells  int       // pairs of decided cells
	// own is the sum of the squares of each cell alone, and together that of the units, which is
	// larger if the invariants of a trial are alike.
	own, together float64
	most          int // invariants of a scenario
}

// mostUnits is how many pairs the flip takes. Beyond, trials of a scenario are flipped together.
const mostUnits = 10_000

func newUnits(scenarios int, was, is *table) *units {
	u := &units{width: 1}
	for _, t := range []*table{was, is} {
		for _, s := range t.sides {
			u.width = max(u.width, len(s.states))
		}
	}
	u.width = min(u.width, max(1, mostUnits/scenarios))
	return u
}

// add joins the cells of each pair of trials of a scenario, whose fields these are.
func (u *units) add(all []*Field, was, is *table) {
	u.most = max(u.most, len(all))
	scores, cells := make([]float64, u.width), make([]int, u.width)
	for _, f := range all {
		b, a := was.sides[place{f.Scenario, f.Invariant}], is.sides[place{f.Scenario, f.Invariant}]
		for trial, state := range a.states {
			partner := b.stateOf(trial)
			if !decided(state) || !decided(partner) {
				continue
			}
			score, unit := held(state)-held(partner), trial%u.width
			scores[unit], cells[unit] = scores[unit]+score, cells[unit]+1
			u.own += score * score
			u.cells++
		}
	}
	for unit, score := range scores {
		if cells[unit] > 0 {
			u.scores = append(u.scores, score)
			u.together += score * score
		}
	}
}

// held is 1 for a trial that held.
func held(s contract.CellState) float64 {
	if s == contract.Held {
		return 1
	}
	return 0
}

// A Power is what a number of trials can see: a drop from From to To, with a chance of
// Chance, at a one-sided level of Alpha.
type Power struct {
	// Trials counts pairs, or trials of each side: of the median field, or of all fields together.
	Trials int  `json:"trials"`
	Paired bool `json:"paired,omitempty"`
	// Fields is how many fields share the level, of each of which Alpha is the part; 0: the drop
	// is one of all fields alike, looked for in all together.
	Fields int `json:"fields,omitempty"`
	// Noise is, with Paired, the share of pairs that differ though nothing changed: as many as
	// in the trials seen, at a rate of From.
	Noise  float64 `json:"noise,omitempty"`
	From   float64 `json:"from"`
	To     float64 `json:"to"` // 0 with Nothing
	Alpha  float64 `json:"alpha"`
	Chance float64 `json:"chance"`
	// Nothing reports whether not even a drop to 0 would be seen.
	Nothing bool `json:"nothing,omitempty"`
}

// The drop that a comparison is measured by.
const (
	seenFrom  = 0.95
	seenPower = 0.8
)

// powerOf is what the median of the tested fields could have seen, if all share a level.
func powerOf(all []Field, level float64) *Power {
	var numbers []int
	paired := false
	for i := range all {
		switch f := &all[i]; {
		case f.Test == "":
		case f.Pairs != nil:
			paired = true
			numbers = append(numbers, sizeOf(*f.Pairs))
		default:
			numbers = append(numbers, min(f.Before.Decided, f.After.Decided))
		}
	}
	if len(numbers) == 0 {
		return nil
	}
	slices.Sort(numbers)
	s := &Power{Trials: numbers[len(numbers)/2], Paired: paired, Fields: len(numbers),
		Alpha: level / float64(len(numbers))}
	s.detect(s.Trials, noiseOf(all))
	return s
}

// detect finds the drop that so many independent trials see.
func (s *Power) detect(trials int, noise float64) {
	const most = 2000 // beyond, a drop of a point or two is seen
	trials = max(1, min(trials, most))
	s.From, s.Chance = seenFrom, seenPower
	var err error
	if !s.Paired {
		s.To, err = stats.Detectable(stats.Design{TwoSamples: true}, trials, s.From, s.Alpha, s.Chance)
		s.Nothing = err != nil
		return
	}
	s.Noise, s.To = noise, s.From
	for range 4 { // after a drop fewer pairs get better, in proportion: they must hold now
		s.To, err = stats.Detectable(stats.Design{Paired: true, Noise: noise * s.To / s.From}, trials, s.From, s.Alpha,
			s.Chance)
		if s.Nothing = err != nil; s.Nothing {
			return
		}
	}
}

// noiseOf is the share of pairs that differ though nothing changed, at a rate of seenFrom. It
// is 2p(1−p) of independent draws, times how much of what independent draws would differ in was
// seen: pairs that met equal faults may be alike. A few pairs say little of that, so ten more
// count that differ as independent draws do.
func noiseOf(all []Field) float64 {
	const more = 10
	differ, expected := 0.0, 0.0
	for i := range all {
		if p := all[i].Pairs; p != nil && all[i].Test != "" {
			n := float64(sizeOf(*p))
			before, after := float64(p.Both+p.Worse)/n, float64(p.Both+p.Better)/n
			differ += float64(p.Worse + p.Better)
			expected += n * (before*(1-after) + after*(1-before))
		}
	}
	return 2 * seenFrom * (1 - seenFrom) * min(1, (differ+more)/(expected+more))
}

// sees is what the test of all fields together could have seen. The invariants of a trial may
// be alike: so many cells are as many independent ones as the sum of the squares of each alone is
// of that of the trials. Few changes say little of that, so one more cell counts as if all
// invariants of its trial were alike.
func (u *units) sees(noise, level float64) *Power {
	s := &Power{Trials: u.cells, Paired: true, Alpha: level}
	effect := max(1, (u.together+float64(u.most))/(u.own+1))
	s.detect(int(float64(s.Trials)/effect), noise)
	return s
}
