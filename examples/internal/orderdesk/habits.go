package orderdesk

// Habits are the differences between a fragile and a robust agent. The zero
// value has none of them.
type Habits struct {
	// Retry tries a failed call up to six times, waiting longer before each.
	// Without it a call is tried once more, at once.
	Retry bool
	// IdempotencyKeys gives every call that changes something a key, by which a
	// tool knows a request it has already carried out.
	IdempotencyKeys bool
	// HonestReport answers from what the tools confirmed. Without it the agent
	// answers from what it meant to do, and shows its own insides when it is lost.
	HonestReport bool
}

// Fragile is an agent that works as long as its tools do.
func Fragile() Habits { return Habits{} }

// Robust is an agent with all habits.
func Robust() Habits { return Habits{Retry: true, IdempotencyKeys: true, HonestReport: true} }
