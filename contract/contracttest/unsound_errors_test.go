package contracttest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/cassette"
	"github.com/shakedown-go/shakedown/contract/compare"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/contract/judge"
	"github.com/shakedown-go/shakedown/contract/mutate"
	"github.com/shakedown-go/shakedown/contract/replay"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/contract/search"
	"github.com/shakedown-go/shakedown/internal/usercode/usercodetest"
)

// The law: an error whose own methods fail ends its cell, or what it is an error of, and
// nothing else. Each table says where user code may return an error.

// failures are the errors of user code by the place that they come from.
type failures struct {
	agent, panics, tool, state, close, world, reset, make, check, judge error
}

// matrix is a matrix whose user code returns those errors.
func (f failures) matrix(t *testing.T) *contract.Matrix {
	world := func(context.Context) (*contract.World, error) {
		tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "clock"}, func(context.Context, struct{}) (string, error) {
			return "noon", f.tool
		}))
		require.NoError(t, err)
		return &contract.World{
			Tools: tools,
			Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
				raw, err := tools.CallTool(ctx, "clock", json.RawMessage(`{}`))
				switch {
				case f.panics != nil:
					panic(f.panics)
				case f.agent != nil:
					err = f.agent
				}
				return "it is " + string(raw), err
			},
			State: func(context.Context) (any, error) { return 1, f.state },
			Err:   func() error { return f.world },
			Close: func() error { return f.close },
		}, f.make
	}
	chat, err := judge.Chat(func(context.Context, string, string) (string, error) { return "", f.judge },
		&judge.ChatOptions{Name: "script", Version: "1"})
	require.NoError(t, err)
	m := &contract.Matrix{
		Prompts: []string{"What time is it?"},
		Invariants: []contract.Invariant{
			{Name: "says.noon", Severity: contract.High, Needs: contract.NeedState | contract.NeedCalm,
				Check: func(ctx context.Context, o *contract.Observation) error {
					if f.check != nil {
						return f.check
					}
					return saysNoon(ctx, o)
				}},
			{Name: "returns", Severity: contract.High, JudgesErrors: true,
				Check: func(_ context.Context, o *contract.Observation) error {
					if o.Err != nil {
						return fmt.Errorf("it failed: %s", o.Err)
					}
					return nil
				}},
			invariant.Judged("polite", contract.Low, "The answer is polite.", chat),
		},
		Scenarios: []contract.Scenario{contract.Calm(), {Name: "slow",
			Rules: []chaos.Rule{{Name: "slow", Target: "clock", Fault: fault.Delay(time.Nanosecond)}}}},
	}
	if f.reset == nil {
		m.NewWorld = world
		return m
	}
	m.World, _ = world(t.Context())
	m.Reset = func(context.Context) error { return f.reset }
	return m
}

// shows writes a report in every form, and reads and compares it.
func shows(t *testing.T, r *contract.Report) {
	t.Helper()
	for name, form := range map[string]func(w io.Writer) error{
		"text":     func(w io.Writer) error { return report.Text(w, r, nil) },
		"HTML":     func(w io.Writer) error { return report.HTML(w, r) },
		"JUnit":    func(w io.Writer) error { return report.JUnit(w, r, nil) },
		"Markdown": func(w io.Writer) error { return report.Markdown(w, r) },
	} {
		var b bytes.Buffer
		require.NoError(t, form(&b), name)
		require.NotEmpty(t, b.String(), name)
	}
	if r.Judge() == nil {
		_, err := compare.Reports(r, r, nil)
		require.NoError(t, err)
	}
}

// each runs the test with every error that cannot be asked.
func each(t *testing.T, test func(t *testing.T, bad error)) {
	all := usercodetest.Errors()
	for _, how := range slices.Sorted(maps.Keys(all)) {
		t.Run(how, func(t *testing.T) { test(t, all[how]) })
	}
}

