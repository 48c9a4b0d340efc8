// Package habits has middleware around tools that keeps an agent from harm when a call fails: retries with
// back-off, an idempotency key, a deadline, and so on. A user may keep it in production:
//
//	tools = habits.Around(habits.Retries(nil), habits.IdempotencyKeys(nil))(tools)
//
// and try it in a matrix, outside of the faults, by [contract.RunOptions].Around:
//
//	report, err := m.Run(ctx, &contract.RunOptions{Around: habits.Around(habits.Retries(nil))})
//
// # Where a habit acts
//
// Each [Habit] needs something of a tool: that it declares a key, that it is declared to change nothing. Where that
// does not hold the habit abstains, and the call passes as if there were no habit. [Habit.On] says on which tools of
// a list it can act. Whether its assumption holds of the tools themselves ([Habit].Assumes) it cannot know.
//
// Tools are asked for their declarations once, when the first call comes, and heard again whenever the agent lists
// them. That asking meets no faults and leaves no event. While it fails, the habits know nothing of the tools.
//
// # The order
//
// [Around] puts the habits in the order in which they work together, whatever the order in which they are given.
// From the agent inwards: [TellFailures], [StopWhenFinal], [OneAtATime], [RememberReads], [IdempotencyKeys],
// [Retries], [LookFirst], [CheckResults], [Deadlines]. So all tries of a call have one key, each try has its own
// deadline, and only a good result is remembered.
//
// # What the events show
//
// Calls that a habit makes of its own, retries and look-ups, have its name in [chaos.Event].Habit: they are not the
// agent's. A call that a habit answers without the tool leaves no event.
//
// # Failures
//
// A call failed if it returned an error, or a result that says so, such as {"error": "busy"}. By its words it is
// transient, permanent, or neither is known. Of a failed call it is known that the tool did nothing if the connection
// was refused, the host was not found, or there were too many requests; otherwise its outcome is unknown, unless the
// failure is permanent.
//
// # Over HTTP
//
// [Transport] has three of the habits for an [net/http.Client]: [Retries], [Deadlines], [IdempotencyKeys].
//
// What the functions of this package return is safe for concurrent use, and starts no goroutine. A wait ends when
// its context does. A panic of a tool reaches the caller.
//
// Stability: may change.
package habits
