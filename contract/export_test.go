package contract

// What the tests of the traces of goroutines and of sums need.
var (
	BubbleNumber = bubbleNumber
	NameStrays   = nameStrays
	Plus         = plus
	Add          = add
)
