package chaos

import (
	"cmp"
	"iter"
	"sync/atomic"

	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/loopback"
)

// siteHash is the hash by which a site is found. For a call in the default lane it
// costs no arithmetic.
func siteHash(kind siteKind, target, lane uint64) uint64 {
	if kind != callSite {
		target = hash.Combine(target, uint64(kind))
	}
	if lane == 0 {
		return target
	}
	return hash.Combine(target, lane)
}

// laneHash is 0 for the default lane.
func laneHash(lane string) uint64 {
	if lane == "" {
		return 0
	}
	return hash.String(lane)
}

// findOrAdd returns the site of a target in a lane; in.mu is held.
func (in *Injector) findOrAdd(kind siteKind, target, alias, lane string) *site {
	h := siteHash(kind, hash.String(target), laneHash(lane))
	if s := in.points.find(h, target); s != nil {
		return s
	}
	s := &site{in: in, hash: h, target: target, scope: target, alias: alias, lane: lane, kind: kind}
	if kind == callSite {
		s.scope = in.drawScope(target)
	}
	s.empty = siteRules{site: s, simple: true, quick: in.traceless()}
	s.bind(in.rules)
	in.points.add(s)
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

// addSite returns the site of a call, and makes it if there is none.
func (in *Injector) addSite(p *point, lane string) *site {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.findOrAdd(callSite, p.target, p.alias, lane)
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

// drop takes sites out; the caller holds the injector's mutex. Calls under way may
// still hold them.
func (t *table) drop(gone func(*site) bool) {
	var kept []*site
	dropped := false
	for s := range t.all() {
		if gone(s) {
			dropped = true
			continue
		}
		kept = append(kept, s)
	}
	if !dropped {
		return
	}
	size := 8
	for size < 2*(len(kept)+1) {
		size *= 2
	}
	array := newArray(size)
	for _, s := range kept {
		insert(*array, s)
	}
	t.n = len(kept)
	t.array.Store(array)
}
