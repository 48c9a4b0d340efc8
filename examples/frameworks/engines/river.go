package engines

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/shakedown-go/shakedown/contract"
)

// UnitArgs are a unit, and the head of its run file.
type UnitArgs struct {
	Head []byte `json:"head"`
	Unit string `json:"unit"`
}

func (UnitArgs) Kind() string { return "shakedown_unit" }

// InsertOpts has OnRiver find the jobs that it began, when it is called again.
func (UnitArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}}
}

// A UnitWorker runs units. One of another matrix or program than that of the head refuses, and River gives the unit
// to another later.
type UnitWorker struct {
	river.WorkerDefaults[UnitArgs]
	Units *contract.Units
}

func (w *UnitWorker) Timeout(*river.Job[UnitArgs]) time.Duration { return 10 * time.Minute }

func (w *UnitWorker) Work(ctx context.Context, job *river.Job[UnitArgs]) error {
	if err := w.Units.Check(job.Args.Head); err != nil {
		return err
	}
	line, err := w.Units.Run(ctx, job.Args.Unit)
	if err != nil {
		return err
	}
	return river.RecordOutput(ctx, line)
}
