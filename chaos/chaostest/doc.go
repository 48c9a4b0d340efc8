// Package chaostest checks that a fault, a trigger or a wrapper of your own meets the
// requirements of package chaos.
//
// Like testing/fstest it returns an error and does not use package testing. The
// error joins every violation found, each a [*Violation] that names the failed
// [Check]:
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
// Run the checks in a bubble of testing/synctest. There waits of hours take no
// time, and "at once" is exact; a check takes a few milliseconds. Outside, [Fault]
// does not check what ends a wait, and cuts a wait short after a second.
//
// A check ends the goroutines that it starts. One that the code under test leaves waiting
// ends the bubble with its stack. Run the tests with -race: the checks call from
// several goroutines at once, so that the race detector finds data races.
//
// # What is checked
//
// [Fault] wraps a small callee and injects the fault into its calls. It compares
// what the caller got with what the callee returned and with the event. [When]
// asks the trigger about many calls: twice, in another order, and from several
// goroutines. [Wrapper] and [Streams] call through a wrapper, around a callee that counts, with
// faults and without, and compare what the caller got and what the callee saw with the
// event. The constants of type [Check] list the requirements.
//
// Stability: may change.
package chaostest
