package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/habits"
	"github.com/shakedown-go/shakedown/contract/search"
	"github.com/shakedown-go/shakedown/examples/internal/orderdesk"
)

// explainRuns is the most runs in which the program looks for the defects behind broken
// cells; those of the fragile agent take 200, some six seconds. A bound in time would have
// a slow machine report other defects.
const explainRuns = 1000

// explain finds the defects behind the broken cells of a report. The command line of a
// defect shows its cell under the fewest faults.
func (s *settings) explain(ctx context.Context, m *contract.Matrix, r *contract.Report, dir string) error {
	err := search.Explain(ctx, m, r, &search.Options{
		Run:    contract.RunOptions{Workers: workers},
		Budget: search.Budget{Runs: explainRuns},
		Dir:    dir,
	})
	for i := range r.Defects {
		r.Defects[i].Rerun = strings.Replace(r.Defects[i].Rerun, " -cell ", " -fewest -cell ", 1)
	}
	return err
}

// cure finds what would mend the defects of a report: habits around the agent's tools.
func (s *settings) cure(ctx context.Context, m *contract.Matrix, r *contract.Report) error {
	return search.Cure(ctx, m, r, &search.Options{
		Run: contract.RunOptions{Workers: workers}, Budget: search.Budget{Runs: explainRuns}, Habits: orderdesk.HabitsToTry(),
	})
}

// mended runs the whole matrix again with the habits that mend the defects, and says how it ends.
func (s *settings) mended(ctx context.Context, r *contract.Report, stdout io.Writer) error {
	if r.Cure == nil || len(r.Cure.Habits) == 0 {
		return nil
	}
	around := habits.Around(search.HabitsOf(r.Cure, orderdesk.HabitsToTry())...)
	with, err := s.matrix().Run(ctx, &contract.RunOptions{Workers: workers, Around: around})
	if err == nil {
		_, err = fmt.Fprintf(stdout, "\nWith these %d habits around its tools, the same agent: %v %s\n", len(r.Cure.Habits),
			with.Score.Verdict, with.Score.Why)
	}
	return err
}

// showFewest shows a broken cell under the fewest faults that break it. They are kept in a
// folder for as long as it takes to run them.
func showFewest(
	ctx context.Context, s *settings, m *contract.Matrix, cell *contract.CellReport, stdout io.Writer,
) error {
	dir, err := os.MkdirTemp("", "quickstart")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r := &contract.Report{Seed: m.Seed, Trials: m.Trials, Cells: []contract.CellReport{*cell}}
	if err := s.explain(ctx, m, r, dir); err != nil {
		return err
	}
	kept, err := search.ReadKept(dir, nil)
	if err != nil {
		return err
	}
	defect := &r.Defects[0]
	shown := cell
	if len(kept) > 0 {
		if _, shown, err = kept[0].Run(ctx, m, nil); err != nil {
			return err
		}
	}
	fmt.Fprintf(stdout, "fewest faults: %s (%d further runs)\n", defect.Sentence, r.SearchRuns)
	if defect.Difference != "" {
		fmt.Fprintf(stdout, "two runs differ at %s\n", defect.Difference)
	}
	if len(kept) == 0 {
		fmt.Fprintln(stdout, "they could not be run again alone; the cell as it was:")
	}
	if err := showCell(stdout, s, shown); err != nil {
		return err
	}
	for i, fact := range defect.Facts {
		fmt.Fprintf(stdout, "%-8s%s\n", []string{"facts", ""}[min(i, 1)], fact)
	}
	return nil
}
