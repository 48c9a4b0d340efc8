// Package catalogtest checks that a package of faults or triggers has a row for
// each, and that the rows say what is so.
package catalogtest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/planjson"
)

// A TB is a test: a *testing.T.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
}

// Run checks the rows of the package in the working directory: they are complete,
// and what the example of each makes describes itself as the row says.
func Run(t TB, rows []*catalog.Row) {
	t.Helper()
	if err := Complete(".", rows); err != nil {
		t.Errorf("%v", err)
	}
	for _, r := range rows {
		if err := described(r); err != nil {
			t.Errorf("%s: %v", r.Kind, err)
		}
	}
}

var (
	kindForm  = regexp.MustCompile(`^[a-z]+(_[a-z0-9]+)*$`)
	paramForm = regexp.MustCompile(`^[a-z][A-Za-z]*$`)
)

// described makes what the example says and compares it with the row. Coordinates
// that depend on parameters only have to be there.
func described(r *catalog.Row) error {
	for _, p := range r.Parameters() {
		if !paramForm.MatchString(p.Name) {
			return fmt.Errorf("the parameter %q is not in camel case", p.Name)
		}
	}
	if !kindForm.MatchString(r.Kind) {
		return errors.New("the kind is not in snake case")
	}
	if r.HoldsCode() {
		return nil
	}
	part := "fault"
	if r.IsTrigger() {
		part = `fault":{"kind":"hang"},"when`
	}
	plan, err := planjson.Decode(fmt.Appendf(nil, `{"seed":"1","rules":[{"target":"x","%s":{"kind":%q,"params":%s}}]}`,
		part, r.Kind, r.Example), nil)
	if err != nil {
		return err
	}
	made := any(plan.Rules()[0].Fault)
	if r.IsTrigger() {
		made = plan.Rules()[0].When
	}
	d := made.(chaos.Described).Describe()
	if !sameJSON(cmp.Or(string(d.Params), "{}"), r.Example) {
		return fmt.Errorf("its parameters are %s, and those of the example %s", d.Params, r.Example)
	}
	want := chaos.Description{Kind: r.Kind, Params: d.Params, Layer: r.Layer, Class: r.Class, Visibility: r.Visibility,
		Persistence: r.Persistence, Effect: r.Effect}
	if _, varies := reflect.Zero(r.Params()).Interface().(interface{ Coordinates(*chaos.Description) }); !varies {
		if !reflect.DeepEqual(d, want) {
			return fmt.Errorf("it is described as %+v", d)
		}
	}
	lacks := d.Class == "" || d.Visibility == "" || d.Persistence == "" || d.Effect == ""
	if d.Kind != r.Kind || !r.IsTrigger() && lacks {
		return fmt.Errorf("the description %+v lacks a coordinate", d)
	}
	return nil
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
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
