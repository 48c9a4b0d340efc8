package repocheck

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A block is a Go block of README.md or docs/. Its form is the first of these that can
// be parsed:
//
//   - a file with its package and its imports;
//   - declarations;
//   - statements, in a function with ctx and t.
//
// What it needs besides is in a comment of its page:
//
//	<!-- go: file examples/x_test.go -->  its text is that of the file
//	<!-- go: in []policy.Tool -->         it is elements of a literal of that type
//	<!-- go: returns (int, error) -->     of the function around it; without it: error
//	<!-- go: not compiled: why -->        it shows an SDK that the workspace lacks
//	<!-- go: given                        declarations that readers can do without
//	func handle(context.Context, string) {}
//	-->
type block struct {
	page    string
	line    int // of its first line in the page
	code    string
	in      string // type of the literal that it is elements of
	returns string // results of the function around it
	given   string // declarations, each with its line
	file    string // whose text it is
	left    string // why it is not compiled; empty: it is
}

var (
	goBlock     = regexp.MustCompile("(?ms)^((?:<!-- go: .*?-->\n+)*)```go\n(.*?)^```$")
	goDirective = regexp.MustCompile(`(?s)<!-- go: (.*?)\s*-->`)
)

// blocksOf returns the blocks of a page; the error is an unknown directive, or one
// without a block.
func blocksOf(page, text string) (all []block, err error) {
	lineOf := func(at int) int { return 1 + strings.Count(text[:at], "\n") }
	directives := 0
	for _, m := range goBlock.FindAllStringSubmatchIndex(text, -1) {
		b := block{page: page, line: lineOf(m[4]), code: text[m[4]:m[5]]}
		for _, d := range goDirective.FindAllStringSubmatchIndex(text[m[2]:m[3]], -1) {
			directives++
			words := text[m[2]+d[2] : m[2]+d[3]]
			name, rest, _ := strings.Cut(words, " ")
			declared, isGiven := strings.CutPrefix(words, "given\n")
			switch {
			case isGiven:
				b.given += fmt.Sprintf("//line %s:%d\n%s\n", page, lineOf(m[2]+d[2])+1, declared)
			case name == "in":
				b.in = rest
			case name == "returns":
				b.returns = rest
			case name == "file":
				b.file = rest
			case strings.HasPrefix(words, "not compiled: "):
				b.left = rest
			default:
				err = errors.Join(err, fmt.Errorf("%s:%d: directive %q; allowed: in, returns, file, given, not compiled: why",
					page, b.line, words))
			}
		}
		all = append(all, b)
	}
	if len(goDirective.FindAllString(text, -1)) > directives {
		err = errors.Join(err, fmt.Errorf("%s: a directive with no Go block behind it", page))
	}
	return all, err
}

// blocksOfPages returns the blocks of all pages.
func blocksOfPages(t *testing.T) (all []block) {
	for _, page := range filesOfRepository(t, ".md") {
		if page == "README.md" || within(page, "docs") {
			blocks, err := blocksOf(page, readPage(t, page))
			assert.NoError(t, err)
			all = append(all, blocks...)
		}
	}
	require.NotEmpty(t, all, "a rule over no blocks would hold vacuously")
	return all
}

// The Go blocks that show a library which no module of the workspace requires; the text
// that they show is compiled in examples/frameworks.
const blocksNotCompiled = 5

// onlyInRelease skips a test that compiles much. .ci/release runs it in a reader's module,
// with what that module requires; by hand, SHAKEDOWN_PAGES_IN is any module that requires ours.
func onlyInRelease(t *testing.T) {
	if readersModule == "" {
		t.Skip("the blocks are compiled by .ci/release")
	}
}

var readersModule = os.Getenv("SHAKEDOWN_PAGES_IN")

func TestGoBlocksCompile(t *testing.T) {
	onlyInRelease(t)
	all := blocksOfPages(t)
	compiled := slices.DeleteFunc(slices.Clone(all), func(b block) bool { return b.left != "" })
	for _, problem := range newBlockChecker(t).check(t, compiled) {
		t.Error(problem)
	}
	assert.Equal(t, blocksNotCompiled, len(all)-len(compiled), "blocks that are not compiled")
}

