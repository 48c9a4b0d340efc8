package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/examples/cluster/sim"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

func TestTransitionsTakeTheirTime(t *testing.T) {
	for _, era := range []string{oldEra, newEra} {
		synctest.Test(t, func(t *testing.T) {
			cs := newSurface(t, writable()).inMemory(t, era)
			status := func() string { return call[sim.Transition](t, cs, "power.transitions.get", `{"id":"t-1"}`).Status }
			on := func() int { return call[sim.Summary](t, cs, "cluster.summary", `{}`).PoweredOn }

			call[sim.Transition](t, cs, "power.transitions.create", `{"operation":"Off","targets":["x0c0s1b0n0","x0c0s2b0n0"]}`)
			time.Sleep(59 * time.Second)
			assert.Equal(t, []any{"in-progress", 7}, []any{status(), on()}, "a node is on until it is off")
			time.Sleep(time.Second)
			assert.Equal(t, []any{"completed", 5}, []any{status(), on()})
			late := refused(t, cs, "power.transitions.abort", `{"id":"t-1","confirm":true}`)
			assert.Equal(t, "https://cluster.example/problems/over", late.Problem.Type)

			call[sim.Transition](t, cs, "power.transitions.create", `{"operation":"On","targets":["x0c0s1b0n0"]}`)
			assert.Equal(t, "aborted", call[sim.Transition](t, cs, "power.transitions.abort", `{"id":"t-2","confirm":true}`).Status)
			time.Sleep(time.Hour)
			states := call[list[sim.Power]](t, cs, "power.status", `{"ids":["x0c0s1b0n0","x0c0s3b0n0"]}`)
			assert.Equal(t, []sim.Power{{ID: "x0c0s1b0n0", State: "off"}, {ID: "x0c0s3b0n0", State: "on"}}, states.Items)
		})
	}
}

func TestPowerIsRationed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSurface(t, writable())
		cs := s.inMemory(t, newEra)
		order := `{"operation":"Explode","targets":["x0c0s1b0n0"]}` // the API refuses
		for range 10 {
			assert.Equal(t, policy.CodeUpstreamProblem, refused(t, cs, "power.transitions.create", order).Code)
		}
		e := refused(t, cs, "power.transitions.create", order)
		assert.Equal(t, []any{429, policy.CodeRateLimited, "retry after 500ms"}, []any{e.Status, e.Code, e.Hint})
		time.Sleep(500 * time.Millisecond)
		assert.Equal(t, policy.CodeUpstreamProblem, refused(t, cs, "power.transitions.create", order).Code)
	})
}
