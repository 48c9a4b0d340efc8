package mcpchaos

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/planjson"
)

// A plan in JSON can have every kind, with the example of its row, and is
// written as it was read.
func TestRowsAreReadFromPlans(t *testing.T) {
	o := &planjson.Options{Rows: Rows()}
	for _, row := range Rows() {
		doc := `{"seed":"1","rules":[{"target":"mcp/*","fault":{"kind":"` + row.Kind + `","params":` + row.Example + `}}]}`
		plan, err := planjson.Decode([]byte(doc), o)
		require.NoError(t, err, row.Kind)
		d := plan.Rules()[0].Fault.(chaos.Described).Describe()
		assert.Equal(t, row.Kind, d.Kind)
		if row.Example != "{}" {
			assert.Equal(t, row.Example, string(d.Params))
		}
		again, err := planjson.Encode(plan, o)
		require.NoError(t, err, row.Kind)
		assert.Contains(t, string(again), row.Kind)
	}
}

// Every constructor of a fault is in a row's Go text, and every row is in Rows.
func TestRowsAreComplete(t *testing.T) {
	var texts []string
	kinds := make(map[string]bool)
	for _, row := range Rows() {
		texts = append(texts, row.Go)
		assert.False(t, kinds[row.Kind], "%s is there twice", row.Kind)
		kinds[row.Kind] = true
	}
	constructors := constructors(t)
	for _, name := range constructors {
		assert.Contains(t, strings.Join(texts, " "), "mcpchaos."+name+"(")
	}
	assert.Len(t, Rows(), len(constructors))
}

// constructors are the exported functions of the package that return a fault.
func constructors(t *testing.T) (names []string) {
	t.Helper()
	paths, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil && d.Name.IsExported() && returnsFault(d) {
				names = append(names, d.Name.Name)
			}
		}
	}
	return names
}

func returnsFault(d *ast.FuncDecl) bool {
	if d.Type.Results == nil || len(d.Type.Results.List) != 1 {
		return false
	}
	result, ok := d.Type.Results.List[0].Type.(*ast.SelectorExpr)
	return ok && result.Sel.Name == "Fault"
}