// A block that shows a file is the file; with UPDATE_GOLDEN=1 it becomes so.
func TestBlocksShowTheirFiles(t *testing.T) {
	for _, b := range blocksOfPages(t) {
		if b.file == "" {
			continue
		}
		want := readPage(t, b.file)
		if os.Getenv("UPDATE_GOLDEN") == "1" {
			text := strings.Replace(readPage(t, b.page), "```go\n"+b.code, "```go\n"+want, 1)
			require.NoError(t, os.WriteFile(filepath.Join(root, b.page), []byte(text), 0o644))
			continue
		}
		assert.Equal(t, want, b.code, "%s:%d is not %s; to accept: UPDATE_GOLDEN=1 go test -run Blocks ./internal/repocheck/", b.page, b.line, b.file)
	}
}

func TestGoBlocksThatDoNotCompileAreSeen(t *testing.T) {
	onlyInRelease(t)
	c := newBlockChecker(t)
	fence := func(code string) string { return "```go\n" + code + "\n```\n" }
	for text, want := range map[string]string{ // in the problem; empty: there is none
		fence("in := chaos.NewInjector(1, nil)"): "",
		fence(`chaos.Rule{Target: "stock"}`):     "is not used",
		"<!-- go: in []chaos.Rule -->\n" + fence(`{Target: "stock"}, // both`+"\n"+`{Target: "orders"},`): "",
		"<!-- go: given\nvar half = 0.5\n-->\n\n" + fence("quarter := half / 2"):                          "",
		"<!-- go: returns (int, error) -->\n" + fence("return 1, nil"):                                    "",
		"\n" + fence("x := 1\nf(x)"):                              "page.md:4: undefined: f",
		fence("in := chaos.NewInjektor(1, nil)"):                  "undefined: chaos.NewInjektor",
		fence("if true {\n\tn := 1\n}"):                           "declared and not used",
		fence("package main\n\nimport \"fmt\"\n\nfunc main() {}"): `"fmt" imported and not used`,
		fence("a …"): "page.md:2",
		"<!-- go: in []chaos.Rule -->\n" + fence(`{Targets: "stock"},`): "unknown field Targets",
		fence("_ = rand.Int()"):                      "rand may be crypto/rand, math/rand, math/rand/v2",
		"<!-- go: continued -->\n" + fence("n := 1"): `directive "continued"; allowed: in,`,
		"<!-- go: in x -->\n\ntext\n":                "no Go block",
	} {
		blocks, err := blocksOf("page.md", text)
		problems := strings.Join(append(c.check(t, blocks), fmt.Sprint(err)), "\n")
		if want == "" {
			assert.Equal(t, "<nil>", problems, text)
		} else {
			assert.Contains(t, problems, want, text)
		}
	}
}

// A blockChecker type-checks blocks with the packages that the reader's module has.
type blockChecker struct {
	names  map[string][]string // import paths by package name
	export map[string]string   // files with what packages export, by import path
	fset   *token.FileSet
	types  types.Importer // one for all blocks, so that each package is read once
}

// hidden are packages that a page cannot import.
var hidden = regexp.MustCompile(`(^|/)(internal|vendor|examples)(/|$)`)

func newBlockChecker(t *testing.T) *blockChecker {
	c := &blockChecker{names: make(map[string][]string), export: make(map[string]string), fset: token.NewFileSet()}
	c.types = importer.ForCompiler(c.fset, "gc", func(importPath string) (io.ReadCloser, error) {
		if file := c.export[importPath]; file != "" {
			return os.Open(file)
		}
		return nil, errors.New("the workspace has no such package, or it does not compile")
	})
	for _, p := range listExports(t, "-find", "std") {
		if !hidden.MatchString(p.ImportPath) {
			c.names[p.Name] = append(c.names[p.Name], p.ImportPath)
		}
	}
	for _, p := range listExports(t, "-find", module+"/...") { // ours come before those of the standard library
		if p.Name != "main" && !hidden.MatchString(p.ImportPath) {
			c.names[p.Name] = []string{p.ImportPath}
		}
	}
	c.names["json"] = []string{"encoding/json"} // since Go 1.27 encoding/json/v2 has that name too
	c.names["mcp"] = []string{"github.com/modelcontextprotocol/go-sdk/mcp"}
	for _, path := range []string{"google.golang.org/grpc", "google.golang.org/grpc/codes", "google.golang.org/protobuf/proto"} {
		c.names[filepath.Base(path)] = []string{path}
	}
	for _, name := range []string{"assert", "require"} {
		c.names[name] = []string{"github.com/stretchr/testify/" + name}
	}
	return c
}

type listedExport struct{ Name, ImportPath, Export string }

// listExports lists packages as the reader's module sees them.
func listExports(t *testing.T, args ...string) []listedExport {
	t.Helper()
	t.Setenv("GOWORK", "off")
	return goList[listedExport](t, readersModule, append([]string{"-json=Name,ImportPath,Export"}, args...)...)
}

