package sim

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// A Component is a managed part of the hardware.
type Component struct {
	ID      string `json:"id" jsonschema:"where it is: cabinet, chassis, slot, board, node, such as x0c0s1b0n0"`
	Type    string `json:"type" jsonschema:"Node or NodeBMC"`
	Role    string `json:"role,omitempty" jsonschema:"Compute, Service or Management"`
	Arch    string `json:"arch,omitempty" jsonschema:"X86 or ARM"`
	Enabled bool   `json:"enabled,omitempty" jsonschema:"whether the cluster may use it"`
}

// Power is the state of one component.
type Power struct {
	ID    string `json:"id"`
	State string `json:"state" jsonschema:"on or off"`
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

var plainID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$`)

// faults collects what is wrong.
type faults []invalid

func (f *faults) among(field, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		*f = append(*f, invalid{field, value, strings.Trim(strings.Join(allowed, ", "), ", ")})
	}
}

func (f *faults) that(ok bool, field, value, allowed string) {
	if !ok {
		*f = append(*f, invalid{field, value, allowed})
	}
}

// check returns what is wrong with a component.
func (c Component) check() []invalid {
	var f faults
	f.that(plainID.MatchString(c.ID), "id", c.ID, "letters, digits and ._:-")
	f.among("type", c.Type, "Node", "NodeBMC")
	f.among("role", c.Role, "Compute", "Service", "Management", "")
	f.among("arch", c.Arch, "X86", "ARM", "")
	return f
}
