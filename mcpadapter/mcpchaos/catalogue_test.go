package mcpchaos

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// catalogue is every fault, by the name of its constructor, with its parameters as data.
func catalogue() map[string]struct {
	fault  chaos.Fault
	params string
} {
	return map[string]struct {
		fault  chaos.Fault
		params string
	}{
		"UnsetError":        {UnsetError(), ``},
		"RemoveTool":        {RemoveTool(), ``},
		"HideTool":          {HideTool("echo"), `{"name":"echo"}`},
		"ChangeDescription": {ChangeDescription("echo", "new"), `{"name":"echo","description":"new"}`},
		"Drop":              {Drop(), ``},
		"Duplicate":         {Duplicate(2), `{"copies":2}`},
		"Corrupt":           {Corrupt(), ``},
		"InsertGarbage":     {InsertGarbage("listening"), `{"line":"listening"}`},
		"ChangeID":          {ChangeID(), ``},
		"FloodListChanged":  {FloodListChanged(3), `{"count":3}`},
	}
}

// Every fault has a row, which describes it, and a line of the page on determinism. A plan in JSON can name it, with
// the example of its row, and is written as it was read.
func TestRows(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "determinism.md"))
	require.NoError(t, err)
	var kinds, constructors []string
	for name, f := range catalogue() {
		d := f.fault.(chaos.Described).Describe()
		kinds = append(kinds, d.Kind)
		constructors = append(constructors, "mcpchaos."+name)
		assert.True(t, strings.HasPrefix(d.Kind, "mcp_"), name)
		for _, coordinate := range []any{d.Layer, d.Class, d.Visibility, d.Persistence, d.Effect} {
			assert.NotEmpty(t, coordinate, "%s: %+v", name, d)
		}
		assert.Equal(t, f.params, string(d.Params), name)
		assert.Equal(t, 1, strings.Count(string(page), "| `mcpchaos."+name+"` | "), name)
	}
	var rows, calls []string
	o := &planjson.Options{Rows: Rows()}
	for _, row := range Rows() {
		rows = append(rows, row.Kind)
		call, _, _ := strings.Cut(row.Go, "(")
		calls = append(calls, call)
		plan, err := planjson.Decode([]byte(`{"rules":[{"target":"mcp/*","fault":{"kind":"`+row.Kind+`","params":`+row.Example+`}}]}`), o)
		require.NoError(t, err, row.Kind)
		d := plan.Rules()[0].Fault.(chaos.Described).Describe()
		assert.Equal(t, row.Kind, d.Kind)
		if row.Example != "{}" {
			assert.Equal(t, row.Example, string(d.Params))
		}
		again, err := planjson.Encode(plan, o)
		require.NoError(t, err, row.Kind)
		assert.Contains(t, string(again), row.Kind)
	}
	assert.ElementsMatch(t, kinds, rows)
	assert.ElementsMatch(t, constructors, calls)
}

func TestParametersThatAreRefused(t *testing.T) {
	for _, tc := range []struct {
		fault chaos.Fault
		param string
	}{
		{HideTool(""), "name"}, {ChangeDescription("", "x"), "name"},
		{Duplicate(0), "copies"}, {Duplicate(1001), "copies"},
		{InsertGarbage("{}"), "line"}, {InsertGarbage(" "), "line"}, {InsertGarbage("a\nb"), "line"},
		{FloodListChanged(0), "count"}, {FloodListChanged(10_001), "count"},
	} {
		_, err := chaos.NewPlan(1, chaos.Rule{Target: "*", Fault: tc.fault})
		var wrong *chaos.ParamError
		require.ErrorAs(t, err, &wrong)
		assert.Equal(t, tc.param, wrong.Param)
	}
}

// The claim: whatever the order of the calls, each comes out the same.
func TestIndependentOfOrder(t *testing.T) {
	faults := catalogue()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"Drop", "Duplicate", "Corrupt", "InsertGarbage", "ChangeID", "FloodListChanged"}).Draw(t, "fault")
		seed := rapid.Uint64().Draw(t, "seed")
		orders := rapid.SliceOfNDistinct(rapid.IntRange(0, 1000), 2, 12, rapid.ID[int]).Draw(t, "orders")
		run := func(orders []int) map[int]string {
			plan, err := chaos.NewPlan(seed, chaos.Rule{Target: "mcp/receive/*", When: when.Prob(0.5), Fault: faults[name].fault})
			require.NoError(t, err)
			return outcomes(plan.Injector("cell", nil), orders)
		}
		assert.Equal(t, run(orders), run(rapid.Permutation(orders).Draw(t, "shuffled")))
	})
}

// outcomes returns what the point makes of the message of each order.
func outcomes(in *chaos.Injector, orders []int) map[int]string {
	got := make(map[int]string)
	for _, order := range orders {
		text := fmt.Sprintf(`{"id":%d,"jsonrpc":"2.0","result":{"order":%d}}`, order, order)
		point := chaos.WrapWith("mcp/receive/tools/call/echo", pass, &chaos.WrapOptions[Message]{Injector: in, Key: func(Message) uint64 { return uint64(order) + 1 }})
		lines, err := point(context.Background(), Message{Text: json.RawMessage(text)})
		got[order] = fmt.Sprint(lines, err)
	}
	return got
}

func pass(_ context.Context, m Message) ([]string, error) { return []string{string(m.Text)}, nil }
