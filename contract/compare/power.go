package compare

import (
	"slices"

	"github.com/shakedown-go/shakedown/scoring/stats"
)

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
	s := &Power{Trials: min(u.cells[0], u.cells[1]), Paired: u.paired, Alpha: level}
	one := 1.0
	if !u.paired {
		one = seenFrom * (1 - seenFrom)
	}
	effect := max(1, (u.together+one*float64(u.most))/(u.own+one))
	s.detect(int(float64(s.Trials)/effect), noise)
	return s
}
