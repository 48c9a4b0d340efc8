package engines

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/shakedown-go/shakedown/contract"
)

// OnTemporal writes the run file of a run. A workflow a unit, named by run and unit, has no history that grows; when
// OnTemporal is called again, it finds those that it began.
func OnTemporal(ctx context.Context, c client.Client, queue, run string, units *contract.Units, file io.Writer) error {
	head, err := units.Head(run)
	if err != nil {
		return err
	}
	var begun []client.WorkflowRun
	for _, unit := range units.Names() {
		o := client.StartWorkflowOptions{ID: run + "/" + unit, TaskQueue: queue,
			WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY}
		w, err := c.ExecuteWorkflow(ctx, o, UnitWorkflow, head, unit)
		if err != nil {
			return fmt.Errorf("start %s: %w", unit, err)
		}
		begun = append(begun, w)
	}
	_, err = file.Write(head)
	for i := 0; i < len(begun) && err == nil; i++ {
		var line []byte
		if err = begun[i].Get(ctx, &line); err == nil {
			_, err = file.Write(line)
		}
	}
	return err
}

// OnRiver writes the run file of a run. A unit that River has given up is not in it, and the merge names it.
func OnRiver[Tx any](ctx context.Context, c *river.Client[Tx], run string, units *contract.Units, file io.Writer) error {
	head, err := units.Head(run)
	if err != nil {
		return err
	}
	var jobs []river.InsertManyParams
	for _, unit := range units.Names() {
		jobs = append(jobs, river.InsertManyParams{Args: UnitArgs{head, unit}})
	}
	begun, err := c.InsertMany(ctx, jobs)
	if err != nil {
		return fmt.Errorf("insert the units: %w", err)
	}
	_, err = file.Write(head)
	for i := 0; i < len(begun) && err == nil; i++ {
		var line []byte
		if line, err = ended(ctx, c, begun[i].Job.ID); err == nil {
			_, err = file.Write(line)
		}
	}
	return err
}

// ended waits until a job has ended, and returns what it put out.
func ended[Tx any](ctx context.Context, c *river.Client[Tx], id int64) (line []byte, err error) {
	for {
		job, err := c.JobGet(ctx, id)
		if err != nil {
			return nil, err
		}
		switch job.State {
		case rivertype.JobStateCompleted:
			return line, json.Unmarshal(job.Output(), &line)
		case rivertype.JobStateDiscarded, rivertype.JobStateCancelled:
			return nil, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
