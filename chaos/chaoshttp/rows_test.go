package chaoshttp_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/internal/catalogtest"
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

func TestRows(t *testing.T) { catalogtest.Run(t, chaoshttp.Rows()) }

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
