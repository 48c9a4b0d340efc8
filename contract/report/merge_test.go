package report_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/scoring"
)

var stable = &report.WriteOptions{Stable: true}

// A wholeRun is the file of one process, from which tests cut parts.
type wholeRun struct {
	text             string
	head, end        string
	units            []string
	calmRuns, differ int // calm runs, and those of them that are of cells
}

// wholeRuns are files of real runs, by what is special about them.
func wholeRuns(t testing.TB) map[string]wholeRun {
	all := map[string]wholeRun{}
	for name, change := range map[string]func(*contract.Matrix, *contract.RunOptions){
		"plain": func(*contract.Matrix, *contract.RunOptions) {},
		"shared": func(m *contract.Matrix, o *contract.RunOptions) {
			m.ShareObservations, o.Gather = true, contract.NeedCalm
		},
		"sequential": func(m *contract.Matrix, o *contract.RunOptions) {
			m.Trials, o.Sequential = 12, true
		},
		"nothing in calm": func(m *contract.Matrix, o *contract.RunOptions) {
			m.Trials, o.Sequential, m.Invariants = 12, true, m.Invariants[:4]
			for i := range m.Invariants {
				m.Invariants[i].Applies = contract.AnyFault
			}
		},
		"counts": func(_ *contract.Matrix, o *contract.RunOptions) { o.Keep = contract.KeepCounts },
		"probed": func(m *contract.Matrix, _ *contract.RunOptions) {
			m.World, _ = m.NewWorld(t.Context())
			m.NewWorld, m.Scenarios, m.Goals = nil, m.Scenarios[:2], m.Goals[:1]
		},
	} {
		m, o := desks(), &contract.RunOptions{Workers: 3, Build: "v1", File: filepath.Join(t.TempDir(), "a.run.jsonl"),
			Harness: contract.Harness{Rerun: "go test -run {scenario}/{invariant}/{trial}"}}
		change(m, o)
		r, err := m.Run(t.Context(), o)
		require.NoError(t, err, name)
		run := wholeRunOf(readFile(t, o.File))
		if run.calmRuns = r.CalmRuns; name == "shared" {
			run.differ = 2 // the worlds of the matrix, and those of the scenario with its own
		}
		all[name] = run
	}
	return all
}

func wholeRunOf(text string) wholeRun {
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	last := len(lines) - 1
	return wholeRun{text: text, head: lines[0], units: lines[1:last], end: lines[last] + "\n"}
}

// part is the end of a shard, as its run writes it.
func (w *wholeRun) partEnd() string {
	return resummed(strings.Replace(w.end, `{"end":true`, `{"end":true,"part":true`, 1))
}

func unitOf(line string) string { return strings.SplitN(line, `"`, 5)[3] }

// merged is what Merge writes, and its report.
func merged(t require.TestingT, parts ...string) (string, *contract.Report) {
	var b strings.Builder
	r, err := report.Merge(&b, parts...)
	require.NoError(t, err)
	require.Empty(t, r.Cells, "it is the report of counts")
	return b.String(), r
}

func stableOf(t require.TestingT, text string) string {
	r, err := report.Read(strings.NewReader(text), nil)
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, report.Write(&b, r, stable))
	return b.String()
}

// Parts that are cut from the file of a run in any way merge to the file of the run, byte for byte, whatever
// their order: some units are in several, some runs were killed in the middle of a line.
func TestPartsMergeToTheFileOfOneRun(t *testing.T) {
	runs, dir := wholeRuns(t), t.TempDir()
	want := map[string]string{}
	for name, run := range runs {
		want[name] = stableOf(t, run.text)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(runs))).Draw(t, "run")
		run := runs[name]
		parts := make([][]string, rapid.IntRange(1, 12).Draw(t, "parts"))
		for _, unit := range run.units {
			for _, p := range rapid.SliceOfNDistinct(rapid.IntRange(0, len(parts)-1), 1, min(2, len(parts)), rapid.ID).Draw(t, "in") {
				parts[p] = append(parts[p], unit)
			}
		}
		var paths []string
		whole := rapid.IntRange(0, len(parts)-1).Draw(t, "one that ended")
		for i, units := range parts {
			text := run.head + strings.Join(rapid.Permutation(units).Draw(t, "order"), "")
			if i == whole || rapid.Bool().Draw(t, "ended") {
				text += run.partEnd()
			} else {
				text += run.units[0][:rapid.IntRange(0, len(run.units[0])-2).Draw(t, "torn")]
			}
			paths = append(paths, filepath.Join(dir, fmt.Sprintf("%d.run.jsonl", i)))
			require.NoError(t, os.WriteFile(paths[i], []byte(text), 0o600))
		}
		text, r := merged(t, rapid.Permutation(paths).Draw(t, "arguments")...)
		if r.CalmRuns != run.calmRuns { // each part has the end of the whole, so calm runs that it did not need
			require.LessOrEqual(t, r.CalmRuns, run.calmRuns+run.differ)
			text = resummed(strings.Replace(text, fmt.Sprintf(`"calmRuns":%d`, r.CalmRuns), fmt.Sprintf(`"calmRuns":%d`, run.calmRuns), 1))
		}
		require.Equal(t, want[name], stableOf(t, text), name)
		_, again := merged(t, paths...)
		require.Equal(t, r.Score, again.Score)
	})
}

