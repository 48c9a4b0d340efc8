// Package catalogtest checks that a package of faults or triggers has a row for
// each, and that the rows say what is so.
package catalogtest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
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

// Complete reports what is missing from the rows of the package whose files are
// in dir. Each exported constructor of a fault or trigger appears in the Go
// text of a row, and each literal of a catalog.Row is among rows, with all that
// documentation shows.
func Complete(dir string, rows []*catalog.Row) error {
	files, err := sources(dir)
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
	constructors, literals := 0, map[string]bool{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.CompositeLit); ok && isRow(lit) {
				kind := kindIn(lit)
				if literals[kind] = true; !kinds[kind] {
					problems = append(problems, fmt.Errorf("there is a row literal %q, and no such row", kind))
				}
			}
			return true
		})
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && makes(fn) {
				call := file.Name.Name + "." + fn.Name.Name + "("
				if constructors++; !strings.Contains(shown.String(), call) {
					problems = append(problems, fmt.Errorf("no row shows %s…)", call))
				}
			}
		}
	}
	if constructors == 0 || len(literals) != len(rows) {
		problems = append(problems,
			fmt.Errorf("%d constructors and %d row literals make %d rows", constructors, len(literals), len(rows)))
	}
	return errors.Join(problems...)
}

// sources parses the files of the package, without its tests.
func sources(dir string) (files []*ast.File, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// makes reports whether a function is an exported constructor of a fault or
// trigger.
func makes(fn *ast.FuncDecl) bool {
	if fn.Recv != nil || !fn.Name.IsExported() || fn.Type.Results == nil || len(fn.Type.Results.List) != 1 {
		return false
	}
	made, ok := fn.Type.Results.List[0].Type.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	from, ok := made.X.(*ast.Ident)
	return ok && from.Name == "chaos" && (made.Sel.Name == "Fault" || made.Sel.Name == "When")
}

// isRow reports whether a literal is one of a catalog.Row.
func isRow(lit *ast.CompositeLit) bool {
	of, ok := lit.Type.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	from, ok := of.X.(*ast.Ident)
	return ok && from.Name == "catalog" && of.Sel.Name == "Row"
}

// kindIn finds the text of the member Kind in an expression.
func kindIn(expr ast.Expr) (kind string) {
	ast.Inspect(expr, func(n ast.Node) bool {
		member, ok := n.(*ast.KeyValueExpr)
		if !ok || kind != "" {
			return kind == ""
		}
		key, isName := member.Key.(*ast.Ident)
		value, isText := member.Value.(*ast.BasicLit)
		if isName && isText && key.Name == "Kind" {
			kind, _ = strconv.Unquote(value.Value) // the parser accepted it
		}
		return true
	})
	return kind
}
