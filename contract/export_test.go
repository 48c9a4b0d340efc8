package contract

// For the tests of stack traces, of sums and of names.
var (
	BubbleNumber = bubbleNumber
	NameStrays   = nameStrays
	Plus         = plus
	Add          = add
	Nearest      = nearest
	Edits        = edits
)
