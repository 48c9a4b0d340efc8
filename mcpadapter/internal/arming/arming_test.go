package arming

import (
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

func TestTheGuardKnowsTheEnvironment(t *testing.T) {
	r := Rules{Getenv: func(name string) string { return map[string]string{Environment: "production"}[name] }}
	assert.NoError(t, r.Guard("register"), "none is named")
	r.Environments = []string{"staging"}
	assert.ErrorContains(t, r.Guard("register"), `register is refused: SHAKEDOWN_ENVIRONMENT is "production"; allowed: staging`)
	r.Environments = append(r.Environments, "production")
	assert.NoError(t, r.Guard("register"))
}

func TestHowLongARuleLasts(t *testing.T) {
	r := Rules{FaultTime: time.Minute}
	for _, tc := range []struct {
		seconds *float64
		endless bool
		life    time.Duration
		fails   bool
	}{
		{nil, false, time.Minute, false},
		{nil, true, time.Minute, false},
		{new(1.5), false, 1500 * time.Millisecond, false},
		{new(1e-12), false, 1, false}, // above 0, so never endless
		{new(0.0), false, 0, true},
		{new(0.0), true, 0, false},
	} {
		r.AllowEndless = tc.endless
		life, err := r.Lifetime(tc.seconds)
		assert.Equal(t, tc.fails, err != nil)
		assert.Equal(t, tc.life, life)
	}
}

// A rule for the next call ends with the rule it was made of, and holds its name.
func TestARuleForTheNextCall(t *testing.T) {
	r := Rules{Injector: chaos.NewInjector(1, nil), FaultTime: time.Hour}
	req := &mcp.CallToolRequest{}
	_, _, err := r.ArmNext(req, false, "down", nil)
	assert.ErrorContains(t, err, `unknown fault "down"; registered: none`)
	_, err = r.Put(req, false, chaos.Rule{Name: "down", Target: "t", Fault: fault.Fail(fault.ErrUnavailable)}, time.Minute)
	require.NoError(t, err)
	name, of, err := r.ArmNext(req, false, "down", nil)
	require.NoError(t, err)
	assert.Equal(t, "down", of.Name)
	next, ok := r.State(name)
	require.True(t, ok)
	assert.WithinDuration(t, of.Expires, next.Expires, time.Minute, "no hour, as was asked for")
	assert.NoError(t, r.Free("down"))
	assert.ErrorContains(t, r.Free(name), `arm_next of "down" has taken this one`)
	assert.Equal(t, "error", r.Remove("down"))
	assert.Empty(t, r.Injector.Rules(), "both are gone")
	assert.Empty(t, r.Remove("down"), "again")
}