// Shards that run by themselves, each with its own calm runs, are like one run.
func TestCalmRunsOfPartsAreCountedOnce(t *testing.T) {
	dir := t.TempDir()
	run := func(name string, scenarios ...int) (path string, calm int) {
		m, o := desks(), &contract.RunOptions{Build: "v1", Gather: contract.NeedCalm, File: filepath.Join(dir, name)}
		r, err := m.Run(t.Context(), o)
		require.NoError(t, err)
		w := wholeRunOf(readFile(t, o.File))
		w.units = slices.DeleteFunc(w.units, func(line string) bool {
			return !slices.ContainsFunc(scenarios, func(s int) bool { return strings.HasPrefix(unitOf(line), m.Scenarios[s].Name+"/") })
		})
		own := 1 // the calm runs that it needed
		if slices.Contains(scenarios, 5) && len(scenarios) > 1 {
			own = 2
		}
		end := resummed(strings.Replace(w.partEnd(), fmt.Sprintf(`"calmRuns":%d`, r.CalmRuns), fmt.Sprintf(`"calmRuns":%d`, own), 1))
		write(t, o.File, w.head+strings.Join(w.units, "")+end)
		return o.File, r.CalmRuns
	}
	a, calm := run("a", 0, 1, 2)
	b, _ := run("b", 3, 4)
	c, _ := run("c", 5)
	_, r := merged(t, a, b, c)
	assert.Equal(t, 2, calm, "of the worlds of the matrix, and of the scenario with its own")
	assert.Equal(t, calm, r.CalmRuns)
	assert.False(t, r.Cancelled)
}

func write(t testing.TB, path, text string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Whatever units are missing, they are counted and named, and the verdict is not Pass. A cell that broke
// is a failure all the same.
func TestUnitsThatNobodyHasAreNamed(t *testing.T) {
	run, dir := wholeRuns(t)["plain"], t.TempDir()
	all := make([]string, len(run.units))
	for i, line := range run.units {
		all[i] = unitOf(line)
	}
	rapid.Check(t, func(t *rapid.T) {
		missing := map[string]bool{}
		for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, len(all)-1), 1, len(all), rapid.ID).Draw(t, "missing") {
			missing[all[i]] = true
		}
		parts := []string{run.head, run.head}
		for i, line := range run.units {
			if missing[all[i]] {
				continue
			}
			parts[i%2] += line
		}
		var paths []string
		for i, text := range parts {
			paths = append(paths, filepath.Join(dir, fmt.Sprint(i)))
			require.NoError(t, os.WriteFile(paths[i], []byte(text), 0o600))
		}
		text, r := merged(t, paths...)
		require.True(t, r.Cancelled)
		require.NotEqual(t, scoring.Pass, r.Score.Verdict)
		var names []string
		for _, name := range all {
			if missing[name] && len(names) < 10 {
				names = append(names, name)
			}
		}
		said := fmt.Sprintf("The merged parts lack %d of 24 units: %s", len(missing), strings.Join(names, ", "))
		if n := len(missing) - 10; n > 0 {
			said += fmt.Sprintf(" and %d more", n)
		}
		require.Contains(t, r.Warnings, said+". The runs of these parts were killed: 0, 1.")
		if r.Score.Verdict == scoring.Inconclusive {
			require.Equal(t, said, r.Score.Why)
		}
		back, err := report.Read(strings.NewReader(text), nil)
		require.NoError(t, err)
		require.Equal(t, []any{r.Score, r.Warnings, r.Fields, true}, []any{back.Score, back.Warnings, back.Fields, back.Cancelled})
		require.Contains(t, text[strings.LastIndex(text, `{"end"`):], `"part":true`)

		whole, again := merged(t, writeIn(t, dir, "merged", text), writeIn(t, dir, "whole", run.text))
		require.Equal(t, stableOf(t, run.text), stableOf(t, whole), "the file of a merge is a part")
		require.False(t, again.Cancelled)
	})
}

