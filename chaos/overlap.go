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
	latest := map[overlapSite][2]*record{}  // by whether the rule matched: the call that ended last
	highest := map[overlapSite][2]*record{} // and the one with the highest ordinal
	for k := range records {
		r := &records[k]
		if r.site.kind != callSite || !a.countsAt(r.site, rules) {
			continue
		}
		at := overlapSite{lane: r.site.lane}
		if a.Group == "" {
			at.target = r.site.target
		}
		mine, last, high := 0, latest[at], highest[at]
		if r.matched(a) {
			mine = 1
		}
		o := last[1-mine]
		if o == nil || o.ended < r.begun {
			// A call is counted before it begins: one that was counted earlier and began
			// later overlapped too.
			if o = high[1-mine]; o != nil && (o.site != r.site || o.ordinal < r.ordinal) {
				o = nil
			}
		}
		if o != nil {
			pair := [2]*record{o, r}
			return pair[mine].event(), pair[1-mine].event(), true
		}
		if high[mine] == nil || high[mine].site != r.site || high[mine].ordinal < r.ordinal {
			high[mine] = r
			highest[at] = high
		}
		if last[mine] == nil || last[mine].ended < r.ended {
			last[mine] = r
			latest[at] = last
		}
	}
	return matched, other, false
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
