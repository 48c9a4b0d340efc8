// Command suite runs a contract in a file against an agent behind HTTP, whose endpoint the
// file names.
//
//	go run ./examples/suite -f FILE
//
// It prints a report for each matrix of the file; that of the contract has the parts of the
// score, with their weights and what they count. The exit status is the verdict: 0 Pass, 1
// Fail, 2 Inconclusive. It is 3 if the file cannot be read or a matrix cannot be run; what
// is wrong in the file is printed, each problem with its line.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/contract/suite"
	"github.com/shakedown-go/shakedown/scoring"
)

// The exit statuses besides 0.
const (
	failed       = 1
	inconclusive = 2
	couldNotRun  = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program; it returns the exit status.
func run(ctx context.Context, args []string, out, problems io.Writer) int {
	flags := flag.NewFlagSet("suite", flag.ContinueOnError)
	flags.SetOutput(problems)
	path := flags.String("f", "", "the file with the contract, YAML or JSON")
	if err := flags.Parse(args); err != nil || *path == "" || flags.NArg() > 0 {
		if err == nil {
			fmt.Fprintln(problems, "suite: name a file: -f FILE")
		}
		return couldNotRun
	}
	s, err := suite.Load(*path, nil)
	if err != nil {
		fmt.Fprintln(problems, err)
		return couldNotRun
	}
	status, err := judge(ctx, s, out)
	if err := s.Close(); err != nil {
		fmt.Fprintln(problems, err)
		status = couldNotRun
	}
	if err != nil {
		fmt.Fprintln(problems, err)
		return couldNotRun
	}
	return status
}

// judge runs the matrices and prints what they show. The report of the contract has the
// parts of the score.
func judge(ctx context.Context, s *suite.Suite, out io.Writer) (status int, err error) {
	reports := map[string]*contract.Report{}
	var names []string
	for name, m := range s.Matrices(nil) {
		r, err := m.Run(ctx, nil)
		if err != nil {
			return 0, errors.Join(fmt.Errorf("%s: %w", name, err), show(out, names, reports))
		}
		names, reports[name] = append(names, name), r
	}
	result, unscored := s.Score(reports, nil)
	if result == nil {
		return 0, unscored
	}
	whole := reports[names[0]]
	whole.Mutation, whole.Replay = result.Mutation, result.Replay
	if unscored == nil {
		whole.Overall = &result.Overall
	}
	if err := show(out, names, reports); err != nil {
		return 0, err
	}
	if unscored != nil { // a part without a decided cell: the verdict says why
		fmt.Fprintf(out, "no overall score: %v\n", unscored)
	}
	fmt.Fprintf(out, "%v: %s\n", result.Verdict, result.Why)
	switch result.Verdict {
	case scoring.Pass:
		return 0, nil
	case scoring.Fail:
		return failed, nil
	}
	return inconclusive, nil
}

// show prints reports.
func show(out io.Writer, names []string, reports map[string]*contract.Report) error {
	for _, name := range names {
		fmt.Fprintf(out, "%s\n\n", strings.ToUpper(name))
		if err := report.Text(out, reports[name], nil); err != nil {
			return err
		}
		fmt.Fprintln(out)
	}
	return nil
}
