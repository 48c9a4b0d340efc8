package mcpadapter

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

func TestEachTypeOfFault(t *testing.T) {
	for kind, want := range map[string]error{
		"error": nil, "timeout": context.DeadlineExceeded, "resource_exhaustion": fault.ErrResourceExhausted, "network_partition": fault.ErrNetworkPartition,
	} {
		s := newShop(t)
		c := clientOf(t, serverOf(t, s.host, nil), nil)
		answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"register","probability":1,"duration_seconds":0,"target":"*","fault_type":"`+kind+`"}`)
		_, err := s.lookup(t.Context(), "1")
		require.ErrorIs(t, err, chaos.ErrInjected, kind)
		if want != nil {
			assert.ErrorIs(t, err, want, kind)
		}
		if kind == "error" || kind == "timeout" {
			assert.EqualError(t, err, "service unavailable", kind)
		}
		status := answer[statusOutput](t, c, "chaos_status", `{}`)
		assert.Equal(t, kind, status.ActiveFaults[0].FaultType)
	}
}

func TestLatencyIsWaitedOutOnInject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := chaos.NewInjector(1, nil)
		srv, err := NewServer(Host{Name: "h", Injector: in}, &Options{Getenv: writable})
		require.NoError(t, err)
		_, err = srv.register(nil, injectInput{FaultName: "slow", FaultType: "latency", Probability: new(1.0)})
		require.NoError(t, err)
		began := time.Now()
		out, err := srv.trigger(t.Context(), injectInput{FaultName: "slow"})
		require.NoError(t, err)
		assert.True(t, *out.WasTriggered)
		assert.Empty(t, out.InjectedError)
		assert.Equal(t, time.Second, time.Since(began), "a latency without a duration takes one second")

		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err = srv.trigger(ctx, injectInput{FaultName: "slow"})
		assert.ErrorIs(t, err, context.DeadlineExceeded, "it is bounded by the request")
		require.NoError(t, srv.Shutdown(t.Context()))
	})
}

func TestArmNextInjectsIntoTheNextMatchingCall(t *testing.T) {
	s := newShop(t)
	c := clientOf(t, serverOf(t, s.host, nil), nil)
	answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"register","fault_type":"error","probability":0,"target":"orders.*"}`)
	for range 2 { // also a second time, after the first was delivered
		out := answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"inject","arm_next":true}`)
		assert.Equal(t, []string{"orders.get"}, out.MatchedTargets, "the answer names the targets")
		assert.False(t, *out.WasTriggered)
		_, err := s.refund(t.Context(), "1")
		assert.NoError(t, err)
		_, err = s.lookup(t.Context(), "1")
		assert.EqualError(t, err, "service unavailable")
		_, err = s.lookup(t.Context(), "1")
		assert.NoError(t, err, "only the next one")
	}
	status := answer[statusOutput](t, c, "chaos_status", `{}`)
	assert.Len(t, status.ActiveFaults, 1, "what was delivered is no active fault")

	answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"inject","arm_next":true}`)
	answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"remove"}`)
	_, err := s.lookup(t.Context(), "1")
	assert.NoError(t, err, "removing a fault disarms it")
}

func TestASeedIsTextAndMovesTheDraws(t *testing.T) {
	injected := func(seed string) (calls string) {
		s := newShop(t)
		c := clientOf(t, serverOf(t, s.host, nil), nil)
		answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"register","fault_type":"error","probability":0.5,"target":"*","seed":"`+seed+`"}`)
		for range 64 {
			calls += map[bool]string{true: "x", false: "."}[callFails(s)]
		}
		return calls
	}
	largest := injected("18446744073709551615")
	assert.Equal(t, largest, injected("18446744073709551615"))
	assert.NotEqual(t, largest, injected("18446744073709551614"), "a double would not tell these seeds apart")
	assert.Contains(t, largest, "x")
	assert.Contains(t, largest, ".")
}

func callFails(s *shop) bool {
	_, err := s.lookup(context.Background(), "1")
	return err != nil
}

func TestALimitEndsAFault(t *testing.T) {
	s := newShop(t)
	c := clientOf(t, serverOf(t, s.host, nil), nil)
	answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"register","fault_type":"error","probability":1,"target":"*","limit":2}`)
	var failed int
	for range 5 {
		if callFails(s) {
			failed++
		}
	}
	assert.Equal(t, 2, failed)
}

func TestFaultsAreRefusedInOtherEnvironments(t *testing.T) {
	s := newShop(t)
	c := clientOf(t, serverOf(t, s.host, &Options{Environments: []string{"staging", "laptop"}}), nil)
	for tool, args := range map[string]string{
		"chaos_inject_fault": `{"fault_name":"f","action":"register","fault_type":"error"}`, "chaos_run_experiment": `{"experiment_name":"slow database"}`,
	} {
		p := refusal(t, c, tool, args)
		assert.Equal(t, 403, p.Status)
		assert.Equal(t, "environment_not_allowed", p.Code)
		assert.Contains(t, p.Detail, `SHAKEDOWN_ENVIRONMENT is "test"; allowed: staging, laptop`)
	}
	answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"remove"}`)
	assert.Empty(t, s.host.Injector.Rules())
}
