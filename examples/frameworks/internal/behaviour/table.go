package behaviour

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/examples/frameworks/internal/page"
)

const pageFile = "frameworks.md"

// version is that of the framework in the go.mod of the test's module, which go build keeps equal to the build list.
// Binaries of tests do not hold their build list (debug.ReadBuildInfo).
func (f *Framework) version(t *testing.T) string {
	t.Helper()
	line := regexp.MustCompile(`(?m)^\s*(?:require )?` + regexp.QuoteMeta(f.Module) + ` (v\S+)`)
	for dir := "."; ; dir = filepath.Join(dir, "..") {
		doc, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if errors.Is(err, fs.ErrNotExist) && len(dir) < 16 {
			continue
		}
		require.NoError(t, err)
		found := line.FindSubmatch(doc)
		require.NotNil(t, found, "go.mod does not require %s", f.Module)
		return string(found[1])
	}
}

// check reports a framework that is not described whole, or stands elsewhere.
func (f *Framework) check(t *testing.T) {
	t.Helper()
	for name, ok := range map[string]bool{"Name": f.Name != "", "Module": f.Module != "", "Dir": f.Dir != "", "API": f.API != "",
		"Target": f.Target != "", "Ask": f.Ask != nil} {
		require.True(t, ok, "behaviour: Framework.%s is required", name)
	}
	here, err := os.Getwd()
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(filepath.ToSlash(here), path.Join("examples/frameworks", f.Dir)), "behaviour: Framework.Dir is %q; the test is in %s", f.Dir, here)
}

// file is the test's, as the page links to it.
func (f *Framework) file() string {
	return path.Join("../examples/frameworks", f.Dir, "behaviour_test.go")
}

// Table holds the framework's row in docs/frameworks.md, and its own table there, to what the agent does: a subtest
// for each case, which fails with the cell's old words and the new. With UPDATE_GOLDEN=1 it writes them. The file of
// the test is behaviour_test.go.
func (f Framework) Table(t *testing.T) {
	f.check(t)
	version := f.version(t)
	was := oldRows(t, f.Name)
	t.Run("calm", f.calm)
	outcomes, silent := map[Column][]labelled{}, map[Column]bool{}
	var table strings.Builder
	table.WriteString("| | what happens | what was seen | test |\n|---|---|---|---|\n")
	all, ran := trials(&f), 0
	for _, try := range all {
		t.Run(try.name, func(t *testing.T) {
			ran++
			s := f.observe(t, &try)
			require.Empty(t, s.Undelivered, "a fault was not delivered: %s", s.Note)
			if try.column == Panic && s.Died != "" {
				require.Contains(t, s.Died, panicked, "the process ended for another reason")
			}
			c := f.words(&try, &s)
			outcome := strings.Join(c.outcome, ", ")
			row := fmt.Sprintf("| %s | %s | %s | [`%s`](%s) |", f.title(&try), outcome, strings.Join(c.facts, "; "), t.Name(), f.file())
			table.WriteString(row + "\n")
			if old := was[f.title(&try)]; old != row && !page.Updating() {
				t.Errorf("%s: the cell has changed\ndocs/frameworks.md, %s:\n%s\nthis build, %s:\n%s", f.Name, was[""], old, version, row)
			}
			outcomes[try.column] = append(outcomes[try.column], labelled{try.label, outcome})
			silent[try.column] = silent[try.column] || c.silent
		})
	}
	if ran < len(all) || t.Failed() {
		return // the words of some cells are missing: -run selected others
	}
	if was[""] != version && !page.Updating() {
		t.Errorf("%s: docs/frameworks.md has %s and this build has %s; no cell has changed. To accept: .ci/frameworks", f.Name, was[""], version)
		return
	}
	f.checkSilences(t, silent)
	page.Hold(t, pageFile, f.Name, "Version "+version+".\n\n"+table.String()+f.adds())
	page.Row(t, pageFile, "frameworks", "| ["+f.Name+"]", f.row(version, outcomes))
	page.Hold(t, pageFile, f.Name+" for maintainers", f.maintainers(version))
}

