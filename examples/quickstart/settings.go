package main

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/examples/internal/cli"
	"github.com/shakedown-go/shakedown/examples/internal/orderdesk"
)

// settings are what the flags say.
type settings struct {
	agent  string
	habits orderdesk.Habits
	seed   uint64
	trials int
	cell   *contract.Cell
	fewest bool
	json   string // the run file to write; "": none
}

const (
	robust  = "robust"
	fragile = "fragile"
	// workers is how many cells run at once. Most wait most of the time, so there may be
	// more than processors.
	workers = 16
)

func (s *settings) flags() *flag.FlagSet {
	*s = settings{
		agent: robust, habits: orderdesk.Robust(),
		seed: orderdesk.DefaultSeed, trials: orderdesk.DefaultTrials,
	}
	f := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	f.Func("agent", "`name` of the agent: robust or fragile (default "+robust+")", s.setAgent)
	f.Func("seed", fmt.Sprintf("`number` behind every draw (default %d)", s.seed), s.setSeed)
	f.Func("trials", fmt.Sprintf("`times` each invariant is tried in each scenario (default %d)", s.trials),
		s.setTrials)
	f.Func("cell", "run only this cell, `scenario/invariant/trial`, and show what happened", s.setCell)
	f.BoolVar(&s.fewest, "fewest", false, "with -cell: under the fewest faults that break it")
	f.StringVar(&s.json, "json", "", "write the run file to this `file`")
	return f
}

// parse reads the flags. The error joins every problem, not just the first.
func parse(args []string) (*settings, error) {
	s := new(settings)
	problems := cli.Parse(s.flags(), args)
	if s.cell != nil && s.json != "" {
		problems = append(problems, errors.New("quickstart: -json with -cell; allowed: one of the two, a cell is shown as text"))
	}
	if s.fewest && s.cell == nil {
		problems = append(problems, errors.New("quickstart: -fewest without -cell; allowed: beside -cell"))
	}
	if len(problems) > 0 {
		problems = append(problems, errors.New("quickstart: -help lists the flags"))
		return nil, errors.Join(problems...)
	}
	if s.cell != nil {
		s.trials = max(s.trials, s.cell.Trial)
	}
	return s, nil
}

func (s *settings) setAgent(name string) error {
	switch name {
	case robust:
		s.habits = orderdesk.Robust()
	case fragile:
		s.habits = orderdesk.Fragile()
	default:
		return errors.New("allowed: robust, fragile")
	}
	s.agent = name
	return nil
}

func (s *settings) setSeed(text string) (err error) {
	if s.seed, err = strconv.ParseUint(text, 10, 64); err != nil {
		return errors.New("allowed: 0 to 18446744073709551615")
	}
	return nil
}

func (s *settings) setTrials(text string) (err error) {
	if s.trials, err = strconv.Atoi(text); err != nil || s.trials < 1 {
		return errors.New("allowed: a number of 1 or more")
	}
	return nil
}

func (s *settings) setCell(text string) error {
	parts := strings.Split(text, "/")
	if len(parts) == 3 {
		trial, err := strconv.Atoi(parts[2])
		if err == nil && trial >= 1 {
			s.cell = &contract.Cell{Scenario: parts[0], Invariant: parts[1], Trial: trial}
			return nil
		}
	}
	return errors.New("allowed: scenario/invariant/trial, as in calm/one-refund/1")
}

// rerun is the line that repeats a cell, as a pattern.
func (s *settings) rerun() string {
	line := "go run ./examples/quickstart -agent " + s.agent
	if s.seed != orderdesk.DefaultSeed {
		line += " -seed " + strconv.FormatUint(s.seed, 10)
	}
	return line + " -cell '{scenario}/{invariant}/{trial}'"
}

// next is what to look at after this run.
func (s *settings) next() string {
	if s.agent == robust {
		return "The same agent without its good habits:  go run ./examples/quickstart -agent fragile"
	}
	return "The same agent with its good habits:  go run ./examples/quickstart -agent robust"
}
