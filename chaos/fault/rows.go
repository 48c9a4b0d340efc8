package fault

import "github.com/shakedown-go/shakedown/chaos/catalog"

// Rows returns the rows of this package's faults, in the order of the
// documentation. The caller may keep and change the list and the rows: they are
// copies.
func Rows() []*catalog.Row {
	return catalog.List(
		latency,
		fail, resourceExhausted, partition, panicking,
		timeout, loseReply, hang,
		replace, mutate,
		repeat, loseRequest, deliverTwice, silentNoOp,
		reorderCalls, lateResult, ignoreCancel, delayedVisibility,
		cutAfter, hangAtItem, slowFirstItem, slowItems,
		duplicateItem, malformItem, endAfter, dropLastItem, reorderItems,
		callBudget, tokenBudget, costBudget, timeBudget, memoryBudget,
		diskFull, rateLimit, concurrencyLimit, authExpired, toolRemoved,
		guardrailDown, guardrailHang, forcedVerdict, staleApproval,
		corruptHandoff, misroute, handoffDropped, cycleHandoff, handoffDelayed, messageStorm, delegationRejected)
}
