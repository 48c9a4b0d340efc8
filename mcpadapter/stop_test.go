package mcpadapter

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// hanging starts a call of the shop that a fault blocks, and returns a channel for
// its end. The client registers the fault.
func hanging(t *testing.T, s *shop, c *mcp.ClientSession, more string) <-chan error {
	t.Helper()
	answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"slow","action":"register","fault_type":"latency","duration_seconds":80000,"probability":1,"target":"orders.*"`+more+`}`)
	ended := make(chan error, 1)
	go func() {
		_, err := s.lookup(context.Background(), "7")
		ended <- err
	}()
	synctest.Wait()
	require.Empty(t, ended, "it waits")
	return ended
}

// stopping runs a test in virtual time, with a client that has a session.
func stopping(t *testing.T, limits Limits, test func(t *testing.T, s *shop, srv *Server, c *mcp.ClientSession)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		srv := serverOf(t, s.host, &Options{Limits: limits})
		test(t, s, srv, legacy(t, srv, nil))
	})
}

func TestDisarmStopsEverythingAtOnce(t *testing.T) {
	stopping(t, Limits{}, func(t *testing.T, s *shop, _ *Server, c *mcp.ClientSession) {
		assert.JSONEq(t, `{"status":"disarmed","active_faults":[]}`, textIn(t, ask(t, c, "chaos_disarm", `{}`)))
		ended := hanging(t, s, c, "")
		require.NoError(t, s.host.Injector.Register(chaos.Rule{Name: "of the host", Target: "orders.*", Fault: fault.Fail(fault.ErrUnavailable)}))
		answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"slow","action":"inject","arm_next":true}`)
		began := time.Now()
		out := answer[disarmOutput](t, c, "chaos_disarm", `{}`)
		var names []string
		for _, f := range out.ActiveFaults {
			names = append(names, f.Name)
			assert.True(t, f.InForce)
		}
		assert.Equal(t, []string{"slow", "of the host", "slow (next call)"}, names)
		assert.NoError(t, <-ended, "the call went through")
		assert.Zero(t, time.Since(began))
		assert.Empty(t, answer[statusOutput](t, c, "chaos_status", `{}`).ActiveFaults)

		registered := answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"register","fault_type":"error","probability":1,"target":"orders.*"}`)
		assert.True(t, *registered.InForce, "the injector stayed armed")
		assert.True(t, callFails(s))
	})
}

func TestRemoveEndsTheWaitsOfItsFault(t *testing.T) {
	stopping(t, Limits{}, func(t *testing.T, s *shop, _ *Server, c *mcp.ClientSession) {
		ended := hanging(t, s, c, "")
		answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"slow","action":"remove"}`)
		assert.NoError(t, <-ended)
	})
}

