package report_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/internal/judging"
	"github.com/shakedown-go/shakedown/scoring"
)

var runFile = format{"run.jsonl", func(w io.Writer, r *contract.Report) error { return report.Write(w, r, nil) }}

// desks is a matrix whose report has something in every member that a run fills: faults that
// are and are not delivered, a rewritten prompt, a layer, a world of its own, a promised rate, a
// judge that contradicts itself, goals that are reached, missed and fail, a call within a call.
func desks() *contract.Matrix {
	world := func(context.Context) (*contract.World, error) {
		lookup := chaos.Func(chaos.Tool{Name: "lookup"}, func(_ context.Context, in struct{ Order int }) (string, error) {
			return fmt.Sprint("order ", in.Order), nil
		})
		refund := chaos.Func(chaos.Tool{Name: "refund"}, func(ctx context.Context, _ struct{}) (string, error) {
			_, err := chaos.Wrap("ledger", func(context.Context, int) (int, error) { return 1, nil })(ctx, 1)
			return map[bool]string{true: "booked", false: "queued"}[err == nil], nil
		})
		tools, err := chaos.NewRegistry(lookup, refund, chaos.Func(chaos.Tool{Name: "mail"},
			func(context.Context, struct{}) (string, error) { return "", nil }))
		return &contract.World{Tools: tools, State: func(context.Context) (any, error) { return map[string]any{"refunds": 1}, nil },
			Agent: func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
				out, err := tools.CallTool(ctx, "lookup", json.RawMessage(`{"Order":1042}`))
				if err != nil {
					return "", err
				}
				_, err = tools.CallTool(ctx, "refund", json.RawMessage(`{}`))
				return fmt.Sprintf("%s: %s <done>", prompt, out), err
			}}, err
	}
	holds := func(context.Context, *contract.Observation) error { return nil }
	return &contract.Matrix{Name: "desks", Seed: 1<<64 - 1, Trials: 4, NewWorld: world, KeepValues: true, Points: []string{"ledger"},
		Prompts: []string{"Refund order 1042.", "And now?"},
		Scenarios: []contract.Scenario{contract.Calm(),
			{Name: "lookup-down", Rules: []chaos.Rule{{Name: "down", Target: "lookup", Fault: fault.Fail(fault.ErrUnavailable), When: when.Prob(.5)}}},
			{Name: "ledger-down", Rules: []chaos.Rule{{Target: "ledger", Fault: fault.Fail(fault.ErrUnavailable)}}},
			{Name: "mail-down", AllowUndelivered: true, Rules: []chaos.Rule{{Target: "mail", Fault: fault.Fail(fault.ErrUnavailable)}}},
			{Name: "shouted", Rewrite: strings.ToUpper}, {Name: "by-itself", Layer: chaos.LayerTool, NewWorld: world}},
		Invariants: []contract.Invariant{
			{Name: "answers", Severity: contract.High, Check: holds, Needs: contract.NeedState},
			{Name: "mostly", Severity: contract.Medium, AtLeast: .9, Poor: .5, Check: holds},
			{Name: "knows", Severity: contract.Low, JudgesErrors: true, Check: func(_ context.Context, o *contract.Observation) error {
				if o.Cell.Trial == 2 {
					return fmt.Errorf("%w: the log is gone", contract.ErrUndecided)
				}
				return nil
			}},
			{Name: "kind", Severity: contract.Low, JudgesErrors: true, Applies: contract.Always, Check: func(ctx context.Context, o *contract.Observation) error {
				answered := judging.Add(ctx, judging.Note{Judge: "script", Version: "1", Decide: "It is kind.", Question: 1 << 63})
				if o.Cell.Trial == 3 {
					answered(judging.Note{Judge: "script", Version: "1", Decide: "It is kind.", Question: 1 << 63, Outcome: judging.Broken, Calls: 1, Cost: .1})
					return errors.New("unkind")
				}
				answered(judging.Note{Judge: "script", Version: "1", Decide: "It is kind.", Question: 1 << 63, Outcome: judging.Held, Calls: 2, Cached: true})
				return nil
			}},
			{Name: "in-calm", Severity: contract.Critical, Applies: contract.NoFault, Check: holds},
		},
		Goals: []contract.Goal{
			{Name: "answered", Reached: func(o *contract.Observation) bool { return o.Err == nil }},
			{Name: "refused", Scenarios: []string{"shouted"}, Reached: func(*contract.Observation) bool { return false }},
			{Name: "fails", Reached: func(*contract.Observation) bool { panic("no goal") }},
		}}
}

