package repocheck

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A place that ARCHITECTURE.md names: `folder/`, `folder/file.go`, or
// `folder/file.go: Name, Type.Method`.
var architecturePlace = regexp.MustCompile("`((?:[a-z][a-z0-9_]*/)*(?:[a-z][a-z0-9_]*\\.go|[a-z][a-z0-9_]*/))(?:: ([A-Za-z][\\w., ]*))?`")

// ARCHITECTURE.md is a map, and a map with a street that is gone misleads.
func TestArchitectureIsTrue(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	require.NoError(t, err)
	declared := declarations(everyPackage(t))
	places := architecturePlace.FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(places), 40, "the page names the files of five ways")
	for _, m := range places {
		place := m[1]
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(place))); !assert.NoError(t, err, "there is no %s", place) {
			continue
		}
		if m[2] == "" {
			continue
		}
		for name := range strings.SplitSeq(m[2], ",") {
			assert.Contains(t, declared[place], strings.TrimSpace(name), "%s declares no such name", place)
		}
	}
	assert.LessOrEqual(t, strings.Count(string(text), "\n"), 170, "two pages")
}

func TestArchitecturePlacesAreSeen(t *testing.T) {
	for text, want := range map[string][]string{
		"`chaos/engine_match.go: matchRules`": {"chaos/engine_match.go", "matchRules"},
		"`chaos/tools.go`":                    {"chaos/tools.go", ""},
		"`contract/`":                         {"contract/", ""},
		"`a/b.go: T.m, f`":                    {"a/b.go", "T.m, f"},
	} {
		assert.Equal(t, want, architecturePlace.FindStringSubmatch(text)[1:], text)
	}
	assert.False(t, architecturePlace.MatchString("`go test work`"))
}

// declarations lists the names that each file declares; methods are Type.Method.
func declarations(pkgs []goPackage) map[string][]string {
	declared := make(map[string][]string)
	for _, p := range pkgs {
		for _, f := range p.files {
			for _, d := range f.syntax.Decls {
				declared[f.path] = append(declared[f.path], declaredBy(d)...)
			}
		}
	}
	return declared
}

func declaredBy(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			name = receiver(d) + "." + name
		}
		return []string{name}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}
