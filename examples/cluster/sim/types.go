package sim

import "time"

// A Component is a node of the cluster.
type Component struct {
	ID   string `json:"id" jsonschema:"where it is: cabinet, chassis, slot, board, node, such as x0c0s1b0n0"`
	Role string `json:"role" jsonschema:"Compute or Management"`
}

// Power is the state of one component.
type Power struct {
	ID    string `json:"id"`
	State string `json:"state" jsonschema:"on or off"`
}

// An Order asks for a transition.
type Order struct {
	Operation string   `json:"operation" jsonschema:"On, Off, GracefulShutdown, GracefulRestart, ForceOff, ForceRestart or Nmi, in any case"`
	Targets   []string `json:"targets" jsonschema:"ids of components"`
}

// A Transition changes the power of several components.
type Transition struct {
	ID        string    `json:"id"`
	Operation string    `json:"operation"`
	Status    string    `json:"status" jsonschema:"in-progress, completed or aborted"`
	CreatedAt time.Time `json:"created_at"`
	Tasks     []Task    `json:"tasks"`
}

// A Task is the part of a transition that concerns one component.
type Task struct {
	ID      string  `json:"id" jsonschema:"of the component"`
	Status  string  `json:"status" jsonschema:"in-progress, succeeded or aborted"`
	Percent float64 `json:"percent"`
}

// Summary counts what is there.
type Summary struct {
	Components            int            `json:"components"`
	ByRole                map[string]int `json:"by_role"`
	PoweredOn             int            `json:"powered_on"`
	TransitionsInProgress int            `json:"transitions_in_progress"`
}

// invalid is a member of a request that was refused, as in the errors of a
// problem.
type invalid struct {
	Field   string `json:"field"`
	Value   string `json:"value"`
	Allowed string `json:"allowed"`
}