func TestUnsoundErrorEndsItsCellOnly(t *testing.T) {
	const held, broken, inconclusive = contract.Held, contract.Broken, contract.Inconclusive
	places := map[string]struct {
		from                   func(error) failures
		calmly, reports, rules contract.CellState // of the calm cells: says.noon, returns, polite
	}{
		"the agent returns it":  {func(e error) failures { return failures{agent: e} }, broken, broken, broken},
		"the agent panics":      {func(e error) failures { return failures{panics: e} }, broken, broken, broken},
		"a tool returns it":     {func(e error) failures { return failures{tool: e} }, broken, broken, broken},
		"State returns it":      {func(e error) failures { return failures{state: e} }, inconclusive, held, inconclusive},
		"Close returns it":      {func(e error) failures { return failures{close: e} }, held, held, inconclusive},
		"World.Err returns it":  {func(e error) failures { return failures{world: e} }, inconclusive, inconclusive, inconclusive},
		"Reset returns it":      {func(e error) failures { return failures{reset: e} }, inconclusive, inconclusive, inconclusive},
		"the check returns it":  {func(e error) failures { return failures{check: e} }, broken, held, inconclusive},
		"the judge's model has": {func(e error) failures { return failures{judge: e} }, held, held, inconclusive},
	}
	each(t, func(t *testing.T, bad error) {
		for where, p := range places {
			m := p.from(bad).matrix(t)
			r, err := m.Run(t.Context(), &contract.RunOptions{Keep: contract.KeepAll})
			require.NoError(t, err, where)
			states := map[string]contract.CellState{}
			for i := range r.Cells {
				c := &r.Cells[i]
				states[c.Cell.Scenario+"/"+c.Cell.Invariant] = c.State
				assert.True(t, c.State == held || c.Why != "", "%s: %v has no reason", where, c.Cell)
				if c.Evidence != nil {
					_, err := replay.FromCell(m, c)
					assert.NoError(t, err, where)
				}
			}
			assert.Equal(t, []contract.CellState{p.calmly, p.reports, p.rules},
				[]contract.CellState{states["calm/says.noon"], states["calm/returns"], states["calm/polite"]}, where)
			require.NoError(t, search.Explain(t.Context(), m, r, &search.Options{Budget: search.Budget{Runs: 20}}), where)
			shows(t, r)
			_, err = search.Sweep(t.Context(), m, &search.Options{Budget: search.Budget{Runs: 3}, Faults: failing})
			require.NoError(t, err, where)
		}
		_, err := failures{make: bad}.matrix(t).Run(t.Context(), nil)
		require.ErrorContains(t, err, "making the world: ")
	})
}

// TestUnsoundErrorOfAHandmadeReport: a report may also be made by a caller.
func TestUnsoundErrorOfAHandmadeReport(t *testing.T) {
	m := failures{agent: errors.New("the clock is down")}.matrix(t)
	r, err := m.Run(t.Context(), &contract.RunOptions{Keep: contract.KeepAll})
	require.NoError(t, err)
	each(t, func(t *testing.T, bad error) {
		for i := range r.Cells {
			if o := r.Cells[i].Evidence; o != nil {
				o.Err = bad
			}
		}
		shows(t, r)
	})
}

// TestUnsoundErrorOfAProblem: an error that a constructor found is one of the matrix.
func TestUnsoundErrorOfAProblem(t *testing.T) {
	each(t, func(t *testing.T, bad error) {
		for where, change := range map[string]func(*contract.Matrix){
			"Invariant.Err": func(m *contract.Matrix) { m.Invariants[0].Err = bad },
			"Goal.Err": func(m *contract.Matrix) {
				m.Goals = []contract.Goal{{Name: "noon", Reached: func(*contract.Observation) bool { return true }, Err: bad}}
			},
			"fault.Fail": func(m *contract.Matrix) { m.Scenarios[1].Rules[0].Fault = fault.Fail(bad) },
			"Check":      func(m *contract.Matrix) { m.Scenarios[1].Rules[0].Fault = checked{func() error { return bad }} },
		} {
			m := failures{}.matrix(t)
			change(m)
			if _, err := m.Run(t.Context(), nil); where == "fault.Fail" && err == nil {
				continue // the error can be asked for its text, which is all that the fault has to do
			} else {
				require.Error(t, err, where)
				assert.NotEmpty(t, err.Error(), where)
			}
		}
	})
}

// checked is a fault whose Check does something.
type checked struct{ check func() error }

func (c checked) Check() error { return c.check() }
func (checked) Inject(context.Context, chaos.Call, any, chaos.Next) (any, error) {
	return nil, errors.New("the clock is down")
}

// described is a fault whose Describe does something.
type described struct {
	fails
	describe func()
}

func (d described) Describe() chaos.Description { d.describe(); return chaos.Description{Kind: "down"} }

// describedWhen is a trigger whose Describe does something.
type describedWhen struct{ describe func() }

func (describedWhen) Match(chaos.Call) bool { return true }
func (d describedWhen) Describe() chaos.Description {
	d.describe()
	return chaos.Description{Kind: "now"}
}

