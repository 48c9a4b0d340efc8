package search

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"pgregory.net/rapid"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lies"
	"github.com/shakedown-go/shakedown/contract"
)

// culprits is a matrix of an agent that calls a to e once each, and breaks when all of
// one of the sets happened. A member is a tool and what its call did, as "a-" for a
// failure and "a0" for an empty result. The reason names the first of the sets.
func culprits(sets [][]string) *contract.Matrix {
	m := planted(nil)
	setAgent(m, func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		happened := map[string]bool{}
		for _, tool := range "abcde" {
			doc, err := tools.CallTool(ctx, string(tool), json.RawMessage(`{"n":1}`))
			happened[string(tool)+"-"] = err != nil
			happened[string(tool)+"0"] = err == nil && string(doc) == "0"
		}
		for _, set := range sets {
			if !slices.ContainsFunc(set, func(s string) bool { return !happened[s] }) {
				return strings.NewReplacer("-", "failed ", "0", "empty ").Replace(strings.Join(set, "")), nil
			}
		}
		return "ok", nil
	})
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
		o := &Options{Budget: Budget{Runs: 10_000}, Faults: func(chaos.Event, chaos.Tool) []chaos.Fault {
			return []chaos.Fault{fault.Fail(errors.New("down")), lies.Empty()}
		}}
		o.Run.Workers = workers
		r, err := Sweep(t.Context(), culprits(sets), o)
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

// Points that are no tools are swept too: a function, a stream, a line of code and a
// transport, each with what fits it.
func TestSweepOfPointsThatAreNoTools(t *testing.T) {
	price := chaos.Wrap("price", func(context.Context, string) (int, error) { return 7, nil })
	words := chaos.WrapStream("words", func(context.Context, string) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) { _ = yield("one", nil) && yield("two", nil) }
	})
	m := planted(nil)
	m.NewWorld = func(ctx context.Context) (*contract.World, error) {
		server := chaoshttp.InProcess(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"stock": 3}`)
		}))
		client := &http.Client{Transport: chaoshttp.NewTransport(server, nil)}
		return &contract.World{Close: server.Close, Agent: func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
			n, err := price(ctx, "teapot")
			wrong := err == nil && n != 7
			heard := 0
			for _, err := range words(ctx, "say") {
				if err == nil {
					heard++
				}
			}
			wrong = wrong || heard == 1
			if chaos.Point(ctx, "log") != nil {
				return "wrong: the log", nil
			}
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://stock.test/teapot", nil)
			if err != nil {
				return "", err
			}
			if answer, err := client.Do(r); err == nil {
				body, _ := io.ReadAll(answer.Body)
				answer.Body.Close()
				wrong = wrong || answer.StatusCode == http.StatusOK && string(body) != `{"stock": 3}`
			}
			return verdict(wrong), nil
		}}, nil
	}
	m.Points = []string{"price", "words", "log"}
	o := inBubbles(t)
	o.Strength = 1
	r := sweep(t, m, o)
	var said []string
	for _, d := range r.Defects {
		said = append(said, d.Sentence)
	}
	assert.ElementsMatch(t, []string{"price returns an empty result", "words meets stream_cut", "log fails",
		"GET stock.test/teapot returns what is not JSON"}, said, "%v", r)
	kinds := map[string][]string{}
	for _, g := range r.Strength.Guards {
		kinds[g.Target] = append(kinds[g.Target], g.Fault)
	}
	assert.Equal(t, []string{"error", "http_status", "latency", "malformed_result", "timeout"}, kinds["GET stock.test/teapot"])
	assert.Contains(t, kinds["words"], "missing_terminator")
	assert.True(t, r.Strength.StateUnknown, "the world tells no state")
	require.Positive(t, r.Levels[0].Undelivered, "what has no result cannot be empty")
}
