package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/shakedown-go/shakedown/contract/search"
	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// explainSuite looks for the defects behind broken cells: those of a run that is kept, or of a new one.
func explainSuite(ctx context.Context, c *command) (status int, err error) {
	s := newSuiteRun(c)
	from := c.flags.String("from", "", "explain the run in `FILE`, a run file; left out: run the suite first")
	budget := search.Budget{} // each run is a request to a real agent
	c.flags.IntVar(&budget.Runs, "runs", 200, "the most runs of the agent, a `NUMBER` from 1; left out: 200")
	c.flags.DurationVar(&budget.Time, "time", 10*time.Minute, "the longest time, a `DURATION` such as 90s; left out: 10m")
	cure := c.flags.Bool("cure", false, "then find the habits that mend the defects, in as many runs and as much time again")
	if err := s.prepare(); err != nil {
		return 0, err
	}
	wrong := fields.List()
	wrong.Demand(budget.Runs > 0, "--runs", budget.Runs, "1 and more")
	wrong.Demand(budget.Time > 0, "--time", budget.Time, "more than 0")
	if m := s.matrices[0].matrix; m.Reset == nil { // one agent that remembers says nothing when it is asked again
		wrong.Add(&fielderror.Error{File: s.path, Field: "agent/reset_endpoint",
			Allowed: "an address that makes the agent forget: to explain, it is asked again and again"})
	}
	if *from != "" {
		wrong.Add(fielderror.Apart(s.take(*from))...)
	}
	if err := wrong.Err(); err != nil {
		return 0, err
	}
	for _, one := range s.matrices {
		if one.report == nil {
			s.ask(ctx, one)
		}
		if one.report == nil || one.err != nil || ctx.Err() != nil {
			continue
		}
		told := s.newProgress("explaining " + one.name)
		o := &search.Options{Budget: budget, Secrets: one.matrix.Secrets, OnProgress: told.search}
		if one.err = search.Explain(ctx, one.matrix, one.report, o); one.err == nil && *cure {
			one.err = search.Cure(ctx, one.matrix, one.report, o)
		}
		told.end()
	}
	if *from != "" {
		return s.finish(nil)
	}
	return s.finish(s.score())
}

// take takes the report of a run file in place of a run, and leaves out the other matrices.
func (s *suiteRun) take(path string) error {
	r, err := readRun(path)
	if err != nil {
		return err
	}
	var wrong error // how it differs from the first matrix
	for _, one := range s.matrices {
		compared, err := one.matrix.CheckReport(r, cmp.Or(os.Getenv("SHAKEDOWN_BUILD"), unknownBuild))
		if err != nil {
			wrong = cmp.Or(wrong, err)
			continue
		}
		if !compared {
			fmt.Fprintf(s.problems, "shakedown: nothing shows that %s is of the agent that runs now: SHAKEDOWN_BUILD of both runs names it\n", path)
		}
		one.report, s.matrices = r, []*matrixRun{one}
		return nil
	}
	return inFile(path, reworded(wrong))
}