// runs are reports of real runs, by what is special about them.
func runs(t testing.TB) map[string]*contract.Report {
	t.Helper()
	all := map[string]*contract.Report{}
	run := func(name string, change func(*contract.Matrix, *contract.RunOptions)) {
		m, o := desks(), &contract.RunOptions{Workers: 3, Harness: contract.Harness{
			Rerun: "go test -run {scenario}/{invariant}/{trial}"}}
		m.AllowInconclusive = 3
		change(m, o)
		r, err := m.Run(t.Context(), o)
		if name != "cancelled" {
			require.NoError(t, err, name)
		}
		all[name] = r
	}
	run("plain", func(*contract.Matrix, *contract.RunOptions) {})
	run("shared", func(m *contract.Matrix, o *contract.RunOptions) {
		m.ShareObservations, o.Keep, o.Gather = true, contract.KeepAll, contract.NeedCalm
	})
	run("sequential", func(m *contract.Matrix, o *contract.RunOptions) { m.Trials, o.Sequential = 30, true })
	run("filtered", func(_ *contract.Matrix, o *contract.RunOptions) {
		o.Harness.Around = func(c contract.Cell, run func(contract.Bubble) *contract.CellReport) {
			if c.Trial != 2 {
				run(nil)
			}
		}
	})
	run("shard", func(_ *contract.Matrix, o *contract.RunOptions) { o.Shard = contract.Shard{Index: 2, Count: 4} })
	run("counts", func(_ *contract.Matrix, o *contract.RunOptions) { o.Keep = contract.KeepCounts })
	run("probed", func(m *contract.Matrix, _ *contract.RunOptions) {
		m.World, _ = m.NewWorld(t.Context())
		m.NewWorld, m.Scenarios = nil, m.Scenarios[:2]
		m.Goals = m.Goals[:1]
	})
	run("talkative", func(m *contract.Matrix, _ *contract.RunOptions) { // more calls than a log has
		world := m.NewWorld
		m.NewWorld = func(ctx context.Context) (*contract.World, error) {
			w, err := world(ctx)
			w.Agent = func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
				for range 10_001 {
					_ = chaos.Point(ctx, "ledger")
				}
				return "done", nil
			}
			return w, err
		}
		m.Scenarios, m.Goals, m.Trials, m.KeepValues, m.Prompts = m.Scenarios[:1], nil, 1, false, m.Prompts[:1]
	})
	run("cancelled", func(m *contract.Matrix, o *contract.RunOptions) {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		check := m.Invariants[0].Check
		m.Invariants[0].Check = func(_ context.Context, ob *contract.Observation) error {
			if n++; n > 5 {
				cancel()
			}
			return check(ctx, ob)
		}
		o.Workers = 1
		r, err := m.Run(ctx, o)
		require.ErrorIs(t, err, context.Canceled)
		require.True(t, r.Cancelled)
		*m, *o = *desks(), contract.RunOptions{}
		all["cut off"] = r
	})
	return all
}

