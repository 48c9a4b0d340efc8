// Package scenarios makes scenarios for a matrix.
//
// [FourPaths] makes four scenarios of one target: a time-out, a hang, a failure that a
// retry overcomes, and one that none does. They are a first matrix for any tool:
//
//	m.Scenarios = append(m.Scenarios, scenarios.FourPaths("orders.get", 5*time.Second)...)
//
// Stability: may change.
package scenarios

import (
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/text"
)

// maxName bounds a name that is made of a target, in bytes.
const maxName = 60

// FourPaths makes four scenarios of a target, a glob over injection points. Between
// them an agent takes every way that it has around a call:
//
//   - "-timeout": the first call times out after wait, before it reaches its callee;
//   - "-hang": every call hangs until its caller's context ends;
//   - "-fails-once": the first call fails, and the next one works;
//   - "-fails": every call fails, with [fault.ErrUnavailable].
//
// Their names begin with the target, in which '_' stands for what a name cannot have.
// The first call is that of each target and lane. wait is at least 0. A target or a
// wait that is not allowed is an error of [contract.Matrix.Validate].
func FourPaths(target string, wait time.Duration) []contract.Scenario {
	name := text.Name(target, maxName)
	down := fault.Fail(fault.ErrUnavailable)
	return []contract.Scenario{
		contract.Under(name+"-timeout", chaos.Rule{Target: target, When: when.Nth(1), Fault: fault.Timeout(wait)}),
		contract.Under(name+"-hang", chaos.Rule{Target: target, Fault: fault.Hang()}),
		contract.Under(name+"-fails-once", chaos.Rule{Target: target, When: when.Nth(1), Fault: down}),
		contract.Under(name+"-fails", chaos.Rule{Target: target, Fault: down}),
	}
}
