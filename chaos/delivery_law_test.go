package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
)

// triple is what the calls of the law pass and return, as a Go value or as JSON.
type triple [3]int

// with is a value of either form with one number replaced.
func with(v any, at, n int) any {
	raw, isJSON := v.(json.RawMessage)
	t, _ := v.(triple)
	if isJSON {
		_ = json.Unmarshal(raw, &t)
	}
	t[at] = n
	if isJSON {
		doc, _ := json.Marshal(t)
		return json.RawMessage(doc)
	}
	return t
}

func plain(v any) (t triple) {
	if raw, isJSON := v.(json.RawMessage); isJSON {
		_ = json.Unmarshal(raw, &t)
		return t
	}
	t, _ = v.(triple)
	return t
}

// deed is what a rule of the law does to a call.
type deed struct {
	what  string
	phase chaos.Phase
	at, n int           // the number that it sets
	wait  time.Duration // that it asks for
	claim string        // what it declares: "honest", "silent" or "always"
	limit int
}

var errMade = errors.New("down")

// deeds draws what rules may do.
func deeds(t *rapid.T) (d deed) {
	kinds := []deed{
		{what: "wait", phase: chaos.PhaseBefore}, {what: "wait", phase: chaos.PhaseAfter}, {what: "wait", phase: chaos.PhaseChange},
		{what: "args", phase: chaos.PhaseBefore}, {what: "args", phase: chaos.PhaseBefore},
		{what: "fail", phase: chaos.PhaseInstead}, {what: "fail", phase: chaos.PhaseChange}, {what: "fail", phase: chaos.PhaseAfter},
		{what: "first of two", phase: chaos.PhaseInstead}, {what: "second of two", phase: chaos.PhaseInstead},
		{what: "skip", phase: chaos.PhaseInstead}, {what: "misfit", phase: chaos.PhaseInstead}, {what: "misfit", phase: chaos.PhaseChange},
		{what: "set", phase: chaos.PhaseChange}, {what: "set", phase: chaos.PhaseChange}, {what: "set", phase: chaos.PhaseChange},
		{what: "set", phase: chaos.PhaseChange}, {what: "panic", phase: chaos.PhaseBefore}, {what: "panic", phase: chaos.PhaseChange},
	}
	d = rapid.SampledFrom(kinds).Draw(t, "deed")
	d.at, d.n = rapid.IntRange(0, 2).Draw(t, "at"), rapid.IntRange(0, 2).Draw(t, "n")
	d.wait = time.Duration(rapid.IntRange(0, 1).Draw(t, "wait")) * time.Second
	d.claim = rapid.SampledFrom([]string{"honest", "silent", "always"}).Draw(t, "claim")
	d.limit = rapid.IntRange(0, 2).Draw(t, "limit")
	return d
}

func (d deed) Phase() chaos.Phase { return d.phase }

func (d deed) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	switch {
	case d.what == "panic" && d.phase == chaos.PhaseBefore:
		panic(errMade)
	case d.what == "fail" && d.phase == chaos.PhaseInstead:
		return nil, errMade
	case d.what == "skip":
		return with(args, d.at, d.n), nil
	case d.what == "misfit" && d.phase == chaos.PhaseInstead:
		return make(chan int), nil
	case d.what == "wait" && d.phase == chaos.PhaseBefore:
		_ = chaos.Sleep(ctx, d.wait)
	case d.what == "args":
		d.declare(ctx, plain(args)[d.at])
		return next(ctx, with(args, d.at, d.n))
	}
	result, err := next(ctx, args)
	switch {
	case d.what == "second of two":
		return next(ctx, args)
	case d.what == "first of two":
		_, _ = next(ctx, args)
	case d.what == "wait" && d.phase != chaos.PhaseBefore:
		_ = chaos.Sleep(ctx, d.wait)
	case d.what == "fail" && (err == nil || d.phase == chaos.PhaseAfter):
		return nil, errMade
	case err != nil:
	case d.what == "panic":
		panic(errMade)
	case d.what == "misfit":
		return make(chan int), nil
	case d.what == "set":
		d.declare(ctx, plain(result)[d.at])
		return with(result, d.at, d.n), nil
	}
	return result, err
}

func (d deed) declare(ctx context.Context, before int) {
	if d.claim == "always" || d.claim == "honest" && before != d.n {
		chaos.Changed(ctx, chaos.Change{})
	}
}