func writeIn(t require.TestingT, dir, name, text string) string {
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Cells that a cancelled run did not come to are lacking, also those of a unit that it had begun.
func TestAUnitThatWasBegun(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "cancelled")
	m, o := desks(), &contract.RunOptions{Build: "v1", Workers: 1, File: file}
	ctx, cancel := context.WithCancel(t.Context())
	n, check := 0, m.Invariants[0].Check
	m.Invariants[0].Check = func(ctx context.Context, ob *contract.Observation) error {
		if n++; n > 2 {
			cancel()
		}
		return check(ctx, ob)
	}
	_, err := m.Run(ctx, o)
	require.ErrorIs(t, err, context.Canceled)
	_, r := merged(t, file)
	assert.Contains(t, r.Score.Why, "The merged parts lack 2")
	cancelled := wholeRunOf(readFile(t, file))
	assert.Contains(t, cancelled.units[len(cancelled.units)-1], "s", "the last one was begun")
	assert.Contains(t, r.Score.Why, unitOf(cancelled.units[len(cancelled.units)-1]))

	o.File = filepath.Join(dir, "whole")
	_, err = desks().Run(t.Context(), o)
	require.NoError(t, err)
	text, r := merged(t, file, o.File)
	assert.False(t, r.Cancelled)
	assert.Equal(t, stableOf(t, readFile(t, o.File)), stableOf(t, text))
}

// A sequential run needs trials until a field is decided: what is lacking is the first trial of a field that
// is not, unless a part says that its run needed no more.
func TestWhatASequentialRunLacks(t *testing.T) {
	runs, dir := wholeRuns(t), t.TempDir()
	run, idle := runs["sequential"], runs["nothing in calm"]
	without := func(run wholeRun, names ...string) (units string) {
		for _, line := range run.units {
			if !slices.Contains(names, unitOf(line)) {
				units += line
			}
		}
		return units
	}
	last, own := unitOf(run.units[len(run.units)-1]), unitOf(idle.units[len(idle.units)-1])
	ended := func(run wholeRun, shard, lacks string) string {
		return resummed(strings.Replace(run.head, `"library"`, `"shard":"`+shard+`","library"`, 1)) + without(run, lacks) + run.partEnd()
	}
	for _, row := range []struct{ why, text, lacks string }{
		{"all", run.head + without(run), ""},
		{"all, and an end", run.text, ""},
		{"one in the middle", run.head + without(run, "calm/2"), "calm/2"},
		{"the first of another", run.head + without(run, "ledger-down/1"), "ledger-down/1"},
		{"the last", run.head + without(run, last), last},
		{"the last of a part that says that it has it", ended(run, "1/1", last), ""},
		// Of six scenarios the first asks nothing: the last has the place 4.
		{"the last of the shard that has it", ended(idle, "1/2", own), ""},
		{"the last of a shard that another has", ended(idle, "2/2", own), own},
	} {
		_, r := merged(t, writeIn(t, dir, "a", row.text))
		assert.Equal(t, row.lacks != "", r.Cancelled, row.why)
		assert.Equal(t, row.lacks != "", strings.Contains(strings.Join(r.Warnings, "\n"), "The merged parts lack units that their runs needed, such as "+row.lacks), row.why)
	}
}

// unsteady is a matrix whose agent answers as a counter says.
func unsteady(t *testing.T, path, repeatable string, breaks ...int) string {
	var calls atomic.Int64
	world := func(context.Context) (*contract.World, error) {
		return &contract.World{Agent: func(context.Context, string, chaos.ToolRegistry) (string, error) {
			return fmt.Sprint(calls.Add(1)), nil
		}}, nil
	}
	m := &contract.Matrix{Name: "unsteady", Trials: 4, Prompts: []string{"Go."}, NewWorld: world, Scenarios: []contract.Scenario{contract.Calm()},
		Invariants: []contract.Invariant{{Name: "right", Severity: contract.Low, Check: func(_ context.Context, o *contract.Observation) error {
			if slices.Contains(breaks, o.Cell.Trial) {
				return errors.New("wrong")
			}
			return nil
		}}}}
	o := &contract.RunOptions{Build: "v1", File: path, Workers: 1}
	r, err := m.Run(t.Context(), o)
	require.NoError(t, err)
	if repeatable != "" {
		r.Repeatable = repeatable
		write(t, path, fileOf(t, r, nil))
	}
	return path
}

