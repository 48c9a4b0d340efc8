// Command quickstart puts the order desk, a small agent over a real database,
// through every scenario, and reports which of its invariants hold. It scores
// the agent in four parts: the contract, under faults, with prompts in other
// words, and in a failure that was saved.
//
//	go run ./examples/quickstart                  # the robust agent
//	go run ./examples/quickstart -agent fragile   # the fragile one
//
// The exit status is the verdict: 0 Pass, 1 Fail, 2 Inconclusive. It is 3 if the
// program could not do its work.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/examples/internal/orderdesk"
	"github.com/shakedown-go/shakedown/scoring"
)

const (
	exitPass         = 0
	exitFail         = 1
	exitInconclusive = 2
	exitError        = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C then ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program; it returns the status to exit with.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage())
		return exitPass
	}
	var status int
	if err == nil {
		if s.cell != nil {
			status, err = runCell(ctx, s, stdout)
		} else {
			status, err = runMatrix(ctx, s, stdout, stderr)
		}
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitError
	}
	return status
}

// runMatrix runs all cells and writes the report.
func runMatrix(ctx context.Context, s *settings, stdout, stderr io.Writer) (int, error) {
	m := s.matrix()
	all := len(m.Cells())
	bar := newProgress(stderr, all)
	r, err := m.Run(ctx,
		&contract.RunOptions{Workers: workers, Harness: contract.Harness{Rerun: s.rerun()}, OnCell: bar.cell})
	bar.done()
	if err != nil {
		return exitError, interrupted(ctx, r, all, err)
	}
	if err := errors.Join(s.score(ctx, r), s.explain(ctx, m, r, ""), s.judge.correct(r)); err != nil {
		return exitError, interrupted(ctx, r, all, err)
	}
	if err := report.Text(stdout, r, &report.TextOptions{Width: width(stdout)}); err != nil {
		return exitError, err
	}
	fmt.Fprintf(stdout, "\n%s\n", s.next())
	if err := s.writeOutputs(r); err != nil {
		return exitError, err
	}
	return statusOf(r.Score.Verdict), nil
}

func statusOf(v scoring.Verdict) int {
	switch v {
	case scoring.Pass:
		return exitPass
	case scoring.Fail:
		return exitFail
	}
	return exitInconclusive
}

// interrupted reports the progress of a run that Ctrl-C ended.
func interrupted(ctx context.Context, r *contract.Report, all int, err error) error {
	if ctx.Err() == nil {
		return err
	}
	ran := 0
	if r != nil { // nil: it ended before the first cell
		for i := range r.Cells {
			if r.Cells[i].State != contract.NotRun {
				ran++
			}
		}
	}
	return fmt.Errorf("quickstart: interrupted after %d of %d cells", ran, all)
}

// matrix is the order desk's, with the seed and the number of trials asked for.
func (s *settings) matrix() *contract.Matrix {
	m := orderdesk.Matrix(s.habits)
	m.Seed, m.Trials, m.KeepValues = s.seed, s.trials, len(s.wanted()) > 0
	s.judge.into(m)
	return m
}
