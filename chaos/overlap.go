package chaos

import (
	"cmp"
	"slices"
)

// Overlap looks for two calls of one lane to one target, or to the targets of the
// rule's group, that were under way at the same time, of which the rule matched one.
// If its trigger counts calls, it might as well have matched the other: what overlaps
// comes in any order. ok is false if there are none among the kept events, or no rule
// of that name. It takes time in proportion to the log, so it is for the end of a run.
func (in *Injector) Overlap(rule string) (matched, other Event, ok bool) {
	in.mu.Lock()
	i := in.place(rule)
	if i < 0 {
		in.mu.Unlock()
		return matched, other, false
	}
	a, rules := in.rules[i], in.rules
	in.mu.Unlock()
	records, _ := in.log.since(0)
	slices.SortStableFunc(records, func(a, b record) int { return cmp.Compare(a.begun, b.begun) })
	var under underWay
	highest := map[overlapSite][2]*record{} // by whether the rule matched: the call with the highest ordinal
	for k := range records {
		r := &records[k]
		if r.site.kind != callSite {
			continue
		}
		if !a.countsAt(r.site, rules) {
			under.add(r)
			continue
		}
		at := overlapSite{lane: r.site.lane}
		if a.Group == "" {
			at.target = r.site.target
		}
		mine := 0
		if r.matched(a) {
			mine = 1
		}
		o := under.other(r, underSite{at, 1 - mine})
		if o == nil {
			// A call is counted before it begins: one that was counted earlier and began
			// later overlapped too.
			if o = highest[at][1-mine]; o != nil && (o.site != r.site || o.ordinal < r.ordinal) {
				o = nil
			}
		}
		if o != nil {
			pair := [2]*record{o, r}
			return pair[mine].event(), pair[1-mine].event(), true
		}
		high := highest[at]
		if high[mine] == nil || high[mine].site != r.site || high[mine].ordinal < r.ordinal {
			high[mine] = r
			highest[at] = high
		}
		under.add(r)
		under.count(r, underSite{at, mine})
	}
	return matched, other, false
}

// underWay are the calls that have begun and not ended, of a walk in the order in which
// calls began. Those that have ended leave it when they are met.
type underWay struct {
	byTarget map[string][]*record
	counted  map[underSite][]*record
}

// underSite is where a rule counts calls, and whether it matched them (1) or not (0).
type underSite struct {
	overlapSite
	matched int
}

func (u *underWay) add(r *record) {
	if u.byTarget == nil {
		u.byTarget, u.counted = map[string][]*record{}, map[underSite][]*record{}
	}
	u.byTarget[r.site.target] = append(u.byTarget[r.site.target], r)
}

func (u *underWay) count(r *record, at underSite) { u.counted[at] = append(u.counted[at], r) }

// other returns a call of the site that is under way when r begins, and that r is not
// within.
func (u *underWay) other(r *record, at underSite) *record {
	left := u.counted[at][:0]
	var found *record
	for i, o := range u.counted[at] {
		if o.ended < r.begun {
			continue
		}
		left = append(left, o)
		if !u.within(r, o) {
			found = o
			left = append(left, u.counted[at][i+1:]...)
			break
		}
	}
	if len(left) < len(u.counted[at]) {
		u.counted[at] = left
	}
	return found
}

// within reports whether r is known to be a call within o: the only call under way of
// its caller's name is o, or is itself within o.
func (u *underWay) within(r, o *record) bool {
	for inner := r; inner.caller != ""; {
		left := slices.DeleteFunc(u.byTarget[inner.caller], func(c *record) bool { return c.ended < r.begun })
		u.byTarget[inner.caller] = left
		outer := left
		if inner != r { // those that began before it
			outer = slices.DeleteFunc(slices.Clone(left), func(c *record) bool { return c.begun >= inner.begun })
		}
		if len(outer) != 1 {
			return false
		}
		if inner = outer[0]; inner == o {
			return true
		}
	}
	return false
}

// overlapSite is where a rule counts calls; target is empty for a group.
type overlapSite struct{ lane, target string }

// countsAt reports whether a rule counts the calls of a site.
func (a *liveRule) countsAt(s *site, rules []*liveRule) bool {
	if a.Group == "" {
		return s.reaches(a)
	}
	return slices.ContainsFunc(rules, func(b *liveRule) bool { return b.Group == a.Group && s.reaches(b) })
}

// matched reports whether the rule matched the call.
func (r *record) matched(a *liveRule) bool {
	if r.main == a {
		return true
	}
	m := r.more
	return m != nil && (slices.Contains(m.also, a.Name) || slices.Contains(m.idle, a.Name) ||
		slices.Contains(m.masked, a.Name) || slices.Contains(m.held, a.Name))
}
