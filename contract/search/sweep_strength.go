package search

import ()

// Strength says which faults the invariants notice. It is read off the runs of single
// faults, over all prompt lists.
type Strength struct {
	// Guards has an entry for each target and kind of fault that was delivered, in order.
	Guards []Guard `json:"guards"`
	// Changed is the number of guards whose fault changed the end state, and Noticed that of
	// those among them which some invariant noticed.
	Changed int `json:"changed"`
	Noticed int `json:"noticed"`
	// StateUnknown reports whether some world told no state. Changed then counts too few.
	StateUnknown bool `json:"stateUnknown,omitempty"`
	// Idle are the invariants that held in every run of the sweep.
	Idle []string `json:"idle,omitempty"`
}

// A Guard says what one kind of fault did at one target, and what noticed it.
type Guard struct {
	Target string `json:"target"`
	Fault  string `json:"fault"` // the kind
	// Changed is the most that a single fault changed: "state", "answer", "calls", or
	// nothing.
	Changed string `json:"changed,omitempty"`
	// NoticedBy are the invariants that broke, in order.
	NoticedBy []string `json:"noticedBy,omitempty"`
}

// Unguarded reports whether the fault changed the end state or the answer and no
// invariant noticed.
func (g *Guard) Unguarded() bool {
	return len(g.NoticedBy) == 0 &&
		(g.Changed == changedState.String() || g.Changed == changedAnswer.String())
}
