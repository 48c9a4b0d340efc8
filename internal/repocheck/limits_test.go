package repocheck

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

// The limits of library code without its tests.
const (
	functionLines = 60  // a function is one screen
	lineColumns   = 120 // with tabs of 4
	beside        = 50  // columns beside a string that makes a line longer
)

// Functions that may be longer, by folder and name, with the reason.
var longFunctions = map[string]string{}

func TestLimits(t *testing.T) {
	for _, p := range library(t) {
		assert.Empty(t, longFunctionsOf(p), "%s: functions of more than %d lines", p.dir, functionLines)
		assert.Empty(t, longLinesOf(p), "%s: lines of more than %d columns", p.dir, lineColumns)
	}
}

// Exceptions name what is there.
func TestLimitsHaveNoStaleExceptions(t *testing.T) {
	functions := map[string]bool{}
	for _, p := range library(t) {
		eachFunction(p, func(name string, lines int) { functions[p.dir+" "+name] = lines > functionLines })
	}
	for name := range longFunctions {
		assert.True(t, functions[name], "%s is gone or short enough; remove its row", name)
	}
}

// eachFunction calls visit with the name of each function, that of its receiver in
// front, and its lines.
func eachFunction(p goPackage, visit func(name string, lines int)) {
	for _, f := range p.code() {
		for _, decl := range f.syntax.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || ast.IsGenerated(f.syntax) {
				continue
			}
			name := fn.Name.Name
			if fn.Recv != nil {
				name = receiver(fn) + "." + name
			}
			visit(name, p.fset.Position(fn.End()).Line-p.fset.Position(fn.Pos()).Line+1)
		}
	}
}

func longFunctionsOf(p goPackage) (found []string) {
	eachFunction(p, func(name string, lines int) {
		if lines > functionLines && longFunctions[p.dir+" "+name] == "" {
			found = append(found, fmt.Sprintf("%s has %d", name, lines))
		}
	})
	return found
}

var urls = regexp.MustCompile(`https?://\S+`)

// longLinesOf lists the lines that are longer than the limit. What cannot be broken
// does not count: a struct tag and any other raw string, an address, and a string
// with little beside it.
func longLinesOf(p goPackage) (found []string) {
	for _, f := range p.code() {
		if ast.IsGenerated(f.syntax) {
			continue
		}
		lines := strings.Split(string(f.text), "\n")
		width := make([]int, len(lines)) // without what does not count
		for i, line := range lines {
			width[i] = columns(urls.ReplaceAllString(line, ""))
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			from, to := p.fset.Position(lit.Pos()).Line-1, p.fset.Position(lit.End()).Line-1
			switch {
			case from != to: // a raw string of several lines: those within it, and its own two up to it
				for i := from; i <= to; i++ {
					width[i] = 0
				}
			case strings.HasPrefix(lit.Value, "`"):
				width[from] -= columns(lit.Value)
			case columns(lines[from])-columns(lit.Value) <= beside:
				width[from] = 0
			}
			return true
		})
		for i, w := range width {
			if w > lineColumns {
				found = append(found, fmt.Sprintf("%s:%d", path.Base(f.path), i+1))
			}
		}
	}
	return found
}

func columns(s string) int {
	return utf8.RuneCountInString(strings.ReplaceAll(s, "\t", "    "))
}

func TestLimitsAreSeen(t *testing.T) {
	word := strings.Repeat("x", lineColumns)
	long := func(what string) string { return strings.ReplaceAll(what, "LONG", word) }
	p := snippet(t, "package snippet\n"+
		long("// LONG\n")+ // line 2
		long("// See https://example.com/LONG.\n")+
		"type tagged struct {\n"+
		long("\tA int `doc:\"LONG\"`\n")+
		"}\n"+
		long("var said = f(\"LONG\")\n")+
		long("var beside = f(\"LONG\", "+strings.Repeat("1, ", beside/3)+"1)\n")+ // line 8
		long("var page = `LONG\nLONG`\n")+
		long("var name = LONG\n")+ // line 11
		long("var code = LONG + `a`\n")+ // line 12
		"func short() {"+strings.Repeat("\n", functionLines-1)+"}\n"+
		"func (p *pair[K, V]) swap() {"+strings.Repeat("\n", functionLines)+"}\n")
	assert.Equal(t, []string{"snippet.go:2", "snippet.go:8", "snippet.go:11", "snippet.go:12"}, longLinesOf(p))
	assert.Equal(t, []string{"pair.swap has 61"}, longFunctionsOf(p))
}
