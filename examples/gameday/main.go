// Command gameday breaks a small system of real processes on purpose, on this
// machine alone, and reports the effects from the recorded calls. The system is a
// gateway, an orders service behind it, and a stock service behind that.
//
//	go run ./examples/gameday                      # the whole day, some 14 s
//	go run ./examples/gameday -dry                 # what would run
//	go run ./examples/gameday -only kill-stock     # one experiment
//	go run ./examples/gameday -resume -out FOLDER  # go on after a crash
//
// The exit status is 0 when all recovered, 1 when something did not, and 3 when
// the program could not do its work or was interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/shakedown-go/shakedown/chaos/experiment/gameday"
)

const (
	exitRecovered    = 0
	exitNotRecovered = 1
	exitError        = 3
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == serveCommand {
		if err := serve(os.Args[2], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(exitError)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C then ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program; it returns the status to exit with.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage())
		return exitRecovered
	}
	status := exitError
	if err == nil {
		status, err = play(ctx, s, stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitError
	}
	return status
}

// play runs the day, or shows what it would run.
func play(ctx context.Context, s *settings, stdout io.Writer) (status int, err error) {
	var text strings.Builder
	d, err := newDay(s, io.MultiWriter(stdout, &text))
	if err != nil {
		return exitError, err
	}
	if err := d.open(); err != nil {
		return exitError, err
	}
	defer func() { err = errors.Join(err, d.history.Close()) }()
	for _, c := range d.history.CutOff() {
		fmt.Fprintf(d.out, "\n%s: began at %s and was cut off, so it was not rolled back; its services ended with it\n",
			c.Name, c.StartedAt.Format(time.RFC3339))
	}
	if s.dry {
		return exitRecovered, d.dry(ctx)
	}
	for _, c := range d.history.CutOff() { // the services are new ones
		if _, err := d.history.Settle(c.Name); err != nil {
			return exitError, err
		}
	}
	for _, r := range d.results {
		fmt.Fprintf(d.out, "\n%s: finished before\n%s", r.Name, r.text())
	}
	if err := d.run(ctx); err != nil {
		return exitError, err
	}
	r, err := d.sum()
	if err != nil {
		return exitError, err
	}
	fmt.Fprint(d.out, r.text())
	if err := d.write(r, text.String()); err != nil {
		return exitError, err
	}
	fmt.Fprintf(stdout, "\nResults, report and plots are in %s\n", s.out)
	return d.status(), nil
}

// open makes the folder, and reads what it has of the day that is resumed.
func (d *day) open() (err error) {
	if d.set.dry && !d.set.resume {
		d.history = gameday.NewHistory(0)
		return nil
	}
	if d.set.out == "" {
		d.set.out, err = os.MkdirTemp("", "gameday-")
	} else {
		err = os.MkdirAll(d.set.out, 0o755)
	}
	if err != nil {
		return fmt.Errorf("gameday: -out: %w", err)
	}
	if d.history, err = gameday.OpenHistory(filepath.Join(d.set.out, "history.jsonl"), 0); err != nil {
		return err
	}
	if !d.set.resume && len(d.history.Results("")) > 0 {
		err = fmt.Errorf("gameday: %s has results of another day; allowed: a new folder, or -resume", d.set.out)
	} else {
		d.results, err = loadResults(d.set.out, d.history)
	}
	if err != nil {
		return errors.Join(err, d.history.Close())
	}
	return nil
}

// status reports whether all that ran has recovered.
func (d *day) status() int {
	for _, r := range d.results {
		if !r.Verdict.good() {
			return exitNotRecovered
		}
	}
	return exitRecovered
}
