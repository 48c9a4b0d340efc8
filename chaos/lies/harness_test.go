package lies_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
)

// desk is a registry whose tool "get" answers with documents: one after the
// other, the last for ever.
type desk struct {
	mu    sync.Mutex
	docs  []string
	tools []chaos.Tool
	calls int
	args  []string // of each call that reached it
}

func (d *desk) Tools(context.Context) ([]chaos.Tool, error) { return d.tools, nil }

func (d *desk) CallTool(_ context.Context, _ string, args json.RawMessage) (json.RawMessage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	d.args = append(d.args, string(args))
	return json.RawMessage(d.docs[min(d.calls, len(d.docs))-1]), nil
}

// injectorOf makes an injector of one rule over everything, and what it wraps.
func injectorOf(t testing.TB, d *desk, f chaos.Fault) (chaos.ToolRegistry, *chaos.Injector) {
	t.Helper()
	return seededInjectorOf(t, 1, d, f)
}

func seededInjectorOf(t testing.TB, seed uint64, d *desk, f chaos.Fault) (chaos.ToolRegistry, *chaos.Injector) {
	t.Helper()
	p, err := chaos.NewPlan(seed, chaos.Rule{Name: "lie", Target: "*", Fault: f})
	require.NoError(t, err)
	in := p.Injector("cell", &chaos.InjectorOptions{RecordAll: true, KeepValues: true})
	return chaos.WrapRegistry(d, in), in
}

// answers returns what the caller gets of the documents, in turn, asked with the keys.
func answers(t testing.TB, f chaos.Fault, docs []string, keys ...string) (got []string, events []chaos.Event) {
	t.Helper()
	tools, in := injectorOf(t, &desk{docs: docs}, f)
	for i := range docs {
		args := json.RawMessage(`{}`)
		if i < len(keys) {
			args = json.RawMessage(keys[i])
		}
		doc, err := tools.CallTool(context.Background(), "get", args)
		require.NoError(t, err)
		got = append(got, string(doc))
	}
	return got, in.Events()
}

// once is what the caller gets of one document.
func once(t testing.TB, f chaos.Fault, doc string) (string, chaos.Event) {
	t.Helper()
	got, events := answers(t, f, []string{doc})
	require.Len(t, events, 1)
	return got[0], events[0]
}
