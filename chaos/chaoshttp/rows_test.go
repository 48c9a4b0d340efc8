package chaoshttp_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
)

// sourceOf parses the files of the package, without its tests.
func sourceOf(t *testing.T) (decls []ast.Decl) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		decls = append(decls, parsed.Decls...)
	}
	return decls
}

// isFault reports whether a function returns a chaos.Fault and nothing else.
func isFault(fn *ast.FuncDecl) bool {
	if fn.Type.Results == nil || len(fn.Type.Results.List) != 1 {
		return false
	}
	result, ok := fn.Type.Results.List[0].Type.(*ast.SelectorExpr)
	return ok && result.Sel.Name == "Fault"
}

// A fault of this package is listed by Rows, so that it appears in JSON, in the
// schema and in the documentation.
func TestRowsAreComplete(t *testing.T) {
	var constructors, vars []string
	for _, decl := range sourceOf(t) {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.IsExported() && isFault(d) {
				constructors = append(constructors, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && strings.HasSuffix(v.Names[0].Name, "Row") {
					vars = append(vars, v.Names[0].Name)
				}
			}
		}
	}
	require.NotEmpty(t, constructors)

	var named, kinds []string
	for _, r := range chaoshttp.Rows() {
		name, _, ok := strings.Cut(strings.TrimPrefix(r.Go, "chaoshttp."), "(")
		assert.True(t, ok, "%s: Go shows a call of the constructor: %s", r.Kind, r.Go)
		named, kinds = append(named, name), append(kinds, r.Kind)
		assert.False(t, r.IsTrigger(), r.Kind)
		assert.False(t, r.HoldsCode(), r.Kind)
		for _, p := range r.Parameters() {
			assert.True(t, p.Doc != "" || p.Allowed != "", "%s: %s has neither a text nor bounds", r.Kind, p.Name)
		}
	}
	assert.ElementsMatch(t, constructors, named, "each constructor has a row")
	assert.Len(t, vars, len(kinds), "each row is listed: %v", vars)
	slices.Sort(kinds)
	assert.Len(t, slices.Compact(kinds), len(vars), "each kind once")
}

// constants are the texts of the constants of each exported type.
func constants(t *testing.T) map[string][]string {
	all := make(map[string][]string)
	for _, decl := range sourceOf(t) {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.CONST {
			continue
		}
		for _, spec := range d.Specs {
			v := spec.(*ast.ValueSpec)
			of, ok := v.Type.(*ast.Ident)
			if !ok || !of.IsExported() {
				continue
			}
			text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			all[of.Name] = append(all[of.Name], text)
		}
	}
	return all
}

// What a parameter allows are the constants of its type, so that a new one is not
// forgotten in a tag.
func TestEnumsAreTheConstants(t *testing.T) {
	all, seen := constants(t), map[string]bool{}
	for _, r := range chaoshttp.Rows() {
		for _, f := range reflect.VisibleFields(r.Params()) {
			want, ok := all[f.Type.Name()]
			if !ok {
				continue
			}
			_, texts, found := strings.Cut(f.Tag.Get("bounds"), "enum=")
			require.True(t, found, "%s: %s", r.Kind, f.Name)
			if strings.Contains(f.Tag.Get("json"), "omitempty") {
				want = append([]string{""}, want...)
			}
			assert.Equal(t, want, strings.Split(texts, "|"), "%s: %s", r.Kind, f.Name)
			seen[f.Type.Name()] = true
		}
	}
	assert.Len(t, seen, len(all), "each such type is a parameter: %v", all)
}
