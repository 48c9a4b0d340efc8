// Package sim is a simulated cluster: a management service over a few nodes, in
// memory. Nodes take time to change power, transitions can be aborted, and errors
// are problem details (RFC 9457).
//
// Time is that of the standard library, and nothing runs in the background: each
// call first works out what has happened since the last one. So the cluster
// can be used in a testing/synctest bubble.
package sim

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// A Cluster is the management service of a few nodes. What it refuses is a [*policy.Problem]. It is
// safe for concurrent use.
type Cluster struct {
	mu          sync.Mutex // guards all below
	components  map[string]Component
	power       map[string]string
	transitions []Transition // the oldest first
}

// New makes a cluster of eight nodes, all on but the last.
func New() *Cluster {
	c := &Cluster{power: make(map[string]string), components: make(map[string]Component)}
	for i := range 8 {
		node := Component{ID: fmt.Sprintf("x0c0s%db0n0", i), Role: "Compute"}
		if i == 0 {
			node.Role = "Management"
		}
		c.components[node.ID], c.power[node.ID] = node, "on"
	}
	c.power["x0c0s7b0n0"] = "off"
	return c
}

// enter locks the cluster and works out what has happened since the last time; leave unlocks it.
func (c *Cluster) enter() (leave func()) {
	c.mu.Lock()
	for i := range c.transitions {
		t := &c.transitions[i]
		does := operations()[t.Operation]
		if t.Status != inProgress || time.Since(t.CreatedAt) < does.takes {
			continue
		}
		t.Status = "completed"
		for _, id := range t.Targets {
			if _, there := c.power[id]; there && does.to != "" {
				c.power[id] = does.to
			}
		}
	}
	return c.mu.Unlock
}

// problem makes problem details of a kind of this service's own. more are its further members.
func problem(status int, kind, instance, detail string, more map[string]any) *policy.Problem {
	return &policy.Problem{Type: "https://cluster.example/problems/" + kind, Title: http.StatusText(status),
		Status: status, Detail: detail, Instance: instance, Extensions: more}
}

// Components lists all components.
func (c *Cluster) Components() []Component {
	defer c.enter()()
	all := make([]Component, 0, len(c.components))
	for _, id := range slices.Sorted(maps.Keys(c.components)) {
		all = append(all, c.components[id])
	}
	return all
}

// Component returns one component.
func (c *Cluster) Component(id string) (Component, error) {
	defer c.enter()()
	return c.get(id)
}

func (c *Cluster) get(id string) (Component, error) {
	got, ok := c.components[id]
	if !ok {
		return got, problem(404, "not-found", "/components/"+id, fmt.Sprintf("There is no component %q", id), nil)
	}
	return got, nil
}

// Delete deletes a component, and returns what it was. It refuses to delete what has power.
func (c *Cluster) Delete(id string) (Component, error) {
	defer c.enter()()
	old, err := c.get(id)
	if err != nil {
		return old, err
	}
	if c.power[id] == "on" {
		return old, problem(409, "in-use", "/components/"+id, fmt.Sprintf("Component %q is on", id),
			map[string]any{"state": "on"})
	}
	delete(c.components, id)
	delete(c.power, id)
	return old, nil
}

// Summary counts what is there.
func (c *Cluster) Summary() Summary {
	defer c.enter()()
	s := Summary{Components: len(c.components)}
	for _, state := range c.power {
		if state == "on" {
			s.PoweredOn++
		}
	}
	for _, t := range c.transitions {
		if t.Status == inProgress {
			s.TransitionsInProgress++
		}
	}
	return s
}

// Power returns which of these components are on; none: of all.
func (c *Cluster) Power(ids []string) []Power {
	defer c.enter()()
	states := []Power{}
	for _, id := range slices.Sorted(maps.Keys(c.power)) {
		if len(ids) == 0 || slices.Contains(ids, id) {
			states = append(states, Power{id, c.power[id]})
		}
	}
	return states
}

// An operation is something that can be done to the power of components.
type operation struct {
	to    string // the state that it leaves; "": as it was
	takes time.Duration
}

func operations() map[string]operation {
	return map[string]operation{
		"On": {"on", 20 * time.Second}, "Off": {"off", time.Minute},
		"GracefulShutdown": {"off", time.Minute}, "GracefulRestart": {"on", 80 * time.Second},
		"ForceOff": {"off", 5 * time.Second}, "ForceRestart": {"on", 25 * time.Second}, "Nmi": {"", time.Second},
	}
}

// Transitions lists all transitions, the oldest first.
func (c *Cluster) Transitions() []Transition {
	defer c.enter()()
	return append([]Transition{}, c.transitions...)
}

// Transition returns one transition.
func (c *Cluster) Transition(id string) (Transition, error) {
	defer c.enter()()
	t, err := c.find(id)
	if err != nil {
		return Transition{}, err
	}
	return *t, nil
}

const transitionsPath = "/power/transitions"

func (c *Cluster) find(id string) (*Transition, error) {
	i := slices.IndexFunc(c.transitions, func(t Transition) bool { return t.ID == id })
	if i < 0 {
		return nil, problem(404, "not-found", transitionsPath+"/"+id, fmt.Sprintf("There is no transition %q", id), nil)
	}
	return &c.transitions[i], nil
}

// Begin begins to change the power of components. As BMCs do, it does not insist on case.
func (c *Cluster) Begin(order Order) (Transition, error) {
	defer c.enter()()
	var wrong []invalid
	names := slices.Sorted(maps.Keys(operations()))
	i := slices.IndexFunc(names, func(name string) bool {
		return strings.EqualFold(name, strings.TrimSpace(order.Operation))
	})
	if i < 0 {
		wrong = append(wrong, invalid{"operation", order.Operation, strings.Join(names, ", ")})
	}
	for n, id := range order.Targets {
		if _, ok := c.power[id]; !ok {
			wrong = append(wrong, invalid{fmt.Sprintf("targets[%d]", n), id, "the id of a component"})
		}
	}
	if len(wrong) > 0 {
		return Transition{}, problem(400, "invalid", transitionsPath,
			fmt.Sprintf("%d member(s) of the request are not allowed", len(wrong)), map[string]any{"errors": wrong})
	}
	t := Transition{ID: fmt.Sprintf("t-%d", len(c.transitions)+1), Operation: names[i], Status: inProgress,
		CreatedAt: time.Now().UTC(), Targets: order.Targets}
	c.transitions = append(c.transitions, t)
	return t, nil
}

// Abort stops a transition: its components stay as they are.
func (c *Cluster) Abort(id string) (Transition, error) {
	defer c.enter()()
	t, err := c.find(id)
	if err != nil {
		return Transition{}, err
	}
	if t.Status != inProgress {
		return Transition{}, problem(409, "over", transitionsPath+"/"+id,
			fmt.Sprintf("Transition %s is %s already", t.ID, t.Status), map[string]any{"status": t.Status})
	}
	t.Status = "aborted"
	return *t, nil
}
