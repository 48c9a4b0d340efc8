package lint

import "math"

// counted judges a trigger at a call's ordinal.
func counted(t trigger, n int64) answer {
	count := t.N.first()
	switch t.Kind {
	case "nth":
		for _, k := range t.N {
			if k == n+1 {
				return yes
			}
		}
		return no
	case "first":
		return byValue[n < count]
	case "after":
		return byValue[n >= count]
	case "every":
		return byValue[count > 0 && (n+1)%count == 0]
	case "burst":
		return byValue[n+1 >= int64(t.From) && n+1-int64(t.From) < count]
	case "burst_within":
		return answer{may: n < t.Calls.n, must: n < t.Calls.n && t.Calls.n == count}
	case "intermittent":
		return byValue[t.On > 0 && t.Off > 0 && uint64(n)%(uint64(t.On)+uint64(t.Off)) < uint64(t.On)]
	case "early", "mid", "late":
		begin := func(third int64) int64 { return t.Calls.n/3*third + t.Calls.n%3*third/3 }
		switch t.Kind {
		case "early":
			return byValue[n < begin(1)]
		case "mid":
			return byValue[begin(1) <= n && n < begin(2)]
		}
		return byValue[n >= begin(2)]
	}
	return open
}

// maxPoints bounds how many calls are examined one by one.
const maxPoints = 1 << 16

// points returns values of a dimension such that the trigger behaves at every
// other value as at one of them. complete is false if there would be too many.
func (t trigger) points(of dimension) (points []point, complete bool) {
	switch of {
	case byOrdinal:
		settled, period := t.horizon()
		if settled+period > maxPoints {
			return nil, false
		}
		for n := range settled + period {
			points = append(points, point{of: of, number: n})
		}
		return points, true
	case byLane:
		points = append(points, point{of: of, number: -1})
	default:
		points = append(points, point{of: of})
	}
	for _, part := range t.all() {
		points = append(points, part.edges(of)...)
	}
	return points, true
}

// edges are the values at which the answer of a trigger may change.
func (t trigger) edges(of dimension) (points []point) {
	at := func(numbers ...int64) {
		for _, n := range numbers {
			points = append(points, point{of: of, number: n})
		}
	}
	switch {
	case of == byTime && t.Kind == "stages":
		begin := int64(0)
		for _, s := range t.Stages {
			begin += int64(s.For)
			at(begin)
		}
	case of == byTime:
		at(int64(t.From), int64(t.To))
	case of == byTurn && t.Kind == "turn":
		for _, n := range t.N {
			at(n, n+1)
		}
		at(math.MinInt32)
	case of == byTurn && t.Kind == "turn_between":
		at(t.First-1, t.First, t.Last, t.Last+1)
	case of == byLane:
		for _, c := range t.Calls.list {
			points = append(points, point{of: of, lane: c.Lane})
		}
	}
	return points
}

// horizon returns the ordinal from which a trigger repeats itself, and after
// how many calls. A settled of maxPoints or more stands for "too far to
// examine".
func (t trigger) horizon() (settled, period int64) {
	settled, period = t.reach()+1, t.rhythm()
	begin := int64(0)
	for _, s := range t.Stages {
		inner, again := s.When.horizon()
		settled, period = max(settled, min(begin+inner, maxPoints)), common(period, again)
		begin = min(begin+s.Calls, maxPoints)
	}
	settled = max(settled, begin+1)
	for _, part := range t.Parts {
		inner, again := part.horizon()
		settled, period = max(settled, inner), common(period, again)
	}
	return settled, period
}

// reach returns the last ordinal at which something changes for good.
func (t trigger) reach() (last int64) {
	switch t.Kind {
	case "nth", "first", "after":
		for _, n := range t.N {
			last = max(last, n)
		}
	case "burst":
		last = min(int64(t.From), maxPoints) + min(t.N.first(), maxPoints)
	case "burst_within", "early", "mid", "late":
		last = t.Calls.n
	}
	return min(last, maxPoints)
}

func (t trigger) rhythm() int64 {
	switch t.Kind {
	case "every":
		return max(min(t.N.first(), maxPoints+1), 1)
	case "intermittent":
		return max(min(int64(t.On), maxPoints)+min(int64(t.Off), maxPoints), 1)
	}
	return 1
}

// common returns the least common multiple, or more than maxPoints.
func common(a, b int64) int64 {
	if a > maxPoints || b > maxPoints {
		return maxPoints + 1
	}
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return min(a/x*b, maxPoints+1)
}
