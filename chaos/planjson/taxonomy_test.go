package planjson_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/planjson"
)

// Every row of the taxonomies can be written as a plan, and is delivered: from
// its JSON it makes as many calls look different as it should. The page shows
// all of it.
func TestTaxonomiesAreCovered(t *testing.T) {
	calm := map[string][]answer{}
	for _, taxonomy := range []struct {
		part string
		rows []classified
		want int
	}{
		{"agentchaos", agentChaos(), 65}, {"agentdisruptbench", agentDisruptBench(), 20}, {"hal", hal(), 7},
		{"reliabilitybench", slices.Concat(reliabilityBenchAt(0.3, 1, 8), reliabilityBenchAt(1, 12, 12)), 8},
		{"toolmaze", toolMaze(), 4}, {"mcp", mcpFaults(), 32},
	} {
		require.Len(t, taxonomy.rows, taxonomy.want)
		var table strings.Builder
		fmt.Fprint(&table, "| row | rules | what the caller gets |\n|---|---|---|\n")
		for _, r := range taxonomy.rows {
			t.Run(taxonomy.part+"/"+r.row, func(t *testing.T) {
				if calm[r.part] == nil {
					calm[r.part], _ = experience(t, nil, r.part)
				}
				written, err := chaos.NewPlan(5, r.rules...)
				require.NoError(t, err)
				doc, err := planjson.Describe(written, nil)
				require.NoError(t, err)
				plan, err := doc.Build(nil)
				require.NoError(t, err)
				got, events := experience(t, plan, r.part)
				for _, rule := range plan.Rules() {
					assert.True(t, slices.ContainsFunc(events, func(e chaos.Event) bool {
						return e.Delivered && (e.Rule == rule.Name || slices.Contains(e.Also, rule.Name))
					}), "%s was delivered", rule.Name)
				}
				n := differences(calm[r.part], got)
				assert.True(t, r.least <= n && n <= r.most, "%d calls look different, want %d to %d: %v", n, r.least, r.most, got)
				fmt.Fprintf(&table, "| %s | `%s` | `%s` |\n", cell(r.row), cell(rulesText(t, doc)), strings.ReplaceAll(cell(difference(calm[r.part], got)), "`", "'"))
			})
		}
		page(t, "taxonomies.md", taxonomy.part, table.String())
	}
}

// At each intensity the share of the calls that get a fault is the intensity,
// as their callers see it: within four standard deviations of a draw a call.
func TestIntensityIsTheShareOfCalls(t *testing.T) {
	const calls = 400
	intensities := []float64{0, 0.1, 0.3, 1}
	calm := map[string][]answer{}
	shares := map[string][]string{}
	var names []string
	for _, lambda := range intensities {
		for _, r := range reliabilityBench(lambda) {
			if calm[r.part] == nil {
				calm[r.part], _ = experience(t, nil, r.part)
			}
			plan, err := chaos.NewPlan(5, r.rules...)
			require.NoError(t, err)
			got, events := experience(t, plan, r.part)
			delivered := 0
			for _, e := range events {
				if e.Delivered {
					delivered++
				}
			}
			n := differences(calm[r.part], got)
			assert.Equal(t, delivered, n, "%s at %v: a call with a fault looks different, and no other", r.row, lambda)
			assert.InDelta(t, lambda, float64(n)/calls, 4*math.Sqrt(lambda*(1-lambda)/calls), "%s", r.row)
			if shares[r.row] == nil {
				names = append(names, r.row)
			}
			shares[r.row] = append(shares[r.row], fmt.Sprintf("%.3f", float64(n)/calls))
		}
	}
	var table strings.Builder
	fmt.Fprint(&table, "| share of calls with a fault | λ = 0 | λ = 0.1 | λ = 0.3 | λ = 1 |\n|---|---|---|---|---|\n")
	for _, name := range names {
		fmt.Fprintf(&table, "| %s | %s |\n", name, strings.Join(shares[name], " | "))
	}
	page(t, "taxonomies.md", "intensity", table.String())
}

// differences counts the calls whose caller got something else; what is looked
// at afterwards is none.
func differences(calm, got []answer) (n int) {
	for i, a := range got {
		if a.call != "afterwards" && (i >= len(calm) || a.String() != calm[i].String()) {
			n++
		}
	}
	return n
}

// rulesText is the rules of a plan as JSON on one line, their names left to be made.
func rulesText(t *testing.T, doc *planjson.Plan) string {
	rules := slices.Clone(doc.Rules)
	for i := range rules {
		rules[i].Name = ""
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	require.NoError(t, enc.Encode(rules))
	return strings.TrimSpace(b.String())
}
