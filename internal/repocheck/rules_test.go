package repocheck

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const lineColumns = 120 // of the library, with tabs of 4

// What is added to these replaces something.
func TestPagesThatAreReadFirstAreShort(t *testing.T) {
	for page, limit := range map[string]int{"README.md": 120, "ARCHITECTURE.md": 170} {
		assert.LessOrEqual(t, strings.Count(readPage(t, page), "\n"), limit, page)
	}
}

func TestNoLongLines(t *testing.T) {
	for _, p := range library(t) {
		for _, f := range p.code() {
			quoted := false // a text or an address cannot be broken, or not without harm
			for i, line := range strings.Split(string(f.text), "\n") {
				columns := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
				if !quoted && !strings.ContainsAny(line, "\"`") && !strings.Contains(line, "://") {
					assert.LessOrEqual(t, columns, lineColumns, "%s:%d", f.path, i+1)
				}
				quoted = quoted != (strings.Count(line, "`")%2 == 1)
			}
		}
	}
}

// A user sees in the package comment what a package is for, and whether it may change.
func TestEveryPackageHasAComment(t *testing.T) {
	for _, p := range everyPackage(t) {
		var comment string
		for _, f := range p.code() {
			comment += f.syntax.Doc.Text()
		}
		assert.True(t, comment != "" || len(p.code()) == 0, "package %s in %s has no comment that says what it is for", p.name(), p.dir)
	}
	for _, p := range publicPackages(t) {
		if p.dir != "." { // it has no API
			marks := 0
			for _, f := range p.code() {
				marks += len(stability.FindAllString(f.syntax.Doc.Text(), -1))
			}
			assert.Equal(t, 1, marks, "%s: how often its comment says \"Stability: stable.\" or \"Stability: may change.\"", p.dir)
		}
	}
}

// stability is how .ci/release knows the packages whose API it compares.
var stability = regexp.MustCompile(`(?m)^Stability: (stable|may change)\.$`)

func TestEveryExportedNameIsDocumented(t *testing.T) {
	for _, p := range library(t) {
		for _, f := range p.code() {
			for _, d := range f.syntax.Decls {
				assert.Empty(t, undocumented(d), "%s: names without a doc comment", f.path)
			}
		}
	}
}

// undocumented lists the exported names of a declaration that have no comment, of their own or of their group. Fields
// and methods of interfaces are documented with their type.
func undocumented(d ast.Decl) (names []string) {
	if fn, ok := d.(*ast.FuncDecl); ok {
		if fn.Doc == nil && fn.Name.IsExported() && (fn.Recv == nil || ast.IsExported(receiver(fn))) {
			names = declaredBy(fn)
		}
		return names
	}
	gen := d.(*ast.GenDecl)
	for _, spec := range gen.Specs {
		documented := gen.Doc != nil
		switch s := spec.(type) {
		case *ast.TypeSpec:
			documented = documented || s.Doc != nil
		case *ast.ValueSpec:
			documented = documented || s.Doc != nil || s.Comment != nil
		}
		if !documented {
			names = append(names, slices.DeleteFunc(declaredBySpec(spec), func(name string) bool { return !ast.IsExported(name) })...)
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
		names = append(names, declaredBySpec(spec)...)
	}
	return names
}

func declaredBySpec(spec ast.Spec) (names []string) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		names = []string{spec.Name.Name}
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			names = append(names, name.Name)
		}
	}
	return names
}
