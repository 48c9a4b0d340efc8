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

	"golang.org/x/term"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/examples/internal/cli"
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
		fmt.Fprint(stdout, cli.Usage(new(settings).flags(), "0 Pass, 1 Fail, 2 Inconclusive, 3 could not run"))
		return exitPass
	}
	var status int
	if err == nil {
		if s.cell != nil {
			status, err = runCell(ctx, s, stdout)
		} else {
			status, err = runMatrix(ctx, s, stdout)
		}
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitError
	}
	return status
}

// runMatrix runs all cells and writes the report.
func runMatrix(ctx context.Context, s *settings, stdout io.Writer) (int, error) {
	m := s.matrix()
	r, err := m.Run(ctx, &contract.RunOptions{Workers: workers, Harness: contract.Harness{Rerun: s.rerun()}})
	if err != nil {
		return exitError, err
	}
	if err := errors.Join(s.score(ctx, r), s.explain(ctx, m, r, ""), s.cure(ctx, m, r)); err != nil {
		return exitError, err
	}
	if err := report.Text(stdout, r, &report.TextOptions{Width: width(stdout)}); err != nil {
		return exitError, err
	}
	if err := s.mended(ctx, r, stdout); err != nil {
		return exitError, err
	}
	fmt.Fprintf(stdout, "\n%s\n", s.next())
	if err := s.save(r); err != nil {
		return exitError, fmt.Errorf("quickstart: -json: %w", err)
	}
	return map[scoring.Verdict]int{scoring.Fail: exitFail, scoring.Inconclusive: exitInconclusive}[r.Score.Verdict], nil
}

const narrowest = 40 // columns of the narrowest readable table

// width is the number of columns of a terminal, 0 if it is unknown or w is none.
func width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return max(columns, narrowest)
		}
	}
	return 0
}

// save writes the run file, if one is asked for.
func (s *settings) save(r *contract.Report) (err error) {
	if s.json == "" {
		return nil
	}
	f, err := os.Create(s.json)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return report.Write(f, r, nil)
}

// matrix is the order desk's, with the seed and the number of trials asked for.
func (s *settings) matrix() *contract.Matrix {
	m := orderdesk.Matrix(s.habits)
	m.Seed, m.Trials, m.KeepValues = s.seed, s.trials, s.json != ""
	return m
}