// title is the first cell of a row.
func (f *Framework) title(t *trial) string {
	if t.label == "" {
		return string(t.column)
	}
	return string(t.column) + ", " + t.label
}

// oldRows are the lines of the framework's table, by their first cells; "" is its version.
func oldRows(t *testing.T, name string) map[string]string {
	t.Helper()
	rows := map[string]string{}
	for line := range strings.Lines(page.Section(t, pageFile, name)) {
		line = strings.TrimSuffix(line, "\n")
		if version, ok := strings.CutPrefix(line, "Version "); ok {
			rows[""] = strings.TrimSuffix(version, ".")
		}
		if cells := strings.SplitN(line, " | ", 2); len(cells) == 2 {
			rows[strings.TrimPrefix(cells[0], "| ")] = line
		}
	}
	return rows
}

// calm holds that the agent does all that it is asked in a world without faults: else no cell says anything.
func (f *Framework) calm(t *testing.T) {
	tries := []trial{{name: "whole"}, {name: "together", together: true}}
	if f.Streamed != nil {
		tries = append(tries, trial{name: "streamed", streamed: true})
	}
	for _, try := range tries {
		t.Run(try.name, func(t *testing.T) {
			s := f.observe(t, &try)
			assert.Empty(t, s.Died+s.Err+s.Panicked)
			assert.Equal(t, saysDone, s.Answer)
			assert.Equal(t, State{Refunds: []string{order}, Mails: []string{order}}, s.State)
			assert.Empty(t, s.Left, "goroutines")
		})
	}
}

// labelled are the words of a case.
type labelled struct{ label, words string }

// row is the framework's in the first table.
func (f *Framework) row(version string, outcomes map[Column][]labelled) string {
	cells := []string{fmt.Sprintf("| [%s](#%s) %s", f.Name, anchor(f.Name), version)}
	for _, column := range Columns() {
		words := "no streams"
		if all := outcomes[column]; len(all) > 0 {
			words = fmt.Sprintf("[%s](%s)", join(all), f.file())
		}
		cells = append(cells, words)
	}
	return strings.Join(cells, " | ") + " |"
}

// join says once what is equal in all cases.
func join(all []labelled) string {
	if !slices.ContainsFunc(all, func(one labelled) bool { return one.words != all[0].words }) {
		return all[0].words
	}
	var texts []string
	for _, one := range all {
		if one.label != "" {
			one.words = one.label + ": " + one.words
		}
		texts = append(texts, one.words)
	}
	return strings.Join(texts, "; ")
}

func anchor(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "-") }

// adds is what a user must add.
func (f *Framework) adds() string {
	var lines []string
	for _, column := range Columns() {
		if text := f.Add[column]; text != "" {
			lines = append(lines, fmt.Sprintf("- *%s*: %s\n", column, text))
		}
	}
	if f.RealTime != "" {
		lines = append(lines, "- It is tested in real time: "+f.RealTime+"\n")
	}
	if len(lines) == 0 {
		return ""
	}
	return "\nWhat you must add:\n\n" + strings.Join(lines, "")
}

// checkSilences compares the facts for the maintainers with what was seen.
func (f *Framework) checkSilences(t *testing.T, silent map[Column]bool) {
	t.Helper()
	for _, column := range Columns() {
		described := slices.ContainsFunc(f.Silent, func(s Silence) bool { return s.Column == column })
		assert.Equal(t, silent[column], described, "%s: the cell has a silence (expected), Framework.Silent describes one (actual)", column)
	}
}

func (f *Framework) maintainers(version string) string {
	var lines []string
	for _, s := range f.Silent {
		lines = append(lines, fmt.Sprintf("- **%s** %s, *%s*: %s Test: [`behaviour_test.go`](%s).\n", f.Name, version, s.Column, s.Fact, f.file()))
	}
	return strings.Join(lines, "")
}
