package session

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// connect returns both ends of a session.
func connect(t *testing.T, o *mcp.ClientOptions) (*mcp.ServerSession, *mcp.ClientSession) {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	server, err := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil).Connect(t.Context(), here, nil)
	require.NoError(t, err)
	client, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, o).Connect(t.Context(), there, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return server, client
}

func register(t *testing.T, in *chaos.Injector, name string) map[string]func() bool {
	t.Helper()
	remove, err := in.RegisterFor(chaos.Rule{Name: name, Target: "t", Fault: fault.Fail(fault.ErrUnavailable)}, time.Hour)
	require.NoError(t, err)
	return map[string]func() bool{name: remove}
}

// The rules of a session go when it ends; the one that another took over, and
// those of other sessions, stay.
func TestRulesEndWithTheirSession(t *testing.T) {
	in := chaos.NewInjector(1, nil)
	session, client := connect(t, nil)
	other, otherClient := connect(t, nil)
	var l Leases
	l.Hold(in, session, register(t, in, "gone"))
	l.Hold(in, session, register(t, in, "replaced"))
	register(t, in, "replaced")
	l.Hold(in, other, register(t, in, "of the other"))
	assert.Equal(t, 3, l.Held())
	require.True(t, in.Remove("of the other"))
	l.Hold(in, other, register(t, in, "later"))
	assert.Equal(t, 3, l.Held(), "a rule that was removed is forgotten")

	require.NoError(t, client.Close())
	_ = session.Wait()
	for l.Held() != 1 {
		runtime.Gosched()
	}
	var names []string
	for _, r := range in.Rules() {
		names = append(names, r.Name)
	}
	assert.ElementsMatch(t, []string{"replaced", "later"}, names)

	l.Close()
	l.Hold(in, other, register(t, in, "too late"))
	assert.Len(t, in.Rules(), 2, "no rule is held any more")
	require.NoError(t, otherClient.Close())
	l.Wait()
	assert.Len(t, in.Rules(), 1)
}

// The last report arrives; those before it may be left out, and without a token
// there are none.
func TestProgress(t *testing.T) {
	var mu sync.Mutex
	var got []float64
	arrived := make(chan struct{})
	session, _ := connect(t, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
		mu.Lock()
		defer mu.Unlock()
		if got = append(got, req.Params.Progress); req.Params.Progress == 100 {
			close(arrived)
		}
	}})
	req := &mcp.CallToolRequest{Session: session, Params: &mcp.CallToolParamsRaw{}}
	silent := NewProgress(t.Context(), req, 100)
	silent.Report(1, "")
	silent.End()
	req.Params.SetProgressToken("p")
	p := NewProgress(t.Context(), req, 100)
	for i := range 100 {
		p.Report(i+1, "cell")
	}
	p.End()
	<-arrived
	mu.Lock()
	defer mu.Unlock()
	assert.IsIncreasing(t, append([]float64{0}, got...))
}
