// Package habits has middleware around tools that keeps an agent from harm when a call fails: retries with back-off,
// an idempotency key, a deadline, and so on. A user may keep it in production,
//
//	tools = habits.Around(habits.Retries(nil), habits.IdempotencyKeys(nil))(tools)
//
// and try it in a matrix, where it stands outside of the faults:
//
//	report, err := m.Run(ctx, &contract.RunOptions{Around: habits.Around(habits.Retries(nil))})
//
// [Transport] has those that make sense over HTTP. All take the same [Options].
//
// # Where a habit acts
//
// Each [Habit] needs something of a tool: that it declares a key, that it is declared to change nothing. Where that
// does not hold, the habit abstains and the call passes. [Habit.On] says on which tools of a list it can act. Whether
// its assumption holds of the tools themselves ([Habit].Assumes) it cannot know.
//
// What the tools declare is asked once, before the first call, and heard again whenever the agent lists them. That
// asking meets no faults and leaves no event. While it fails, nothing is known of the tools.
//
// # What the events show
//
// Calls that a habit makes of its own, retries and look-ups, have its name in [chaos.Event].Habit: they are not the
// agent's. A call that a habit answers without the tool leaves no event.
//
// # Failures
//
// A call failed if it returned an error, or a result that says so, such as {"error": "busy"}. By its words and its
// status a failure is permanent, or may pass. Whether the tool did its work they do not say: "connection refused" or
// "not found" may be the failure of its last step. A tool says that it did nothing by [ErrNotDone]. Over HTTP a request
// is one step, so [Transport] knows more.
//
// A failure may ask for a wait: Retry-After in a header or "retry_after" in a result, in seconds, or words such as "try
// again in 2 minutes".
//
// What the functions of this package return is safe for concurrent use, and starts no goroutine. A wait ends when its
// context does. A panic of a tool reaches the caller.
//
// Stability: may change.
package habits