// world is the callee of the law: the arguments of its executions, and how each ends.
type world struct {
	ends    []string // of each execution: "ok", "fail" or "panic"
	reached []triple
}

var errOwn = errors.New("no such order")

func (w *world) execute(args triple) (triple, error) {
	n := len(w.reached)
	w.reached = append(w.reached, args)
	switch w.ends[n] {
	case "panic":
		panic(errOwn)
	case "fail":
		return triple{}, errOwn
	}
	return triple{n, n, n}, nil
}

// seen is what can be seen of a call from outside.
type seen struct {
	value    triple
	err      error
	panicked bool
	took     time.Duration
	reached  []triple
}

// oracle returns what can be seen of a call, and which rules were delivered. It
// follows from the order in which rules act and the definition of delivered alone.
func oracle(rules []deed, args triple, ends []string) (s seen, delivered []int) {
	w := &world{ends: ends}
	shown := map[int]bool{}
	defer func() {
		s.reached = w.reached
		for i := range rules {
			if shown[i] {
				delivered = append(delivered, i)
			}
		}
	}()
	in := func(p chaos.Phase) (of []int) {
		for i, d := range rules {
			if d.phase == p {
				of = append(of, i)
			}
		}
		return of
	}
	given, setter := args, [3]int{-1, -1, -1} // who set each argument last
	for _, i := range in(chaos.PhaseBefore) {
		switch d := rules[i]; d.what {
		case "panic":
			shown[i], s.panicked = true, true
			return s, nil
		case "wait":
			s.took += d.wait
			shown[i] = d.wait > 0
		case "args":
			if given[d.at] != d.n {
				given[d.at], setter[d.at] = d.n, i
			}
		}
	}
	execute := func() (v triple, err error) {
		for at, i := range setter {
			if i >= 0 && given[at] != args[at] {
				shown[i] = true
			}
		}
		defer func() {
			if recover() != nil {
				s.panicked = true
			}
		}()
		return w.execute(given)
	}
	decider := append(in(chaos.PhaseInstead), -1)[0]
	var err error
	what := ""
	if decider >= 0 {
		what = rules[decider].what
	}
	switch what {
	case "fail":
		shown[decider], err = true, errMade
	case "skip":
		shown[decider] = true
		s.value = given
		s.value[rules[decider].at] = rules[decider].n
	default:
		s.value, err = execute()
	}
	if (what == "first of two" || what == "second of two") && !s.panicked {
		shown[decider] = true
		if v, again := execute(); what == "second of two" && !s.panicked {
			s.value, err = v, again
		}
	}
	if s.panicked {
		s.value = triple{}
		return s, nil
	}
	base, changer := s.value, [3]int{-1, -1, -1}
	var failed []int // changes that made an error
	for _, i := range in(chaos.PhaseChange) {
		switch d := rules[i]; {
		case d.what == "wait":
			s.took += d.wait
			shown[i] = d.wait > 0
		case err != nil:
		case d.what == "fail":
			err, failed = errMade, append(failed, i)
		case d.what == "panic":
			shown[i], s.panicked, s.value = true, true, triple{}
			return s, nil
		case d.what == "set" && s.value[d.at] != d.n:
			s.value[d.at], changer[d.at] = d.n, i
		}
	}
	lost := false
	for _, i := range in(chaos.PhaseAfter) {
		switch d := rules[i]; d.what {
		case "wait":
			s.took += d.wait
			shown[i] = d.wait > 0
		case "fail":
			shown[i], err, lost = true, errMade, true
		}
	}
	for _, i := range failed {
		shown[i] = !lost
	}
	if s.err = err; err != nil {
		s.value = triple{}
		return s, nil
	}
	for at, i := range changer {
		if i >= 0 && s.value[at] != base[at] {
			shown[i] = true
		}
	}
	return s, nil
}

// trial is one draw of the law: rules, and calls that they may match.
type trial struct {
	rules  []deed
	calls  []crossing
	asJSON bool
}

type crossing struct {
	args triple
	ends []string
}

