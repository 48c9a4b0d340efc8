package chaostest_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/chaostest"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// builtFault is an entry of the catalogue of faults, by its constructor.
type builtFault struct {
	fault chaos.Fault
	o     chaostest.FaultOptions
}

// faults has the entries that say how a fault is to be checked; all others are
// made of the examples of the rows.
func faults(t *testing.T) map[string]builtFault {
	text := chaostest.FaultOptions{Args: "1042", Result: "shipped"}
	with := func(f chaos.Fault, is []error, bad ...chaos.Fault) builtFault {
		return builtFault{f, chaostest.FaultOptions{Is: is, Bad: bad}}
	}
	late := []error{context.DeadlineExceeded, os.ErrDeadlineExceeded}
	const ms = time.Millisecond
	all := map[string]builtFault{
		"Delay":              with(fault.Delay(20*ms), nil, fault.Delay(0)),
		"Uniform":            with(fault.Uniform(0, 20*ms), nil, fault.Uniform(1, 1)),
		"Normal":             with(fault.Normal(20*ms, 10*ms), nil, fault.Normal(-1, 0)),
		"Exponential":        with(fault.Exponential(20*ms), nil, fault.Exponential(0)),
		"Fail":               with(fault.Fail(fault.ErrUnavailable), []error{fault.ErrUnavailable}, fault.Fail(nil)),
		"ResourceExhausted":  with(fault.ResourceExhausted(), []error{fault.ErrResourceExhausted}),
		"Partition":          with(fault.Partition(), []error{syscall.EHOSTUNREACH}),
		"Timeout":            with(fault.Timeout(time.Minute), late, fault.Timeout(-1)),
		"TimeoutWith":        with(fault.TimeoutWith(10*ms, errBusy), append(late, errBusy), fault.TimeoutWith(1, nil)),
		"LoseReply":          with(fault.LoseReply(), late),
		"LoseReplyWith":      with(fault.LoseReplyWith(fault.ErrConnectionReset), []error{fault.ErrConnectionReset, syscall.ECONNRESET}, fault.LoseReplyWith(nil)),
		"LoseReplyAfterWith": with(fault.LoseReplyAfterWith(10*ms, fault.ErrConnectionReset), []error{fault.ErrConnectionReset, syscall.ECONNRESET}, fault.LoseReplyAfterWith(-1, nil)),
		"LoseReplyAfter":     with(fault.LoseReplyAfter(10*ms), late, fault.LoseReplyAfter(-1)),
		"Hang":               with(fault.Hang(), nil),
		"Panic":              with(fault.Panic("index out of range"), nil),
		"Replace":            with(fault.Replace(map[string]any{"id": 7}), nil),
		"Mutate":             {fault.Mutate("shout", strings.ToUpper), text},
		"Duplicate":          with(fault.Duplicate(), nil),
		"Repeat":             with(fault.Repeat(3), nil, fault.Repeat(1)),
	}
	maps.Copy(all, streamFaults())
	maps.Copy(all, deliveryFaults())
	maps.Copy(all, limitFaults())
	maps.Copy(all, agentFaults())
	for name, f := range fromExamples(t, fault.Rows(), kindsOf(all, func(c builtFault) any { return c.fault })) {
		all[name] = builtFault{fault: f.(chaos.Fault)}
	}
	return all
}

// kindsOf are the kinds of the faults or triggers of a table.
func kindsOf[V any](table map[string]V, of func(V) any) map[string]bool {
	kinds := map[string]bool{}
	for _, v := range table {
		if d, ok := of(v).(chaos.Described); ok {
			kinds[d.Describe().Kind] = true
		}
	}
	return kinds
}

// fromExamples are the faults or triggers of the examples of rows, except those
// whose kind has an entry of its own and those that hold Go code. Each stands under
// every constructor that its row shows, followed by its kind.
func fromExamples(t *testing.T, rows []*catalog.Row, entries map[string]bool) map[string]any {
	made := map[string]any{}
	known := slices.Concat(constructors(t, filepath.Join("..", "fault"), "Fault"),
		constructors(t, filepath.Join("..", "when"), "When"))
	for _, r := range rows {
		if entries[r.Kind] || r.HoldsCode() {
			continue
		}
		part := fmt.Sprintf(`{"kind":%q,"params":%s}`, r.Kind, r.Example)
		doc := `{"seed":"1","rules":[{"target":"t","fault":` + part + `}]}`
		if r.IsTrigger() {
			doc = `{"seed":"1","rules":[{"target":"t","when":` + part + `,"fault":{"kind":"hang"}}]}`
		}
		plan, err := planjson.Decode([]byte(doc), nil)
		require.NoError(t, err, r.Kind)
		for _, name := range regexp.MustCompile(`\b(?:fault|when)\.([A-Z]\w*)\(`).FindAllStringSubmatch(r.Go, -1) {
			if !slices.Contains(known, name[1]) {
				continue // what it is made of
			}
			if made[name[1]+" "+r.Kind] = any(plan.Rules()[0].Fault); r.IsTrigger() {
				made[name[1]+" "+r.Kind] = plan.Rules()[0].When
			}
		}
	}
	return made
}

