package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A command is one invocation: the flags of its verb, what was typed after it, and where to write.
type command struct {
	flags         *flag.FlagSet
	args          []string
	out, problems io.Writer
}

// parse reads flags and operands in any order; least and most bound the operands. The error joins
// all problems, or is [flag.ErrHelp]. What is behind "--" is no flag.
func (c *command) parse(least, most int) ([]string, error) {
	var operands []string
	wrong := fields.List()
	for args := c.args; len(args) > 0; {
		typed := args[0]
		args = args[1:]
		if typed == "--" {
			operands = append(operands, args...)
			break
		}
		if typed == "-" || !strings.HasPrefix(typed, "-") {
			operands = append(operands, typed)
			continue
		}
		name, value, given := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(typed, "-"), "-"), "=")
		if name == "help" || name == "h" {
			return nil, flag.ErrHelp
		}
		f := c.flags.Lookup(name)
		if f == nil {
			wrong.Wrong("flag", typed, text.OneOf("--"+name, c.flagNames()))
			continue
		}
		if !given && isSwitch(f) {
			value = "true"
		} else if !given {
			if len(args) == 0 || strings.HasPrefix(args[0], "-") {
				kind, _ := flag.UnquoteUsage(f)
				wrong.Wrong("value of --"+name, nil, kind+" behind it; one that begins with - behind a =")
				continue
			}
			value, args = args[0], args[1:]
		}
		if err := c.flags.Set(name, value); err != nil {
			_, usage := flag.UnquoteUsage(f)
			wrong.Wrong("--"+name, value, usage)
		}
	}
	if n := len(operands); n < least || n > most {
		wrong.Wrong("number of operands", n, "shakedown "+c.flags.Name())
	}
	return operands, wrong.Err()
}

func (c *command) flagNames() (names []string) {
	c.flags.VisitAll(func(f *flag.Flag) { names = append(names, "--"+f.Name) })
	return append(names, "--help")
}

func isSwitch(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

func (c *command) printFlags(w io.Writer) {
	c.flags.VisitAll(func(f *flag.Flag) {
		value, usage := flag.UnquoteUsage(f)
		if isSwitch(f) {
			value = ""
		}
		fmt.Fprintf(w, "\n  %s\n        %s\n", strings.TrimSpace("--"+f.Name+" "+value), usage)
	})
}

// kinds are what a file may be, told by its beginning, and what reads it.
var kinds = []struct{ name, reader, looks string }{
	{runFile, "shakedown show", `^\s*\{"shakedown":"run"`},
	{tapeFile, "shakedown tape", `^\s*\{\s*"format":\s*"shakedown/cassette"`},
	{"a session", "the test that shakedown import writes", `^\s*\{\s*"format":\s*"shakedown/session"`},
	{suiteFile, "shakedown run", `(?m)(^|[{,])\s{0,4}"?golden_prompts"?:`},
}

const (
	runFile   = "a run file"
	tapeFile  = "a tape"
	suiteFile = "a suite"
	traceFile = "a trace" // it has many forms, and none that is known here
	mostBytes = 1 << 30
)

// input reads a file that was named. A file that is missing, empty, a folder or of another kind is an
// error in the words of who typed it.
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
	for _, k := range kinds {
		if k.name != want && regexp.MustCompile(k.looks).Match(data[:min(len(data), 1<<16)]) {
			return nil, fields.Wrong(path, fielderror.Found(k.name), want+"; "+k.name+" is for "+k.reader)
		}
	}
	return data, nil
}

// readRun reads a run file.
func readRun(path string) (*contract.Report, error) {
	data, err := input(path, runFile)
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

// writable adds what keeps a file from being written, before the agent is called. An empty path is none.
// taken has the files that were named before, which one more result would replace.
func writable(wrong *fielderror.List, path string, taken map[string]bool) {
	if path == "" {
		return
	}
	at, err := os.Lstat(path) // a new file gets the name, also that of a link or device such as /dev/stdout
	folder, gone := os.Stat(filepath.Dir(path))
	switch whole := absolute(path); {
	case gone != nil || !folder.IsDir():
		wrong.Wrong(path, fielderror.Found("in no folder"), "a file in a folder that is there")
	case err == nil && at.IsDir():
		wrong.Wrong(path, fielderror.Found("a folder"), "a file to write")
	case err == nil && !at.Mode().IsRegular():
		wrong.Wrong(path, fielderror.Found("a link, a device or a pipe"), "a file to write")
	case taken[whole]:
		wrong.Wrong(path, fielderror.Found("named twice"), "a file for each result, and none that is read")
	default:
		taken[whole] = true
		probe, err := os.CreateTemp(filepath.Dir(path), ".*.tmp")
		if err != nil {
			wrong.Because(path, nil, errors.Unwrap(err), "a file in a folder that can be written")
			return
		}
		probe.Close()
		os.Remove(probe.Name())
	}
}

// absolute is a path that can be compared.
func absolute(path string) string {
	whole, err := filepath.Abs(path)
	if err != nil { // nobody knows the folder
		return filepath.Clean(path)
	}
	return whole
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
