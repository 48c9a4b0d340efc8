package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
)

// An output is a form of the report beside the text, and the file for it; "": none.
type output struct {
	flag, name string
	write      func(io.Writer, *contract.Report) error
	to         string
}

func outputs() []*output {
	return []*output{
		{flag: "json", name: "the run file",
			write: func(w io.Writer, r *contract.Report) error { return report.Write(w, r, nil) }},
		{flag: "html", name: "a page", write: report.HTML},
	}
}

// wanted returns the outputs with a file.
func (s *settings) wanted() (all []*output) {
	for _, o := range s.outputs {
		if o.to != "" {
			all = append(all, o)
		}
	}
	return all
}

// writeOutputs writes every form that was asked for.
func (s *settings) writeOutputs(r *contract.Report) error {
	var errs []error
	for _, o := range s.wanted() {
		if err := o.save(r); err != nil {
			errs = append(errs, fmt.Errorf("quickstart: -%s: %w", o.flag, err))
		}
	}
	return errors.Join(errs...)
}

func (o *output) save(r *contract.Report) (err error) {
	f, err := os.Create(o.to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return o.write(f, r)
}
