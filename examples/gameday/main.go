// Command gameday breaks a small system on purpose, on this machine's loopback alone,
// and shows the effects from the recorded calls. The system is a gateway, an orders
// service behind it, and a stock service behind that.
//
//	go run ./examples/gameday                      # the whole day, some 11 s
//	go run ./examples/gameday -only kill-stock     # one experiment
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
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/shakedown-go/shakedown/examples/internal/cli"
)

const (
	exitRecovered    = 0
	exitNotRecovered = 1
	exitError        = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C then ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program; it returns the status to exit with.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, flags := newSettings()
	problems := cli.Parse(flags, args)
	if errors.Is(errors.Join(problems...), flag.ErrHelp) {
		fmt.Fprint(stdout, cli.Usage(flags, "0 all recovered, 1 something did not, 3 could not run"))
		return exitRecovered
	}
	if len(problems) > 0 {
		fmt.Fprintln(stderr, errors.Join(append(problems, errors.New("gameday: -help lists the flags"))...))
		return exitError
	}
	d, err := newDay(s, stdout)
	if err == nil {
		err = d.run(ctx)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitError
	}
	return d.status()
}

// settings are what the flags say.
type settings struct {
	only      string
	fault     time.Duration
	noRestart bool
}

const (
	defaultFault = 2 * time.Second
	minFault     = 300 * time.Millisecond
	maxFault     = 5 * time.Second
)

// bin is the length of a bin of the timeline: some ten to a fault.
func (s *settings) bin() time.Duration {
	if s.fault < defaultFault {
		return 100 * time.Millisecond
	}
	return 200 * time.Millisecond
}

func newSettings() (*settings, *flag.FlagSet) {
	s := &settings{fault: defaultFault}
	f := flag.NewFlagSet("gameday", flag.ContinueOnError)
	f.Func("only", "run only the experiment of this `name`: "+strings.Join(names(), ", "), func(name string) error {
		if s.only = name; !slices.Contains(names(), name) {
			return errors.New("allowed: " + strings.Join(names(), ", "))
		}
		return nil
	})
	f.Func("fault", fmt.Sprintf("`time` for which a fault lasts, %v to %v (default %v)", minFault, maxFault, s.fault),
		func(text string) (err error) {
			if s.fault, err = time.ParseDuration(text); err != nil || s.fault < minFault || s.fault > maxFault {
				return fmt.Errorf("allowed: %v to %v", minFault, maxFault)
			}
			return nil
		})
	f.BoolVar(&s.noRestart, "no-restart", false,
		"leave out the rollback that starts the killed service again, to see a day that goes wrong")
	return s, f
}
