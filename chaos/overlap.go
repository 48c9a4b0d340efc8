package chaos

import (
	"cmp"
	"slices"
)

// Overlap looks for two calls of one lane to one target, or to the targets of the
// rule's group, that were under way at the same time, of which the rule matched one.
// If its trigger counts calls, it might as well have matched the other. ok is false if
// there are none among the kept events, or no rule of that name. It reads the whole log,
// so it is for the end of a run.
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
	var under callsUnderWay
	highest := map[countedPlace]countedCall{}
	for k := range records {
		c := countedCall{record: &records[k]}
		if c.site.kind != callSite {
			continue
		}
		under = slices.DeleteFunc(under, func(o countedCall) bool { return o.ended < c.begun })
		if a.countsAt(c.site, rules) {
			c.place = countedPlace{c.site.lane, c.site.target, true, c.matched(a)}
			if a.Group != "" {
				c.place.target = ""
			}
			o := under.apartFrom(c)
			if o == nil {
				// A call is counted before it begins: one that was counted earlier and began
				// later overlapped too.
				high := highest[c.place.opposite()]
				if high.record != nil && high.site == c.site && high.ordinal > c.ordinal {
					o = high.record
				}
			}
			switch {
			case o != nil && c.place.matched:
				return c.event(), o.event(), true
			case o != nil:
				return o.event(), c.event(), true
			}
			if high := highest[c.place]; high.record == nil || high.site != c.site || high.ordinal < c.ordinal {
				highest[c.place] = c
			}
		}
		under = append(under, c)
	}
	return matched, other, false
}

// countedCall is a call, and where the rule counts it.
type countedCall struct {
	*record
	place countedPlace
}

// countedPlace is where a rule counts calls, and whether it matched them. The zero value
// is nowhere.
type countedPlace struct {
	lane, target     string // target is empty for a group
	counted, matched bool
}

func (p countedPlace) opposite() countedPlace {
	p.matched = !p.matched
	return p
}

// callsUnderWay are the calls that have begun and not ended, in a walk in the order in
// which calls began.
type callsUnderWay []countedCall

// apartFrom returns a call with which c overlaps and which the rule counts in the same
// place, but did not match if it matched c, and the other way round. nil: there is none.
// A call within another does not overlap with it.
func (u callsUnderWay) apartFrom(c countedCall) *record {
	for _, o := range u {
		if o.place == c.place.opposite() && !u.within(c.record, o.record) {
			return o.record
		}
	}
	return nil
}

// within reports whether r is known to be a call within o: the only call under way of
// its caller's name is o, or is itself within o.
func (u callsUnderWay) within(r, o *record) bool {
	for inner := r; inner.caller != ""; {
		var outer *record
		for _, c := range u {
			switch {
			case c.site.target != inner.caller || c.begun >= inner.begun:
			case outer != nil:
				return false
			default:
				outer = c.record
			}
		}
		if outer == nil || outer == o {
			return outer == o
		}
		inner = outer
	}
	return false
}

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
