package findings

import (
	"github.com/shakedown-go/shakedown/internal/retryable"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A request is the calls of a tool that ask for the same.
type request struct {
	tool  string
	first *call // until it is made again
	done  []int // numbers of those that had an effect of their own
	maybe *call // one that may have had
	count int   // those that may have had
	keys  map[uint64]bool
}

// findDuplicates finds effects that were done twice. Of calls with one idempotency key
// the tool does the work once.
func (f *finder) findDuplicates() {
	requests := make(map[uint64]*request, len(f.calls))
	var order []*request              // of those that were made again
	hashed := make(map[string]uint64) // of tools with a key, the hash of the arguments seen first
	for i := range f.calls {
		c := &f.calls[i]
		if c.effect == none || !c.args.known {
			continue
		}
		if c.keyed && c.ArgsHash != "" {
			if first, seen := hashed[c.Tool]; seen && first != c.args.hash {
				f.doubt(DuplicateEffect, "Of the arguments of "+c.name()+" only a hash was recorded, "+
					"so they may be equal but for the idempotency key.")
			} else {
				hashed[c.Tool] = c.args.hash
			}
		}
		r := requests[c.request]
		if r == nil {
			requests[c.request] = &request{tool: c.Tool, first: c}
			continue
		}
		if r.first != nil {
			r.add(r.first)
			r.first = nil
			order = append(order, r)
		}
		r.add(c)
	}
	f.doubtHoles()
	for _, r := range order {
		switch {
		case len(r.done) > 1:
			f.found(DuplicateEffect, r.done, "the effect of %s was done %s times for equal arguments%s.",
				r.tool, text.Number(len(r.done)), f.audited(r.tool))
		case r.count == 0 || len(r.done)+r.count < 2:
		case r.maybe.effect == weak:
			f.doubt(DuplicateEffect, "It is not declared whether "+r.tool+" has effects, "+
				"and it was called more than once with equal arguments.")
		default:
			f.doubt(DuplicateEffect, "Nobody knows whether a call of "+r.maybe.name()+" did its work, "+
				"and it was called more than once with equal arguments"+f.audited(r.tool)+".")
		}
	}
}

// audited is what an audit found of a tool, as the end of a sentence.
func (f *finder) audited(tool string) string {
	if found := f.tools[tool].Audit; found != "" {
		return "; an audit found that " + found
	}
	return ""
}

// add adds a call. A key that was there before is no effect of its own. Of a key that may
// have been used, the later use counts.
func (r *request) add(c *call) {
	used := false
	if c.keyed {
		if r.keys == nil {
			r.keys = make(map[uint64]bool)
		}
		before, seen := r.keys[c.key]
		used = seen
		r.keys[c.key] = before || c.effect == done
		if seen && !before && c.effect == done { // what may have been done once is done once
			r.count--
			used = false
		}
	}
	switch {
	case used:
	case c.effect == done:
		r.done = append(r.done, c.number)
	default:
		r.maybe = c
		r.count++
	}
}

// doubtHoles notes tools of which two calls may have had an effect, one of them with
// arguments that were not recorded.
func (f *finder) doubtHoles() {
	calls := make(map[string]int)
	for i := range f.calls {
		if c := &f.calls[i]; c.effect != none {
			calls[c.Tool]++
		}
	}
	for i := range f.calls {
		if c := &f.calls[i]; c.effect != none && !c.args.known && calls[c.Tool] > 1 {
			f.doubt(DuplicateEffect, "Arguments of "+c.name()+
				" were not recorded, so they may be equal to those of another call.")
		}
	}
}

// A left is what is known of a call that failed, and that may have done its work.
type left struct {
	closed bool
	weak   bool // a later call may have looked it up
}

// An abandonment reads the calls from the first on. It has calls that are open.
type abandonment struct {
	f        *finder
	all      []*call
	requests waiting[uint64] // by tool and arguments, without a key
	tools    waiting[string] // those that no later call of their tool has met
	leaves   waiting[uint64] // by what is in their arguments
	unread   endings         // those that no later call without effects has met
	open     int
}

// findAbandoned finds effects that were left unknown. The agent does not know the effect
// of a call that failed, unless the work is known not to have been done. It is repeated by
// a later call with equal arguments, and looked up by a later call without effects that
// succeeds and has a value of its arguments. A call without effects that shares no value
// or fails, and a call of the same tool with other arguments, leave it unjudged; so does a
// permanent failure, which the callee may have refused before it did anything.
func (f *finder) findAbandoned() {
	a := &abandonment{f: f, requests: make(waiting[uint64]), tools: make(waiting[string]),
		leaves: make(waiting[uint64])}
	for i := range f.calls {
		c := &f.calls[i]
		if a.open > 0 {
			a.meet(c)
		}
		if c.effect != none && c.outcome != ok {
			a.leave(c)
		}
	}
	for _, l := range a.all {
		switch {
		case l.left.closed:
		case l.left.weak:
			f.doubt(Abandoned, "A later call may have looked up or repeated "+l.name()+
				", which failed and may have done its work.")
		case l.outcome == unsure:
			f.doubt(Abandoned, "How "+l.name()+" ended was not recorded.")
		case l.effect == weak:
			f.doubt(Abandoned, "It is not declared whether "+l.Tool+" has effects, and a call of it failed.")
		case l.effect == maybe && l.outcome == failed && f.class(l) == retryable.Permanent:
			f.doubt(Abandoned, l.name()+" failed with "+l.failure()+", which may mean that nothing was done.")
		default:
			f.found(Abandoned, []int{l.number}, "%s failed with %s and may have done its work; "+
				"it was neither looked up nor repeated.", l.name(), l.failure())
		}
	}
}

// leave adds a call that is open from now on.
func (a *abandonment) leave(c *call) {
	c.left = &left{}
	a.all = append(a.all, c)
	a.open++
	if c.args.known {
		a.requests.add(c.request, c)
	}
	a.tools.add(c.Tool, c)
	a.unread.add(c)
	c.leaves(func(leaf uint64) { a.leaves.add(leaf, c) })
}

// meet lets a later call close what is open.
func (a *abandonment) meet(c *call) {
	closes := func(l *call) {
		if !l.left.closed {
			l.left.closed = true
			a.open--
		}
	}
	weakens := func(l *call) { l.left.weak = true }
	if c.args.known {
		a.requests.before(c.request, c, closes)
	}
	a.tools.before(c.Tool, c, weakens)
	if c.effect == done || c.effect == maybe {
		return
	}
	a.unread.before(c, weakens)
	if c.outcome == ok && a.open > 0 {
		c.leaves(func(leaf uint64) { a.leaves.before(leaf, c, closes) })
	}
}
