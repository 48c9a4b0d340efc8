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
			look := func() sim.Transition { return call[sim.Transition](t, cs, "power.transitions.get", `{"id":"t-1"}`) }
			on := func() int { return call[sim.Summary](t, cs, "cluster.summary", `{}`).PoweredOn }

			call[sim.Transition](t, cs, "power.transitions.create", `{"operation":"Off","targets":["x0c0s1b0n0","x0c0s2b0n0"]}`)
			time.Sleep(30 * time.Second)
			assert.Equal(t, sim.Task{ID: "x0c0s1b0n0", Status: "in-progress", Percent: 50}, look().Tasks[0])
			assert.Equal(t, 7, on(), "a node is on until it is off")
			busy := refused(t, cs, "power.transitions.create", `{"operation":"ForceOff","targets":["x0c0s2b0n0"],"confirm":true}`)
			assert.Equal(t, map[string]any{"transition": "t-1", "component": "x0c0s2b0n0"}, busy.Problem.Extensions)
			time.Sleep(30 * time.Second)
			assert.Equal(t, "succeeded", look().Tasks[0].Status)
			assert.Equal(t, "in-progress", look().Status, "the second takes a tenth longer")
			assert.Equal(t, 6, on())
			time.Sleep(6 * time.Second)
			assert.Equal(t, "completed", look().Status)
			assert.Equal(t, 5, on())
			late := refused(t, cs, "power.transitions.abort", `{"id":"t-1","confirm":true}`)
			assert.Equal(t, "https://cluster.example/problems/over", late.Problem.Type)
		})
	}
}

func TestAnAbortedTransitionStopsHalfWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cs := newSurface(t, writable()).inMemory(t, newEra)
		call[sim.Transition](t, cs, "power.transitions.create", `{"operation":"Off","targets":["x0c0s1b0n0","x0c0s2b0n0"]}`)
		time.Sleep(61 * time.Second)
		got := call[sim.Transition](t, cs, "power.transitions.abort", `{"id":"t-1","confirm":true}`)
		assert.Equal(t, []string{"aborted", "succeeded", "aborted"}, []string{got.Status, got.Tasks[0].Status, got.Tasks[1].Status})
		time.Sleep(time.Hour)
		assert.Equal(t, 6, call[sim.Summary](t, cs, "cluster.summary", `{}`).PoweredOn)
		states := call[list[sim.Power]](t, cs, "power.status", `{"ids":["x0c0s1b0n0","x0c0s2b0n0"]}`)
		assert.Equal(t, []sim.Power{{ID: "x0c0s1b0n0", State: "off"}, {ID: "x0c0s2b0n0", State: "on"}}, states.Items)
	})
}

func TestPowerIsRationed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSurface(t, writable())
		cs := s.inMemory(t, newEra)
		order := `{"operation":"On","targets":["x0c0s1b0n0"]}` // which is on: the API refuses
		for range 10 {
			assert.Equal(t, policy.CodeUpstreamProblem, refused(t, cs, "power.transitions.create", order).Code)
		}
		e := refused(t, cs, "power.transitions.create", order)
		assert.Equal(t, []any{429, policy.CodeRateLimited, "retry after 500ms"}, []any{e.Status, e.Code, e.Hint})
		time.Sleep(500 * time.Millisecond)
		assert.Equal(t, policy.CodeUpstreamProblem, refused(t, cs, "power.transitions.create", order).Code)
	})
}
