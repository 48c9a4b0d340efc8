package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
)

// bead is an item of the streams of the law.
type bead struct {
	ID int    `json:"id"`
	V  [2]int `json:"v"`
}

// act is what a rule of the law does to a stream.
type callRule struct {
	what  string
	k     int // the item that it is about, counted as it comes in
	at, n int // the number that it sets
	rule  int
	limit int
}

var streamActs = []string{"pass", "set each", "set", "set", "drop", "insert", "double", "reverse", "cut", "fail", "slow", "drop last"}

func acts(t *rapid.T) callRule {
	return callRule{
		what: rapid.SampledFrom(streamActs).Draw(t, "act"),
		k:    rapid.IntRange(0, 4).Draw(t, "k"), at: rapid.IntRange(0, 1).Draw(t, "at"), n: rapid.IntRange(0, 2).Draw(t, "n"),
		limit: rapid.IntRange(0, 2).Draw(t, "limit"),
	}
}

// lone is a fault of single items, threaded a Streamer.
type (
	lone     struct{ callRule }
	threaded struct{ callRule }
)

func (a callRule) fault() chaos.Fault {
	if a.what == "set each" {
		return lone{a}
	}
	return threaded{a}
}

func (callRule) Phase() chaos.Phase { return chaos.PhaseChange }

func (a lone) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	item, err := next(ctx, args)
	if b, ok := item.(bead); ok && err == nil && b.ID%2 == a.k%2 {
		b.V[a.at] = a.n
		return b, nil
	}
	return item, err
}

func (threaded) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	return next(ctx, args)
}

func (a threaded) Stream(ctx context.Context, _ chaos.Call, items iter.Seq2[any, error]) iter.Seq2[any, error] {
	type pair struct {
		item any
		err  error
	}
	return func(yield func(any, error) bool) {
		var held []pair
		flush := func() bool {
			for _, p := range slices.Backward(held) {
				if !yield(p.item, p.err) {
					return false
				}
			}
			held = nil
			return true
		}
		k := -1
		for item, err := range items {
			k++
			on := k == a.k
			switch {
			case on && a.what == "drop":
				continue
			case on && a.what == "cut":
				return
			case on && a.what == "fail":
				yield(nil, errMade)
				return
			case on && a.what == "slow":
				_ = chaos.Sleep(ctx, time.Second<<a.rule)
			case on && a.what == "set" && err == nil:
				b := item.(bead)
				b.V[a.at] = a.n
				item = b
			}
			switch a.what {
			case "reverse":
				if held = append(held, pair{item, err}); len(held) == a.k%3+2 && !flush() {
					return
				}
				continue
			case "drop last":
				held = append(held, pair{item, err})
				if len(held) == 1 {
					continue
				}
				first := held[0]
				if held = held[1:]; !yield(first.item, first.err) {
					return
				}
				continue
			}
			if !yield(item, err) {
				return
			}
			if on && (a.what == "insert" || a.what == "double" && err == nil) {
				if a.what == "insert" {
					item = bead{ID: 100 + a.rule}
				}
				if !yield(item, nil) {
					return
				}
			}
		}
		if a.what == "reverse" {
			flush()
		}
	}
}

// element is an item as the oracle follows it.
type element struct {
	bead
	failed string // "own" or "made" in the place of an item
	source int    // -1: a rule made it
	setter [2]int // who set the number last, -1: nobody
	by     []int  // rules that moved it
	made   []int  // and that made it
}

func (e element) alike(o element) bool { return e.bead == o.bead && e.failed == o.failed }