// Whoever may inject may stop, whatever limits and confirmations there are.
func TestNothingStandsBeforeDisarm(t *testing.T) {
	s := newShop(t)
	once := &policy.Limit{Budget: 1}
	srv := serverOf(t, s.host, &Options{Environments: []string{"staging"}, Policy: &policy.Options{Limit: once, SessionLimit: once,
		Confirm: []policy.Confirm{{Tool: "chaos_*"}, {Tool: "*", Field: "fault_name", Values: []any{"a"}}}}})
	c := clientOf(t, srv, nil)
	assert.Equal(t, "confirmation_required", refusal(t, c, "chaos_inject_fault", `{"fault_name":"f","action":"remove"}`).Code, "the rules hold for other tools")
	answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"remove","confirm":true}`)
	assert.Equal(t, "budget_exhausted", refusal(t, c, "chaos_inject_fault", `{"fault_name":"f","action":"remove","confirm":true}`).Code)
	for range 50 {
		answer[disarmOutput](t, c, "chaos_disarm", `{}`)
	}

	srv = serverOf(t, s.host, &Options{Policy: &policy.Options{Confirm: []policy.Confirm{{Tool: "chaos_disarm"}}}})
	answer[disarmOutput](t, clientOf(t, srv, nil), "chaos_disarm", `{}`)
}

// Time limits, the end of a session, and what a register says of both.
func TestHowLongAFaultLasts(t *testing.T) {
	const register = `{"fault_name":"f","action":"register","fault_type":"error","probability":1,"target":"orders.*"`
	for _, tt := range []struct {
		name     string
		limits   Limits
		more     string
		expires  time.Duration // 0: never
		survives bool          // the end of the session
	}{
		{"as the server has it", Limits{}, "", 15 * time.Minute, false},
		{"as the host has it", Limits{FaultTime: time.Hour}, "", time.Hour, false},
		{"as the client has it", Limits{}, `,"expires_seconds":2.5`, 2500 * time.Millisecond, false},
		{"a moment, and not for good", Limits{AllowEndless: true}, `,"expires_seconds":1e-12`, 1, false},
		{"kept", Limits{}, `,"keep":true`, 15 * time.Minute, true},
		{"for good", Limits{AllowEndless: true}, `,"expires_seconds":0,"keep":true`, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stopping(t, tt.limits, func(t *testing.T, s *shop, srv *Server, c *mcp.ClientSession) {
				out := answer[injectOutput](t, c, "chaos_inject_fault", register+tt.more+`}`)
				status := answer[statusOutput](t, c, "chaos_status", `{}`).ActiveFaults[0]
				assert.Equal(t, out.ExpiresAt, status.ExpiresAt)
				if tt.expires == 0 {
					assert.Nil(t, out.ExpiresAt)
					time.Sleep(1000 * time.Hour)
					assert.True(t, callFails(s))
				} else {
					assert.Equal(t, time.Now().UTC().Add(tt.expires), *out.ExpiresAt)
					assert.True(t, strings.HasSuffix(string(must(json.Marshal(out.ExpiresAt))), `Z"`), "UTC")
					time.Sleep(tt.expires - time.Nanosecond)
					assert.True(t, callFails(s))
					time.Sleep(time.Nanosecond)
					assert.False(t, callFails(s))
					assert.Empty(t, answer[statusOutput](t, c, "chaos_status", `{}`).ActiveFaults)
					answer[injectOutput](t, c, "chaos_inject_fault", register+tt.more+`}`)
				}
				require.NoError(t, c.Close())
				synctest.Wait()
				assert.Equal(t, tt.survives, callFails(s))
			})
		})
	}
	stopping(t, Limits{}, func(t *testing.T, _ *shop, _ *Server, c *mcp.ClientSession) {
		for _, more := range []string{`0`, `-1`, `86401`, `1e999`, `"1"`, `null`} {
			p := refusal(t, c, "chaos_inject_fault", register+`,"expires_seconds":`+more+`}`)
			assert.Equal(t, "invalid_arguments", p.Code, more)
			assert.Contains(t, p.Detail, "expires_seconds is "+more+"; allowed: ", more)
		}
		assert.Empty(t, answer[statusOutput](t, c, "chaos_status", `{}`).ActiveFaults)
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func leased(srv *Server) (rules int) {
	srv.rules.mu.Lock()
	defer srv.rules.mu.Unlock()
	for _, held := range srv.rules.held {
		rules += len(held)
	}
	return rules
}

// The end of a session takes what it registered, and nothing else.
func TestWhatASessionTakesWithIt(t *testing.T) {
	stopping(t, Limits{}, func(t *testing.T, s *shop, srv *Server, c *mcp.ClientSession) {
		other := legacy(t, srv, nil)
		register := func(c *mcp.ClientSession, name string) {
			answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"`+name+`","action":"register","fault_type":"error"}`)
		}
		for _, name := range []string{"mine", "taken over", "of the host since", "removed"} {
			register(c, name)
		}
		register(other, "another's")
		register(other, "taken over")
		answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"another's","action":"inject","arm_next":true}`)
		require.NoError(t, s.host.Injector.Register(chaos.Rule{Name: "of the host since", Target: "never", Fault: fault.Delay(1)}))
		answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"removed","action":"remove"}`)
		register(other, "removed")
		require.NoError(t, c.Close())
		synctest.Wait()
		var names []string
		for _, f := range answer[statusOutput](t, other, "chaos_status", `{}`).ActiveFaults {
			names = append(names, f.Name)
		}
		assert.Equal(t, []string{"taken over", "of the host since", "another's", "removed"}, names)
		for range 300 {
			register(other, "again")
			register(other, "and again")
			answer[injectOutput](t, other, "chaos_inject_fault", `{"fault_name":"again","action":"remove"}`)
		}
		assert.LessOrEqual(t, leased(srv), 12, "sessions that last gather no names")
	})
}

// Over HTTP: with a session the fault goes with it; without sessions, with the
// time limit alone.
func TestFaultsAndSessionsOverHTTP(t *testing.T) {
	for name := range eras("", nil) {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			srv := serverOf(t, s.host, nil)
			base, client := listen(t, srv)
			c := connect(t, eras(base, client)[name], nil)
			answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"register","fault_type":"error","probability":1,"target":"orders.*"}`)
			assert.True(t, callFails(s))
			_ = c.Close()
			if name == "without sessions" {
				assert.True(t, callFails(s))
				other := connect(t, eras(base, client)[name], nil)
				assert.Len(t, answer[disarmOutput](t, other, "chaos_disarm", `{}`).ActiveFaults, 1)
			}
			require.Eventually(t, func() bool { return !callFails(s) }, time.Minute, time.Millisecond)
		})
	}
}

