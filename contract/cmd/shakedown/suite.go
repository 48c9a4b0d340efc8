package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/lint"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/suite"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A matrixRun is a matrix of a suite, and what became of it.
type matrixRun struct {
	name   string
	matrix *contract.Matrix
	before *contract.Report // the baseline; nil: none was named
	report *contract.Report // nil: it did not run
	err    error
}

// inWords has what package suite says to programmers in the words of who writes a file.
var inWords = strings.NewReplacer("an agent that Go gives to Suite.Matrices (Options.OwnWorlds)", "an agent in Go, in a test",
	"names in Options.Effects, which has none", "names of functions of a test in Go, and here is none",
	"RunOptions.Build of both runs may name it", "SHAKEDOWN_BUILD of both runs may name it", "of the matrix", "of the suite")

func reworded(err error) error {
	for _, err := range fielderror.Apart(err) {
		if wrong, ok := errors.AsType[*fielderror.Error](err); ok {
			wrong.Allowed = inWords.Replace(wrong.Allowed)
		}
	}
	return err
}

// load reads a suite whose agent is behind HTTP.
func load(path string) (*suite.Suite, []*matrixRun, error) {
	if _, err := input(path, "a suite"); err != nil {
		return nil, nil, err
	}
	s, err := suite.Load(path, nil)
	if err != nil {
		return nil, nil, reworded(err)
	}
	var all []*matrixRun
	for name, m := range s.Matrices(nil) {
		all = append(all, &matrixRun{name: name, matrix: m})
	}
	if all[0].matrix.World == nil { // the contract's worlds are the agent of the file
		return nil, nil, &fielderror.Error{File: path, Field: "agent", Allowed: "one behind HTTP: agent: {endpoint: URL}"}
	}
	return s, all, nil
}

// lintSuite says what a suite asks, or what is wrong with it.
func lintSuite(_ context.Context, c *command) (status int, err error) {
	operands, err := c.parse(1, 1)
	if err != nil {
		return 0, err
	}
	_, all, err := load(operands[0])
	if err != nil {
		return 0, err
	}
	for _, one := range all {
		if err := one.matrix.Validate(); err != nil { // package suite has found most before
			return 0, inFile(operands[0], err)
		}
		outline(c.out, one)
	}
	return 0, nil
}

// outline says what a matrix asks, and what in it does nothing.
func outline(w io.Writer, one *matrixRun) {
	m := one.matrix
	fmt.Fprintf(w, "%s %s: %s of %s in %s, seed %d\n", one.name, text.Quote(m.Name, 200), text.Plural(len(m.Cells()), "cell"),
		text.Plural(len(m.Invariants), "invariant"), text.Plural(len(m.Scenarios), "scenario"), m.Seed)
	for _, s := range m.Scenarios {
		plan, err := chaos.NewPlan(m.Seed, s.Rules...)
		if err != nil { // Validate has made it before
			continue
		}
		for _, f := range lint.Plan(plan) {
			fmt.Fprintf(w, "  scenario %q: %v\n", s.Name, f)
		}
	}
}
