package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/examples/internal/cli"
)

// settings are what the flags say.
type settings struct {
	seed      uint64
	out       string
	only      string
	dry       bool
	resume    bool
	fault     time.Duration
	noRestart bool
}

const (
	defaultSeed  = 1
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

func (s *settings) flags() *flag.FlagSet {
	*s = settings{seed: defaultSeed, fault: defaultFault}
	f := flag.NewFlagSet("gameday", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	f.Func("seed", fmt.Sprintf("`number` behind every draw (default %d)", s.seed), s.setSeed)
	f.StringVar(&s.out, "out", "",
		"`folder` for results, report and plot (default a new one among the temporary files)")
	f.Func("only", "run only the experiment of this `name`: "+strings.Join(names(), ", "), s.setOnly)
	f.BoolVar(&s.dry, "dry", false, "show what would run, and do nothing")
	f.BoolVar(&s.resume, "resume", false,
		"go on with the day in the folder -out: finished experiments are shown, not run again")
	f.Func("fault", fmt.Sprintf("`time` for which a fault lasts, %v to %v (default %v)", minFault, maxFault, s.fault),
		s.setFault)
	f.BoolVar(&s.noRestart, "no-restart", false,
		"leave out the rollback that starts the killed service again, to see a day that goes wrong")
	return f
}

// parse reads the flags. The error joins every problem, not just the first.
func parse(args []string) (*settings, error) {
	s := new(settings)
	problems := cli.Parse(s.flags(), args)
	if len(problems) == 1 && errors.Is(problems[0], flag.ErrHelp) {
		return nil, flag.ErrHelp
	}
	if s.resume && s.out == "" {
		problems = append(problems,
			errors.New("gameday: -resume without -out; allowed: with the folder of the day to go on with"))
	}
	if len(problems) > 0 {
		problems = append(problems, errors.New("gameday: -help lists the flags"))
		return nil, errors.Join(problems...)
	}
	return s, nil
}

func usage() string {
	var b strings.Builder
	b.WriteString("Usage: go run ./examples/gameday [flags]\n\n")
	f := new(settings).flags()
	f.SetOutput(&b)
	f.PrintDefaults()
	b.WriteString("\nExit status: 0 all recovered, 1 something did not, 3 could not run.\n")
	return b.String()
}

func (s *settings) setSeed(text string) (err error) {
	if s.seed, err = strconv.ParseUint(text, 10, 64); err != nil {
		return errors.New("allowed: 0 to 18446744073709551615")
	}
	return nil
}

func (s *settings) setOnly(name string) error {
	if !slices.Contains(names(), name) {
		return errors.New("allowed: " + strings.Join(names(), ", "))
	}
	s.only = name
	return nil
}

func (s *settings) setFault(text string) (err error) {
	if s.fault, err = time.ParseDuration(text); err != nil || s.fault < minFault || s.fault > maxFault {
		return fmt.Errorf("allowed: %v to %v", minFault, maxFault)
	}
	return nil
}
