package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
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
func (a *API) advance(now time.Time) {
	for _, t := range a.transitions {
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
			if _, there := a.power[task.ID]; there && task.Status != "succeeded" && t.does.to != "" {
				a.power[task.ID] = t.does.to
			}
			task.Status, task.Percent = "succeeded", 100
		}
	}
}

func (a *API) powerStatus(req *http.Request) (any, error) {
	states := []Power{}
	for _, c := range a.list() {
		if want := req.URL.Query()["id"]; len(want) == 0 || slices.Contains(want, c.ID) {
			states = append(states, Power{c.ID, a.power[c.ID]})
		}
	}
	return states, nil
}

func (a *API) listTransitions(*http.Request) (any, error) {
	all := []Transition{}
	for _, t := range a.transitions {
		all = append(all, t.Transition)
	}
	return all, nil
}

func (a *API) findTransition(id string) (*transition, error) {
	for _, t := range a.transitions {
		if t.ID == id {
			return t, nil
		}
	}
	return nil, problem(404, "not-found", fmt.Sprintf("There is no transition %q", id), nil)
}

func (a *API) getTransition(req *http.Request) (any, error) {
	t, err := a.findTransition(req.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return t.Transition, nil
}

func (a *API) createTransition(req *http.Request) (any, error) {
	var order struct {
		Operation string   `json:"operation"`
		Targets   []string `json:"targets"`
	}
	dec := json.NewDecoder(req.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&order); err != nil {
		return nil, problem(400, "malformed", "The body is not what was expected: "+err.Error(), nil)
	}
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
		if _, ok := a.power[id]; !ok || slices.Contains(order.Targets[:i], id) {
			wrong = append(wrong, invalid{fmt.Sprintf("targets[%d]", i), id, "the id of a component, once"})
		}
	}
	if len(wrong) > 0 {
		return nil, problem(400, "invalid", fmt.Sprintf("%d member(s) of the request are not allowed", len(wrong)),
			map[string]any{"errors": wrong})
	}
	if err := a.free(does, order.Targets); err != nil {
		return nil, err
	}
	return a.begin(does, order.Targets), nil
}

// free reports whether the components can begin the operation.
func (a *API) free(does operation, targets []string) error {
	for _, t := range a.transitions {
		for _, task := range t.Tasks {
			if !t.over() && task.Status == "in-progress" && slices.Contains(targets, task.ID) {
				return problem(409, "busy", fmt.Sprintf("Component %q is in transition %s", task.ID, t.ID),
					map[string]any{"transition": t.ID, "component": task.ID})
			}
		}
	}
	for _, id := range targets {
		if does.from != "" && a.power[id] != does.from {
			return problem(409, "wrong-state", fmt.Sprintf("%s needs component %q to be %s", does.name, id, does.from),
				map[string]any{"component": id, "state": a.power[id]})
		}
	}
	return nil
}

func (a *API) begin(does operation, targets []string) Transition {
	a.begun++
	t := &transition{does: does,
		Transition: Transition{ID: fmt.Sprintf("t-%d", a.begun), Operation: does.name, Status: "in-progress",
			CreatedAt: time.Now().UTC()}}
	for _, id := range targets {
		t.Tasks = append(t.Tasks, Task{ID: id, Status: "in-progress"})
	}
	if len(a.transitions) >= maxTransitions {
		a.transitions = slices.DeleteFunc(a.transitions, (*transition).over)
	}
	a.transitions = append(a.transitions, t)
	return t.Transition
}

// abortTransition stops what has not happened yet; what has happened stays.
func (a *API) abortTransition(req *http.Request) (any, error) {
	t, err := a.findTransition(req.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if t.over() {
		return nil, problem(409, "over", fmt.Sprintf("Transition %s is %s already", t.ID, t.Status),
			map[string]any{"status": t.Status})
	}
	t.Status = "aborted"
	for i := range t.Tasks {
		if t.Tasks[i].Status == "in-progress" {
			t.Tasks[i].Status = "aborted"
		}
	}
	return t.Transition, nil
}
