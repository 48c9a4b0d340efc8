package when

// DrawStep and Block let a test run the chain of Markov forwards.
const (
	DrawStep = drawStep
	Block    = block
)
