package lint

import "math"

// counted judges a trigger at a call's ordinal.
func counted(t trigger, n int64) answer {
	count := int64(t.N.first())
	switch t.Kind {
	case "nth":
		for _, k := range t.N {
			if int64(k) == n+1 {
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
		return answer{may: n < int64(t.Calls.n), must: n < int64(t.Calls.n) && t.Calls.n == t.N.first()}
	case "intermittent":
		return byValue[t.On+t.Off > 0 && n%int64(t.On+t.Off) < int64(t.On)]
	case "early", "mid", "late":
		third := int64(t.Calls.n)
		begin := func(k int64) int64 { return k * third / 3 }
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

// maxPoints bounds how many calls are looked at one by one.
const maxPoints = 1 << 16

// points are so many that a trigger behaves at each other value as at one of
// them; it is not complete where they would be too many.
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

// edges are the values at which what a trigger answers may change.
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
			at(int64(n), int64(n)+1)
		}
		at(math.MinInt32)
	case of == byTurn && t.Kind == "turn_between":
		at(int64(t.First)-1, int64(t.First), int64(t.Last), int64(t.Last)+1)
	case of == byLane:
		for _, c := range t.Calls.list {
			points = append(points, point{of: of, lane: c.Lane})
		}
	}
	return points
}

// horizon is the ordinal from which on a trigger repeats itself, and after how
// many calls; a settled of maxPoints or more stands for "too far to look".
func (t trigger) horizon() (settled, period int64) {
	settled, period = t.reach()+1, t.rhythm()
	begin := int64(0)
	for _, s := range t.Stages {
		inner, again := s.When.horizon()
		settled, period = max(settled, min(begin+inner, maxPoints)), common(period, again)
		begin = min(begin+int64(s.Calls), maxPoints)
	}
	settled = max(settled, begin+1)
	for _, part := range t.Parts {
		inner, again := part.horizon()
		settled, period = max(settled, inner), common(period, again)
	}
	return settled, period
}

// reach is the last ordinal at which something changes for good.
func (t trigger) reach() (last int64) {
	switch t.Kind {
	case "nth", "first", "after":
		for _, n := range t.N {
			last = max(last, int64(n))
		}
	case "burst":
		last = min(int64(t.From), maxPoints) + min(int64(t.N.first()), maxPoints)
	case "burst_within", "early", "mid", "late":
		last = int64(t.Calls.n)
	}
	return min(last, maxPoints)
}

func (t trigger) rhythm() int64 {
	switch t.Kind {
	case "every":
		return max(int64(t.N.first()), 1)
	case "intermittent":
		return max(min(int64(t.On), maxPoints)+min(int64(t.Off), maxPoints), 1)
	}
	return 1
}

// common is the least common multiple, or more than maxPoints.
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