// check returns the problems of the blocks, each with its page and line.
func (c *blockChecker) check(t *testing.T, blocks []block) (problems []string) {
	t.Helper()
	var sources []string
	needed := make(map[string]bool)
	for _, b := range blocks {
		source, imports, err := b.source(c.names)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		sources = append(sources, source)
		for _, importPath := range imports {
			if c.export[importPath] == "" {
				needed[importPath] = true
			}
		}
	}
	if len(needed) > 0 {
		missing := slices.Sorted(maps.Keys(needed))
		for _, p := range listExports(t, append([]string{"-e", "-export", "-deps"}, missing...)...) {
			c.export[p.ImportPath] = p.Export
		}
	}
	conf := types.Config{Importer: c.types, Error: func(err error) { problems = append(problems, err.Error()) }}
	for _, source := range sources {
		file, err := parser.ParseFile(c.fset, "block.go", source, parser.SkipObjectResolution)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		_, _ = conf.Check("block", c.fset, []*ast.File{file}, nil) // each error went to problems
	}
	return problems
}

// source returns the block as a file, with its line in the page, and what it imports.
func (b block) source(names map[string][]string) (source string, imports []string, err error) {
	code := fmt.Sprintf("//line %s:%d\n%s\n", b.page, b.line, strings.TrimRight(b.code, "\n"))
	file, problem := b.parse(code)
	if problem == nil && b.in == "" {
		for _, spec := range file.Imports {
			importPath, _ := strconv.Unquote(spec.Path.Value) // it was parsed
			imports = append(imports, importPath)
		}
		return code, imports, nil
	}
	text := code
	if b.in != "" {
		text = "var _ = " + b.in + "{\n" + strings.TrimRight(code, ",\n") + ",\n}\n"
	} else if _, err := b.parse("package block\n" + code); err != nil {
		statements, err := b.parse("package block\nfunc _() {\n" + code + "\n}\n")
		if err != nil {
			return "", nil, err
		}
		text = b.function(statements.Decls[0].(*ast.FuncDecl).Body, code)
	}
	text = b.given + text
	if imports, err = importsOf(text, names); err != nil {
		return "", nil, fmt.Errorf("%s:%d: %w", b.page, b.line, err)
	}
	header := "package block\n"
	for _, importPath := range imports {
		header += fmt.Sprintf("import %q\n", importPath)
	}
	return header + text, imports, nil
}

func (b block) parse(text string) (*ast.File, error) {
	return parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
}

// function puts statements into a function. Readers see no more than the block, so it
// need not use the variables that it declares.
func (b block) function(body *ast.BlockStmt, code string) string {
	results, end := b.returns, ""
	ast.Inspect(body, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) > 0 {
			results = cmp.Or(results, "error")
		}
		_, literal := n.(*ast.FuncLit)
		return !literal
	})
	for _, s := range body.List {
		switch s := s.(type) {
		case *ast.AssignStmt:
			for _, left := range s.Lhs {
				if id, ok := left.(*ast.Ident); ok && s.Tok == token.DEFINE {
					end += "_ = " + id.Name + "\n"
				}
			}
		case *ast.DeclStmt:
			if d := s.Decl.(*ast.GenDecl); d.Tok == token.VAR {
				end += "_ = " + strings.Join(declaredBy(d), "\n_ = ") + "\n"
			}
		}
	}
	if results != "" {
		end += "panic(0)\n"
	}
	end = strings.ReplaceAll(end, "_ = _\n", "")
	return "func _(ctx context.Context, t *testing.T) " + results + " {\n" + code + "//line frame:1\n" + end + "}\n"
}

// importsOf returns the packages whose names the text uses and does not declare.
func importsOf(text string, names map[string][]string) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", "package block\n"+text, 0)
	if err != nil {
		return nil, err
	}
	unresolved := make(map[*ast.Ident]bool)
	for _, id := range file.Unresolved {
		unresolved[id] = true
	}
	imports := make(map[string]bool)
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if id, ok := s.X.(*ast.Ident); ok && unresolved[id] {
			switch paths := names[id.Name]; len(paths) {
			case 0: // the type checker reports it
			case 1:
				imports[paths[0]] = true
			default:
				slices.Sort(paths)
				err = fmt.Errorf("%s may be %s: write a whole file", id.Name, strings.Join(paths, ", "))
			}
		}
		return true
	})
	return slices.Sorted(maps.Keys(imports)), err
}