var errBusy = errors.New("upstream is busy")

// builtTrigger is a row of the catalogue of triggers.
type builtTrigger struct {
	when chaos.When
	o    chaostest.WhenOptions
}

func triggers(t *testing.T) map[string]builtTrigger {
	with := func(w chaos.When, bad ...chaos.When) builtTrigger {
		return builtTrigger{w, chaostest.WhenOptions{Bad: bad}}
	}
	isLarge := func(n int) bool { return n > 3 }
	all := map[string]builtTrigger{
		"Always":         with(when.Always()),
		"Prob":           with(when.Prob(0.3), when.Prob(2), when.Prob(math.NaN())),
		"Exactly":        with(when.Exactly(when.Coord{Target: "search", Key: 1}), when.Exactly()),
		"Args":           {when.Args("is large", isLarge), chaostest.WhenOptions{Args: 7, Bad: []chaos.When{when.Args("", isLarge)}}},
		"Lane":           with(when.Lane("worker-*"), when.Lane()),
		"Turn":           with(when.Turn(3), when.Turn()),
		"TurnBetween":    with(when.TurnBetween(1, 3), when.TurnBetween(3, 1)),
		"Nth":            with(when.Nth(4), when.Nth(0)),
		"First":          with(when.First(4), when.First(0)),
		"After":          with(when.After(4), when.After(-1)),
		"Every":          with(when.Every(4), when.Every(0)),
		"Between":        with(when.Between(0, time.Second), when.Between(1, 1)),
		"Since":          with(when.Since(0), when.Since(-1)),
		"Burst":          with(when.Burst(3, 5), when.Burst(0, 5)),
		"BurstWithin":    with(when.BurstWithin(3, 50), when.BurstWithin(3, 2)),
		"Intermittent":   with(when.Intermittent(2, 3), when.Intermittent(0, 3)),
		"Flapping":       with(when.Flapping(time.Second, time.Minute), when.Flapping(0, 1)),
		"Markov":         with(when.Markov(0.1, 0.3), when.Markov(0, 0.3), when.Markov(1, 1)),
		"GilbertElliott": with(when.GilbertElliott(0.1, 0.3, 0.01, 0.9), when.GilbertElliott(0.1, 0.3, -1, 0)),
		"Early":          with(when.Early(90), when.Early(2)),
		"Mid":            with(when.Mid(90), when.Mid(2)),
		"Late":           with(when.Late(90), when.Late(2)),
		"All":            with(when.All(when.Prob(0.5), when.Nth(3)), when.All()),
		"Any":            with(when.Any(when.Prob(0.5), when.Nth(3)), when.Any()),
		"Not":            with(when.Not(when.Prob(0.5)), when.Not(nil)),
		"Stages":         with(when.Stages(when.Stage{Calls: 50, When: when.Prob(0.5)}, when.Stage{When: when.Nth(3)}), when.Stages()),
	}
	for name, w := range fromExamples(t, when.Rows(), kindsOf(all, func(c builtTrigger) any { return c.when })) {
		all[name] = builtTrigger{when: w.(chaos.When)}
	}
	return all
}

// Every ready-made fault passes, in virtual time and in real time.
func TestFaultsKeepTheRules(t *testing.T) {
	clocked := []string{"RampUpWith"} // what it does follows the clock, to the nanosecond
	for name, c := range faults(t) {
		if name == "LateResult" {
			continue // below
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { assert.NoError(t, chaostest.Fault(c.fault, &c.o)) })
		})
		if !slices.Contains(clocked, name) {
			t.Run(name+" in real time", func(t *testing.T) { assert.NoError(t, chaostest.Fault(c.fault, &c.o)) })
		}
	}
	// A late request calls next after its Inject returned: the one violation that
	// package chaos allows.
	synctest.Test(t, func(t *testing.T) {
		c := faults(t)["LateResult"]
		assert.Equal(t, []chaostest.Check{chaostest.NextInTime}, checks(chaostest.Fault(c.fault, &c.o)))
	})
}

