package chaos

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/loopback"
)

// enter returns the rules of a call's site. nil without an error means that nothing
// can happen to the call: it goes straight to its callee.
func (in *Injector) enter(p *point, f *frame) (*siteRules, error) {
	if in.state.Load() != 0 {
		return in.enterInactive(p, f)
	}
	if f != nil && (f.spared || f.target != "" && f.inside(in, p.target)) {
		return nil, nil
	}
	lane, h := "", p.hash
	if f != nil && f.laneHash != 0 {
		lane, h = f.lane, siteHash(h, f.laneHash)
	}
	s := in.points.find(h, p.target)
	if s == nil {
		s = in.addSite(p, lane)
	}
	set := s.set.Load()
	if len(set.rules) == 0 && !in.opts.RecordAll {
		return nil, nil
	}
	return set, nil
}

// enterInactive is enter of an injector that is closed or disarmed. A disarmed one
// counts all that it would count if armed, so that recording calls does not change what is
// injected after the next Arm. One that was never armed lets calls pass.
func (in *Injector) enterInactive(p *point, f *frame) (*siteRules, error) {
	switch {
	case in.state.Load()&stateClosed != 0:
		in.late.Add(1)
		return nil, ErrCellEnded
	case in.state.Load()&stateAwaiting != 0, f != nil && f.spared, f.inside(in, p.target):
		return nil, nil
	}
	lane := ""
	if f != nil {
		lane = f.lane
	}
	s := in.addSite(p, lane)
	set := s.set.Load()
	if len(set.rules) == 0 && !in.opts.RecordAll {
		return nil, nil
	}
	for _, g := range set.groups {
		g.calls.Add(1)
	}
	return &s.empty, nil
}

// site is one target in one lane: the rules that match it, and the counts that give a call
// its coordinates.
type site struct {
	in     *Injector
	hash   uint64 // of kind, lane and target
	target string // or the name of the rule or group, or a prefix of names
	scope  string // the name that draws depend on: the target, perhaps without a port
	alias  string // of the target; empty: it has none
	lane   string
	kind   siteKind
	set    atomic.Pointer[siteRules]
	clock  atomic.Bool // some trigger asks for the time: read the clock before the triggers

	calls   atomic.Uint64 // the next ordinal, and the bit mixed
	failing atomic.Bool   // fails is not empty

	mu    sync.Mutex
	keyed map[uint64]uint64 // next occurrence, by key; nil until mixed is set
	fails streaks           // guarded by the lock of the injector's log

	empty siteRules // no rule; in force while the injector is disarmed
}

type siteKind uint8

const (
	callSite    siteKind = iota
	requestSite          // of Injector.InjectNow
	groupSite            // counts the calls of a lane to all targets of a group
	exactSite            // of MayAffect: the rules for this target
	prefixSite           // of MayAffectPrefix: those for targets that start so
)

// siteRules are the rules that match the target of a site, replaced as a whole when
// rules come and go.
type siteRules struct {
	site    *site
	rules   []siteRule
	groups  []*site // the distinct groups among them
	args    bool    // some trigger wants the arguments
	ordinal bool    // every trigger is an OrdinalWhen: no key is needed either
	quick   bool    // simple, and a call that no trigger matches is not recorded
	simple  bool    // every trigger is chance, none, or an OrdinalWhen: no Call, no clock, no group is needed
}

type siteRule struct {
	*liveRule
	ordinals   OrdinalWhen // the trigger, if it is one; nil: it is chance, none, or asked with a Call
	coord      uint64      // prefix of the draws of its trigger
	faultCoord uint64      // prefix of the draws of its fault: of the target, in a group too
	limit      uint64      // a probabilistic trigger matches if the 53 bits of the draw are below
	base       uint64      // the ordinal at which it was registered, of the group where it has one
	group      int         // index into siteRules.groups; -1 without a group
}

// bind puts the rules that match the target in force. A rule that was there before
// keeps the ordinal that it counts from. The caller holds in.mu.
func (s *site) bind(rules []*liveRule) {
	old, set := s.set.Load(), &siteRules{site: s, simple: true, ordinal: true}
	at := 0 // where to look first in the old list: the order is nearly always the same
	for _, a := range rules {
		if s.reaches(a) {
			base, i := old.baseOf(a, at)
			if i >= 0 {
				at = i + 1
			} else {
				base = s.counted()
			}
			set.add(a, base)
		}
	}
	s.set.Store(set)
}