func TestAUnitThatCameOutTwoWays(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	a, b := unsteady(t, path("a"), "", 2), unsteady(t, path("b"), "", 1, 2)

	text, r := merged(t, b, a)
	assert.Equal(t, []string{"Several parts have other outcomes of 1 unit, such as calm/1. The result has those in which more cells ran, or else more broke."}, r.Warnings)
	assert.Equal(t, 2, r.Score.Passed, "what broke once is not lost because another part has it held, whatever their names and order")
	back, err := report.Read(strings.NewReader(text), nil)
	require.NoError(t, err)
	assert.Equal(t, contract.Broken, back.Cells[0].State)

	unsteady(t, path("b"), "yes", 1, 2)
	_, err = report.Merge(io.Discard, b, a)
	assert.EqualError(t, err, b+":2:1: cell calm/right/1 is broken; allowed: held, as in "+a+":2: the agent was seen to repeat itself")
	assert.IsType(t, new(report.FieldError), fielderror.Apart(err)[0])

	unsteady(t, path("a"), "no", 2) // one part has seen it
	_, r = merged(t, a, b)
	assert.Equal(t, "no", r.Repeatable)

	unsteady(t, path("a"), "yes", 1, 2)
	_, r = merged(t, a, b)
	assert.Equal(t, "yes", r.Repeatable, "and twice the same is fine")
	assert.Empty(t, r.Warnings)
}

// A byte that was changed in a part is an error with file and line, or, in the last line break of a killed run, a
// unit that is lacking. A part that was cut anywhere lacks the units behind. Neither makes another verdict.
func TestAPartThatWasDamaged(t *testing.T) {
	dir := t.TempDir()
	run := wholeRunOf(fileOf(t, small(t), nil))
	first, second := run.head+run.units[0]+run.partEnd(), run.head+run.units[1]
	a := writeIn(t, dir, "a", first)
	_, r := merged(t, a, writeIn(t, dir, "b", second))
	require.False(t, r.Cancelled)
	for n := range len(second) {
		for _, text := range []string{second[:n], second[:n] + string(second[n]^1) + second[n+1:], second[:n] + "\n" + second[n+1:]} {
			if text == second {
				continue
			}
			got, err := report.Merge(io.Discard, a, writeIn(t, dir, "b", text))
			switch {
			case err != nil:
				require.ErrorContains(t, err, filepath.Join(dir, "b"), "byte %d", n)
				if text != "" {
					require.Regexp(t, `b:[12]:1`, err.Error(), "byte %d", n)
				}
			case !got.Cancelled:
				require.Equal(t, len(second)-1, n, "all but the last line break")
				require.Equal(t, r.Score, got.Score)
			default:
				require.Contains(t, strings.Join(got.Warnings, " "), "lack 1 of 2 units: "+unitOf(run.units[1])+". The runs", "byte %d", n)
				require.NotEqual(t, scoring.Pass, got.Score.Verdict)
			}
		}
	}
}

