// Package golden compares what a test produced with a file that was reviewed once and committed.
//
//	func TestReport(t *testing.T) {
//		golden.Equal(t, "report.txt", render(run()))
//	}
//
// The file is testdata/report.txt beside the test. When it has to change, run the test with UPDATE_GOLDEN=1 in the
// environment and read the difference in version control before committing it. An environment variable and not a flag,
// so that it can be set for all packages at once: go test refuses a flag that one of the packages does not define.
//
// Nothing is normalised: not line ends, not trailing space, not the last newline. Whoever commits golden files should
// keep version control from converting them.
package golden

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const (
	variable  = "UPDATE_GOLDEN"
	directory = "testdata"
)

// Equal marks the test as failed, and continues it, if got differs from the
// file name under testdata in any byte, or if the file does not exist. With
// UPDATE_GOLDEN=1 it writes got to the file instead, if they differ, and logs
// that it did. name is a slash-separated path that stays inside testdata.
//
// It may be called from several goroutines if the names differ.
func Equal(t testing.TB, name string, got []byte) {
	t.Helper()
	if !filepath.IsLocal(filepath.FromSlash(name)) || name == "." {
		t.Errorf("golden: name %q: want the path of a file inside %s", name, directory)
		return
	}
	path := filepath.Join(directory, filepath.FromSlash(name))
	want, err := os.ReadFile(path)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !missing:
		t.Errorf("golden: %v", err)
	case !missing && bytes.Equal(want, got):
	case os.Getenv(variable) == "1":
		update(t, path, got)
	case missing:
		t.Errorf("golden: %s does not exist; to create it:\n\t%s", path, command(t))
	default:
		differ(t, path, want, got)
	}
}

const (
	// context is how many equal lines are shown before the first change.
	context = 3
	// maxLines bounds a message, and the time to compare: a file that changed altogether is easier to read in version
	// control.
	maxLines = 100
)

// differ shows the lines from the first in which want and got differ to the last.
func differ(t testing.TB, path string, want, got []byte) {
	t.Helper()
	a, b := slices.Collect(strings.Lines(string(want))), slices.Collect(strings.Lines(string(got)))
	first := 0
	for first < min(len(a), len(b)) && a[first] == b[first] {
		first++
	}
	for min(len(a), len(b)) > first && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	from, part := max(0, first-context), ""
	if max(len(a), len(b)) > from+maxLines {
		part = ", and not all is shown"
	}
	shown := func(lines []string) string { return strings.Join(lines[from:min(len(lines), from+maxLines)], "") }
	assert.Equal(t, shown(a), shown(b), "golden: %s differs in line %d%s; to accept what the test got:\n\t%s", path,
		first+1, part, command(t))
}

func update(t testing.TB, path string, got []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Errorf("golden: %v", err)
		return
	}
	if err := os.WriteFile(path, got, 0o644); err != nil {
		t.Errorf("golden: %v", err)
		return
	}
	t.Logf("golden: wrote %s", path)
}

// command is the line that updates the files of this test alone, to be run in the directory of its package.
func command(t testing.TB) string {
	parts := strings.Split(t.Name(), "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return variable + "=1 go test -run '" + strings.Join(parts, "/") + "' ."
}
