package repocheck

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Calls whose result cannot be changed. A package variable may hold it.
var immutable = map[string]string{
	"errors.New":          "sentinels are compared, never changed",
	"fmt.Errorf":          "as errors.New, for a sentinel that matches another",
	"regexp.MustCompile":  "safe for concurrent use, and without a setter in use here",
	"strings.NewReplacer": "safe for concurrent use",
	"reflect.TypeFor":     "types are values",
	"prose.Words":         "a text; in its own package without the name",
	"Words":               "a text",
	"labels":              "in invariant, a regular expression of such a text",
	"numbered":            "in prose, a table, of which changes are seen below",
	"sync.OnceValue":      "made once, when it is first needed; its function must return what nobody changes",
}

// makesRow reports whether a function makes a row of a catalogue, of a function and parameters that nobody changes.
func makesRow(name string) bool {
	return name == "catalog.Fault" || name == "catalog.Trigger" || strings.HasSuffix(strings.ToLower(name), "row")
}

func TestNoPackageState(t *testing.T) {
	for _, p := range library(t) {
		for name, problem := range packageState(p) {
			t.Errorf("%s: %s %s: parallel cells must not see each other", p.dir, name, problem)
		}
	}
}

func TestPackageStateIsSeen(t *testing.T) {
	fset := token.NewFileSet()
	f, err := parse(fset, "snippet.go", []byte(`package snippet
		var ErrTyped = &thing{}
		//go:embed page.html
		var page string
		var lookup = map[string]*regexp.Regexp{"a": regexp.MustCompile("a")}
		var _ Doer = (*thing)(nil)
		var kind = &catalog.Inject[thing]{Row: catalog.Row{Kind: "kind"}, Inject: func() {}}

		var unset int; type thing struct{}
		var made = build()
		var late = func() int { return 1 }
		var shared = &thing{}
		var overwritten = map[string]int{}
		var raised = 1
		var lent = [1]int{}
		func init() {}
		func change() { overwritten["a"] = 1; raised++; lend(&lent); number := 2; number++ }
	`))
	require.NoError(t, err)
	found := slices.Collect(maps.Keys(packageState(goPackage{dir: "snippet", fset: fset, files: []goFile{f}})))
	assert.ElementsMatch(t, []string{"unset", "made", "late", "shared", "overwritten", "raised", "lent", "init"}, found)
}

// packageState returns the package variables and init functions that are not allowed,
// with what is wrong with each.
func packageState(p goPackage) map[string]string {
	problems := make(map[string]string)
	for _, f := range p.code() {
		for _, decl := range f.syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				problems["init"] = "runs at import"
			}
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.VAR {
				continue
			}
			for _, spec := range gen.Specs {
				if spec := spec.(*ast.ValueSpec); !embedded(gen.Doc) && !embedded(spec.Doc) {
					judgeVars(spec, problems)
				}
			}
		}
	}
	maps.Copy(problems, changes(p))
	return problems
}

// embedded reports whether the compiler fills the variable from a file.
func embedded(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//go:embed ")
	})
}

func judgeVars(spec *ast.ValueSpec, problems map[string]string) {
	for i, name := range spec.Names {
		if name.Name == "_" { // an assertion that a type implements an interface
			continue
		}
		if i >= len(spec.Values) {
			problems[name.Name] = "has no value, so something must set it later"
		} else if problem := mutableValue(name.Name, spec.Values[i]); problem != "" {
			problems[name.Name] = problem
		}
	}
}

// mutableValue returns why an initial value is not a fixed table or an error; empty:
// it is. A sentinel error may be a pointer: it is compared, not changed.
func mutableValue(name string, value ast.Expr) (problem string) {
	sentinel := strings.HasPrefix(strings.ToLower(name), "err")
	ast.Inspect(value, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			problem = "holds a function"
			return false
		case *ast.UnaryExpr:
			if isKind(n.X) {
				return false
			}
			if n.Op == token.AND && !sentinel {
				problem = "holds a pointer"
			}
		case *ast.CallExpr:
			if makesRow(callee(n)) {
				return false
			}
			if immutable[callee(n)] == "" {
				problem = "is made by a call that is not known to give something immutable"
			}
		}
		return true
	})
	return problem
}

// isKind reports whether a literal is a kind of package catalog, whose row is
// completed once and whose fields nobody changes.
func isKind(expr ast.Expr) bool {
	lit, ok := expr.(*ast.CompositeLit)
	return ok && strings.HasPrefix(nameOf(lit.Type), "catalog.")
}

func callee(call *ast.CallExpr) string { return nameOf(call.Fun) }

// nameOf is the name of a function or type, without the types that it was given.
func nameOf(fun ast.Expr) string {
	switch index := fun.(type) {
	case *ast.IndexExpr:
		fun = index.X
	case *ast.IndexListExpr:
		fun = index.X
	}
	switch fun := fun.(type) {
	case *ast.SelectorExpr:
		return fmt.Sprintf("%s.%s", fun.X, fun.Sel)
	case *ast.Ident:
		return fun.Name
	}
	return ""
}

// changes finds the statements that change a variable of the package. Imports are not
// resolved, since finding the package's variables needs none of them.
func changes(p goPackage) map[string]string {
	var files []*ast.File
	for _, f := range p.code() {
		files = append(files, f.syntax)
	}
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	lenient := types.Config{Error: func(error) {}}
	pkg, _ := lenient.Check(p.dir, p.fset, files, info)

	found := make(map[string]string)
	note := func(target ast.Expr, how string) {
		if v, ok := info.Uses[base(target)].(*types.Var); ok && v.Parent() == pkg.Scope() {
			found[v.Name()] = how
		}
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, target := range n.Lhs {
					note(target, "is changed")
				}
			case *ast.IncDecStmt:
				note(n.X, "is changed")
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					note(n.X, "is lent by address")
				}
			}
			return true
		})
	}
	return found
}

// base returns the variable at the beginning of an expression such as a.b[c].
func base(expr ast.Expr) *ast.Ident {
	for {
		switch e := expr.(type) {
		case *ast.Ident:
			return e
		case *ast.SelectorExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.ParenExpr:
			expr = e.X
		default:
			return nil
		}
	}
}