// TestEveryMemberComesBack holds Read(Write(r)) = r for each exported member of a report and
// of a cell. A member that no run here fills is filled by reflection: so a new one that has no
// place in the file fails this test, and so does one that the fold does not know of.
func TestEveryMemberComesBack(t *testing.T) {
	all := runs(t)
	plain := all["plain"]
	for f := range reflect.TypeFor[contract.Report]().Fields() {
		if written(f) && !filledIn(all, f) {
			fill(reflect.ValueOf(plain).Elem().FieldByIndex(f.Index))
		}
	}
	at := slices.IndexFunc(plain.Cells, func(c contract.CellReport) bool { return c.Rewritten > 0 && c.State == contract.Held })
	c := &plain.Cells[at] // what it gets changes no score
	for f := range reflect.TypeFor[contract.CellReport]().Fields() {
		if v := reflect.ValueOf(c).Elem().FieldByIndex(f.Index); written(f) && v.IsZero() && f.Name != "Violated" && f.Name != "DoesNotApply" {
			fill(v)
		}
	}
	for _, total := range []struct {
		of *int
		is func(*contract.CellReport) bool
	}{{&plain.Undecided, func(c *contract.CellReport) bool { return c.Undecided }},
		{&plain.Abandoned, func(c *contract.CellReport) bool { return c.Abandoned }}} {
		*total.of = 0
		for i := range plain.Cells {
			if total.is(&plain.Cells[i]) {
				*total.of++
			}
		}
	}
	for name, r := range all {
		back := throughFile(t, r, nil)
		assertSame(t, name, reflect.ValueOf(r).Elem(), reflect.ValueOf(back).Elem())
		assert.Equal(t, fileOf(t, r, nil), fileOf(t, back, nil), "%s: what was read is written again byte for byte", name)
	}
	for name, r := range reports(t) { // of another hand
		back := throughFile(t, r, nil)
		assertSame(t, name, reflect.ValueOf(r).Elem(), reflect.ValueOf(back).Elem())
	}
}

// written reports whether a member is in a file.
func written(f reflect.StructField) bool { return f.IsExported() && f.Tag.Get("json") != "-" }

func filledIn(all map[string]*contract.Report, f reflect.StructField) bool {
	for _, r := range all {
		if !reflect.ValueOf(r).Elem().FieldByIndex(f.Index).IsZero() {
			return true
		}
	}
	return false
}

// fill sets a value and all that is in it to something that is not zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(.5)
	case reflect.String:
		v.SetString("some <text>\u2028")
	case reflect.Interface:
		v.Set(reflect.ValueOf("state"))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key"), reflect.ValueOf("value"))
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"order":1042}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Struct:
		for f := range v.Type().Fields() {
			if written(f) {
				fill(v.FieldByIndex(f.Index))
			}
		}
	default:
		panic("no value for " + v.Type().String())
	}
}

// assertSame compares all that a file has. Absent lists are empty ones.
func assertSame(t testing.TB, at string, want, got reflect.Value) {
	t.Helper()
	switch want.Kind() {
	case reflect.Struct:
		for f := range want.Type().Fields() {
			if written(f) {
				assertSame(t, at+"."+f.Name, want.FieldByIndex(f.Index), got.FieldByIndex(f.Index))
			}
		}
		return
	case reflect.Pointer:
		if !want.IsNil() && !got.IsNil() {
			assertSame(t, at, want.Elem(), got.Elem())
			return
		}
	case reflect.Slice:
		if want.Type() == reflect.TypeFor[json.RawMessage]() {
			break
		}
		if assert.Equal(t, want.Len(), got.Len(), at) {
			for i := range want.Len() {
				assertSame(t, fmt.Sprintf("%s[%d]", at, i), want.Index(i), got.Index(i))
			}
		}
		return
	case reflect.Map:
		if want.Len()+got.Len() > 0 {
			assert.Equal(t, want.Interface(), got.Interface(), at)
		}
		return
	case reflect.Interface:
		one, err := json.Marshal(want.Interface())
		require.NoError(t, err, at)
		other, err := json.Marshal(got.Interface())
		require.NoError(t, err, at)
		assert.JSONEq(t, string(one), string(other), at)
		return
	}
	assert.Equal(t, want.Interface(), got.Interface(), at)
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func fileOf(t testing.TB, r *contract.Report, o *report.WriteOptions) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, report.Write(&b, r, o))
	return b.String()
}

func throughFile(t testing.TB, r *contract.Report, o *report.WriteOptions) *contract.Report {
	t.Helper()
	back, err := report.Read(strings.NewReader(fileOf(t, r, o)), nil)
	require.NoError(t, err)
	return back
}

