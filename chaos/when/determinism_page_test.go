package when_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// because is the reason that a new line of docs/determinism.md gets. A better one
// can be written there: the test keeps it as long as the claim is the same.
func because(claim catalog.Order) string {
	return map[catalog.Order]string{
		independent: "what happens to a call follows from its coordinates",
		sequential:  "it depends on the calls of the lane before",
		timed:       "it looks at the clock",
		deliveries:  "it depends on the calls before, over all lanes",
	}[claim]
}

// claimLine is a line of the tables: its row, claim and reason.
var claimLine = regexp.MustCompile("(?m)^\\| (`[\\w.]+`[^|]*|[a-z ]+) \\| " +
	`(independent of order|needs a sequential lane|depends on time|depends on deliveries) \| (.+) \|` + "\n")

// withClaims returns the page with the claims that are tested. Lines that have them
// stay as they are, others get the claim, and what no test is about goes. A new line
// comes last in the table of its package.
func withClaims(page string, names []string, claim map[string]catalog.Order) string {
	here := map[string]bool{}
	page = claimLine.ReplaceAllStringFunc(page, func(line string) string {
		cells := claimLine.FindStringSubmatch(line)
		name := strings.ReplaceAll(cells[1], "`", "")
		order, tested := claim[name]
		if !tested || here[name] {
			return ""
		}
		if here[name] = true; order.String() == cells[2] {
			return line
		}
		return fmt.Sprintf("| %s | %s | %s |\n", cells[1], order, because(order))
	})
	for _, name := range names {
		pkg, _, ok := strings.Cut(name, ".")
		if here[name] || !ok {
			continue
		}
		at := -1
		for _, line := range claimLine.FindAllStringSubmatchIndex(page, -1) {
			if strings.HasPrefix(page[line[2]:line[3]], "`"+pkg+".") {
				at = line[1]
			}
		}
		if at >= 0 {
			page = page[:at] + fmt.Sprintf("| `%s` | %s | %s |\n", name, claim[name], because(claim[name])) + page[at:]
		}
	}
	return page
}

// tested are the rows of the page with their claims: those by hand, then each
// constructor of a row that is tried by its example.
func tested(t *testing.T) (names []string, claim map[string]catalog.Order) {
	claim = map[string]catalog.Order{}
	add := func(name string, order catalog.Order) {
		assert.NotContains(t, claim, name, "twice in the test")
		names, claim[name] = append(names, name), order
	}
	for _, c := range claims() {
		add(c.row, c.claim)
	}
	made := allConstructors(t)
	for _, r := range fromRows() {
		for _, name := range regexp.MustCompile(`\b\w+\.\w+\b`).FindAllString(r.Go, -1) {
			if !slices.Contains(made, name) {
				continue
			}
			if order, known := claim[name]; known && order == r.Order {
				continue // several kinds of one constructor
			}
			add(name, r.Order)
		}
	}
	return names, claim
}

// The tables of docs/determinism.md have the rows that are tested, with the claims
// that are tested, and no others.
func TestPagesHaveTheClaims(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "determinism.md")
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	names, claim := tested(t)
	want := withClaims(string(page), names, claim)
	if os.Getenv("UPDATE_GOLDEN") == "1" && want != string(page) {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		page = []byte(want)
	}
	assert.Equal(t, want, string(page), "docs/determinism.md; to accept: UPDATE_GOLDEN=1 go test -run Pages .")
	var documented []string
	for _, line := range claimLine.FindAllStringSubmatch(want, -1) {
		documented = append(documented, strings.ReplaceAll(line[1], "`", ""))
	}
	assert.ElementsMatch(t, names, documented)
}

func TestClaimsOnAPage(t *testing.T) {
	line := func(name, claim, why string) string { return "| `" + name + "` | " + claim + " | " + why + " |\n" }
	page := "text\n" + line("fault.A", "independent of order", "by hand") + line("fault.B", "depends on time", "by hand") +
		line("fault.Gone", "depends on time", "by hand") + "\n" + line("lies.L", "independent of order", "by hand") + "end\n"
	got := withClaims(page, []string{"fault.A", "fault.B", "fault.New", "lies.L"},
		map[string]catalog.Order{"fault.A": independent, "fault.B": deliveries, "fault.New": sequential, "lies.L": independent})
	assert.Equal(t, "text\n"+line("fault.A", "independent of order", "by hand")+line("fault.B", "depends on deliveries", because(deliveries))+
		line("fault.New", "needs a sequential lane", because(sequential))+"\n"+line("lies.L", "independent of order", "by hand")+"end\n", got)
}

// Every trigger and every fault there is has a row.
func TestEveryConstructorHasARow(t *testing.T) {
	rows, _ := tested(t)
	for _, name := range allConstructors(t) {
		assert.Contains(t, rows, name, "it has no row in docs/determinism.md")
	}
}

// allConstructors are those of the three packages, with the name of the package.
func allConstructors(t *testing.T) (all []string) {
	for pkg, result := range map[string]string{"when": "When", "fault": "Fault", "lies": "Fault"} {
		names := constructors(t, filepath.Join("..", pkg), result)
		assert.Greater(t, len(names), 10, "of package %s", pkg)
		for _, name := range names {
			all = append(all, pkg+"."+name)
		}
	}
	return all
}

// constructors are the exported functions of a package that return chaos.result.
func constructors(t *testing.T, dir, result string) (names []string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for _, decl := range parsed.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !fn.Name.IsExported() || fn.Type.Results == nil {
				continue
			}
			if of, ok := fn.Type.Results.List[0].Type.(*ast.SelectorExpr); ok && of.Sel.Name == result {
				names = append(names, fn.Name.Name)
			}
		}
	}
	return names
}
