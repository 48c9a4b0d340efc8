package repocheck

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The Go blocks that show an SDK which no module of the workspace requires. Each
// says so in its page; the text that it shows is compiled in examples/frameworks.
const blocksNotCompiled = 3

// TestGoBlocksCompile type-checks every Go block of README.md and docs/. Blocks
// get the frame that they lack by the rules of [block]; what a block needs besides is
// in a comment of its page:
//
//	<!-- go: continues -->                its scope is that of the block before
//	<!-- go: file examples/x_test.go -->  its text is that of the file
//	<!-- go: in []policy.Tool -->         it is elements of a literal of that type
//	<!-- go: returns (int, error) -->     of the function around it; without it: error
//	<!-- go: not compiled: why -->        it shows an SDK that the workspace lacks
//	<!-- go: given                        declarations that readers can do without
//	func handle(context.Context, string) {}
//	-->
func TestGoBlocksCompile(t *testing.T) {
	c := newBlockChecker(t)
	var all []*unit
	left := 0
	for _, page := range pagesWithBlocks(t) {
		blocks, err := blocksOf(page, readMarkdown(t, page))
		assert.NoError(t, err)
		all = append(all, blocks.units...)
		left += blocks.notCompiled
	}
	require.NotEmpty(t, all, "a rule over no blocks would hold vacuously")
	for _, problem := range c.check(t, all) {
		t.Error(problem)
	}
	assert.Equal(t, blocksNotCompiled, left, "blocks that are not compiled")
}

func pagesWithBlocks(t *testing.T) []string {
	return slices.DeleteFunc(filesOfRepository(t, ".md"), func(page string) bool {
		return page != "README.md" && path.Dir(page) != "docs"
	})
}

// A block that shows a file is the file; with UPDATE_GOLDEN=1 it becomes so.
func TestBlocksShowTheirFiles(t *testing.T) {
	shown := 0
	for _, page := range pagesWithBlocks(t) {
		text := readMarkdown(t, page)
		blocks, err := blocksOf(page, text)
		require.NoError(t, err)
		for _, b := range blocks.files {
			shown++
			want, err := os.ReadFile(filepath.Join(root, b.file))
			require.NoError(t, err, page)
			if os.Getenv("UPDATE_GOLDEN") == "1" {
				directive := "<!-- go: file " + b.file + " -->"
				before, after, _ := strings.Cut(text, directive)
				text = before + directive + strings.Replace(after, "```go\n"+b.code, "```go\n"+string(want), 1)
				require.NoError(t, os.WriteFile(filepath.Join(root, page), []byte(text), 0o644))
				continue
			}
			assert.Equal(t, string(want), b.code, "%s:%d is not %s; to accept: UPDATE_GOLDEN=1 go test -run Blocks ./internal/repocheck/", page, b.line, b.file)
		}
	}
	assert.NotZero(t, shown)
}

func TestBlocksThatDoNotCompileAreSeen(t *testing.T) {
	c := newBlockChecker(t)
	fence := func(code string) string { return "```go\n" + code + "\n```\n" }
	for _, tc := range []struct {
		name, text, want string // want: in the problem; empty: there is none
	}{
		{"statements, with an import found", fence("in := chaos.NewInjector(1, nil)"), ""},
		{"statements that return", fence("if err := ctx.Err(); err != nil {\n\treturn err\n}\nprintln()"), ""},
		{"declarations", fence("func f(ctx context.Context) error { return ctx.Err() }"), ""},
		{"an expression", fence(`chaos.Rule{Target: "stock"}`), ""},
		{"a function value", fence("func(n int) int {\n\treturn n\n}"), ""},
		{"elements", "<!-- go: in []chaos.Rule -->\n" + fence(`{Target: "stock"}, // both`+"\n"+`{Target: "orders"},`), ""},
		{"a whole file", fence("package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println() }"), ""},
		{"what is given", "<!-- go: given\nvar half = 0.5\n-->\n\n" + fence("quarter := half / 2"), ""},
		{"what is returned", "<!-- go: returns (int, error) -->\n" + fence("return 1, nil"), ""},
		{"a continuation", fence("n := 1") + "text\n<!-- go: continues -->\n" + fence("n = 2"), ""},
		{"another SDK", "<!-- go: not compiled: it shows x -->\n" + fence("x.Y()"), ""},

		{"an unknown name", "\n" + fence("x := 1\nf(x)"), "page.md:4: undefined: f"},
		{"an unknown member", fence("in := chaos.NewInjektor(1, nil)"), "undefined: chaos.NewInjektor"},
		{"a wrong type", fence("var in *chaos.Injector = 1"), "cannot use 1"},
		{"no continuation", fence("n := 1") + fence("n = 2"), "undefined: n"},
		{"declared twice", fence("n := 1\nn := 2"), "no new variables"},
		{"not used in a scope of its own", fence("if true {\n\tn := 1\n}"), "declared and not used"},
		{"an unused import", fence("package main\n\nimport \"fmt\"\n\nfunc main() {}"), `"fmt" imported and not used`},
		{"no Go", fence("a …"), "page.md:2"},
		{"an element of another type", "<!-- go: in []chaos.Rule -->\n" + fence(`{Targets: "stock"},`), "unknown field Targets"},
		{"a member of a test file alone", fence("chaos.Nowhere()"), "undefined: chaos.Nowhere"},
		{"a package that does not exist", fence("package main\n\nimport _ \"example.com/nowhere\"\n\nfunc main() {}"), "could not import example.com/nowhere (the workspace has no such package"},
		{"a package of an ambiguous name", fence("_ = rand.Int()"), "rand may be crypto/rand, math/rand, math/rand/v2"},
		{"an unknown directive", "<!-- go: continued -->\n" + fence("n := 1"), `directive "continued"; allowed: continues, file, in, returns, given, not compiled:`},
		{"no reason", "<!-- go: not compiled: -->\n" + fence("n := 1"), "a reason"},
		{"nothing to continue", "<!-- go: continues -->\n" + fence("n := 1"), "no block before"},
		{"a directive without a block", "<!-- go: continues -->\n\ntext\n", "no Go block"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			blocks, err := blocksOf("page.md", tc.text)
			problems := c.check(t, blocks.units)
			if err != nil {
				problems = append(problems, err.Error())
			}
			if tc.want == "" {
				assert.Empty(t, problems)
			} else {
				assert.Contains(t, strings.Join(problems, "\n"), tc.want)
			}
		})
	}
}