func trials(t *rapid.T) trial {
	fates := rapid.SampledFrom([]string{"ok", "ok", "ok", "fail", "panic"})
	return trial{
		rules:  rapid.SliceOfN(rapid.Custom(deeds), 1, 6).Draw(t, "rules"),
		asJSON: rapid.Bool().Draw(t, "json"),
		calls: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) crossing {
			return crossing{triple{rapid.IntRange(0, 2).Draw(t, "arg"), 1, 2}, rapid.SliceOfN(fates, 2, 2).Draw(t, "ends")}
		}), 1, 4).Draw(t, "calls"),
	}
}

// The rules that an event names as delivered are those whose work can be seen from
// outside: in the result, the time, the executions and their arguments. Limits and
// Undelivered agree with it.
func TestDeliveredIsWhatShowsOutside(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tr := rapid.Custom(trials).Draw(rt, "trial")
		var c complaints
		synctest.Test(t, func(*testing.T) { tr.run(&c) })
		for _, complaint := range c {
			rt.Error(complaint)
		}
	})
}

// complaints are collected in a bubble, where rapid must not be called.
type complaints []string

func (c *complaints) Errorf(format string, args ...any) {
	*c = append(*c, fmt.Sprintf(format, args...))
}

func (tr *trial) run(t assert.TestingT) {
	var list []chaos.Rule
	for i, d := range tr.rules {
		list = append(list, chaos.Rule{Name: fmt.Sprint(i), Target: "work", Fault: d, Limit: d.limit})
	}
	p, err := chaos.NewPlan(1, list...)
	if !assert.NoError(t, err) {
		return
	}
	in := p.Injector("", &chaos.InjectorOptions{RecordAll: true})
	ctx := chaos.NewContext(context.Background(), in)
	var w *world
	goValues := chaos.Wrap("work", func(_ context.Context, args triple) (triple, error) { return w.execute(args) })
	documents := chaos.Wrap("work", func(_ context.Context, args json.RawMessage) (json.RawMessage, error) {
		v, err := w.execute(plain(args))
		doc, _ := json.Marshal(v)
		return doc, err
	})
	counts := map[int]int{}
	for n, call := range tr.calls {
		w = &world{ends: call.ends}
		var got seen
		begun := time.Now()
		got.panicked = panics(func() {
			if !tr.asJSON {
				got.value, got.err = goValues(ctx, call.args)
				return
			}
			doc, _ := json.Marshal(call.args)
			var out json.RawMessage
			out, got.err = documents(ctx, doc)
			got.value = plain(out)
		})
		got.took, got.reached = time.Since(begun), w.reached

		var places []int // of the rules that do not rest
		var awake []deed
		for i, d := range tr.rules {
			if d.limit == 0 || counts[i] < d.limit {
				places, awake = append(places, i), append(awake, d)
			}
		}
		want, delivered := oracle(awake, call.args, call.ends)
		e := in.Events()[n]
		say := fmt.Sprintf("call %d: %+v\nof %+v", n, e, tr)
		assert.Equal(t, want.panicked, got.panicked, say)
		assert.ErrorIs(t, got.err, want.err, say)
		assert.Equal(t, want.value, got.value, say)
		assert.Equal(t, want.took, got.took, say)
		assert.Equal(t, want.reached, got.reached, say)

		var names, said []string
		for _, i := range delivered {
			names = append(names, fmt.Sprint(places[i]))
			counts[places[i]]++
		}
		if e.Delivered {
			said = append(slices.Clone(e.Also), e.Rule)
		}
		assert.ElementsMatch(t, names, said, say)
		namedOnce(t, e)
		named := slices.Concat(said, e.Idle, e.Masked, []string{e.Rule})
		for i := range tr.rules {
			assert.Equal(t, slices.Contains(places, i), slices.Contains(named, fmt.Sprint(i)), "a rule that is held back is not named, another is: %s", say)
		}
	}
	for i := range tr.rules {
		assert.Equal(t, counts[i] == 0, slices.Contains(in.Undelivered(), fmt.Sprint(i)), "rule %d", i)
	}
	assert.Zero(t, chaos.Pending(in))
}

// An event names each of its rules once.
func namedOnce(t assert.TestingT, e chaos.Event) {
	names := slices.Concat([]string{e.Rule}, e.Also, e.Idle, e.Masked)
	slices.Sort(names)
	assert.Len(t, slices.Compact(slices.Clone(names)), len(names), "%+v", e)
}

// panics runs do and reports whether it panicked.
func panics(do func()) (panicked bool) {
	panicked = true
	defer func() { _ = recover() }()
	do()
	return false
}
