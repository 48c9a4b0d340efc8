// Package chaostest checks that a fault, a trigger or a tool registry of your
// own keeps the rules that package chaos relies on.
//
// Like testing/fstest it returns an error and knows nothing of package testing.
// The error joins every violation found, each a [*Violation] that names the
// rule it breaks:
//
//	func TestQuota(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			if err := chaostest.Fault(quota{}, nil); err != nil {
//				t.Error(err)
//			}
//		})
//	}
//
// # In a bubble, and outside
//
// Run the checks in a bubble of testing/synctest: there waits of hours take no
// time and "at once" means what it says. In real time they work too, but see
// less: a wait that goes on for more than some milliseconds is cut short, and
// "at once" is within five seconds, so that a slow machine is no violation. A
// pass takes a few milliseconds in a bubble, and mostly less than a tenth of a
// second outside.
//
// What a check starts it ends, unless the code under test breaks a rule: then a
// goroutine may be left waiting, which the error says. Run the tests with -race:
// the checks call from several goroutines at once, and the race detector sees
// what they cannot.
//
// # What is looked at
//
// [Fault] wraps a small callee, has the fault injected into a call of it, and compares what the
// caller got with what the callee gave and with what the event says. [When]
// asks about many calls, again and in another order, from several goroutines.
// [Registry] lists the tools, and calls those for which it is given arguments.
// The constants of type [Check] list the rules.
package chaostest