// The file of a run is that of its report, apart from run, build and real times, at any number of
// workers.
func TestTheFileOfARunIsThatOfItsReport(t *testing.T) {
	for _, row := range []struct {
		why    string
		change func(*contract.Matrix, *contract.RunOptions)
	}{
		{"a run a cell", func(*contract.Matrix, *contract.RunOptions) {}},
		{"a run a unit", func(m *contract.Matrix, _ *contract.RunOptions) { m.ShareObservations = true }},
		{"cells in the order of rounds", func(m *contract.Matrix, o *contract.RunOptions) { m.Trials, o.Sequential = 30, true }},
		{"not even the cells are kept", func(_ *contract.Matrix, o *contract.RunOptions) { o.Keep = contract.KeepCounts }},
		{"nor are those of rounds", func(m *contract.Matrix, o *contract.RunOptions) {
			m.Trials, o.Sequential, o.Keep = 30, true, contract.KeepCounts
		}},
	} {
		var first string
		for _, workers := range []int{1, 8} {
			m, o := desks(), &contract.RunOptions{Workers: workers, File: filepath.Join(t.TempDir(), "a.run.jsonl")}
			row.change(m, o)
			r, err := m.Run(t.Context(), o)
			require.NoError(t, err, row.why)
			text := readFile(t, o.File)
			assert.NotContains(t, strings.Join(namesIn(t, filepath.Dir(o.File)), " "), ".tmp", "nothing is left over")
			back, err := report.Read(strings.NewReader(text), &report.ReadOptions{CountsOnly: o.Keep == contract.KeepCounts})
			require.NoError(t, err, row.why)
			assertSame(t, row.why, reflect.ValueOf(r).Elem(), reflect.ValueOf(back).Elem())
			whole, err := report.Read(strings.NewReader(text), nil)
			require.NoError(t, err)
			require.NotEmpty(t, whole.Cells, row.why)
			stable := fileOf(t, whole, &report.WriteOptions{Stable: true})
			if o.Keep != contract.KeepCounts {
				assert.Equal(t, fileOf(t, r, &report.WriteOptions{Stable: true}), stable, row.why)
			}
			if first == "" {
				first = stable
			}
			assert.Equal(t, first, stable, "%s, %d workers", row.why, workers)
		}
	}
}

// While a run lasts, its units are in the file as they end, and a run that was killed then leaves
// a file that can be read.
func TestUnitsAreInTheFileWhileTheRunLasts(t *testing.T) {
	m, o := desks(), &contract.RunOptions{Workers: 1, File: filepath.Join(t.TempDir(), "a.run.jsonl"), Build: "v1.2.3"}
	m.Scenarios, m.Goals = m.Scenarios[:2], nil
	seen := []int{}
	o.OnCell = func(c *contract.CellReport) {
		r, err := report.Read(strings.NewReader(readFile(t, o.File)), nil)
		require.NoError(t, err)
		assert.True(t, r.Cancelled)
		assert.Equal(t, scoring.Inconclusive, r.Score.Verdict, "what was not made may break")
		seen = append(seen, len(r.Cells))
	}
	_, err := m.Run(t.Context(), o)
	require.NoError(t, err)
	require.Len(t, seen, 4*5+4*4)
	assert.Equal(t, []int{0, 0, 0, 0, 5}, seen[:5], "a unit at a time")
	assert.True(t, slices.IsSorted(seen))
	head, _, _ := strings.Cut(readFile(t, o.File), "\n")
	assert.Contains(t, head, `"build":"v1.2.3"`)
	assert.Regexp(t, `"run":"[0-9a-f]{16}"`, head)
}

// A run whose file cannot be made calls no agent.
func TestARunWithoutItsFileDoesNotBegin(t *testing.T) {
	m := desks()
	m.NewWorld = func(context.Context) (*contract.World, error) {
		w, err := desks().NewWorld(context.Background())
		w.Agent = func(context.Context, string, chaos.ToolRegistry) (string, error) { panic("called") }
		return w, err
	}
	m.Scenarios, m.Goals = m.Scenarios[:2], nil
	_, err := m.Run(t.Context(), &contract.RunOptions{File: filepath.Join(t.TempDir(), "none", "a.run.jsonl"),
		OnCell: func(*contract.CellReport) { t.Error("a cell ran") }})
	assert.ErrorContains(t, err, "contract: run file: ")
}