// What a fault is made for is no violation if the options state it.
func TestFaultsThatAreMeantTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := inject(func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			_ = chaos.Sleep(context.WithoutCancel(ctx), time.Second)
			return next(ctx, args)
		})
		assert.Equal(t, []chaostest.Check{chaostest.Cancelled}, checks(chaostest.Fault(deaf, nil)))
		assert.NoError(t, chaostest.Fault(deaf, &chaostest.FaultOptions{IgnoresContext: true}))
		hides := inject(func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			result, _ := next(ctx, args)
			return result, nil
		})
		assert.Equal(t, []chaostest.Check{chaostest.PassesErrors}, checks(chaostest.Fault(hides, nil)))
		assert.NoError(t, chaostest.Fault(hides, &chaostest.FaultOptions{LosesErrors: true}))
	})
}

// Every ready-made trigger passes.
func TestTriggersKeepTheRules(t *testing.T) {
	for name, c := range triggers(t) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { assert.NoError(t, chaostest.When(c.when, &c.o)) })
		})
		t.Run(name+" in real time", func(t *testing.T) { assert.NoError(t, chaostest.When(c.when, &c.o)) })
	}
}

// The tables have an entry for each constructor of the two packages, written by
// hand or made of the example in a row; it may say more behind its name.
func TestTheCatalogueIsComplete(t *testing.T) {
	for result, rows := range map[string][]string{"Fault": keys(faults(t)), "When": keys(triggers(t))} {
		made := constructors(t, filepath.Join("..", strings.ToLower(result)), result)
		assert.Greater(t, len(made), 10)
		slices.Sort(made)
		assert.Equal(t, made, rows, "of package chaos/%s", strings.ToLower(result))
	}
}

// part is a trigger that keeps what it is asked; it makes no sense if it has an error.
type part struct {
	answer, asked bool
	draw          float64
	args          any
	err           error
}

func (p *part) Check() error            { return p.err }
func (p *part) Match(c chaos.Call) bool { return p.MatchArgs(c, nil) }
func (p *part) MatchArgs(c chaos.Call, args any) bool {
	p.asked, p.draw, p.args = true, c.Draw(0), args
	return p.answer
}

// A combination gives each part draws of its own and the arguments, and passes on what is
// wrong with it.
func TestCombinationsAskTheirParts(t *testing.T) {
	for name, combine := range map[string]func(a, b chaos.When) chaos.When{
		"All": func(a, b chaos.When) chaos.When { return when.All(a, b) },
		"Any": func(a, b chaos.When) chaos.When { return when.Any(a, b) },
		"Not": func(a, _ chaos.When) chaos.When { return when.Not(a) },
		"Stages": func(a, b chaos.When) chaos.When {
			return when.Stages(when.Stage{Calls: 50, When: a}, when.Stage{When: b})
		},
	} {
		both, asked := 0, [2]bool{}
		for ordinal := range uint64(200) {
			for answers := range 4 {
				a, b := &part{answer: answers&1 > 0}, &part{answer: answers&2 > 0}
				c := chaos.Call{Target: "search", Ordinal: ordinal, Occurrence: ordinal}
				combine(a, b).(chaos.ArgsWhen).MatchArgs(c, "args")
				for i, p := range []*part{a, b} {
					if asked[i] = asked[i] || p.asked; p.asked {
						assert.NotEqual(t, c.Draw(0), p.draw, "%s: a part has the draw of the combination", name)
						assert.Equal(t, "args", p.args, name)
					}
				}
				if a.asked && b.asked {
					both++
					assert.NotEqual(t, a.draw, b.draw, "%s: two parts share their draw", name)
				}
			}
		}
		assert.Equal(t, name == "All" || name == "Any", both > 0, name)
		for i, w := range []chaos.When{combine(&part{err: errBusy}, &part{}), combine(&part{}, &part{err: errBusy})} {
			assert.Equal(t, asked[i], errors.Is(w.(chaos.Checked).Check(), errBusy), "%s, part %d", name, i)
		}
	}
}

func keys[V any](m map[string]V) (names []string) {
	for name := range m {
		name, _, _ = strings.Cut(name, " ")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// constructors are the exported functions of a package that return chaos.result.
func constructors(t *testing.T, dir, result string) (names []string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for _, decl := range parsed.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !fn.Name.IsExported() || fn.Type.Results == nil {
				continue
			}
			if of, ok := fn.Type.Results.List[0].Type.(*ast.SelectorExpr); ok && of.Sel.Name == result {
				names = append(names, fn.Name.Name)
			}
		}
	}
	return names
}
