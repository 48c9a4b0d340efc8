package contract

// For the tests of stack traces and of sums.
var (
	BubbleNumber = bubbleNumber
	NameStrays   = nameStrays
	NameHolders  = nameHolders
	Plus         = plus
	Add          = add
)
