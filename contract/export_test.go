package contract

// For the tests of stack traces and of sums.
var (
	BubbleNumber = bubbleNumber
	NameStrays   = nameStrays
	NameHolders  = nameHolders

	StandardLibrary = standardLibrary
	Plus            = plus
	Add             = add
)

// HolderRows are the rows of docs/virtual-time.md that reasons refer to.
func HolderRows() []string {
	return []string{rowConnections, rowListeners, rowDatabases, rowIO, rowMutexes, rowComputing, rowChannels}
}
