package contract

import "time"

// A Cure is what would mend a defect, or several: habits around the tools that the agent is given. They are
// those of package contract/habits, and [contract/search.Cure] tries them in runs of the agent. It is no
// proof for faults and cells that were not run.
type Cure struct {
	// Habits are the fewest that mend it, in the order from the agent to its tools. None: no habit mends
	// it, as Why says.
	Habits []CureHabit `json:"habits,omitempty"`
	// Why says why there are no Habits, such as "no habit here mends it".
	Why string `json:"why,omitempty"`
	// Nearest are, without Habits, those under which the most cells held.
	Nearest []CureHabit `json:"nearest,omitempty"`
	// Held counts the broken cells that hold under Habits, or under Nearest, of Cells. In runs of an agent
	// that does not repeat itself, these are runs in its cells, and Random is true.
	Held   int  `json:"held,omitempty"`
	Cells  int  `json:"cells,omitempty"`
	Random bool `json:"random,omitempty"`
	// Fewer counts those of Held in which fewer faults were delivered than the defect has: under Habits the agent
	// made fewer calls, and all that it made of a target met a fault.
	Fewer int `json:"fewer,omitempty"`
	// Usual counts the cells in which the agent answers under Habits as it does without faults: in the others it may
	// hold by saying that it could not do its work. It is counted for an agent that repeats itself.
	Usual int `json:"usual,omitempty"`
	// Places has Cells and Held by scenario and invariant, for defects of an agent that repeats itself.
	Places []CurePlace `json:"places,omitempty"`
	// Kept counts the runs in which what had held, in the other cells and without faults, holds under Habits.
	Kept int `json:"kept,omitempty"`
	// Cost is what Habits add to a run in these cells, in the mean, and Calm to a run without faults.
	Cost CureCost `json:"cost,omitzero"`
	Calm CureCost `json:"calm,omitzero"`
	// Defects counts, in [Report.Cure], the defects that Habits mend together.
	Defects int `json:"defects,omitempty"`
	// Cut reports whether a budget ended the search: other habits may mend it, or fewer.
	Cut bool `json:"cut,omitempty"`
}

// A CureHabit is a habit and where it acts.
type CureHabit struct {
	Name string `json:"name"`
	// Does is what it does, as in "an idempotency key".
	Does string `json:"does"`
	// Tools are those on which it was tried: those of the defect on which it can act, or all on which it
	// can, where that is needed.
	Tools []string `json:"tools"`
}

// A CurePlace counts the broken cells of an invariant in a scenario that hold under habits.
type CurePlace struct {
	Scenario  string `json:"scenario"`
	Invariant string `json:"invariant"`
	Cells     int    `json:"cells"`
	Held      int    `json:"held"`
}

// A CureCost is calls of tools and time of a run, beside the same run without habits. Both may be below 0.
type CureCost struct {
	Calls float64       `json:"calls"`
	Time  time.Duration `json:"timeNs"` // virtual in a bubble
}

// A CureSearch is what a search for cures took.
type CureSearch struct {
	Runs    int           `json:"runs"`
	Elapsed time.Duration `json:"elapsedNs,omitempty"` // real time
	// Stopped is why it ended early; empty: it did not.
	Stopped string `json:"stopped,omitempty"`
	// Abstained are the habits that were not tried, each with its reason.
	Abstained []string `json:"abstained,omitempty"`
}
