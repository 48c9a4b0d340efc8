package planjson_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// page holds one generated part of a page to what it should be, between a
// comment that begins with its name and the next <!-- end -->.
func page(t *testing.T, file, part, want string) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", file)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	at := regexp.MustCompile(`(?s)(<!-- ` + part + `: [^\n]*-->\n)(.*?)(<!-- end -->)`).FindSubmatchIndex(text)
	require.NotNil(t, at, "%s has no part %s", file, part)
	if os.Getenv("UPDATE_GOLDEN") == "1" {
		text = []byte(string(text[:at[4]]) + want + string(text[at[5]:]))
		require.NoError(t, os.WriteFile(path, text, 0o644))
		return
	}
	assert.Equal(t, want, string(text[at[4]:at[5]]), "docs/%s; to accept: UPDATE_GOLDEN=1 go test -run Pages .", file)
}

// cell is a text as a cell of a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func code(s string) string { return "`" + cell(s) + "`" }

// held are faults and triggers of the kinds that hold Go code.
func held() map[string]any {
	return map[string]any{
		"mutate": fault.Mutate("double the amount", func(n int) int { return 2 * n }),
		"args":   when.Args("is seven", func(n int) bool { return n == 7 }),
	}
}

// built is the fault or trigger of a row's example.
func built(t *testing.T, r planjson.Row) chaos.Description {
	t.Helper()
	v := held()[r.Name]
	if !r.Held {
		plan, err := planjson.Decode(documentOf(r), nil)
		require.NoError(t, err, r.Name)
		if v = plan.Rules()[0].Fault; r.Trigger {
			v = plan.Rules()[0].When
		}
	}
	require.NotNil(t, v, r.Name)
	return v.(chaos.Described).Describe()
}

// pattern is what a trigger's example matches of some calls: of its own lane,
// turn and arguments where it asks for them.
func pattern(t *testing.T, r planjson.Row) (marks string) {
	o := &planjson.Options{Triggers: []chaos.When{held()["args"].(chaos.When)}}
	plan, err := planjson.Decode(oneRule(partOf(r), `{"kind":"error","params":{"message":"down"}}`), o)
	require.NoError(t, err)
	plan, err = chaos.NewPlan(4, chaos.Rule{Name: r.Name, Target: "refund", When: plan.Rules()[0].When, Fault: plan.Rules()[0].Fault})
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		call := chaos.WrapWith("refund", func(context.Context, int) (int, error) { return 0, nil },
			&chaos.WrapOptions[int]{Key: func(n int) uint64 { return uint64(n) + 10 }})
		ctx := chaos.NewContext(t.Context(), plan.Injector("pattern", nil))
		for n := range 16 {
			ctx := chaos.WithTurn(chaos.WithLane(ctx, map[bool]string{true: "worker-1"}[r.Name == "lane"]), n/3)
			if _, err := call(ctx, n%8); err != nil {
				marks += "x"
			} else {
				marks += "·"
			}
			time.Sleep(10 * time.Second)
		}
	})
	require.Contains(t, marks, "x", "the example of %s matches", r.Name)
	return marks
}

// The summary at the head of the page names only what the tables have.
func TestSummaryOfPagesIsTrue(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "faults.md"))
	require.NoError(t, err)
	summary, _, found := strings.Cut(string(text), "\n## ")
	require.True(t, found)
	made := make(map[string]bool) // constructors
	constructor := regexp.MustCompile(`\b(?:fault|lies|when|chaoshttp)\.[A-Z]\w+`)
	for _, r := range planjson.Rows() {
		for _, name := range constructor.FindAllString(r.Go, -1) {
			made[name] = true
		}
	}
	names := constructor.FindAllString(summary, -1)
	require.NotEmpty(t, names)
	for _, name := range names {
		assert.True(t, made[name], "docs/faults.md begins with %s, which no table has", name)
	}
}

// The pages list every kind as it is in the code.
func TestPagesAreTrue(t *testing.T) {
	var faults, triggers strings.Builder
	fmt.Fprint(&faults, "| kind | what happens | Go | parameters, an example | layer | class | visibility | persistence | effect |\n|---|---|---|---|---|---|---|---|---|\n")
	fmt.Fprint(&triggers, "| kind | which calls | Go | parameters, an example | of 16 calls, one every 10 s |\n|---|---|---|---|---|\n")
	for _, r := range planjson.KindRows() {
		d := built(t, r)
		require.Equal(t, r.Name, d.Kind)
		example := r.Example
		if r.Held {
			example += " (the function is handed over)"
		}
		row := fmt.Sprintf("| %s | %s | %s | %s |", code(r.Name), cell(r.Doc), code(r.Code), strings.Replace(code(example), " (the function is handed over)`", "`, with its function in `Options`", 1))
		if r.Trigger {
			fmt.Fprintln(&triggers, row, code(pattern(t, r)), "|")
			continue
		}
		fmt.Fprintln(&faults, row, d.Layer, "|", d.Class, "|", d.Visibility, "|", d.Persistence, "|", d.Effect, "|")
	}
	page(t, "faults.md", "faults", faults.String())
	page(t, "faults.md", "triggers", triggers.String())
}

// Every plan on the pages is one.
func TestPlansOnPagesAreRead(t *testing.T) {
	for _, file := range []string{"plans.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", file))
		require.NoError(t, err)
		plans := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllSubmatch(text, -1)
		require.NotEmpty(t, plans)
		for _, plan := range plans {
			_, err := planjson.Decode(plan[1], nil)
			assert.NoError(t, err)
		}
	}
}
