// Package goal makes goals for a matrix: what must be reached in at least one cell,
// beside the invariants that must hold in all of them.
//
// An agent that gives up at the first error breaks few invariants. A goal says what it
// should have done instead:
//
//	m.Goals = []contract.Goal{
//		goal.Called("payments.refund"),    // some run got as far as a refund
//		goal.Recovered("orders.get"),      // some retry worked after a fault
//		goal.Answered("refunded .* 1042"), // some answer said so
//	}
//
// A goal that no cell reached makes the verdict inconclusive. Set Scenarios for one that
// must be reached in particular ones, and Name where two goals have the same:
//
//	retried := goal.Recovered("orders.get")
//	retried.Scenarios = []string{"orders-flaky"}
//
// An argument that is not valid is in [contract.Goal.Err], which [contract.Matrix.Validate]
// reports. Goals read the events and the answers of a run; see [contract.Goal] for your own.
//
// Stability: may change.
package goal

import (
	"regexp"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/text"
)

// Called is reached when the agent calls the target, a glob over injection points, and
// the call succeeds. The call may have met a fault that lets it succeed, such as a
// delay. The goal's name is "called-" and the target.
func Called(target string) contract.Goal {
	return ofTarget("called", target, func(events []chaos.Event, matches func(string) bool) bool {
		for i := range events {
			if e := &events[i]; e.Outcome == chaos.OutcomeOK && matches(e.Target) {
				return true
			}
		}
		return false
	})
}

// Recovered is reached when a call to the target, a glob over injection points, failed
// with a delivered fault, and a later one succeeded: in the same answer, in the same
// lane and from the same caller, to the same target with equal arguments. A point whose calls
// have no key ([chaos.WrapOptions]) does not tell them apart: any later call counts. The
// goal's name is "recovered-" and the target.
//
// A fault that is an answer, such as a status of HTTP, does not make the call fail, and
// neither does one that changes a result.
func Recovered(target string) contract.Goal {
	return ofTarget("recovered", target, func(events []chaos.Event, matches func(string) bool) bool {
		type call struct {
			lane, caller, target string
			key                  uint64
		}
		failed := map[call]*chaos.Event{}
		for i := range events { // in the order in which they began
			e := &events[i]
			if !matches(e.Target) {
				continue
			}
			c := call{e.Lane, e.Caller, e.Target, e.Key}
			switch before := failed[c]; {
			case e.Outcome == chaos.OutcomeOK && before != nil && e.Start >= before.End:
				return true
			case e.Outcome != chaos.OutcomeOK && e.Delivered && before == nil:
				failed[c] = e
			}
		}
		return false
	})
}

// Answered is reached when an answer of the agent matches the regular expression, in
// the syntax of package regexp. An answer that is an error does not count. The goal's
// name is "answered-" and the pattern, in which '_' stands for what a name cannot have.
func Answered(pattern string) contract.Goal {
	g := contract.Goal{Name: nameOf("answered", pattern)}
	re, err := regexp.Compile(pattern)
	if err == nil && pattern != "" {
		g.Reached = func(o *contract.Observation) bool { return o.Err == nil && re.MatchString(o.Response) }
		return g
	}
	return refused(g, "Answered: pattern", pattern, err, "a regular expression that is not empty")
}

// ofTarget makes a goal that the calls of an answer reach.
func ofTarget(what, target string, reached func(events []chaos.Event, matches func(string) bool) bool) contract.Goal {
	g := contract.Goal{Name: nameOf(what, target)}
	targets, err := glob.Compile(target)
	if err != nil {
		return refused(g, strings.ToUpper(what[:1])+what[1:]+": target", target, err, `a glob such as "orders.*"`)
	}
	g.Reached = func(o *contract.Observation) bool { return reached(o.Events, targets.Match) }
	return g
}

// refused is a goal with a problem, which no run reaches.
func refused(g contract.Goal, argument, value string, err error, allowed string) contract.Goal {
	g.Err = fielderror.Package("goal").Because(argument, value, err, allowed)
	g.Reached = func(*contract.Observation) bool { return false }
	return g
}

// nameOf is the name of a goal about an argument.
func nameOf(what, argument string) string { return text.Name(what+"-"+argument, 60) }
