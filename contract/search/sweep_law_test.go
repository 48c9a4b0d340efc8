package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lies"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/search"
)

// culprits is a matrix of an agent that calls a to e once each, and breaks when all of
// one of the sets happened. A member is a tool and what its call did, as "a-" for a
// failure and "a0" for an empty result. The reason names the first of the sets.
func culprits(sets [][]string) *contract.Matrix {
	m := planted(nil)
	made := m.NewWorld
	m.NewWorld = func(ctx context.Context) (*contract.World, error) {
		w, err := made(ctx)
		w.Agent = func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
			happened := map[string]bool{}
			for _, tool := range "abcde" {
				doc, err := tools.CallTool(ctx, string(tool), json.RawMessage("{}"))
				happened[string(tool)+"-"] = err != nil
				happened[string(tool)+"0"] = err == nil && string(doc) == `""`
			}
			for _, set := range sets {
				if !slices.ContainsFunc(set, func(s string) bool { return !happened[s] }) {
					return strings.NewReplacer("-", "failed ", "0", "empty ").Replace(strings.Join(set, "")), nil
				}
			}
			return "ok", nil
		}
		return w, err
	}
	return m
}

// Where more faults never save a run, exactly the smallest sets of one and two faults are
// found, whatever else breaks beside them. A larger set that is reported is a smallest one.
func TestSweepFindsExactlyTheSmallestSets(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		member := rapid.Custom(func(rt *rapid.T) string {
			return rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(rt, "tool") + rapid.SampledFrom([]string{"-", "0"}).Draw(rt, "kind")
		})
		set := rapid.Map(rapid.SliceOfNDistinct(member, 1, 3, func(s string) byte { return s[0] }), func(s []string) []string {
			slices.Sort(s)
			return s
		})
		sets := rapid.SliceOfN(set, 0, 8).Draw(rt, "sets")
		workers := rapid.SampledFrom([]int{1, 8}).Draw(rt, "workers")
		o := &search.Options{Budget: search.Budget{Runs: 10_000}, Faults: func(chaos.Event, chaos.Tool) []chaos.Fault {
			return []chaos.Fault{fault.Fail(errors.New("down")), lies.Empty()}
		}}
		o.Run.Workers = workers
		r, err := search.Sweep(t.Context(), culprits(sets), o)
		require.NoError(t, err)
		smallest := map[string]int{}
		for _, s := range sets {
			if !slices.ContainsFunc(sets, func(other []string) bool {
				return len(other) < len(s) && !slices.ContainsFunc(other, func(m string) bool { return !slices.Contains(s, m) })
			}) {
				smallest[strings.Join(s, "")] = len(s)
			}
		}
		found := map[string]bool{}
		for _, d := range r.Defects {
			name := ""
			for _, h := range d.Deliveries {
				name += h.Target + map[string]string{"error": "-", "empty_result": "0"}[h.Fault]
			}
			found[name] = true
			if smallest[name] == 0 || d.Cut || d.Difference != "" {
				rt.Fatalf("%s is none of %v:\n%v", name, smallest, r)
			}
		}
		for name, size := range smallest {
			if size <= 2 && !found[name] {
				rt.Fatalf("%s of %v was not found:\n%v", name, smallest, r)
			}
		}
		if pairs := r.Levels[2]; pairs.Left > 0 || pairs.Equal > 0 || pairs.Undelivered > 0 {
			rt.Fatalf("all pairs are tried, or contain what breaks: %+v", pairs)
		}
	})
}