// A run whose matrix is too large for a file leaves the file that is there.
func TestARunThatIsTooLargeLeavesItsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.run.jsonl")
	require.NoError(t, os.WriteFile(file, []byte("of an earlier run"), 0o600))
	m := desks()
	m.Scenarios, m.Goals, m.Trials = m.Scenarios[:1], nil, 1
	m.NewWorld = func(context.Context) (*contract.World, error) {
		return &contract.World{Agent: func(context.Context, string, chaos.ToolRegistry) (string, error) { return "", nil }}, nil
	}
	for i := range 2000 {
		m.Scenarios = append(m.Scenarios, contract.Scenario{Name: fmt.Sprint("s", i), Layer: chaos.LayerTool})
	}
	calm := m.Invariants[4]
	m.Invariants = nil
	for i := range 2000 {
		calm.Name = fmt.Sprint("i", i)
		m.Invariants = append(m.Invariants, calm)
	}
	_, err := m.Run(t.Context(), &contract.RunOptions{File: file, OnCell: func(*contract.CellReport) { t.Error("a cell ran") }})
	assert.ErrorContains(t, err, "contract: run file: contract: head is 4002000 fields; allowed: at most 4000000")
	assert.Equal(t, "of an earlier run", readFile(t, file))
}

// atEnd calls a function when all was read.
type atEnd struct {
	io.Reader
	call func()
}

func (r atEnd) Read(p []byte) (n int, err error) {
	if n, err = r.Reader.Read(p); err == io.EOF {
		r.call()
	}
	return n, err
}

// Of the cells of a sequential run, which are held until the end of its file, the evidence is not.
func TestCountsOfASequentialRunTakeNoEvidence(t *testing.T) {
	const trials, answer = 100, 100_000
	m := desks()
	m.Scenarios, m.Invariants, m.Goals, m.Trials = m.Scenarios[:1], m.Invariants[:1], nil, trials
	m.Invariants[0].Needs = 0
	m.NewWorld = func(context.Context) (*contract.World, error) {
		return &contract.World{Agent: func(context.Context, string, chaos.ToolRegistry) (string, error) {
			return strings.Repeat("a", answer), nil
		}}, nil
	}
	r, err := m.Run(t.Context(), &contract.RunOptions{Sequential: true, Keep: contract.KeepAll})
	require.NoError(t, err)
	file := fileOf(t, r, nil)
	require.Greater(t, len(file), trials*answer)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	back, err := report.Read(atEnd{strings.NewReader(file), func() {
		runtime.GC()
		runtime.ReadMemStats(&after)
	}}, &report.ReadOptions{CountsOnly: true})
	require.NoError(t, err)
	assert.Empty(t, back.Cells)
	assert.Equal(t, r.Fields, back.Fields)
	assert.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(trials*answer/10))
	runtime.KeepAlive(r)
}

// What is left out is not read back, and the rest is.
func TestWhatABaselineHas(t *testing.T) {
	r := runs(t)["shared"]
	r.Defects = []contract.Defect{{Sentence: "lookup fails", Severity: contract.High, Facts: []string{"a secret"}}}
	r.SearchElapsed, r.SearchRuns, r.Repeatable = time.Second, 3, "yes"
	file := fileOf(t, r, &report.WriteOptions{Stable: true, WithoutEvidence: true})
	for _, said := range []string{"1042", "unkind", "log is gone", "a secret", "go test", "no goal", "elapsed"} {
		assert.NotContains(t, file, said)
	}
	back, err := report.Read(strings.NewReader(file), nil)
	require.NoError(t, err)
	require.Len(t, back.Cells, len(r.Cells))
	for i := range r.Cells {
		is, was := &back.Cells[i], &r.Cells[i]
		assert.Equal(t, []any{was.Cell, was.State, was.Violated, was.Severity, was.Delivered},
			[]any{is.Cell, is.State, is.Violated, is.Severity, is.Delivered})
	}
	assert.Equal(t, r.Fields, back.Fields)
	assert.Equal(t, r.Faults, back.Faults)
	assert.Equal(t, r.Chaos, back.Chaos)
	assert.Equal(t, "yes", back.Repeatable)
	assert.Equal(t, []contract.Defect{{Sentence: "lookup fails", Severity: contract.High}}, back.Defects)
	assert.Zero(t, back.SearchElapsed)
	assert.Equal(t, file, fileOf(t, back, &report.WriteOptions{Stable: true, WithoutEvidence: true}))
}