func TestPartsThatAreNone(t *testing.T) {
	dir := t.TempDir()
	run := wholeRunOf(readFile(t, unsteady(t, filepath.Join(dir, "run"), "", 2)))
	put := func(name, text string) { writeIn(t, dir, name, text) }
	swap := func(old, with string) string {
		require.Contains(t, run.text, old)
		return resummed(strings.Replace(run.text, old, with, 1))
	}
	put("again", run.text)
	require.NoError(t, os.Link(filepath.Join(dir, "run"), filepath.Join(dir, "link")))
	put("empty", "")
	put("x.xml", "<?xml version=\"1.0\"?>\n<testsuites/>\n")
	put("tape", `{"format": "shakedown/cassette", "version": 1}`)
	put("old", "{\n  \"cells\": []\n}\n")
	put("seed", swap(`"seed":"0"`, `"seed":"7"`))
	put("build", swap(`"build":"v1"`, `"build":"v2"`))
	put("unknown", swap(`"build":"v1"`, `"build":"unknown"`))
	put("library", swap(`"library":"development"`, `"library":"v9"`))
	runs := 0
	other := smallest(&runs)
	other.Trials = 4
	_, err := other.Run(t.Context(), &contract.RunOptions{Build: "v1", File: filepath.Join(dir, "asks")})
	require.NoError(t, err)
	put("sequential", resummed(strings.Replace(run.head, `"trials":4,`, `"trials":4,"sequential":true,`, 1)))
	put("twice", run.head+run.units[0]+run.units[0])
	put("stranger", swap(`"unit":"calm/2"`, `"unit":"calm/5"`))
	put("letter", swap(`"states":"h"`, `"states":"x"`))
	r, err := report.Read(strings.NewReader(run.text), nil)
	require.NoError(t, err)
	put("baseline", fileOf(t, r, baseline))
	r.Cells = nil
	put("counts", fileOf(t, r, nil))
	for _, row := range []struct {
		parts string
		says  []string
	}{
		{"", []string{"contract: parts is empty; allowed: one run file or more"}},
		{"run run", []string{"/run is given twice: it is the file ", "allowed: each part once"}},
		{"run ./run", []string{"/run is given twice"}},
		{"run link", []string{"/run is given twice: it is the file ", "/link; allowed"}},
		{"run .", []string{" is a folder; allowed: a run file"}},
		{"run none", []string{"/none: no such file or directory; allowed: a run file"}},
		{"empty run", []string{"/empty is empty; allowed: a run file"}},
		{"x.xml tape old", []string{`/x.xml:1:1 is "<?xml`, `/tape:1:1 is `, `/old:1:1 is "{"; allowed: the head of a run file; what was made before run files`}},
		{"run seed", []string{"/seed:1:1: head.seed is 7; allowed: 0, as in ", "/run"}},
		{"run asks", []string{"/run:1:1: head.fingerprint is ", ", as in ", "/asks: it asks something else, first in "}},
		{"run sequential", []string{"/sequential:1:1: head.sequential is true; allowed: false, as in "}},
		{"run build", []string{"/run:1:1: head.build is \"v1\"; allowed: v2, as in ", "RunOptions.Build of both runs may name it"}},
		{"run library", []string{"/run:1:1: head.library is \"development\"; allowed: v9, as in "}},
		{"twice", []string{"/twice:3:1: unit is \"calm/1\"; allowed: each unit once"}},
		{"stranger", []string{"/stranger:3:1: unit is \"calm/5\"; allowed: a scenario of the head, and a trial from 1 to 4"}},
		{"letter", []string{"/letter:2:1: states is \"x\""}},
		{"run letter", []string{"/letter:2:1: states is \"x\""}},
		{"baseline", []string{"/baseline:1:1: head.facts is false; allowed: true: the file of a run"}},
		{"counts", []string{"/counts:1:1: head.cells is false"}},
		{"run empty seed none . twice", []string{"/empty is empty", "/seed:1:1", "/none: no such", "is a folder", "/twice:3:1"}},
	} {
		var parts []string
		for _, name := range strings.Fields(row.parts) {
			parts = append(parts, dir+"/"+name)
		}
		_, err := report.Merge(io.Discard, parts...)
		for _, part := range row.says {
			assert.ErrorContains(t, err, part, row.parts)
		}
	}
	_, r = merged(t, filepath.Join(dir, "run"), filepath.Join(dir, "unknown"))
	assert.Equal(t, []string{"It is not known of which build these parts are: unknown. RunOptions.Build or SHAKEDOWN_BUILD names it."}, r.Warnings)
	_, r = merged(t, filepath.Join(dir, "run"), filepath.Join(dir, "again"))
	assert.Empty(t, r.Warnings, "a copy is no problem")
	_, err = report.Merge(failing{io.ErrShortWrite}, filepath.Join(dir, "run"))
	assert.ErrorIs(t, err, io.ErrShortWrite)
}

// What only the end of a part has comes into the result.
func TestWhatEndsSay(t *testing.T) {
	dir := t.TempDir()
	r := runs(t)["plain"]
	r.Warnings, r.SearchRuns, r.Mutation = []string{"about the rules"}, 3, &scoring.MutationScore{}
	r.Defects = []contract.Defect{{Sentence: "lookup fails", Severity: contract.High}}
	run := wholeRunOf(fileOf(t, r, nil))
	r.Warnings, r.SearchRuns, r.Mutation, r.Defects = []string{"about the rules", "OnCell failed"}, 0, nil, nil
	bare := wholeRunOf(fileOf(t, r, nil))
	a := writeIn(t, dir, "a", bare.head+bare.units[0]+bare.partEnd())
	b := writeIn(t, dir, "b", run.head+strings.Join(run.units[1:], "")+run.partEnd())
	_, got := merged(t, a, b)
	assert.Nil(t, got.Mutation, "that of a part is not that of the whole")
	b = writeIn(t, dir, "b", run.text)
	_, got = merged(t, a, b)
	assert.Equal(t, []string{"It is not known of which build these parts are: a, b. RunOptions.Build or SHAKEDOWN_BUILD names it.", "about the rules", "OnCell failed"}, got.Warnings)
	assert.Equal(t, []any{3, "lookup fails"}, []any{got.SearchRuns, got.Defects[0].Sentence})
	assert.NotNil(t, got.Mutation)
	assertSame(t, "fields", reflect.ValueOf(r.Fields), reflect.ValueOf(got.Fields))
}
