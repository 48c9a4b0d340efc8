package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/internal/cmdline"
	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// A command is one invocation: the flags of its verb, what was typed after it, and where to write.
type command struct {
	flags         *flag.FlagSet
	args          []string
	out, problems io.Writer
}

// parse reads flags and operands in any order, as [cmdline.Parse] does.
func (c *command) parse(least, most int) ([]string, error) {
	return cmdline.Parse(fields, c.flags, c.args, least, most)
}

const mostBytes = 1 << 30

// input reads a file that was named. A file that is missing, empty or a folder is an error in the words
// of who typed it.
func input(path, want string) ([]byte, error) {
	f, err := os.Open(path)
	var data []byte
	if err == nil {
		defer f.Close()
		data, err = io.ReadAll(io.LimitReader(f, mostBytes))
	}
	if err != nil {
		if cause := new(os.PathError); errors.As(err, &cause) {
			err = cause.Err
		}
		return nil, fields.Because(path, nil, err, want)
	}
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return nil, fields.Wrong(path, fielderror.Found("empty"), want)
	case len(data) == mostBytes:
		return nil, fields.Wrong(path, fielderror.Found("too large"), want+" of less than 1 GiB")
	}
	return data, nil
}

// readRun reads a run file.
func readRun(path string) (*contract.Report, error) {
	data, err := input(path, "a run file")
	if err != nil {
		return nil, err
	}
	r, err := report.Read(bytes.NewReader(data), nil)
	return r, inFile(path, err)
}

// inFile names the file in the problems of what was read from it.
func inFile(path string, err error) error {
	for _, err := range fielderror.Apart(err) {
		if wrong, ok := errors.AsType[*fielderror.Error](err); ok && wrong.File == "" {
			wrong.File = path
		}
	}
	return err
}

// A shown report is one with what its forms depend on.
type shown struct {
	*contract.Report
	failOn contract.Severity
	before *contract.Report // an earlier one to compare with; nil: there is none
	name   string           // its file
}

// A form is one in which a report is shown, and where: in a file, or instead of text.
type form struct {
	name, usage string
	write       func(io.Writer, shown) error
	file        string
	chosen      bool
}

func forms() []*form {
	return []*form{
		{name: "junit", usage: "JUnit XML, for a CI system",
			write: func(w io.Writer, r shown) error {
				return report.JUnit(w, r.Report, &report.JUnitOptions{FailOn: r.failOn})
			}},
		{name: "html", usage: "a page with all evidence",
			write: func(w io.Writer, r shown) error { return report.HTMLSince(w, r.Report, r.before, "in "+r.name) }},
		{name: "markdown", usage: "a comment for a pull request",
			write: func(w io.Writer, r shown) error { return report.Markdown(w, r.Report) }},
	}
}
