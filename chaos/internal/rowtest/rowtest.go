// Package rowtest checks that a package of faults or triggers has a row for each.
package rowtest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// Complete reports what is missing from the rows of the package whose files are
// in dir. Each exported constructor of a fault or trigger appears in the Go
// text of a row, and each variable whose name ends in Row is among rows, with
// all that documentation shows.
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
	var constructors, variables int
	for _, file := range files {
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				call := file.Name.Name + "." + decl.Name.Name + "("
				if !makes(decl) {
					continue
				}
				if constructors++; !strings.Contains(shown.String(), call) {
					problems = append(problems, fmt.Errorf("no row shows %s…)", call))
				}
			case *ast.GenDecl:
				for _, kind := range declared(decl) {
					if variables++; !kinds[kind] {
						problems = append(problems,
							fmt.Errorf("there is a variable for a row %q, and no such row", kind))
					}
				}
			}
		}
	}
	if constructors == 0 || variables != len(rows) {
		problems = append(problems,
			fmt.Errorf("%d constructors and %d variables ending in Row make %d rows", constructors, variables,
				len(rows)))
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

// declared lists the kinds of the row variables of a declaration.
func declared(decl *ast.GenDecl) (kinds []string) {
	for _, spec := range decl.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok || decl.Tok != token.VAR {
			continue
		}
		for i, name := range v.Names {
			if strings.HasSuffix(name.Name, "Row") && i < len(v.Values) {
				kinds = append(kinds, kindIn(v.Values[i]))
			}
		}
	}
	return kinds
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
