package engines

import (
	"context"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/shakedown-go/shakedown/contract"
)

// Activities are registered by each Temporal worker, besides [UnitWorkflow].
type Activities struct{ Units *contract.Units }

// RunUnit returns the line of a unit. A worker of another matrix or program than that of the head refuses it, and
// Temporal gives it to the next.
func (a *Activities) RunUnit(ctx context.Context, head []byte, unit string) ([]byte, error) {
	if err := a.Units.Check(head); err != nil {
		return nil, err
	}
	return a.Units.Run(ctx, unit)
}

// UnitWorkflow runs a unit until a worker has its line.
func UnitWorkflow(ctx workflow.Context, head []byte, unit string) (line []byte, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Minute, // what a unit may take; after it, its worker is taken for dead
	})
	err = workflow.ExecuteActivity(ctx, (*Activities).RunUnit, head, unit).Get(ctx, &line)
	return line, err
}