// register, inject and chaos_status say what the host's switches leave of a fault.
func TestAFaultThatIsNotInForceSaysSo(t *testing.T) {
	kill := make(chan struct{})
	in := chaos.NewInjector(1, &chaos.InjectorOptions{Safeguards: &chaos.Safeguards{Kill: kill}})
	c := clientOf(t, serverOf(t, Host{Name: "h", Injector: in}, nil), nil)
	says := func(force bool, reason string) {
		t.Helper()
		for _, args := range []string{`{"fault_name":"f","action":"register","fault_type":"error","probability":0.5}`, `{"fault_name":"f","action":"inject"}`} {
			out := answer[injectOutput](t, c, "chaos_inject_fault", args)
			assert.Equal(t, []any{force, reason, 0.5}, []any{*out.InForce, out.Reason, *out.Probability}, args)
			if !force && out.WasTriggered != nil {
				assert.False(t, *out.WasTriggered)
			}
		}
		f := answer[statusOutput](t, c, "chaos_status", `{}`).ActiveFaults[0]
		assert.Equal(t, []any{force, reason}, []any{f.InForce, f.Reason})
	}
	says(true, "")
	in.Disarm()
	says(false, "the injector is disarmed")
	in.Arm()
	says(true, "")
	close(kill)
	says(false, "the kill switch was thrown")
	out := answer[disarmOutput](t, c, "chaos_disarm", `{}`)
	assert.Equal(t, "the kill switch was thrown", out.ActiveFaults[0].Reason)
}

// arm_next takes no name that another fault has, whoever came first.
func TestArmNextLeavesOtherNamesAlone(t *testing.T) {
	s := newShop(t)
	c := clientOf(t, serverOf(t, s.host, nil), nil)
	register := func(name string) string {
		return `{"fault_name":"` + name + `","action":"register","fault_type":"error","probability":0,"target":"orders.*"}`
	}
	answer[injectOutput](t, c, "chaos_inject_fault", register("A"))
	answer[injectOutput](t, c, "chaos_inject_fault", register("A (next call)"))
	for range 2 {
		answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"A","action":"inject","arm_next":true}`)
		assert.True(t, callFails(s))
		assert.False(t, callFails(s))
	}
	answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"A","action":"inject","arm_next":true}`)
	answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"A","action":"remove"}`)
	assert.Equal(t, "A (next call)", answer[statusOutput](t, c, "chaos_status", `{}`).ActiveFaults[0].Name)

	answer[injectOutput](t, c, "chaos_inject_fault", register("B"))
	armed := answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"B","action":"inject","arm_next":true}`)
	assert.Equal(t, 1.0, *armed.Probability, "the next call gets the fault with certainty")
	p := refusal(t, c, "chaos_inject_fault", register("B (next call)"))
	assert.Equal(t, "busy", p.Code)
	assert.Contains(t, p.Detail, `arm_next of "B"`)
	assert.True(t, callFails(s))
	answer[injectOutput](t, c, "chaos_inject_fault", register("B (next call)"))
}

// An armed rule ends with its fault.
func TestAnArmedRuleExpiresWithItsFault(t *testing.T) {
	stopping(t, Limits{}, func(t *testing.T, s *shop, _ *Server, c *mcp.ClientSession) {
		answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"register","fault_type":"error","probability":0,"target":"orders.*","expires_seconds":60}`)
		armed := answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"inject","arm_next":true}`)
		assert.Equal(t, time.Now().UTC().Add(time.Minute), *armed.ExpiresAt)
		time.Sleep(time.Minute)
		assert.False(t, callFails(s))
	})
}

// A fault that is over before its answer is written is not reported as in force.
func TestAFaultThatIsGoneAlready(t *testing.T) {
	srv := serverOf(t, newShop(t).host, nil)
	var out injectOutput
	srv.describe(&out, "gone", "x")
	require.NotNil(t, out.InForce)
	assert.False(t, *out.InForce)
	assert.NotEmpty(t, out.Reason)
	assert.Nil(t, out.ExpiresAt)
}
