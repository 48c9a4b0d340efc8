package golden_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/internal/golden"
)

// fakeTB records what a failing test would have printed.
type fakeTB struct {
	testing.TB
	name           string
	errors, logged []string
}

func (f *fakeTB) Helper()                   {}
func (f *fakeTB) Name() string              { return f.name }
func (f *fakeTB) Errorf(s string, a ...any) { f.errors = append(f.errors, fmt.Sprintf(s, a...)) }
func (f *fakeTB) Logf(s string, a ...any)   { f.logged = append(f.logged, fmt.Sprintf(s, a...)) }

// run calls Equal in an empty directory that holds testdata/report.txt with the given text.
func run(t *testing.T, update, name, want, got string) *fakeTB {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("UPDATE_GOLDEN", update)
	require.NoError(t, os.Mkdir("testdata", 0o755))
	require.NoError(t, os.WriteFile("testdata/report.txt", []byte(want), 0o644))
	f := &fakeTB{name: "TestReport/a.b"}
	golden.Equal(f, name, []byte(got))
	return f
}

func numbers(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintln(&b, i)
	}
	return b.String()
}

func TestEqualPasses(t *testing.T) {
	for _, text := range []string{"a\nb\n", ""} {
		for _, update := range []string{"", "1"} {
			f := run(t, update, "report.txt", text, text)
			assert.Empty(t, f.errors)
			assert.Empty(t, f.logged, "what is equal is not written again")
		}
	}
}

func TestEqualShowsTheDifference(t *testing.T) {
	for _, row := range []struct {
		why, want, got string
		line           int
		shown          []string // by testify, quoted or as a difference
	}{
		{"a changed line, after three equal ones", numbers(1, 20), strings.Replace(numbers(1, 20), "\n10\n", "\nten\n", 1), 10,
			[]string{`"7\n8\n9\n10\n"`, `"7\n8\n9\nten\n"`, "-10\n", "+ten\n"}},
		{"distant changes", numbers(1, 20), "0\n" + strings.TrimSuffix(numbers(1, 20), "20\n"), 1, []string{"+0\n", "-20\n"}},
		{"a missing last newline", "a\n", "a", 1, []string{`"a\n"`, `"a"`}},
		{"trailing space", "a\n", "a \n", 1, []string{`"a \n"`}},
		{"carriage returns are neither hidden nor forgiven", "a\n", "a\r\n", 1, []string{`"a\r\n"`}},
		{"wrong bytes", "a\n", "\xff\n", 1, []string{`"\xff\n"`}},
		{"a line less of equal ones", "a\na\n", "a\n", 2, []string{`"a\na\n"`, `"a\n"`}},
		{"nothing where something was", "a\n", "", 1, []string{`"a\n"`, `""`}},
		{"something where nothing was", "", "a\n", 1, []string{`"a\n"`, `""`}},
	} {
		t.Run(row.why, func(t *testing.T) {
			f := run(t, "", "report.txt", row.want, row.got)
			require.Len(t, f.errors, 1)
			message := strings.Join(strings.Fields(f.errors[0]), " ")
			assert.Contains(t, message, fmt.Sprintf("golden: %s differs in line %d; to accept what the test got: "+
				"UPDATE_GOLDEN=1 go test -run '^TestReport$/^a\\.b$' .", filepath.Join("testdata", "report.txt"), row.line))
			for _, shown := range row.shown {
				assert.Contains(t, f.errors[0], shown)
			}
			assert.Equal(t, row.want, read(t, "report.txt"), "only UPDATE_GOLDEN=1 writes")
		})
	}
}

func TestEqualBoundsItsMessageAndItsTime(t *testing.T) {
	f := run(t, "", "report.txt", numbers(1, 70000), numbers(1, 30000)+numbers(70001, 140000))
	require.Len(t, f.errors, 1)
	assert.Contains(t, f.errors[0], "differs in line 30001, and not all is shown;")
	assert.Contains(t, f.errors[0], "-30001\n")
	assert.Less(t, strings.Count(f.errors[0], "\n"), 250)
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)))
	require.NoError(t, err)
	return string(b)
}

func TestEqualUpdates(t *testing.T) {
	for _, row := range []struct{ why, name, got string }{
		{"a file that differs", "report.txt", "new\n"},
		{"a file that does not exist, in a folder that does not either", "deep/er/report.txt", "new\n"},
		{"an empty one that does not exist", "other.txt", ""},
		{"without a byte changed", "report.txt", "no newline, \r and \xff"},
	} {
		t.Run(row.why, func(t *testing.T) {
			f := run(t, "1", row.name, "old\n", row.got)
			assert.Empty(t, f.errors)
			require.Len(t, f.logged, 1, "an update is never silent")
			assert.Contains(t, f.logged[0], "wrote")
			assert.Equal(t, row.got, read(t, row.name))
		})
	}
}

func TestEqualRefuses(t *testing.T) {
	for _, row := range []struct{ why, name, message string }{
		{"a file that was never written says how to write it", "other.txt", "does not exist; to create it:\n\tUPDATE_GOLDEN=1 go test"},
		{"a path that leaves testdata", "../report.txt", "inside testdata"},
		{"an absolute path", "/report.txt", "inside testdata"},
		{"no name", "", "inside testdata"},
		{"the folder itself", ".", "inside testdata"},
		{"a file taken for a folder", "report.txt/x", "report.txt"},
	} {
		t.Run(row.why, func(t *testing.T) {
			f := run(t, "", row.name, "", "")
			require.Len(t, f.errors, 1)
			assert.Contains(t, f.errors[0], row.message)
		})
	}
}

func TestEqualReportsAFailedUpdate(t *testing.T) {
	f := run(t, "1", "report.txt/x", "a\n", "b\n")
	require.Len(t, f.errors, 1)
	assert.Empty(t, f.logged)
}
