package lies_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/lies"
)

// others are the lies that one document before and after does not show.
func others() map[string]chaos.Fault {
	return map[string]chaos.Fault{
		"Stale(lag)": lies.Stale(1), "Frozen()": lies.Frozen(), "Crossed()": lies.Crossed(), "Replayed()": lies.Replayed(),
		"RollBack(lag)": lies.RollBack(1), "Contradict()": lies.Contradict(), "PoisonTool(tool, texts…)": lies.PoisonTool(""),
		"ShadowTool(tool, name)": lies.ShadowTool("", ""), "ChurnTools()": lies.ChurnTools(),
		"ChangeArguments(tool, argument, to)": lies.ChangeArguments("a", "b", "c"), "Arguments(lie)": lies.Arguments(lies.Null()),
	}
}

// The examples in docs/lies.md are the catalogue that the tests run, row by row
// and in its order; another table has the other lies; together they have every lie there is.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "lies.md"))
	require.NoError(t, err)
	page := string(text)
	var want []string
	named := map[string]bool{}
	for _, r := range catalogue() {
		want = append(want, fmt.Sprintf("| %s | %s | %s | %s | %s |", cell(r.call), cell(r.kind), cell(r.before), cell(r.after), r.why))
		named[r.call[:strings.Index(r.call, "(")]] = true
	}
	shown := regexp.MustCompile("(?m)^\\| `[A-Z][^`]*` \\| `\\w+` \\| `.*$").FindAllString(page, -1)
	assert.Equal(t, strings.Join(want, "\n"), strings.Join(shown, "\n"))
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Z][^`]*)` \\| `(\\w+)` \\| [^`|]+ \\|$").FindAllStringSubmatch(page, -1) {
		documented[row[1]] = row[2]
	}
	expected := map[string]string{}
	for call, f := range others() {
		expected[call] = f.(chaos.Described).Describe().Kind
		named[call[:strings.Index(call, "(")]] = true
	}
	assert.Equal(t, expected, documented)
	for _, name := range constructors(t) {
		assert.True(t, named[name], "lies.%s is not in docs/lies.md", name)
	}
}

// cell shows a value in a table.
func cell(s string) string {
	s = strings.ReplaceAll(s, "\n", `\n`)
	s = strings.ReplaceAll(s, "|", `\|`)
	return "`" + strings.ReplaceAll(s, "\xff", `\xff`) + "`"
}

// constructors are the exported functions of the package that return a fault.
func constructors(t *testing.T) (names []string) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for _, decl := range parsed.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !fn.Name.IsExported() || fn.Type.Results == nil || strings.HasSuffix(file, "_test.go") {
				continue
			}
			if of, ok := fn.Type.Results.List[0].Type.(*ast.SelectorExpr); ok && of.Sel.Name == "Fault" {
				names = append(names, fn.Name.Name)
			}
		}
	}
	require.Greater(t, len(names), 50)
	return names
}

// Kinds are told apart by their names: one constructor, one kind, but for the four of
// Inject.
func TestOneKindAConstructor(t *testing.T) {
	by := map[string]string{}
	add := func(call string, f chaos.Fault) {
		name, kind := call[:strings.Index(call, "(")], f.(chaos.Described).Describe().Kind
		if by[kind] == "" {
			by[kind] = name
		}
		assert.Equal(t, by[kind], name, kind)
	}
	for _, r := range catalogue() {
		add(r.call, r.fault)
	}
	for call, f := range others() {
		add(call, f)
	}
	assert.Len(t, by, len(constructors(t))+3)
}
