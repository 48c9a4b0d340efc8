package stats

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/scoring"
)

var pageTable = regexp.MustCompile(`(?s)(<!-- table: (\w+) -->\n).*?(\n<!-- end of table -->)`)

// The tables of docs/reports.md are what the functions return.
func TestPagesHaveTheFigures(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "reports.md")
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	tables := map[string]func(*testing.T) string{
		"pass": passTable, "intervals": intervalTable, "clusters": clusterTable, "stopping": stoppingTable,
		"law": lawTable, "rates": ratesTable, "trials": trialsTable, "detectable": detectableTable,
	}
	want := pageTable.ReplaceAllStringFunc(string(page), func(block string) string {
		parts := pageTable.FindStringSubmatch(block)
		make, ok := tables[parts[2]]
		require.True(t, ok, "table %s", parts[2])
		delete(tables, parts[2])
		return parts[1] + "\n" + make(t) + parts[3]
	})
	assert.Empty(t, tables, "the page lacks these")
	if os.Getenv("UPDATE_GOLDEN") == "1" && want != string(page) {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		page = []byte(want)
	}
	assert.Equal(t, want, string(page), "docs/reports.md; to accept: UPDATE_GOLDEN=1 go test -run Pages .")
	sources, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range sources {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, name := range regexp.MustCompile(`(?m)^func (?:\(t \*?SPRT\) )?([A-Z]\w*)\(`).FindAllStringSubmatch(string(source), -1) {
			assert.Regexp(t, "[.`]"+name[1]+"`", want, "docs/reports.md does not say when to use it")
		}
	}
}

// table formats rows of a page; the first is the head.
func table(rows ...[]string) string {
	var b strings.Builder
	for i, row := range rows {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString("|" + strings.Repeat("---|", len(row)) + "\n")
		}
	}
	return b.String()
}

func percent(x float64) string { return fmt.Sprintf("%.0f %%", 100*x) }

// ratesTable are promised rates of a matrix, with the default of contract.Invariant's Poor.
func ratesTable(t *testing.T) string {
	rows := [][]string{{"promised (P1)", "default of Poor (P0)", "passes in a row that accept", "trials on average at P1", "at P0"}}
	for _, p1 := range []float64{.5, .8, .9, .95, .99} {
		test := SPRT{P0: max(1-4*(1-p1), p1/2), P1: p1, Alpha: .05, Beta: .05}
		start, err := test.Decide(0, 0)
		require.NoError(t, err)
		test.Max = mostLaw
		at, err := test.Law(test.P1)
		require.NoError(t, err)
		below, err := test.Law(test.P0)
		require.NoError(t, err)
		rows = append(rows, []string{percent(p1), percent(test.P0), fmt.Sprint(start.Passes), fmt.Sprintf("%.0f", at.Trials),
			fmt.Sprintf("%.0f", below.Trials)})
	}
	return table(rows...)
}

func passTable(t *testing.T) string {
	rows := [][]string{{"k", "pass@k", "pass^k", "pooled first, wrong: pass@k", "pass^k"}}
	tasks, pool := []Tally{{Passed: 10, Trials: 10}, {Passed: 5, Trials: 10}}, []Tally{{Passed: 15, Trials: 20}}
	for _, k := range []int{1, 2, 5} {
		row := []string{fmt.Sprint(k)}
		for _, of := range [][]Tally{tasks, pool} {
			for _, f := range []func([]Tally, int, float64) (Estimate, error){PassAt, PassEvery} {
				e, err := f(of, k, 0.95)
				require.NoError(t, err)
				row = append(row, fmt.Sprintf("%.1f %%", 100*e.Value))
			}
		}
		rows = append(rows, row)
	}
	return table(rows...)
}