// through returns what an act makes of a whole stream, what it keeps back at the end,
// and whether it ended the stream early.
func (a callRule) through(in []element) (out []element, left, early bool) {
	used := make([]bool, len(in))
	// pass yields an element that was taken before, recognised by its value: the first of equals. The error that a
	// rule made is its own, and equal to none.
	pass := func(i, taken int) {
		for k := range taken + 1 {
			if !used[k] && in[k].alike(in[i]) && (in[i].failed == "" || slices.Equal(in[k].made, in[i].made)) {
				i = k
				break
			}
		}
		used[i] = true
		e := in[i]
		if i != len(out) {
			e.by = append(slices.Clone(e.by), a.rule)
		}
		out = append(out, e)
	}
	for i, e := range in {
		on := i == a.k
		switch {
		case on && a.what == "drop":
		case on && a.what == "cut":
			return out, true, true
		case on && a.what == "fail":
			return append(out, element{failed: "made", source: -1, made: []int{a.rule}}), true, true
		case (on && a.what == "set" || a.what == "set each" && e.ID%2 == a.k%2) && e.failed == "" && e.V[a.at] != a.n:
			used[i] = true
			if e.V[a.at], e.setter[a.at] = a.n, a.rule; i != len(out) {
				e.by = append(slices.Clone(e.by), a.rule)
			}
			out = append(out, e)
		case a.what == "reverse":
			if window := a.k%3 + 2; (i+1)%window == 0 || i == len(in)-1 {
				for k := i; k >= i-i%window; k-- {
					pass(k, i)
				}
			}
		case a.what == "drop last":
			if i > 0 {
				pass(i-1, i)
			}
		default:
			pass(i, i)
			switch {
			case on && a.what == "insert":
				out = append(out, element{bead: bead{ID: 100 + a.rule}, source: -1, setter: [2]int{-1, -1}, made: []int{a.rule}})
			case on && a.what == "double" && e.failed == "":
				twin := out[len(out)-1]
				twin.source, twin.made = -1, append(slices.Clone(twin.made), a.rule)
				out = append(out, twin)
			}
		}
	}
	return out, slices.Contains(used, false), false
}

// theSources reports whether a stream is the source's own: what one rule did to it, another
// took back.
func theSources(stream []element, n int, failing bool) bool {
	if failing {
		n++
	}
	changed := func(e element) bool { return e.source < 0 || e.V != [2]int{} }
	return len(stream) == n && !slices.ContainsFunc(stream, changed) &&
		slices.IsSortedFunc(stream, func(a, b element) int { return a.source - b.source })
}

// streamOracle returns what a consumer gets that stops after most items of a stream
// of n items, and which rules were delivered. failing: the stream ends with an error. open are
// rules that may be delivered: after a cut it depends on how far the rules further in had read
// whether the engine knows that the source has no more.
func streamOracle(rules []callRule, n int, failing bool, most int) (consumed []element, delivered, open map[int]bool) {
	var stream []element
	for i := range n {
		stream = append(stream, element{bead: bead{ID: i}, source: i, setter: [2]int{-1, -1}})
	}
	if failing {
		stream = append(stream, element{failed: "own", source: n, setter: [2]int{-1, -1}})
	}
	ended, cut := map[int]bool{}, false
	for _, a := range rules {
		out, left, early := a.through(stream)
		if cut = cut || early; early {
			clear(ended) // those further in did not come to their end
		}
		stream, ended[a.rule] = out, left
	}
	delivered = map[int]bool{}
	if most > len(stream) && !theSources(stream, n, failing) {
		maps.Copy(delivered, ended)
	} else if most > len(stream) && cut {
		open = ended
	}
	consumed = stream[:min(most, len(stream))]
	for place, e := range consumed {
		for _, rule := range e.made {
			delivered[rule] = true
		}
		for _, rule := range e.by {
			delivered[rule] = delivered[rule] || e.source != place
		}
		for at, rule := range e.setter {
			if rule >= 0 && e.V[at] != 0 {
				delivered[rule] = true
			}
		}
	}
	return consumed, delivered, open
}

