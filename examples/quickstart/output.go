package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
)

// An output is a format of the report beside the text, and where to write it.
type output struct {
	flag, name string
	write      func(io.Writer, *contract.Report) error
	values     bool   // it shows the arguments and results of calls
	to         string // a file; "-": standard output; "": nowhere
}

func outputs() []*output {
	return []*output{
		{flag: "json", name: "the run file", values: true,
			write: func(w io.Writer, r *contract.Report) error { return report.Write(w, r, nil) }},
		{flag: "html", name: "a page", values: true,
			write: report.HTML},
		{flag: "junit", name: "JUnit XML",
			write: func(w io.Writer, r *contract.Report) error { return report.JUnit(w, r, nil) }},
		{flag: "markdown", name: "Markdown",
			write: report.Markdown},
	}
}

// checkOutputs returns what is wrong with the outputs together.
func (s *settings) checkOutputs() (problems []error) {
	first := ""
	for _, o := range s.outputs {
		switch {
		case o.to != "" && s.cell != nil:
			problems = append(problems,
				fmt.Errorf("quickstart: -%s with -cell; allowed: one of the two, a cell is shown as text", o.flag))
		case o.to == "-" && first != "":
			problems = append(problems,
				fmt.Errorf("quickstart: -%s - beside -%s -; allowed: one format on standard output", o.flag, first))
		case o.to == "-":
			first = o.flag
		}
	}
	return problems
}

// keepsValues reports whether a format was asked for that shows arguments and results.
func (s *settings) keepsValues() bool {
	return slices.ContainsFunc(s.outputs, func(o *output) bool { return o.values && o.to != "" })
}

// text returns where the text goes: to stderr if stdout is for the program that reads
// another format.
func (s *settings) text(stdout, stderr io.Writer) io.Writer {
	for _, o := range s.outputs {
		if o.to == "-" {
			return stderr
		}
	}
	return stdout
}

// writeOutputs writes every format that was asked for.
func (s *settings) writeOutputs(stdout io.Writer, r *contract.Report) error {
	var errs []error
	for _, o := range s.outputs {
		if err := o.save(stdout, r); err != nil {
			errs = append(errs, fmt.Errorf("quickstart: -%s: %w", o.flag, err))
		}
	}
	return errors.Join(errs...)
}

func (o *output) save(stdout io.Writer, r *contract.Report) (err error) {
	switch o.to {
	case "":
		return nil
	case "-":
		return o.write(stdout, r)
	}
	f, err := os.Create(o.to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return o.write(f, r)
}