func intervalTable(t *testing.T) string {
	rows := [][]string{{"passed", "Wilson", "exact", "any-time"}}
	for _, c := range [][2]int{{1, 1}, {20, 20}, {19, 20}, {60, 80}, {190, 200}} {
		row := []string{fmt.Sprintf("%d of %d", c[0], c[1])}
		for _, kind := range three() {
			iv, err := kind.of(c[0], c[1], scoring.Level95)
			require.NoError(t, err)
			row = append(row, fmt.Sprintf("%.1f %% to %.1f %%", 100*iv.Low, 100*iv.High))
		}
		rows = append(rows, row)
	}
	return table(rows...)
}

// clusterTable is a part of the golden file.
func clusterTable(t *testing.T) string {
	text, err := os.ReadFile("testdata/coverage_clustered.txt")
	require.NoError(t, err)
	rows := [][]string{{"mean", "scenarios", "correlation", "by scenario", "Wilson", "points wide"}}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 6 && f[1] == "10" {
			rows = append(rows, []string{f[0] + " %", f[1], f[2], f[3] + " %", f[4] + " %", f[5]})
		}
	}
	require.Len(t, rows, 10)
	return table(rows...)
}

func stoppingTable(t *testing.T) string {
	rows := [][]string{{"one stops", "rate", "Wilson", "exact", "any-time"}}
	kinds := three()
	words := map[string]string{"when it misses": "when the interval misses the rate: the worst case", "at a failure": "at the first failure"}
	for _, rule := range stoppings {
		for _, p := range []float64{0.5, 0.8, 0.95} {
			if words[rule.name] == "" {
				continue
			}
			row := []string{words[rule.name], percent(p)}
			for _, kind := range kinds {
				row = append(row, fmt.Sprintf("%.1f %%", 100*rule.coverage(t, kind, p, 150)))
			}
			rows = append(rows, row)
		}
	}
	return table(rows...)
}

func lawTable(t *testing.T) string {
	rows := [][]string{{"rate", "accepted", "rejected", "open after 60", "trials on average"}}
	for _, p := range []float64{0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 1} {
		law, err := SPRT{P0: 0.8, P1: 0.95, Alpha: 0.05, Beta: 0.05, Max: 60}.Law(p)
		require.NoError(t, err)
		rows = append(rows, []string{percent(p), fmt.Sprintf("%.1f %%", 100*law.Accept), fmt.Sprintf("%.1f %%", 100*law.Reject),
			fmt.Sprintf("%.1f %%", 100*law.Open), fmt.Sprintf("%.0f", law.Trials)})
	}
	return table(rows...)
}

var pageDesigns = []struct {
	name   string
	design Design
}{
	{"one build against a fixed rate", Design{}},
	{"pairs, no noise", Design{Paired: true}},
	{"pairs, 5 % noise", Design{Paired: true, Noise: 0.05}},
	{"two builds, not paired, each", Design{TwoSamples: true}},
}

func trialsTable(t *testing.T) string {
	rows := [][]string{{"to"}}
	for _, d := range pageDesigns {
		rows[0] = append(rows[0], d.name)
	}
	for _, to := range []float64{0.9, 0.85, 0.8, 0.7, 0.5} {
		row := []string{percent(to)}
		for _, d := range pageDesigns {
			n, err := Trials(d.design, 0.95, to, 0.05, 0.8)
			require.NoError(t, err)
			row = append(row, fmt.Sprint(n))
		}
		rows = append(rows, row)
	}
	return table(rows...)
}

func detectableTable(t *testing.T) string {
	rows := [][]string{{"trials"}}
	for _, d := range pageDesigns {
		rows[0] = append(rows[0], d.name)
	}
	for _, n := range []int{5, 10, 20, 50, 100, 200} {
		row := []string{fmt.Sprint(n)}
		for _, d := range pageDesigns {
			to, err := Detectable(d.design, n, 0.95, 0.05, 0.8)
			cell := fmt.Sprintf("%.0f %%", 100*to-0.5) // rounded down: that much is seen
			if err != nil {
				cell = "nothing"
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return table(rows...)
}
