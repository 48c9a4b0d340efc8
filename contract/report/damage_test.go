package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/scoring"
)

// small is a run whose file has a few lines, with all that can be in one.
func small(t testing.TB) *contract.Report {
	m := desks()
	m.Scenarios, m.Goals, m.Trials, m.KeepValues, m.Prompts = m.Scenarios[:2], m.Goals[:1], 1, false, m.Prompts[:1]
	m.Scenarios[1].Rules[0].When = nil // each call fails
	r, err := m.Run(t.Context(), nil)
	require.NoError(t, err)
	return r
}

// A file that was cut anywhere is that of a killed run, which says how much of it there is, or is
// refused. Only the whole file is the report.
func TestAFileThatWasCut(t *testing.T) {
	r := small(t)
	text := fileOf(t, r, &report.WriteOptions{WithoutEvidence: true})
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	for n := range len(text) {
		got, err := report.Read(strings.NewReader(text[:n]), nil)
		whole := strings.Count(text[:n], "\n")
		if n+1 < len(text) && text[n] == '\n' { // the line is whole without its break
			whole++
		}
		switch {
		case n == len(text)-1:
			require.NoError(t, err, "all but the last line break")
			require.Equal(t, []any{r.Score.Verdict, r.Fields, r.Counts, false}, []any{got.Score.Verdict, got.Fields, got.Counts, got.Cancelled})
		case whole == 0:
			require.Error(t, err, "cut at %d: in the head", n)
		default:
			require.NoError(t, err, "cut at %d", n)
			require.True(t, got.Cancelled && got.Score.Verdict != scoring.Pass, "cut at %d", n)
			cells := 0
			for _, line := range lines[1:whole] {
				cells += strings.Count(strings.SplitN(line, `"`, 9)[7], "") - 1 - strings.Count(strings.SplitN(line, `"`, 9)[7], "-")
			}
			require.Len(t, got.Cells, cells, "cut at %d: those of the whole lines", n)
			require.Contains(t, got.Warnings[len(got.Warnings)-1], fmt.Sprintf("it has %d of 2 units", whole-1))
		}
	}
}

