package repocheck

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
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
		golden.Equal(t, name, fmt.Appendf(nil, "package %s\n\n%s\n", p.importPath(), strings.Join(exports(t, p), "\n")))
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

// exports lists the declarations of a package that users see, sorted, without bodies and values.
func exports(t *testing.T, p goPackage) (all []string) {
	for _, f := range p.code() {
		file, err := parser.ParseFile(token.NewFileSet(), "", f.text, parser.SkipObjectResolution) // its own: it is changed
		require.NoError(t, err)
		ast.FileExports(file)
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Body = nil; d.Recv != nil && !ast.IsExported(receiver(d)) {
					continue
				}
			case *ast.GenDecl:
				if d.Tok == token.IMPORT {
					continue
				}
				for _, spec := range d.Specs {
					if values, ok := spec.(*ast.ValueSpec); ok {
						values.Values = nil
					}
				}
			}
			var text strings.Builder
			require.NoError(t, printer.Fprint(&text, token.NewFileSet(), d))
			all = append(all, text.String())
		}
	}
	slices.Sort(all)
	return all
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
