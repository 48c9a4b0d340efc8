package repocheck

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Limits of what is read at once. A generated file has none, since nobody reads it.
const (
	fileLines     = 500 // of the library: read in one sitting
	leafLines     = 400 // of internal: a leaf does one thing
	testLines     = 600 // a test file is one subject with its tables
	functionLines = 60  // of the library: a function is one screen
	lineColumns   = 120 // of the library, with tabs of 4
	readmeLines   = 120 // what is added replaces something
	mapLines      = 170 // of ARCHITECTURE.md: two pages
)

func TestFileSizes(t *testing.T) {
	for _, p := range everyPackage(t) {
		for _, f := range p.files {
			limit := fileLines
			switch {
			case ast.IsGenerated(f.syntax):
				continue
			case f.test:
				limit = testLines
			case within(f.path, "internal"):
				limit = leafLines
			}
			assert.LessOrEqual(t, f.lines, limit, f.path)
		}
	}
	for page, limit := range map[string]int{"README.md": readmeLines, "ARCHITECTURE.md": mapLines} {
		assert.LessOrEqual(t, strings.Count(readPage(t, page), "\n"), limit, page)
	}
}

func TestFunctionsAndLines(t *testing.T) {
	for _, p := range library(t) {
		for _, f := range p.code() {
			if ast.IsGenerated(f.syntax) {
				continue
			}
			for _, d := range f.syntax.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok {
					lines := p.fset.Position(fn.End()).Line - p.fset.Position(fn.Pos()).Line + 1
					assert.LessOrEqual(t, lines, functionLines, "%s: lines of %s", f.path, fn.Name)
				}
			}
			for _, line := range longLines(p.fset, f) {
				assert.Fail(t, "a long line", "%s:%d has more than %d columns", f.path, line, lineColumns)
			}
		}
	}
}

// longLines lists the lines of a file that are too long. Lines with an address, or
// with a part of a string, may be: they cannot be broken, or not without harm.
func longLines(fset *token.FileSet, f goFile) (long []int) {
	mayBe := make(map[int]bool)
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			for line := fset.Position(lit.Pos()).Line; line <= fset.Position(lit.End()).Line; line++ {
				mayBe[line] = true
			}
		}
		return true
	})
	for i, line := range strings.Split(string(f.text), "\n") {
		columns := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
		if columns > lineColumns && !mayBe[i+1] && !strings.Contains(line, "://") {
			long = append(long, i+1)
		}
	}
	return long
}

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
		for _, f := range p.code() {
			for _, d := range f.syntax.Decls {
				assert.Empty(t, undocumented(d), "%s: names without a doc comment", f.path)
			}
		}
	}
	assert.Equal(t, []string{"T.M", "C"}, undocumentedIn(snippet(t, `package snippet
		func (T) M() {}
		func (hidden) M() {}
		const C = 1
		// A group may share one comment.
		const ( D = 1; E = 2 )
		var ErrA int // a comment behind will do`)))
}

func undocumentedIn(p goPackage) (names []string) {
	for _, d := range p.files[0].syntax.Decls {
		names = append(names, undocumented(d)...)
	}
	return names
}

// undocumented lists the exported names of a declaration that have no comment. Fields
// and methods of interfaces are documented with their type.
func undocumented(d ast.Decl) (names []string) {
	add := func(name string, comments ...*ast.CommentGroup) {
		for _, c := range comments {
			if c != nil {
				return
			}
		}
		if first, _, _ := strings.Cut(name, "."); ast.IsExported(first) && ast.IsExported(name[strings.Index(name, ".")+1:]) {
			names = append(names, name)
		}
	}
	if fn, ok := d.(*ast.FuncDecl); ok {
		add(declaredBy(fn)[0], fn.Doc)
	} else if gen := d.(*ast.GenDecl); gen.Doc == nil {
		for _, spec := range gen.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				add(s.Name.Name, s.Doc)
			case *ast.ValueSpec:
				for _, name := range s.Names {
					add(name.Name, s.Doc, s.Comment)
				}
			}
		}
	}
	return names
}

// Text that must not be in the sources. The patterns do not match themselves.
var leftovers = map[string]*regexp.Regexp{
	"a path of one machine":                 regexp.MustCompile(`(^|[\s"'(=` + "`" + `])/(home|Users|root|work)/|[A-Z]:\\\\?Users\\`),
	"unfinished work belongs in an issue":   regexp.MustCompile(`\b(TO[D]O|FIX[M]E|XX[X])\b`),
	"a promise that the code does not keep": regexp.MustCompile(`(?i)\bnot[ ](yet )?implemented\b`),
}

func TestNoLeftovers(t *testing.T) {
	for _, ending := range []string{".go", ".md"} {
		for _, file := range filesOfRepository(t, ending) {
			text := readPage(t, file)
			for reason, pattern := range leftovers {
				assert.Empty(t, pattern.FindString(text), "%s: %s", file, reason)
			}
		}
	}
}

// A place that ARCHITECTURE.md names: `folder/`, `folder/file.go`, or
// `folder/file.go: Name, Type.Method`.
var architecturePlace = regexp.MustCompile("`((?:[a-z][a-z0-9_]*/)*(?:[a-z][a-z0-9_]*\\.go|[a-z][a-z0-9_]*/))(?:: ([A-Za-z][\\w., ]*))?`")

// ARCHITECTURE.md is a map, and a map with a street that is gone misleads.
func TestArchitectureIsTrue(t *testing.T) {
	declared := make(map[string][]string)
	for _, p := range everyPackage(t) {
		for _, f := range p.files {
			for _, d := range f.syntax.Decls {
				declared[f.path] = append(declared[f.path], declaredBy(d)...)
			}
		}
	}
	places := architecturePlace.FindAllStringSubmatch(readPage(t, "ARCHITECTURE.md"), -1)
	require.Greater(t, len(places), 40, "the page names the files of five ways")
	for _, m := range places {
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(m[1])))
		assert.NoError(t, err, "there is no %s", m[1])
		for name := range strings.SplitSeq(m[2], ",") {
			if name != "" {
				assert.Contains(t, declared[m[1]], strings.TrimSpace(name), "%s declares no such name", m[1])
			}
		}
	}
}

// declaredBy lists the names of a declaration; methods are Type.Method.
func declaredBy(d ast.Decl) (names []string) {
	if fn, ok := d.(*ast.FuncDecl); ok {
		if fn.Recv != nil {
			return []string{fmt.Sprintf("%s.%s", receiver(fn), fn.Name)}
		}
		return []string{fn.Name.Name}
	}
	for _, spec := range d.(*ast.GenDecl).Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			names = append(names, spec.Name.Name)
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				names = append(names, name.Name)
			}
		}
	}
	return names
}