// A rule of a stream is delivered if its consumer saw what it did: an item that was
// moved, changed or delayed, or another end.
func TestDeliveredOfAStreamIsWhatItsConsumerWasHanded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the error of the first is dropped, and the consumer gets that of the third
		beads(t, []callRule{{what: "fail", k: 1}, {what: "reverse"}, {what: "fail", k: 1}, {what: "drop"}}, false, 1, true, 1, 1)
	})
	rapid.Check(t, func(rt *rapid.T) {
		rules := rapid.SliceOfN(rapid.Custom(acts), 1, 5).Draw(rt, "rules")
		lost := rapid.IntRange(0, 9).Draw(rt, "lost") == 0
		n, failing, most := rapid.IntRange(0, 6).Draw(rt, "items"), rapid.Bool().Draw(rt, "failing"), rapid.IntRange(1, 12).Draw(rt, "most")
		calls := rapid.IntRange(1, 3).Draw(rt, "calls")
		var c complaints
		synctest.Test(t, func(*testing.T) { beads(&c, rules, lost, n, failing, most, calls) })
		for _, complaint := range c {
			rt.Error(complaint)
		}
	})
}

func beads(t assert.TestingT, rules []callRule, lost bool, n int, failing bool, most, calls int) {
	var list []chaos.Rule
	for i := range rules {
		rules[i].rule = i
		list = append(list, chaos.Rule{Name: fmt.Sprint(i), Target: "beads", Fault: rules[i].fault(), Limit: rules[i].limit})
	}
	if lost {
		list = append(list, chaos.Rule{Name: "lost", Target: "beads", Fault: faultFunc{chaos.PhaseAfter,
			func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
				_, _ = next(ctx, args)
				return nil, context.DeadlineExceeded
			}}})
	}
	p, err := chaos.NewPlan(1, list...)
	if !assert.NoError(t, err) {
		return
	}
	in := p.Injector("", &chaos.InjectorOptions{RecordAll: true})
	ctx := chaos.NewContext(context.Background(), in)
	stream := chaos.WrapStream("beads", func(context.Context, int) iter.Seq2[bead, error] {
		return func(yield func(bead, error) bool) {
			for i := range n {
				if !yield(bead{ID: i}, nil) {
					return
				}
			}
			if failing {
				yield(bead{}, errOwn)
			}
		}
	})
	counts := map[int]int{}
	for call := range calls {
		var awake []callRule
		for _, a := range rules {
			if a.limit == 0 || counts[a.rule] < a.limit {
				awake = append(awake, a)
			}
		}
		want, delivered, open := streamOracle(awake, n, failing, most)
		var got []element
		begun := time.Now()
		for b, err := range stream(ctx, 0) {
			e := element{bead: b}
			switch {
			case errors.Is(err, errMade):
				e.failed = "made"
			case err != nil:
				e.failed = "own"
			}
			if got = append(got, e); len(got) == most {
				break
			}
		}
		waits := int(time.Since(begun) / time.Second)
		e := in.Events()[call]
		say := fmt.Sprintf("call %d: consumed %+v\n%+v\nof %+v", call, got, e, awake)
		if lost {
			clear(delivered)
		} else {
			assert.Len(t, got, len(want), say)
			for i := range min(len(got), len(want)) {
				assert.Truef(t, got[i].alike(want[i]), "item %d, want %+v: %s", i, want[i], say)
			}
		}
		namedOnce(t, e)
		said := []string{}
		if e.Delivered {
			said = append(slices.Clone(e.Also), e.Rule)
		}
		names := []string{}
		if lost {
			names, open = append(names, "lost"), nil
		}
		for _, a := range awake {
			if delivered[a.rule] || waits>>a.rule&1 == 1 || open[a.rule] && slices.Contains(said, fmt.Sprint(a.rule)) {
				names = append(names, fmt.Sprint(a.rule))
				counts[a.rule]++
			}
		}
		assert.ElementsMatch(t, names, said, say)
	}
	for i := range rules {
		assert.Equal(t, counts[i] == 0, slices.Contains(in.Undelivered(), fmt.Sprint(i)), "rule %d", i)
	}
	assert.Zero(t, chaos.Pending(in))
}
