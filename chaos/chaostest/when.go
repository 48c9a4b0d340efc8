package chaostest

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"reflect"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// WhenOptions are the call that a trigger is checked on; the zero value is a tool
// call.
type WhenOptions struct {
	_ struct{}
	// Args are the arguments for an ArgsWhen, of the type that it expects; nil: a
	// json.RawMessage with an object. They are not changed.
	Args any
}

// When checks a trigger and returns all violations, joined, each a
// [*Violation]; nil: there are none. o may be nil.
func When(w chaos.When, o *WhenOptions) error {
	q := &whenCheck{WhenOptions: *cmp.Or(o, &WhenOptions{}), when: w, checker: checker{clock: read()}}
	if q.Args == nil {
		q.Args = json.RawMessage(request)
	}
	if w == nil {
		q.add(Present, "the trigger is nil")
		return q.err()
	}
	q.declares(w, false)
	all := func(context.Context) (any, error) { q.questions(); return nil, nil }
	if q.start(context.Background(), all).finish(nil, nil).stuck {
		q.add(Panics, "Match did not return")
	}
	return q.err()
}

type whenCheck struct {
	WhenOptions
	checker
	when chaos.When
}

// calls returns calls of all kinds, with the lowest and the highest coordinates.
func calls() (list []chaos.Call) {
	for i := range uint64(200) {
		list = append(list, chaos.Call{
			Cell: []string{"", "cell/0"}[i%2], Lane: []string{"", "worker-1", "b"}[i%3],
			Target: []string{target, "search"}[i/5%2],
			Key:    i % 4, Occurrence: i / 4, Ordinal: i, Turn: int(i % 7),
		})
	}
	const most = math.MaxUint64
	return append(list, chaos.Call{},
		chaos.Call{Target: target, Key: most, Occurrence: most, Ordinal: most, Turn: math.MaxInt},
		chaos.Call{Target: target, Ordinal: 1 << 40, Occurrence: 1 << 40, Turn: math.MinInt})
}

// questions asks about all calls in order, in the opposite order, and from several
// goroutines at once.
func (q *whenCheck) questions() {
	list := calls()
	first := make([]bool, len(list))
	for i, c := range list {
		first[i] = q.answer(c)
	}
	if q.has(Panics) {
		return
	}
	time.Sleep(q.settle) // finds triggers that read a clock of their own
	for i := len(list) - 1; i >= 0; i-- {
		if q.answer(list[i]) != first[i] {
			q.add(Pure, "asked about one call, it answered %v and then %v: %+v", first[i], !first[i], list[i])
			return
		}
	}
	q.probable(list, first)
	q.guarded("MatchOrdinal", func() { q.ordinal(list, first) })
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range list {
				at := (i*7 + worker*53) % len(list)
				if q.answer(list[at]) != first[at] {
					q.add(Concurrent, "asked by several goroutines at once, it answered otherwise")
					return
				}
			}
		})
	}
	all.Wait()
}

// guarded notes a panic of ask.
func (q *whenCheck) guarded(what string, ask func()) {
	defer func() {
		if p := recover(); p != nil {
			q.add(Panics, "%s panicked: %v", what, p)
		}
	}()
	ask()
}

// answer asks the trigger as the injector would.
func (q *whenCheck) answer(c chaos.Call) (hit bool) {
	q.guarded("it", func() {
		args, ok := q.when.(chaos.ArgsWhen)
		if !ok {
			hit = q.when.Match(c)
			return
		}
		args.MatchArgs(c, nil) // as Injector.InjectNow does
		args.Match(c)
		given := copied(q.Args)
		hit = args.MatchArgs(c, given)
		if !reflect.DeepEqual(given, q.Args) {
			q.add(Arguments, "MatchArgs changed the arguments, %s, to %s", show(q.Args), show(given))
		}
	})
	return hit
}

// ordinal compares MatchOrdinal with Match.
func (q *whenCheck) ordinal(list []chaos.Call, first []bool) {
	w, ok := q.when.(chaos.OrdinalWhen)
	for i, c := range list {
		if !ok {
			return
		}
		if hit := w.MatchOrdinal(c.Ordinal); hit != first[i] {
			q.add(Ordinal, "to ordinal %d it answers %v, and to a call of that ordinal %v: %+v", c.Ordinal, hit,
				first[i], c)
			return
		}
	}
}

// probable compares Match with the draw that the injector makes in its place.
func (q *whenCheck) probable(list []chaos.Call, first []bool) {
	w, ok := q.when.(chaos.Probabilistic)
	if !ok {
		return
	}
	p := w.Probability()
	if !(p >= 0 && p <= 1) || w.Probability() != p {
		q.add(Probable, "Probability is %v and then %v; allowed: a number from 0 to 1, always the same", p,
			w.Probability())
		return
	}
	for i, c := range list {
		if first[i] != (c.Draw(0) < p) {
			q.add(Probable, "its probability is %v, and on a draw of %v it answered %v", p, c.Draw(0), first[i])
			return
		}
	}
}
