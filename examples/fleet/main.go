// Command fleet spreads a matrix over eight processes, kills three of them on the way, and compares what
// comes out with the report of one process.
//
//	go run ./examples/fleet    # it starts a server too
//
// The exit status is 0 if both are equal, whatever the verdict, 1 if they differ, 2 for wrong flags, and 3
// if the program could not do its work.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
)

const (
	exitEqual  = 0
	exitDiffer = 1
	exitError  = 3
)

func main() {
	d := new(desk)
	flag.StringVar(&d.nats, "nats", "", "`URL` of the server; it is for the workers that the program starts")
	flag.StringVar(&d.run, "work", "", "be a worker of the run with this `ID`, on the server of -nats")
	flag.IntVar(&d.trials, "trials", 25, "`times` that each scenario runs, 80 cells each; equal in all processes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C then ends the process at once
	var status int
	var err error
	switch {
	case d.run == "" && d.nats != "":
		err = errors.New("fleet: -nats without -work; allowed: beside -work")
	case d.run == "":
		status, err = d.compare(ctx)
	case d.nats == "":
		err = errors.New("fleet: -work without -nats; allowed: beside -nats")
	default:
		err = d.work(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = exitError
	}
	os.Exit(status)
}

// progress shows on a terminal how many cells are done.
func progress(who string, cells int) *progressbar.ProgressBar {
	return progressbar.NewOptions(cells, progressbar.OptionSetDescription(who), progressbar.OptionShowCount(),
		progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetVisibility(term.IsTerminal(int(os.Stderr.Fd()))),
		progressbar.OptionClearOnFinish())
}

// compare runs the matrix by a fleet and by this process, with as many cells at once, and shows both reports
// beside each other.
func (d *desk) compare(ctx context.Context) (status int, err error) {
	begun := time.Now()
	spread, err := d.spread(ctx)
	if err != nil {
		return exitError, err
	}
	between, m := time.Now(), d.matrix()
	bar := progress("one process", len(m.Cells()))
	one, err := m.Run(ctx, &contract.RunOptions{Workers: workers, OnCell: func(*contract.CellReport) { _ = bar.Add(1) }})
	if err != nil {
		return exitError, err
	}
	const columns = "%-20s  %-14v  %v\n"
	fmt.Printf("\n"+columns, "held, of decided", "fleet", "one process")
	for _, scenario := range spread.Scenarios {
		fmt.Printf(columns, scenario, held(spread, scenario), held(one, scenario))
	}
	fmt.Printf(columns, "verdict", spread.Score.Verdict, one.Score.Verdict)
	const tenth = 100 * time.Millisecond
	fmt.Printf(columns, "time", between.Sub(begun).Round(tenth), time.Since(between).Round(tenth))
	return difference(os.Stdout, spread, one)
}

// held says how many of the decided cells of a scenario held.
func held(r *contract.Report, scenario string) string {
	held, decided := 0, 0
	for _, f := range r.Fields {
		if f.Scenario == scenario {
			held, decided = held+f.Held, decided+f.Decided
		}
	}
	return fmt.Sprintf("%d of %d", held, decided)
}

// difference reports whether the run files of both reports are equal without their times.
func difference(w io.Writer, spread, one *contract.Report) (status int, err error) {
	var files [2]bytes.Buffer
	for i, r := range []*contract.Report{spread, one} {
		if err := report.Write(&files[i], r, &report.WriteOptions{Stable: true}); err != nil {
			return exitError, err
		}
	}
	if !bytes.Equal(files[0].Bytes(), files[1].Bytes()) {
		fmt.Fprintln(w, "\ndifferent")
		return exitDiffer, nil
	}
	fmt.Fprintf(w, "\nequal: two run files of %d bytes, without times\n", files[0].Len())
	return exitEqual, nil
}