// namedPackages are the packages of other modules that pages may use, and those meant by a name that two packages of
// the standard library have.
var namedPackages = map[string]string{
	"json":    "encoding/json", // since Go 1.27 encoding/json/v2 too
	"mcp":     "github.com/modelcontextprotocol/go-sdk/mcp",
	"assert":  "github.com/stretchr/testify/assert",
	"require": "github.com/stretchr/testify/require",
}

// A blockChecker type-checks units with the packages of the workspace.
type blockChecker struct {
	names  map[string][]string // import paths by package name
	export map[string]string   // files with what packages export, by import path
	fset   *token.FileSet
	types  types.Importer // one for all units, so that each package is read once
}

func newBlockChecker(t *testing.T) *blockChecker {
	c := &blockChecker{names: make(map[string][]string), export: make(map[string]string), fset: token.NewFileSet()}
	c.types = importer.ForCompiler(c.fset, "gc", func(importPath string) (io.ReadCloser, error) {
		file := c.export[importPath]
		if file == "" {
			return nil, errors.New("the workspace has no such package, or it does not compile")
		}
		return os.Open(file)
	})
	ours := make(map[string]bool)
	for _, p := range listWorkspace(t, "-find", module+"/...", "std") {
		inside := p.within(module)
		switch {
		case p.Name == "main" || p.within(module+"/examples") || hidden.MatchString(p.ImportPath):
		case inside && !ours[p.Name]: // a package of ours comes before one of the standard library
			ours[p.Name], c.names[p.Name] = true, []string{p.ImportPath}
		case inside || !ours[p.Name]:
			c.names[p.Name] = append(c.names[p.Name], p.ImportPath)
		}
	}
	for name, importPath := range namedPackages {
		c.names[name] = []string{importPath}
	}
	return c
}

// hidden are packages that a page cannot import.
var hidden = regexp.MustCompile(`(^|/)(internal|vendor)(/|$)`)

type listedExport struct{ Name, ImportPath, Export string }

func (p listedExport) within(top string) bool { return within(p.ImportPath, top) }

// listWorkspace runs go list over all modules of the workspace, also where the test
// itself is run for a module alone; in SHAKEDOWN_PAGES_IN, if it is set, with what the
// module there requires: .ci/release checks that readers can compile the pages.
func listWorkspace(t *testing.T, args ...string) (all []listedExport) {
	t.Helper()
	work, err := filepath.Abs(filepath.Join(root, "go.work"))
	require.NoError(t, err)
	cmd := exec.Command("go", append([]string{"list", "-json=Name,ImportPath,Export"}, args...)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOWORK="+work)
	if reader := os.Getenv("SHAKEDOWN_PAGES_IN"); reader != "" {
		cmd.Dir, cmd.Env = reader, append(os.Environ(), "GOWORK=off")
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "go list: %s", &stderr)
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedExport
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			require.NoError(t, err)
		}
		all = append(all, p)
	}
}

// check returns the problems of the units, each with its page and line.
func (c *blockChecker) check(t *testing.T, units []*unit) (problems []string) {
	t.Helper()
	sources := make([]string, len(units))
	needed := make(map[string]bool)
	for i, u := range units {
		source, imports, err := u.source(c.names)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		sources[i] = source
		for _, importPath := range imports {
			needed[importPath] = c.export[importPath] == ""
		}
	}
	var missing []string
	for importPath, is := range needed {
		if is {
			missing = append(missing, importPath)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		for _, p := range listWorkspace(t, append([]string{"-e", "-export", "-deps"}, missing...)...) {
			c.export[p.ImportPath] = p.Export
		}
	}
	for _, source := range sources {
		if source != "" {
			problems = append(problems, c.typeCheck(source)...)
		}
	}
	return problems
}

func (c *blockChecker) typeCheck(source string) (problems []string) {
	add := func(err error) { problems = append(problems, err.Error()) }
	file, err := parser.ParseFile(c.fset, "block.go", source, parser.SkipObjectResolution)
	if err != nil {
		add(err)
		return problems
	}
	conf := types.Config{Importer: c.types, Error: add}
	_, _ = conf.Check("block", c.fset, []*ast.File{file}, nil) // each error went to add
	return problems
}
