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
	i, rules := in.place(rule), slices.Clone(in.rules)
	in.mu.Unlock()
	if i < 0 {
		return matched, other, false
	}
	a := rules[i]
	counted := func(s *site) bool {
		return s.reaches(a) || a.Group != "" &&
			slices.ContainsFunc(rules, func(b *liveRule) bool { return b.Group == a.Group && s.reaches(b) })
	}
	records, _ := in.log.since(0)
	slices.SortStableFunc(records, func(a, b record) int { return cmp.Compare(a.begun, b.begun) })
	type fate struct {
		site    *site
		matched bool
	}
	highest := map[fate]*record{} // by ordinal, so far
	var under callsUnderWay
	for k := range records {
		c := &records[k]
		if c.site.kind != callSite {
			continue
		}
		under = slices.DeleteFunc(under, func(o *record) bool { return o.ended < c.begun })
		if counted(c.site) {
			hit := c.matched(a)
			// A call is counted before it begins: one that was counted earlier and began
			// later overlapped too.
			o := highest[fate{c.site, !hit}]
			if o == nil || o.ordinal < c.ordinal {
				at := slices.IndexFunc(under, func(o *record) bool {
					together := o.site == c.site || a.Group != "" && o.site.lane == c.site.lane && counted(o.site)
					return together && o.matched(a) != hit && !under.within(c, o)
				})
				if o = nil; at >= 0 {
					o = under[at]
				}
			}
			switch {
			case o != nil && hit:
				return c.event(), o.event(), true
			case o != nil:
				return o.event(), c.event(), true
			}
			if high := highest[fate{c.site, hit}]; high == nil || high.ordinal < c.ordinal {
				highest[fate{c.site, hit}] = c
			}
		}
		under = append(under, c)
	}
	return matched, other, false
}

// callsUnderWay are the calls that have begun and not ended, in a walk in the order in
// which calls began.
type callsUnderWay []*record

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
				outer = c
			}
		}
		if outer == nil || outer == o {
			return outer == o
		}
		inner = outer
	}
	return false
}

func (r *record) matched(a *liveRule) bool {
	if r.main == a {
		return true
	}
	m := r.more
	return m != nil && slices.Contains(slices.Concat(m.also, m.idle, m.masked, m.held), a.Name)
}
