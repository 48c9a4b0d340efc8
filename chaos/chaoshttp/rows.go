package chaoshttp

import "github.com/shakedown-go/shakedown/chaos/catalog"

// Rows returns the rows of this package's faults, in the order of the
// documentation. The caller may keep and change the list and the rows: they are
// copies.
func Rows() []*catalog.Row {
	return catalog.List(
		refused, resetByServer, closedByServer, noSuchHost, dnsTimeout, handshake,
		status, apiError,
		slowHeaders, slowBodyRow, cutBodyRow, shortBodyRow,
		wrongEncodingRow, malformedJSONRow, htmlPage, errorInOK,
		emptyCompletionRow, cutCompletionRow, filterCompletionRow, refuseCompletionRow, garbleCompletionRow,
		malformToolCallRow,
		stripToolCallsRow, hallucinateToolCallRow, wrongArgumentRow, missingArgumentRow, driftCompletionRow,
		spoilCompletionRow,
		slowFirstEventRow, slowEventsRow, hangStreamRow, cutEventRow, cutStreamRow, malformEventRow,
		duplicateEventRow, swapEventsRow, errorEventRow, dropTerminatorRow)
}
