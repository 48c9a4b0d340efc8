package repocheck

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/internal/golden"
)

func TestExportedAPI(t *testing.T) {
	expected := make(map[string]bool)
	for _, p := range publicPackages(t) {
		name := strings.ReplaceAll(p.dir, "/", "_")
		if p.dir == "." {
			name = "shakedown"
		}
		name = path.Join("api", name+".txt")
		expected[name] = true
		golden.Equal(t, name, fmt.Appendf(nil, "package %s\n\n%s\n", p.importPath(), strings.Join(exports(p), "\n")))
	}
	entries, err := os.ReadDir("testdata/api")
	require.NoError(t, err)
	for _, e := range entries {
		assert.Contains(t, expected, path.Join("api", e.Name()), "the package of this file is gone; remove the file")
	}
}

// publicPackages returns the packages that users can import.
func publicPackages(t *testing.T) []goPackage {
	return slices.DeleteFunc(library(t), func(p goPackage) bool {
		return p.internal() || p.name() == "main" || p.name() == ""
	})
}

// exports lists what a package exports, sorted, one line for each item.
func exports(p goPackage) []string {
	lines := make(map[string]bool)
	for _, f := range p.code() {
		for _, decl := range f.syntax.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				addFunc(lines, p.fset, d)
			case *ast.GenDecl:
				addGen(lines, p.fset, d)
			}
		}
	}
	return slices.Sorted(maps.Keys(lines))
}

func addFunc(lines map[string]bool, fset *token.FileSet, d *ast.FuncDecl) {
	if !d.Name.IsExported() {
		return
	}
	signature := *d
	signature.Doc, signature.Body = nil, nil
	text := oneLine(fset, &signature)
	if d.Recv == nil {
		lines[text] = true
	} else if base := receiver(d); ast.IsExported(base) {
		lines["type "+base+", method "+strings.TrimPrefix(text, "func ")] = true
	}
}

// receiver is the name of the type that a method belongs to.
func receiver(d *ast.FuncDecl) string {
	expr := d.Recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}

func addGen(lines map[string]bool, fset *token.FileSet, d *ast.GenDecl) {
	var inherited string // the type of the constant before, which one without type and value has too
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.ValueSpec:
			if s.Type != nil {
				inherited = " " + oneLine(fset, s.Type)
			} else if len(s.Values) > 0 {
				inherited = ""
			}
			for _, name := range s.Names {
				if name.IsExported() {
					lines[d.Tok.String()+" "+name.Name+inherited] = true
				}
			}
		case *ast.TypeSpec:
			if s.Name.IsExported() {
				addType(lines, fset, s)
			}
		}
	}
}

func addType(lines map[string]bool, fset *token.FileSet, s *ast.TypeSpec) {
	kind := ""
	var members *ast.FieldList
	switch typ := s.Type.(type) {
	case *ast.StructType:
		kind, members = " struct", typ.Fields
	case *ast.InterfaceType:
		kind, members = " interface", typ.Methods
	default:
		if s.Assign.IsValid() {
			kind = " ="
		}
		kind, members = kind+" "+oneLine(fset, typ), new(ast.FieldList)
	}
	lines["type "+s.Name.Name+typeParams(fset, s)+kind] = true
	for _, m := range members.List {
		for _, text := range member(fset, m) {
			lines["type "+s.Name.Name+kind+", "+text] = true
		}
	}
}

func typeParams(fset *token.FileSet, s *ast.TypeSpec) string {
	if s.TypeParams == nil {
		return ""
	}
	var params []string
	for _, p := range s.TypeParams.List {
		var names []string
		for _, n := range p.Names {
			names = append(names, n.Name)
		}
		params = append(params, strings.Join(names, ", ")+" "+oneLine(fset, p.Type))
	}
	return "[" + strings.Join(params, ", ") + "]"
}

// member describes the exported fields or methods that one line declares.
func member(fset *token.FileSet, m *ast.Field) []string {
	text := oneLine(fset, m.Type)
	if len(m.Names) == 0 { // embedded
		name := strings.TrimLeft(text[strings.LastIndex(text, ".")+1:], "*")
		if ast.IsExported(name) || name == "error" || strings.ContainsAny(text, "|~") {
			return []string{text}
		}
		return nil
	}
	fn, method := m.Type.(*ast.FuncType)
	method = method && !fn.Func.IsValid() // a field of function type has the keyword
	var out []string
	for _, name := range m.Names {
		switch {
		case method && name.IsExported():
			out = append(out, name.Name+strings.TrimPrefix(text, "func"))
		case method:
			out = append(out, "unexported methods")
		case name.IsExported():
			out = append(out, name.Name+" "+text)
		}
	}
	return out
}

// oneLine prints a syntax node without line breaks.
func oneLine(fset *token.FileSet, node any) string {
	var buf bytes.Buffer
	if err := printer.Fprint(&buf, fset, node); err != nil {
		return err.Error()
	}
	text := strings.Join(strings.Fields(buf.String()), " ")
	return strings.NewReplacer("( ", "(", ", )", ")", "[ ", "[").Replace(text)
}
