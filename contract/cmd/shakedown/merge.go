package main

import (
	"bytes"
	"context"
	"math"
	"slices"

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
	var file bytes.Buffer
	if _, err := report.Merge(&file, parts...); err != nil {
		return 0, err
	}
	if s.file.file != "" {
		if err := wholefile.Write(s.file.file, file.Bytes()); err != nil {
			return 0, err
		}
	}
	if one.report, err = report.Read(&file, nil); err != nil {
		return 0, err
	}
	s.forms = slices.DeleteFunc(s.forms, func(f *form) bool { return f == s.file }) // it is there
	return s.finish(nil)
}