// rebind is bind after rules came or went: moved are those that went, or stand now in the
// place of one that did, last are at the end of the list. The last ones are appended to the
// same array, of which the part that others read does not change.
func (s *site) rebind(moved, last []*liveRule) {
	if slices.ContainsFunc(moved, s.reaches) {
		s.bind(s.in.rules)
		return
	}
	var set *siteRules
	for _, a := range last {
		if s.reaches(a) {
			if set == nil {
				own := *s.set.Load()
				set = &own
			}
			set.add(a, s.counted())
		}
	}
	if set != nil {
		s.set.Store(set)
	}
}

func (set *siteRules) add(a *liveRule, base uint64) {
	set.rules = append(set.rules, set.site.boundTo(a, base, set))
	set.args = set.args || a.args
	set.ordinal = set.ordinal && a.Group == "" && a.ordinals != nil
	set.simple = set.simple && a.Group == "" && (a.When == nil || a.chancy || a.ordinals != nil)
	set.quick = set.simple && !set.site.in.opts.RecordAll
}

func (s *site) reaches(a *liveRule) bool {
	if a.barred {
		return false
	}
	switch s.kind {
	case groupSite:
		return a.Group == s.target
	case requestSite:
		return a.Name == s.target
	case prefixSite:
		return a.glob.Begins(s.target)
	}
	return s.named(a.glob.Match) && s.named(s.in.allows)
}

func (s *site) named(holds func(string) bool) bool {
	return holds(s.target) || s.alias != "" && holds(s.alias)
}

func (s *site) boundTo(a *liveRule, base uint64, set *siteRules) siteRule {
	b := siteRule{liveRule: a, ordinals: a.ordinals, group: -1, limit: drawLimit(a.chance), base: base}
	kind, scope := s.kind, s.scope
	b.faultCoord = s.coord(kind, scope, a.nameHash)
	if a.Group != "" && s.kind == callSite {
		g := s.in.groupSite(a.Group, s.lane)
		if b.group = slices.Index(set.groups, g); b.group < 0 {
			b.group = len(set.groups)
			set.groups = append(set.groups, g)
		}
		b.base, _ = g.set.Load().baseOf(a, 0)
		kind, scope = groupSite, a.Group
	}
	b.coord = s.coord(kind, scope, a.hash)
	return b
}

// coord is the prefix of a rule's draws. A group, or a request of InjectNow, has other
// draws than a target of the same name.
func (s *site) coord(kind siteKind, scope string, rule uint64) uint64 {
	h := hash.String(scope)
	if kind != callSite {
		h = hash.Combine(h, uint64(kind))
	}
	return ruleHash(scopeHash(s.in.scope, hash.String(s.lane), h), rule)
}

// drawLimit turns a probability into a bound on the 53 bits of a draw: comparing integers
// agrees with comparing [Call.Draw] with p.
func drawLimit(p float64) uint64 { return uint64(math.Ceil(p * (1 << 53))) }

// baseOf returns the ordinal that a rule counts from, and its index; -1: it is not
// there. It looks at the likely index first: lists have their rules in one order.
func (set *siteRules) baseOf(a *liveRule, likely int) (base uint64, place int) {
	if set != nil {
		for i := range set.rules {
			at := (likely + i) % len(set.rules)
			if b := &set.rules[at]; b.liveRule == a {
				return b.base, at
			}
		}
	}
	return 0, -1
}

// maxKeys bounds the keys counted per site. Past it all counts of the site start
// over, which repeats draws but biases none.
const maxKeys = 1 << 16

// mixed is the bit of site.calls that the first call with a key sets. Before it ordinals
// are occurrences, after it occurrences are counted in site.keyed. The atomic step that
// counts a call reads the bit too, so that each call without a key is counted one way.
const mixed = 1 << 63

func (s *site) counted() uint64 { return s.calls.Load() &^ mixed }

func (s *site) mix() {
	if s.calls.Load()&mixed != 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keyed == nil {
		s.keyed = map[uint64]uint64{0: s.calls.Or(mixed)}
	}
}

func (s *site) occurrence(key uint64) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.keyed) >= maxKeys {
		clear(s.keyed)
	}
	n := s.keyed[key]
	s.keyed[key] = n + 1
	return n
}

// askTime returns the time to a trigger of a call for which the clock was not read. From
// then on it is read before the first trigger; match asks all of this call again.
func (s *site) askTime() time.Duration {
	s.clock.Store(true)
	return s.in.Elapsed()
}

// siteHash is the hash by which the site of a call is found. In the default lane it costs
// no arithmetic.
func siteHash(target, lane uint64) uint64 {
	if lane == 0 {
		return target
	}
	return hash.Combine(target, lane)
}