// TestGoexitInAMethodOfARule: a fault or a trigger whose methods end their goroutine is
// refused, and the caller of Run goes on.
func TestGoexitInAMethodOfARule(t *testing.T) {
	asked := 0
	always, again := describedWhen{describe: runtime.Goexit}, describedWhen{describe: func() { endsLater(&asked, 2) }}
	for name, part := range map[string]any{
		"Describe of a trigger":                   always,
		"Describe of a trigger, in another":       when.Not(always),
		"Describe of a trigger, when asked again": again,
		"Check":                        checked{func() error { runtime.Goexit(); return nil }},
		"Describe":                     described{describe: runtime.Goexit},
		"Describe, when asked again":   described{describe: func() { endsLater(&asked, 2) }},
		"Describe, when asked at last": described{describe: func() { endsLater(&asked, 4) }},
	} {
		asked = 0
		m := failures{}.matrix(t)
		switch part := part.(type) {
		case chaos.Fault:
			m.Scenarios[1].Rules[0].Fault = part
		case chaos.When:
			m.Scenarios[1].Rules[0].When = part
		}
		returned := false
		done := make(chan struct{})
		go func() {
			defer close(done)
			r, err := m.Run(t.Context(), nil)
			returned = true
			if err == nil {
				shows(t, r)
			} else {
				assert.ErrorContains(t, err, "ended its goroutine", name)
			}
		}()
		<-done
		assert.True(t, returned, name)
	}
}

// endsLater ends the goroutine from the n-th call on.
func endsLater(calls *int, n int) {
	if *calls++; *calls >= n {
		runtime.Goexit()
	}
}

// TestUnsoundErrorOfAnExperiment: the journal has it, and the rollbacks run.
func TestUnsoundErrorOfAnExperiment(t *testing.T) {
	each(t, func(t *testing.T, bad error) {
		undone := false
		e := &experiment.Experiment{
			Name: "the worker comes back",
			Hypothesis: &experiment.Hypothesis{Probes: []experiment.Activity{
				{Name: "it is up", Run: func(context.Context) (any, error) { return true, nil }}}},
			Method: []experiment.Activity{
				{Name: "an output", Run: func(context.Context) (any, error) { return bad, nil }},
				{Name: "kill it", Start: func(context.Context) (any, experiment.Undo, error) {
					return nil, func(context.Context) error { undone = true; return bad }, bad
				}}},
			OnStep: func(context.Context, experiment.Step) { panic(bad) },
		}
		j, err := experiment.Run(t.Context(), e, nil)
		require.NoError(t, err)
		assert.True(t, undone)
		_, err = json.Marshal(j)
		assert.NoError(t, err)
		_, err = experiment.RunSimple(t.Context(), e, false, nil)
		assert.NoError(t, err)
	})
}

// failingTransport returns an error, or an answer whose body fails.
type failingTransport struct{ err, inBody error }

func (f failingTransport) RoundTrip(*http.Request) (*http.Response, error) {
	if f.err != nil {
		return nil, f.err
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: f}, nil
}
func (f failingTransport) Read([]byte) (int, error) { return 0, f.inBody }
func (f failingTransport) Close() error             { return f.inBody }

func TestUnsoundErrorOfALiveCall(t *testing.T) {
	each(t, func(t *testing.T, bad error) {
		for _, base := range []failingTransport{{err: bad}, {inBody: bad}} {
			tape, err := cassette.Open(filepath.Join(t.TempDir(), "clock.json"),
				&cassette.Options{Mode: cassette.Record, Base: func() http.RoundTripper { return base }})
			require.NoError(t, err)
			player := tape.Player()
			resp, err := (&http.Client{Transport: player}).Get("http://clock.example/now")
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				assert.NotEmpty(t, fmt.Sprint(err, resp.Body.Close()))
			}
			assert.NotEmpty(t, fmt.Sprint(err))
			assert.NotPanics(t, func() { _ = fmt.Sprint(player.Err(), tape.Close()) })
		}
	})
}

func TestUnsoundErrorOfAMutator(t *testing.T) {
	each(t, func(t *testing.T, bad error) {
		model := mutate.Model("terse", 1, func(context.Context, string) (string, error) { return "", bad })
		set, err := mutate.New(&mutate.Options{Own: []mutate.Mutator{model}})
		require.NoError(t, err)
		_, _, err = set.Scenarios(t.Context(), []string{"What time is it?"})
		require.Error(t, err)
		assert.NotEmpty(t, err.Error())
	})
}

// TestChildUnsoundError is that of a person who returned a nil *T as an error.
func TestChildUnsoundError(t *testing.T) {
	onlyInChild(t)
	contracttest.Run(t, failures{agent: usercodetest.Errors()["a nil pointer"]}.matrix(t),
		&contracttest.Options{Explain: &search.Budget{Runs: 20}, Dir: "-"})
}

func TestUnsoundErrorUnderGoTest(t *testing.T) {
	out, failed := child(t, "^TestChildUnsoundError$")
	assert.True(t, failed)
	assert.Contains(t, out, "broken (high): the agent failed: a nil *usercodetest.lookupError returned as an error")
	assert.Contains(t, out, "--- FAIL: TestChildUnsoundError/slow/returns/1")
	assert.NotContains(t, out, "goroutine ")
}

// failing is the one fault that a sweep tries.
func failing(chaos.Event, chaos.Tool) []chaos.Fault { return []chaos.Fault{fails{}} }
