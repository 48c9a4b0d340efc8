// Package scenarios makes scenarios for a matrix.
//
// [FourPaths] makes four scenarios of one target: a time-out, a hang, a failure that a
// retry overcomes, and one that none does. They are a first matrix for any tool:
//
//	m.Scenarios = append(m.Scenarios, scenarios.FourPaths("orders.get", 5*time.Second)...)
//
// [ByPosition] makes three scenarios of one rule. Its fault is injected into the
// first, the second or the last third of the calls that a calm run makes.
//
//	calm := report.Cells[0].Evidence.Events // of a cell of contract.Calm()
//	down := chaos.Rule{Name: "orders-down", Target: "orders.*", Fault: fault.Fail(fault.ErrUnavailable)}
//	more, err := scenarios.ByPosition(calm, down)
//	m.Scenarios = append(m.Scenarios, more...)
package scenarios

import (
	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// fields makes the errors of this package.
const fields = fielderror.Package("scenarios")

// maxName bounds a name that is made of a target, in bytes.
const maxName = 60
