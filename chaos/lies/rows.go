package lies

import "github.com/shakedown-go/shakedown/chaos/catalog"

// Rows returns the rows of this package's faults, in the order of the
// documentation. The caller may keep and change the list and the rows: they are
// copies.
func Rows() []*catalog.Row {
	return catalog.List(
		emptyRow, nullRow, missingRow, cutTextRow, cutListRow, missingPageRow, partialBatchRow,
		malformedRow, htmlPageRow, errorBodyRow, mojibakeRow, oversizedRow,
		wrongNumberRow, scaleRow, flipSignRow, swapDigitsRow, offByOneRow, overflowRow, notANumberRow,
		shiftDateRow, swapUnitRow, flipTypeRow,
		swapFieldsRow, swapEntityRow,
		fabricateRecordRow, danglingReferenceRow, duplicateRowsRow, reorderRowsRow,
		staleRow, frozenRow, crossedRow, replayedRow,
		contradictRow,
		renameKeyRow, removeKeyRow, addKeyRow, retypeRow, envelopeRow, schemaDriftRow, unknownEnumRow,
		inTextRow, argumentsRow,
		attacks[Instruction], attacks[Authority], attacks[Exfiltration], attacks[GoalHijack],
		poisonToolRow, shadowToolRow, churnToolsRow, changeArguments,
		truncateMessagesRow, staleMessagesRow, dropMessagesRow, reorderMessagesRow,
		duplicateMessageRow, noiseMessagesRow, overflowMessagesRow, poisonRow, rollBackRow)
}
