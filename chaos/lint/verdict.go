package lint

import (
	"slices"
)

// A trigger is judged in three values: at a given call it may match, and it may
// be certain to match.
//
// What matches depends on several things at once: how many calls came before,
// the time, the turn, the lane. Each of them is examined alone, with the others
// unknown. A trigger that may match at no point of one of them never matches.
// One that is certain to match at every point of one of them always does.
type answer struct{ may, must bool }

var (
	no      = answer{}
	open    = answer{may: true}
	yes     = answer{may: true, must: true}
	byValue = map[bool]answer{false: no, true: yes}
)

// dimension is one of the things that a trigger may depend on.
type dimension int

const (
	byOrdinal dimension = iota
	byTime
	byTurn
	byLane
	dimensions
)

// point is a value in a dimension. In byLane number -1 is any lane that no
// exact list names.
type point struct {
	of     dimension
	number int64
	lane   string
}

// verdict reports whether the rule's trigger can match no call, and whether it
// matches all calls.
func (r *rule) verdict() (never, always bool) {
	for of := range dimensions {
		points, complete := r.when.points(of)
		if !complete {
			continue
		}
		may, must := false, true
		for _, p := range points {
			a := r.at(r.when, p)
			may, must = may || a.may, must && a.must
		}
		never, always = never || !may, always || must
	}
	return never, always
}

// at judges a trigger at a point.
func (r *rule) at(t trigger, p point) answer {
	switch t.Kind {
	case "always":
		return yes
	case "prob":
		return chance(t.P)
	case "gilbert_elliott":
		good, bad := chance(t.Good), chance(t.Bad)
		return answer{good.may || bad.may, good.must && bad.must}
	case "all", "any", "not":
		return r.combined(t, p)
	case "stages":
		return r.staged(t, p)
	case "exactly":
		return r.listed(t, p)
	}
	switch {
	case p.of == byTime && slices.Contains([]string{"between", "since"}, t.Kind):
		return byValue[int64(t.From) <= p.number && (t.Kind == "since" || p.number < int64(t.To))]
	case p.of == byTurn && t.Kind == "turn":
		return byValue[slices.Contains(t.N, p.number)]
	case p.of == byTurn && t.Kind == "turn_between":
		return byValue[t.First <= p.number && p.number <= t.Last]
	case p.of == byLane && p.number >= 0 && t.Kind == "lane":
		return byValue[inLane(t.Lanes, p.lane)]
	case p.of == byOrdinal:
		return counted(t, p.number)
	}
	return open
}

func chance(p *float64) answer {
	switch {
	case p == nil:
		return open
	case *p <= 0:
		return no
	case *p >= 1:
		return yes
	}
	return open
}

func (r *rule) combined(t trigger, p point) answer {
	if len(t.Parts) == 0 {
		return open
	}
	sum := byValue[t.Kind == "all"]
	for _, part := range t.Parts {
		switch a := r.at(part, p); t.Kind {
		case "all":
			sum = answer{sum.may && a.may, sum.must && a.must}
		case "any":
			sum = answer{sum.may || a.may, sum.must || a.must}
		default:
			return answer{may: !a.must, must: !a.may}
		}
	}
	return sum
}

// staged judges the stage that is in force. Which one that is cannot be
// determined in the other dimensions.
func (r *rule) staged(t trigger, p point) answer {
	timed, left := t.timed(), p.number
	if timed && p.of != byTime || !timed && p.of != byOrdinal {
		sum := no
		for _, s := range t.Stages {
			sum.may = sum.may || r.at(s.When, p).may
		}
		return sum
	}
	for i, s := range t.Stages {
		lasts := s.Calls
		if timed {
			lasts = int64(s.For)
		}
		if left < lasts || lasts == 0 && i == len(t.Stages)-1 {
			inner := p
			if !timed {
				inner.number = left
			}
			return r.at(s.When, inner)
		}
		left -= lasts
	}
	return no
}

// listed judges an exact list by the lanes and targets of its calls.
func (r *rule) listed(t trigger, p point) answer {
	for _, c := range t.Calls.list {
		if r.could(c) && (p.of != byLane || p.number >= 0 && p.lane == c.Lane) {
			return open
		}
	}
	return no
}