// A file of which a byte was changed is refused with the line, or is that of a killed run, if the last
// line break is what was changed. No byte makes it another report.
func TestAFileThatWasDamaged(t *testing.T) {
	text := fileOf(t, small(t), &report.WriteOptions{WithoutEvidence: true})
	for n := range len(text) {
		for _, b := range []byte{text[n] ^ 1, '\n'} {
			if b == text[n] {
				continue
			}
			damaged := []byte(text)
			damaged[n] = b
			got, err := report.Read(bytes.NewReader(damaged), nil)
			if err != nil {
				require.ErrorContains(t, err, "contract: line ", "byte %d", n)
				continue
			}
			require.True(t, got.Cancelled, "byte %d: only a torn last line passes", n)
			require.GreaterOrEqual(t, n, strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n"), "byte %d", n)
		}
	}
}

// resummed is a text with the sums of its lines made anew, as somebody does who changes a file on
// purpose.
func resummed(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if cut := strings.LastIndex(line, `,"sum":"`); cut > 0 {
			sum := sha256.Sum256([]byte(line[:cut]))
			line = line[:cut] + `,"sum":"` + base64.RawStdEncoding.EncodeToString(sum[:8]) + "\"}\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// What does not follow from the units is refused, also if the sums fit: one error, with the line or the
// first member of the end that differs.
func TestAFileThatContradictsItself(t *testing.T) {
	text := fileOf(t, small(t), nil)
	swap := func(pairs ...string) func() string {
		return func() string {
			for i := 0; i < len(pairs); i += 2 {
				require.Contains(t, text, pairs[i])
			}
			return strings.NewReplacer(pairs...).Replace(text)
		}
	}
	lines := strings.SplitAfter(text, "\n")
	for _, row := range []struct {
		why  string
		make func() string
		says string
	}{
		{"a state", swap(`{"unit":"calm/1","states":"hhhhh"`, `{"unit":"calm/1","states":"hhhhb"`), "end.counts["},
		{"a verdict", swap(`"verdict":"inconclusive"`, `"verdict":"pass"`), "end.score.verdict is PASS; allowed: INCONCLUSIVE, as the cells say"},
		{"a promise", swap(`"atLeast":0.9,"poor":0.5`, `"atLeast":0.5,"poor":0.1`), "end.fields[1]"},
		{"a unit twice", func() string { return strings.Join(append(lines[:2:2], lines[1:]...), "") }, "line 3, column 1: unit is "},
		{"a unit that is gone", func() string { return strings.Join(append(lines[:2:2], lines[3:]...), "") }, "end.counts"},
		{"units of another scenario", swap(`{"unit":"calm/1"`, `{"unit":"storm/1"`), `unit is "storm/1"; allowed: a scenario of the head`},
		{"a trial that is none", swap(`{"unit":"calm/1"`, `{"unit":"calm/01"`), `unit is "calm/01"`},
		{"a trial far beyond the others", swap(`"seed":"18446744073709551615","trials":1,"fingerprint"`,
			`"seed":"18446744073709551615","trials":900000000,"fingerprint"`, `{"unit":"calm/1"`, `{"unit":"calm/900000000"`),
			"at most 10000000 trials that are left out before others"},
		{"a letter", swap(`"states":"hhhhh"`, `"states":"hhxhh"`), "states is "},
		{"an invariant that does not apply", swap(`-","`, `h","`), "states is "},
		{"too few letters", swap(`"states":"hhhhh"`, `"states":"hhhh"`), `states is "hhhh"; allowed: 5 letters`},
		{"another version", swap(`"version":1`, `"version":2`), "version is 2; allowed: 1"},
		{"a member of a later version", swap(`{"unit":"calm/1"`, `{"shard":"2/8","unit":"calm/1"`), "shard"},
		{"a delivery", swap(`"delivered":1`, `"delivered":2`), "end."},
		{"more after the end", func() string { return text + lines[1] }, "more after the end"},
		{"no head", func() string { return strings.Join(lines[1:], "") }, "allowed: the head of a run file"},
		{"a report of an older version", func() string { return "{\n  \"name\": \"desks\"\n}\n" }, `contract: line 1, column 1 is "{"; allowed: the head of a run file; what was made before run files has none: make it again, a baseline with SHAKEDOWN_UPDATE=1`},
		{"nothing", func() string { return "" }, "a run file"},
	} {
		_, err := report.Read(strings.NewReader(resummed(row.make())), nil)
		assert.ErrorContains(t, err, row.says, row.why)
	}
}

func TestTheErrorOfAReaderIsReturned(t *testing.T) {
	text := fileOf(t, small(t), nil)
	_, err := report.Read(io.MultiReader(strings.NewReader(text[:len(text)/2]), iotest.ErrReader(io.ErrClosedPipe)), nil)
	assert.ErrorIs(t, err, io.ErrClosedPipe)
	back, err := report.Read(iotest.OneByteReader(strings.NewReader(text)), nil)
	require.NoError(t, err)
	assert.Len(t, back.Cells, 5+4)
}

// FuzzRead: whatever the text, with fitting sums too, nothing panics; what is read is written, and read
// again as the same report.
func FuzzRead(f *testing.F) {
	f.Add(fileOf(f, small(f), nil))
	f.Add(fileOf(f, small(f), &report.WriteOptions{Stable: true, WithoutEvidence: true}))
	f.Add(fileOf(f, rated(f), nil))
	f.Add(fileOf(f, countsOnly(f, rated(f)), nil))
	for _, r := range runs(f) {
		if len(r.Cells) < 200 {
			f.Add(fileOf(f, r, &report.WriteOptions{WithoutEvidence: true}))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, text := range []string{text, resummed(text)} {
			r, err := report.Read(strings.NewReader(text), nil)
			if err != nil {
				continue
			}
			require.NoError(t, report.Text(io.Discard, r, nil))
			back := throughFile(t, r, nil)
			assertSame(t, "again", reflect.ValueOf(r).Elem(), reflect.ValueOf(back).Elem())
		}
	})
}

func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestFilesHaveEveryFormat(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "of", "need")
	all := []string{"report.html", "report.md", "report.run.jsonl", "report.txt", "report.xml"}
	for _, r := range []*contract.Report{desk(t), passed(t)} { // the second replaces the first
		require.NoError(t, report.Files(dir, r, nil))
		assert.Equal(t, all, namesIn(t, dir), "and no file that is half written")
		for _, f := range append(formats(), runFile) {
			if f.ending == "txt" || f.ending == "run.jsonl" || f.ending == "xml" || f.ending == "md" || f.ending == "html" {
				got, err := os.ReadFile(filepath.Join(dir, "report."+f.ending))
				require.NoError(t, err)
				assert.Equal(t, string(render(t, f, r)), string(got), f.ending)
			}
		}
	}
	require.NoError(t, report.Files(dir, desk(t), &report.JUnitOptions{FailOn: contract.Critical}))
	got, err := os.ReadFile(filepath.Join(dir, "report.xml"))
	require.NoError(t, err)
	assert.Contains(t, string(got), "below the severity")
}

func TestFilesReportsAllThatFailed(t *testing.T) {
	dir := t.TempDir()
	assert.EqualError(t, report.Files(dir, nil, nil), "report: report is nil; allowed: a report")
	assert.Empty(t, namesIn(t, dir), "nothing is written")

	err := report.Files(dir, passed(t), &report.JUnitOptions{FailOn: 5})
	assert.ErrorContains(t, err, "report: files: report.xml: report: JUnitOptions.FailOn is Severity(5); ")
	assert.Equal(t, []string{"report.html", "report.md", "report.run.jsonl", "report.txt"}, namesIn(t, dir), "the others are there")

	file := filepath.Join(dir, "report.xml")
	assert.ErrorContains(t, report.Files(filepath.Join(dir, "report.md"), passed(t), nil), "report: files: ", "a file is no folder")
	require.NoError(t, os.Mkdir(file, 0o700))
	assert.ErrorContains(t, report.Files(dir, passed(t), nil), "report: files: report.xml: ", "a folder is no file")
	for _, name := range namesIn(t, dir) {
		assert.False(t, strings.HasPrefix(name, "."), "%s is left over", name)
	}
}

func TestLine(t *testing.T) {
	cell := func(state contract.CellState, violated bool, why string) *contract.CellReport {
		return &contract.CellReport{Severity: contract.High, State: state, Violated: violated, Why: why}
	}
	for _, row := range []struct {
		why, want string
		c         *contract.CellReport
	}{
		{"broken", "✗ broken (high): no noon", cell(contract.Broken, true, "no noon")},
		{"broken without a fault", "! broken although no fault was delivered (high): no noon", cell(contract.Undelivered, true, "no noon")},
		{"inconclusive", "? inconclusive (high): no reason was given", cell(contract.Inconclusive, false, "")},
		{"undelivered", "○ undelivered (high): no call", cell(contract.Undelivered, false, "no call")},
		{"held", "✓ held (high)", cell(contract.Held, false, "")},
		{"a text of an agent", `✗ broken (high): a\nb \x1b[2J ##\x5bcommand]`, cell(contract.Broken, true, "a\nb \x1b[2J ##[command]")},
		{"none", "", nil},
	} {
		assert.Equal(t, row.want, report.Line(row.c, 100), row.why)
	}
}

func TestLineKeepsToItsWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(40, 200).Draw(t, "width")
		c := &contract.CellReport{Severity: contract.Low, State: contract.Broken, Violated: true, Why: rapid.String().Draw(t, "why")}
		line := report.Line(c, width)
		assert.NotContains(t, line, "\n")
		assert.NotContains(t, line, "##[")
		assert.True(t, strings.HasPrefix(line, "✗ broken (low): "), line)
		assert.LessOrEqual(t, utf8.RuneCountInString(line), width)
	})
}
