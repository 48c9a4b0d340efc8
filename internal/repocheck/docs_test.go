package repocheck

import (
	"fmt"
	"go/ast"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEveryPackageHasAComment(t *testing.T) {
	for _, p := range everyPackage(t) {
		commented := len(p.code()) == 0
		for _, f := range p.code() {
			commented = commented || f.syntax.Doc != nil
		}
		assert.True(t, commented, "package %s in %s has no comment that says what it is for", p.name(), p.dir)
	}
}

func TestEveryExportedNameIsDocumented(t *testing.T) {
	for _, p := range library(t) {
		for _, name := range undocumented(p) {
			t.Errorf("%s: %s has no doc comment", p.dir, name)
		}
	}
}

func TestUndocumentedNamesAreSeen(t *testing.T) {
	p := snippet(t, `package snippet
		func F() {}
		// G is fine.
		func G() {}
		type T struct { Field int }
		func (T) M() {}
		func (hidden) M() {}
		type hidden struct{}
		const C = 1
		// A group may share one comment.
		const ( D = 1; E = 2 )
		var (
			ErrA int // a comment behind will do
			// ErrB has one before.
			ErrB int
			ErrC int
		)`)
	assert.Equal(t, []string{"F", "T", "T.M", "C", "ErrC"}, undocumented(p))
}

// undocumented lists the exported names without a comment, in the order of the
// source. Fields and methods of interfaces are documented with their type.
func undocumented(p goPackage) []string {
	var names []string
	for _, f := range p.code() {
		for _, decl := range f.syntax.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				names = append(names, undocumentedFunc(d)...)
			case *ast.GenDecl:
				names = append(names, undocumentedGen(d)...)
			}
		}
	}
	return names
}

func undocumentedFunc(d *ast.FuncDecl) []string {
	switch {
	case !d.Name.IsExported() || d.Doc != nil:
		return nil
	case d.Recv == nil:
		return []string{d.Name.Name}
	case ast.IsExported(receiver(d)):
		return []string{fmt.Sprintf("%s.%s", receiver(d), d.Name.Name)}
	}
	return nil
}

func undocumentedGen(d *ast.GenDecl) []string {
	if d.Doc != nil {
		return nil
	}
	var names []string
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && s.Doc == nil {
				names = append(names, s.Name.Name)
			}
		case *ast.ValueSpec:
			for _, name := range s.Names {
				if name.IsExported() && s.Doc == nil && s.Comment == nil {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}
