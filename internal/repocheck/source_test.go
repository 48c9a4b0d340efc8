package repocheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	module = "github.com/shakedown-go/shakedown"
	root   = "../.." // tests run in the folder of their package
)

// A goPackage is the Go files of one folder, whatever their build constraints, so
// that the rules cover every operating system.
type goPackage struct {
	dir   string // slash-separated, from the root of the repository
	fset  *token.FileSet
	files []goFile // by name
}

type goFile struct {
	path   string // as goPackage.dir
	test   bool
	lines  int
	text   []byte
	syntax *ast.File
}

// name returns the name of the package, not that of its external tests.
func (p goPackage) name() string {
	for _, f := range p.files {
		if !f.test {
			return f.syntax.Name.Name
		}
	}
	return ""
}

// importPath returns the import path of a package of the library.
func (p goPackage) importPath() string { return path.Join(module, p.dir) }

func (p goPackage) internal() bool { return strings.Contains("/"+p.dir+"/", "/internal/") }

// code returns the files without tests.
func (p goPackage) code() []goFile {
	return slices.DeleteFunc(slices.Clone(p.files), func(f goFile) bool { return f.test })
}

// within reports whether dir is top or lies below it.
func within(dir, top string) bool { return dir == top || strings.HasPrefix(dir, top+"/") }

// filesOfRepository lists all files with an ending, slash-separated from the root,
// without those in hidden folders and testdata.
func filesOfRepository(t *testing.T, ending string) []string {
	t.Helper()
	all, err := everyFile()
	require.NoError(t, err)
	files := slices.DeleteFunc(slices.Clone(all), func(file string) bool { return !strings.HasSuffix(file, ending) })
	require.NotEmpty(t, files, "a rule over no files would hold vacuously")
	return files
}

// No test changes the files, so they are found and parsed once.
var (
	everyFile   = sync.OnceValues(walk)
	everySource = sync.OnceValues(parseAll)
)

func walk() (files []string, err error) {
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !d.IsDir() {
			rel, err := filepath.Rel(root, file)
			if err != nil {
				return err
			}
			files = append(files, filepath.ToSlash(rel))
		}
		return nil
	})
	return files, err
}

// everyPackage returns the packages of all modules in the repository. The list is
// the caller's, its syntax is shared.
func everyPackage(t *testing.T) []goPackage {
	t.Helper()
	pkgs, err := everySource()
	require.NoError(t, err)
	require.NotEmpty(t, pkgs, "a rule over no packages would hold vacuously")
	return slices.Clone(pkgs)
}

func parseAll() (pkgs []goPackage, err error) {
	all, err := everyFile()
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	for _, file := range all {
		if !strings.HasSuffix(file, ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, err
		}
		f, err := parse(fset, file, text)
		if err != nil {
			return nil, err
		}
		// A walk returns to the files of a folder after those below it.
		dir := path.Dir(file)
		i := slices.IndexFunc(pkgs, func(p goPackage) bool { return p.dir == dir })
		if i < 0 {
			i = len(pkgs)
			pkgs = append(pkgs, goPackage{dir: dir, fset: fset})
		}
		pkgs[i].files = append(pkgs[i].files, f)
	}
	return pkgs, nil
}

func parse(fset *token.FileSet, file string, text []byte) (goFile, error) {
	syntax, err := parser.ParseFile(fset, file, text, parser.ParseComments)
	return goFile{
		path:   file,
		test:   strings.HasSuffix(file, "_test.go"),
		lines:  strings.Count(string(text), "\n"),
		text:   text,
		syntax: syntax,
	}, err
}

// library parses the packages of the published modules, those in internal/ too.
func library(t *testing.T) []goPackage {
	t.Helper()
	nested := filesOfRepository(t, "go.mod")
	return slices.DeleteFunc(everyPackage(t), func(p goPackage) bool {
		return slices.ContainsFunc(nested, func(mod string) bool {
			return !slices.Contains(published, path.Dir(mod)) && within(p.dir, path.Dir(mod))
		})
	})
}