func laneHash(lane string) uint64 {
	if lane == "" {
		return 0
	}
	return hash.String(lane)
}

func (in *Injector) addSite(p *point, lane string) *site {
	in.mu.Lock()
	defer in.mu.Unlock()
	h := siteHash(p.hash, laneHash(lane))
	if s := in.points.find(h, p.target); s != nil {
		return s
	}
	if in.points.n >= maxSites { // add lets all counts start over: those of groups too
		for _, g := range in.groups {
			clear(g.lanes)
		}
	}
	s := &site{in: in, hash: h, target: p.target, scope: in.drawScope(p.target), alias: p.alias, lane: lane}
	s.empty = siteRules{site: s, simple: true, quick: !in.opts.RecordAll}
	s.bind(in.rules)
	in.points.add(s)
	return s
}

func (in *Injector) groupSite(group, lane string) *site {
	g := in.groups[group]
	if s := g.lanes[lane]; s != nil {
		return s
	}
	s := &site{in: in, target: group, scope: group, lane: lane, kind: groupSite}
	s.bind(in.rules)
	g.lanes[lane] = s
	return s
}

// drawScope is the name of a target that draws depend on. The port of a server on this
// machine is another one in each run, so it is left out: of the port that is met first,
// lest two servers have the same draws. in.mu is held.
func (in *Injector) drawScope(target string) string {
	before, port, after, ok := loopback.Cut(target)
	if !ok {
		return target
	}
	in.port = cmp.Or(in.port, port)
	if port != in.port {
		return target
	}
	return before + after
}

// A table finds sites without a lock: open addressing over an array that is at most
// half full, replaced when it must grow.
type table struct {
	array atomic.Pointer[[]atomic.Pointer[site]]
	n     int // guarded by the injector's mutex, which add needs
}

func (t *table) find(h uint64, target string) *site {
	array := t.array.Load()
	if array == nil {
		return nil
	}
	sites := *array
	mask := uint64(len(sites) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		s := sites[i].Load()
		if s == nil || s.hash == h && s.target == target {
			return s
		}
	}
}

// all ranges over the sites. Unless the caller holds in.mu, sites added meanwhile may
// be missing.
func (t *table) all() iter.Seq[*site] {
	return func(yield func(*site) bool) {
		array := t.array.Load()
		if array == nil {
			return
		}
		for i := range *array {
			if s := (*array)[i].Load(); s != nil && !yield(s) {
				return
			}
		}
	}
}

// maxSites bounds the pairs of lane and target counted in one injector. Past
// it all counts start over: a live server may make a lane per request.
const maxSites = 1 << 14

// add puts a site in; the caller holds in.mu and has looked for it.
func (t *table) add(s *site) {
	array := t.array.Load()
	switch {
	case array == nil || t.n >= maxSites:
		array, t.n = newArray(8), 0
	case t.n*2 >= len(*array):
		grown := newArray(len(*array) * 2)
		for old := range t.all() {
			insert(*grown, old)
		}
		array = grown
	}
	insert(*array, s)
	t.n++
	t.array.Store(array)
}

func newArray(n int) *[]atomic.Pointer[site] {
	a := make([]atomic.Pointer[site], n)
	return &a
}

func insert(sites []atomic.Pointer[site], s *site) {
	mask := uint64(len(sites) - 1)
	i := s.hash & mask
	for sites[i].Load() != nil {
		i = (i + 1) & mask
	}
	sites[i].Store(s)
}

// MayAffect reports whether anything can happen to a call of target: a rule in
// force matches it, calls are recorded, or the injector is closed. Only the first question
// about a name allocates.
func (in *Injector) MayAffect(target string) bool {
	return in.mayAffect(hash.String(target), exactSite, target)
}

// MayAffectPrefix is [Injector.MayAffect] for all targets that start with prefix
// and have no space in what follows it.
func (in *Injector) MayAffectPrefix(prefix string) bool {
	return in.mayAffect(^hash.String(prefix), prefixSite, prefix)
}

// mayAffect keeps which rules match a name apart from the sites of calls: there may be many
// paths of requests, and nothing is counted here.
func (in *Injector) mayAffect(h uint64, kind siteKind, name string) bool {
	if in.opts.RecordAll || in.state.Load()&stateClosed != 0 {
		return true
	}
	s := in.asked.find(h, name)
	if s == nil {
		in.mu.Lock()
		if s = in.asked.find(h, name); s == nil {
			s = &site{in: in, hash: h, target: name, kind: kind}
			s.bind(in.rules)
			in.asked.add(s)
		}
		in.mu.Unlock()
	}
	return len(s.set.Load().rules) > 0
}
