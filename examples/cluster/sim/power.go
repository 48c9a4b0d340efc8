package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxTransitions is how many are remembered; the oldest that are over go first.
const maxTransitions = 1000

// An operation is something that can be done to the power of a component.
type operation struct {
	name  string
	from  string // the state that it needs; "": any
	to    string // the state that it leaves; "": as it was
	takes time.Duration
}

func operations() []operation {
	return []operation{
		{"On", "off", "on", 20 * time.Second},
		{"Off", "on", "off", 60 * time.Second},
		{"GracefulShutdown", "on", "off", 60 * time.Second},
		{"GracefulRestart", "on", "on", 80 * time.Second},
		{"ForceOff", "", "off", 5 * time.Second},
		{"ForceRestart", "", "on", 25 * time.Second},
		{"Nmi", "on", "", time.Second},
	}
}

// A transition is a Transition with what it does.
type transition struct {
	Transition
	does operation
}

func (t *transition) over() bool { return t.Status != "in-progress" }

// advance works out what has happened until now: each node takes its operation's
// time, and a tenth of it more for each node before it.
func (c *Cluster) advance(now time.Time) {
	for _, t := range c.transitions {
		if t.over() {
			continue
		}
		t.Status = "completed"
		for i := range t.Tasks {
			task := &t.Tasks[i]
			takes := t.does.takes + time.Duration(i)*t.does.takes/10
			passed := now.Sub(t.CreatedAt)
			if passed < takes {
				task.Percent, t.Status = float64(passed*100/takes), "in-progress"
				continue
			}
			if _, there := c.power[task.ID]; there && task.Status != "succeeded" && t.does.to != "" {
				c.power[task.ID] = t.does.to
			}
			task.Status, task.Percent = "succeeded", 100
		}
	}
}

// Power returns which of these components are on; none: of all.
func (c *Cluster) Power(ids []string) []Power {
	defer c.enter()()
	states := []Power{}
	for _, one := range c.list() {
		if len(ids) == 0 || slices.Contains(ids, one.ID) {
			states = append(states, Power{one.ID, c.power[one.ID]})
		}
	}
	return states
}

// shown is a transition as it is now.
func (t *transition) shown() Transition {
	now := t.Transition
	now.Tasks = slices.Clone(t.Tasks)
	return now
}

// Transitions lists all transitions, the oldest first.
func (c *Cluster) Transitions() []Transition {
	defer c.enter()()
	all := []Transition{}
	for _, t := range c.transitions {
		all = append(all, t.shown())
	}
	return all
}

const transitionsPath = "/power/transitions"

func (c *Cluster) find(id string) (*transition, error) {
	for _, t := range c.transitions {
		if t.ID == id {
			return t, nil
		}
	}
	return nil, problem(404, "not-found", transitionsPath+"/"+id, fmt.Sprintf("There is no transition %q", id), nil)
}

// Transition returns one transition.
func (c *Cluster) Transition(id string) (Transition, error) {
	defer c.enter()()
	t, err := c.find(id)
	if err != nil {
		return Transition{}, err
	}
	return t.shown(), nil
}

// Begin begins to change the power of components.
func (c *Cluster) Begin(order Order) (Transition, error) {
	defer c.enter()()
	var wrong []invalid
	var does operation
	var names []string
	for _, op := range operations() { // as BMCs do, it does not insist on case
		names = append(names, op.name)
		if strings.EqualFold(op.name, strings.TrimSpace(order.Operation)) {
			does = op
		}
	}
	if does.name == "" {
		wrong = append(wrong, invalid{"operation", order.Operation, strings.Join(names, ", ")})
	}
	if len(order.Targets) == 0 {
		wrong = append(wrong, invalid{"targets", "", "at least one component"})
	}
	for i, id := range order.Targets {
		if _, ok := c.power[id]; !ok || slices.Contains(order.Targets[:i], id) {
			wrong = append(wrong, invalid{fmt.Sprintf("targets[%d]", i), id, "the id of a component, once"})
		}
	}
	if len(wrong) > 0 {
		return Transition{}, problem(400, "invalid", transitionsPath,
			fmt.Sprintf("%d member(s) of the request are not allowed", len(wrong)), map[string]any{"errors": wrong})
	}
	if err := c.free(does, order.Targets); err != nil {
		return Transition{}, err
	}
	return c.begin(does, order.Targets), nil
}

// free returns a problem if the components cannot begin the operation.
func (c *Cluster) free(does operation, targets []string) error {
	for _, t := range c.transitions {
		for _, task := range t.Tasks {
			if !t.over() && task.Status == "in-progress" && slices.Contains(targets, task.ID) {
				return problem(409, "busy", transitionsPath,
					fmt.Sprintf("Component %q is in transition %s", task.ID, t.ID),
					map[string]any{"transition": t.ID, "component": task.ID})
			}
		}
	}
	for _, id := range targets {
		if does.from != "" && c.power[id] != does.from {
			return problem(409, "wrong-state", transitionsPath,
				fmt.Sprintf("%s needs component %q to be %s", does.name, id, does.from),
				map[string]any{"component": id, "state": c.power[id]})
		}
	}
	return nil
}

func (c *Cluster) begin(does operation, targets []string) Transition {
	c.begun++
	t := &transition{does: does,
		Transition: Transition{ID: fmt.Sprintf("t-%d", c.begun), Operation: does.name, Status: "in-progress",
			CreatedAt: time.Now().UTC()}}
	for _, id := range targets {
		t.Tasks = append(t.Tasks, Task{ID: id, Status: "in-progress"})
	}
	if len(c.transitions) >= maxTransitions {
		c.transitions = slices.DeleteFunc(c.transitions, (*transition).over)
	}
	c.transitions = append(c.transitions, t)
	return t.shown()
}

// Abort stops what has not happened yet; what has happened stays.
func (c *Cluster) Abort(id string) (Transition, error) {
	defer c.enter()()
	t, err := c.find(id)
	if err != nil {
		return Transition{}, err
	}
	if t.over() {
		return Transition{}, problem(409, "over", transitionsPath+"/"+id,
			fmt.Sprintf("Transition %s is %s already", t.ID, t.Status), map[string]any{"status": t.Status})
	}
	t.Status = "aborted"
	for i := range t.Tasks {
		if t.Tasks[i].Status == "in-progress" {
			t.Tasks[i].Status = "aborted"
		}
	}
	return t.shown(), nil
}
