package offline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// Tools are those of a server with a timeline; see [Dial].
type Tools interface {
	// Call calls a tool and reads its JSON into answer.
	Call(ctx context.Context, name string, args map[string]any, answer any) error
}

// Facts are what the tools answered about the time around an event.
type Facts struct {
	Event  Event
	RunID  string
	Graph  timeline.Graph
	Window timeline.Window // attempts, failures, served and latency of every node
}

// How far around the event the agent looks, in bins, and how many nodes it asks
// about at once: what a server gives in one answer is bounded.
const (
	lookBack  = 120
	lookAhead = 300
	batch     = 10
)

// run is a row of get_runs.
type run struct {
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"createdAt"`
	Kind      string    `json:"kind"`
	State     string    `json:"state"`
}

// Gather asks the server about the time around an event.
func Gather(ctx context.Context, tools Tools, e Event) (Facts, error) {
	f := Facts{Event: e}
	var list struct{ Runs []run }
	if err := tools.Call(ctx, "get_runs", map[string]any{"limit": 200}, &list); err != nil {
		return f, err
	}
	chosen, ok := choose(list.Runs, e.At)
	if !ok {
		return f, errors.New("offline: the server has no run that was under way when the event happened")
	}
	f.RunID = chosen.ID
	if err := tools.Call(ctx, "get_graph", map[string]any{"runId": f.RunID, "limit": 1000}, &f.Graph); err != nil {
		return f, err
	}
	err := f.gatherWindow(ctx, tools)
	return f, err
}

// choose takes the run that the event happened in: the last that had begun,
// live ones before scenarios, which replay other times.
func choose(runs []run, at time.Time) (run, bool) {
	begun := slices.DeleteFunc(slices.Clone(runs),
		func(r run) bool { return r.CreatedAt.After(at) || r.State == "failed" })
	if len(begun) == 0 {
		return run{}, false
	}
	return slices.MaxFunc(begun, func(a, b run) int {
		return cmp.Or(cmp.Compare(live(a), live(b)), a.CreatedAt.Compare(b.CreatedAt))
	}), true
}

func live(r run) int {
	if r.Kind == "scenario" {
		return 0
	}
	return 1
}

// gatherWindow asks for the series, some nodes at a time.
func (f *Facts) gatherWindow(ctx context.Context, tools Tools) error {
	called := callees(f.Graph)
	if len(called) == 0 {
		return nil
	}
	var first timeline.Window
	if err := tools.Call(ctx, "get_state_window",
		map[string]any{"runId": f.RunID, "start": stamp(time.Unix(0, 0)), "end": stamp(time.Unix(0, 0))},
		&first); err != nil {
		return err
	}
	bin, err := time.ParseDuration(first.Window.BinSize)
	if err != nil {
		return fmt.Errorf("offline: binSize of get_state_window: %w", err)
	}
	for nodes := range slices.Chunk(called, batch) {
		var w timeline.Window
		err := tools.Call(ctx, "get_state_window", map[string]any{
			"runId": f.RunID, "nodeIds": nodes, "limit": batch,
			"metrics": []string{"attempts", "failures", "served", "latency"},
			"start":   stamp(f.Event.At.Add(-lookBack * bin)), "end": stamp(f.Event.At.Add(lookAhead * bin)),
		}, &w)
		if err != nil {
			return err
		}
		if f.Window.Series == nil {
			f.Window.Window = w.Window
		}
		f.Window.Series = append(f.Window.Series, w.Series...)
	}
	return nil
}

// callees are the nodes that are called; agents only call.
func callees(g timeline.Graph) (nodes []string) {
	for _, e := range g.Edges {
		nodes = append(nodes, e.To)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
