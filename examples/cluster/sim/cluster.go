package sim

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
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
	transitions []*transition
	begun       int // transitions, ever
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
	c.advance(time.Now())
	return c.mu.Unlock
}

// problem makes problem details of a kind of this service's own. more are its further members.
func problem(status int, kind, instance, detail string, more map[string]any) *policy.Problem {
	return &policy.Problem{Type: "https://cluster.example/problems/" + kind, Title: http.StatusText(status),
		Status: status, Detail: detail, Instance: instance, Extensions: more}
}

const componentsPath = "/components/"

// Components lists all components.
func (c *Cluster) Components() []Component {
	defer c.enter()()
	return c.list()
}

func (c *Cluster) list() []Component {
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
		return got, problem(404, "not-found", componentsPath+id, fmt.Sprintf("There is no component %q", id), nil)
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
		return old, problem(409, "in-use", componentsPath+id, fmt.Sprintf("Component %q is on", id),
			map[string]any{"state": "on"})
	}
	delete(c.components, id)
	delete(c.power, id)
	return old, nil
}

// Summary counts what is there.
func (c *Cluster) Summary() Summary {
	defer c.enter()()
	s := Summary{Components: len(c.components), ByRole: make(map[string]int)}
	for _, one := range c.components {
		s.ByRole[one.Role]++
		if c.power[one.ID] == "on" {
			s.PoweredOn++
		}
	}
	for _, t := range c.transitions {
		if !t.over() {
			s.TransitionsInProgress++
		}
	}
	return s
}
