// Package catalogtest checks that a package of faults or triggers has a row for
// each.
package catalogtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// A TB is a test: a *testing.T.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
}

// Run checks that the rows of the package in the working directory are complete. Package
// planjson makes the example of each, and holds what it says of itself.
func Run(t TB, rows []*catalog.Row) {
	t.Helper()
	if err := Complete(".", rows); err != nil {
		t.Errorf("%v", err)
	}
}

// In the text of a package: a row, and an exported constructor of a fault or trigger.
var (
	rowLiteral  = regexp.MustCompile(`\bcatalog\.Row\{\s*Kind:\s*"(\w+)"`)
	constructor = regexp.MustCompile(`(?m)^func ([A-Z]\w*)(?:\[.*?\])?\((?:[^()]|\([^()]*\))*\) chaos\.(?:Fault|When) \{`)
	packageName = regexp.MustCompile(`(?m)^package (\w+)`)
)

// Complete reports what is missing from the rows of the package whose files are
// in dir. Each exported constructor of a fault or trigger appears in the Go
// text of a row, and each literal of a catalog.Row is among rows, with all that
// documentation shows.
func Complete(dir string, rows []*catalog.Row) error {
	text, err := source(dir)
	if err != nil {
		return err
	}
	var problems []error
	kinds := map[string]bool{}
	var shown strings.Builder
	for _, r := range rows {
		if kinds[r.Kind] || r.Kind == "" || r.Doc == "" || r.Go == "" || r.Params() == nil {
			problems = append(problems, fmt.Errorf("row %q is there twice or not complete", r.Kind))
		}
		kinds[r.Kind] = true
		shown.WriteString(r.Go + " ")
	}
	literals := rowLiteral.FindAllStringSubmatch(text, -1)
	for _, kind := range literals {
		if !kinds[kind[1]] {
			problems = append(problems, fmt.Errorf("there is a row literal %q, and no such row", kind[1]))
		}
	}
	constructors := constructor.FindAllStringSubmatch(text, -1)
	for _, name := range constructors {
		call := packageName.FindStringSubmatch(text)[1] + "." + name[1] + "("
		if !strings.Contains(shown.String(), call) {
			problems = append(problems, fmt.Errorf("no row shows %s…)", call))
		}
	}
	if len(constructors) == 0 || len(literals) != len(rows) {
		problems = append(problems,
			fmt.Errorf("%d constructors and %d row literals make %d rows", len(constructors), len(literals), len(rows)))
	}
	return errors.Join(problems...)
}

// source is the text of the files of a package, without its tests.
func source(dir string) (string, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	var all strings.Builder
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, wrong := os.ReadFile(name)
		err = errors.Join(err, wrong)
		all.Write(text)
	}
	return all.String(), err
}
