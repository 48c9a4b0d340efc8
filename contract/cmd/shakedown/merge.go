package main

import (
	"context"
	"io"
	"math"
	"slices"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/internal/cmdline"
	"github.com/shakedown-go/shakedown/internal/wholefile"
)

// mergeRuns joins the run files of a matrix, and shows the run that they are together.
func mergeRuns(_ context.Context, c *command) (status int, err error) {
	s := newSuiteRun(c)
	c.flags.Lookup("file").Usage = "write the merged run file, to `FILE`"
	s.baselineFlags()
	parts, err := s.parse(1, math.MaxInt)
	if err != nil {
		return 0, err
	}
	taken := map[string]bool{}
	for _, part := range parts {
		taken[cmdline.Absolute(part)] = true
	}
	one := &matrixRun{name: contractMatrix}
	s.matrices = []*matrixRun{one}
	if err := s.files(taken); err != nil {
		return 0, err
	}
	write := func(w io.Writer) (err error) {
		one.report, err = merged(w, parts)
		return err
	}
	if s.file.file == "" {
		err = write(io.Discard)
	} else {
		err = wholefile.WriteFunc(s.file.file, write)
	}
	if err != nil {
		return 0, err
	}
	s.forms = slices.DeleteFunc(s.forms, func(f *form) bool { return f == s.file }) // it is there
	return s.finish(nil)
}

// merged writes the run file of all parts, and reads its report with the cells while it is written.
func merged(w io.Writer, parts []string) (*contract.Report, error) {
	from, to := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := report.Merge(io.MultiWriter(w, to), parts...)
		done <- err
		to.CloseWithError(err)
	}()
	r, err := report.Read(from, nil)
	from.CloseWithError(err) // else Merge would wait for a reader
	if problem := <-done; problem != nil {
		return nil, problem
	}
	return r, err
}
