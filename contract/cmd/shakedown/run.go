package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/compare"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/contract/suite"
	"github.com/shakedown-go/shakedown/internal/cmdline"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/internal/wholefile"
	"github.com/shakedown-go/shakedown/scoring"
)

// A suiteRun is a run of the matrices of a suite.
type suiteRun struct {
	*command
	forms          []*form
	file           *form // the run file
	baseline, cell string
	update         bool
	failOn         contract.Severity
	shard          contract.Shard
	resume         string

	path     string
	suite    *suite.Suite
	matrices []*matrixRun
	unscored error // why there is no overall score; nil: there is one
}

// newSuiteRun has the flags of all verbs that run a suite.
func newSuiteRun(c *command) *suiteRun {
	s := &suiteRun{command: c, file: &form{name: "file", usage: "the run file, while the run lasts and at its end with all scores"}}
	s.file.write = func(w io.Writer, r shown) error { return report.Write(w, r.Report, nil) }
	s.forms = append(forms(), s.file)
	for _, f := range s.forms {
		c.flags.StringVar(&f.file, f.name, "", "write "+f.usage+", to `FILE`")
	}
	c.flags.TextVar(&s.failOn, "fail-on", contract.Low, "the least `SEVERITY` whose broken cells fail the run: low, medium, high or critical; "+
		"left out: low")
	return s
}

// runSuite runs the matrices of a suite, and shows what came of it.
func runSuite(ctx context.Context, c *command) (status int, err error) {
	s := newSuiteRun(c)
	s.baselineFlags()
	c.flags.StringVar(&s.cell, "cell", "", "run one cell alone: `SCENARIO/INVARIANT/TRIAL`, as the line rerun of a report names it")
	c.flags.TextVar(&s.shard, "shard", contract.Shard{}, "run a share of the units: `INDEX/COUNT`, an index from 1 to the count, such as 2/8; the file of --file is then NAME.2of8.run.jsonl")
	c.flags.StringVar(&s.resume, "resume", "", "go on from the run in `FILE`, a run file: what it has is not run again")
	if err := s.prepare(); err != nil {
		return 0, err
	}
	for _, one := range s.matrices {
		s.ask(ctx, one)
	}
	return s.finish(s.score())
}

func (s *suiteRun) baselineFlags() {
	s.flags.StringVar(&s.baseline, "baseline", "", "compare the run with the one in `FILE`, a run file, and fail if it is worse; --update writes it")
	s.flags.BoolVar(&s.update, "update", false, "write the file of --baseline, without evidence, and compare nothing")
}

// prepare reads what was typed and the files that it names, before the agent is called.
func (s *suiteRun) prepare() error {
	operands, err := s.parse(1, 1)
	if err != nil {
		return err
	}
	s.path, s.file.file = operands[0], s.shard.File(s.file.file)
	if s.suite, s.matrices, err = load(s.path); err != nil {
		return err
	}
	if err := s.choose(); err != nil {
		return err
	}
	return s.files(map[string]bool{cmdline.Absolute(s.path): true})
}

// files reads the baselines, and checks the files that are to be written. taken has those that are read.
func (s *suiteRun) files(taken map[string]bool) error {
	wrong := fields.List()
	if s.update && s.baseline == "" {
		wrong.Wrong("--update", fielderror.Found("without --baseline"), "--baseline FILE beside it")
	}
	for _, one := range s.matrices {
		path := fileOf(s.baseline, one.name)
		if s.update {
			cmdline.Writable(wrong, path, taken)
		} else if path != "" {
			taken[cmdline.Absolute(path)] = true
			var err error
			if one.before, err = readRun(path); errors.Is(err, fs.ErrNotExist) {
				err = fields.Because(path, nil, fs.ErrNotExist, "a run file; --update writes it")
			}
			if wrong.Add(fielderror.Apart(err)...); err == nil && (one.before.Cancelled || one.before.IsPart()) {
				wrong.Wrong(path, fielderror.Found("a part of a run"), "a run of all cells")
			}
		}
	}
	for _, one := range s.matrices {
		for _, f := range s.forms {
			cmdline.Writable(wrong, fileOf(f.file, one.name), taken)
		}
	}
	return wrong.Err()
}

// choose keeps the matrix that has the cell of --cell.
func (s *suiteRun) choose() error {
	if s.cell == "" {
		return nil
	}
	var names []string
	for _, one := range s.matrices {
		for _, c := range one.matrix.Cells() {
			if names = append(names, c.String()); c.String() == s.cell {
				s.matrices = []*matrixRun{one}
				return nil
			}
		}
	}
	return fields.Wrong("--cell", s.cell, fmt.Sprintf("one of the %s of %s, such as %s%s", text.Plural(len(names), "cell"), s.path,
		names[0], text.Meant(s.cell, names)))
}

// fileOf is the file of a matrix: what was typed is that of the contract, and before its ending the
// other matrices have their names. An empty path is no file.
func fileOf(path, matrix string) string {
	if path == "" || matrix == contractMatrix {
		return path
	}
	ending := filepath.Ext(path)
	if long := ".run.jsonl"; strings.HasSuffix(path, long) {
		ending = long
	}
	return strings.TrimSuffix(path, ending) + "." + matrix + ending
}

// unknownBuild is that of an agent behind HTTP that nobody named.
const unknownBuild = "unknown"

// contractMatrix is the name of the first matrix of a suite.
const contractMatrix = "contract"

// ask runs a matrix. When the context has ended, it does not.
func (s *suiteRun) ask(ctx context.Context, one *matrixRun) {
	if ctx.Err() != nil {
		return
	}
	o := &contract.RunOptions{File: fileOf(s.file.file, one.name), Build: cmp.Or(os.Getenv("SHAKEDOWN_BUILD"), unknownBuild), Shard: s.shard,
		Resume: fileOf(s.resume, one.name)}
	if _, err := os.Stat(o.Resume); s.resume != "" && one.name != contractMatrix && errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(s.problems, "shakedown: %s is not there: %s runs from its beginning\n", o.Resume, one.name)
		o.Resume = ""
	}
	typed := s.path
	if strings.ContainsFunc(typed, func(r rune) bool { return !text.WordRune(r) && !strings.ContainsRune("./-_", r) }) {
		typed = strconv.Quote(typed)
	}
	o.Harness.Rerun = "shakedown run " + typed + " --cell {scenario}/{invariant}/{trial}"
	if s.cell != "" {
		o.Harness.Around = func(c contract.Cell, run func(contract.Bubble) *contract.CellReport) {
			if c.String() == s.cell {
				run(nil)
			}
		}
	}
	told := s.newProgress(one.name)
	defer told.end()
	o.OnProgress = told.run
	one.report, one.err = one.matrix.Run(ctx, o)
}

// score joins the parts of the score, and puts them into the report of the contract. nil: a cell was
// chosen, or a matrix did not run.
func (s *suiteRun) score() (result *suite.Result) {
	reports := map[string]*contract.Report{}
	for _, one := range s.matrices {
		if one.report == nil || s.cell != "" {
			return nil
		}
		reports[one.name] = one.report
	}
	result, s.unscored = s.suite.Score(reports, nil)
	if result != nil {
		whole := reports[contractMatrix]
		whole.Mutation, whole.Replay = result.Mutation, result.Replay
		if s.unscored == nil {
			whole.Overall = &result.Overall
		}
	}
	return result
}

// finish shows the reports, writes the files, and returns the status of all.
func (s *suiteRun) finish(result *suite.Result) (status int, err error) {
	var errs []error
	for _, one := range s.matrices {
		if one.report == nil && one.err == nil {
			fmt.Fprintf(s.problems, "shakedown: %s did not run\n", one.name)
			status = worse(status, inconclusive)
			continue
		}
		status = worse(status, report.ExitCode(one.report, one.err, s.failOn))
		// that the context ended is what the report says
		if one.report == nil || report.ExitCode(new(contract.Report), one.err, 0) > inconclusive {
			errs = append(errs, inFile(s.path, one.err))
		}
		if one.report != nil {
			own, err := s.show(one)
			status, errs = worse(status, own), append(errs, err)
		}
	}
	if result != nil {
		own := s.sum(result)
		if !slices.ContainsFunc(s.matrices, func(one *matrixRun) bool { return one.report.IsPart() }) {
			status = worse(status, own) // else that of each part has said it
		}
	}
	return status, errors.Join(errs...)
}

const passed, broke, inconclusive, wrongUse, infrastructure = 0, 1, 2, 3, 4 // of [report.ExitCode]

// worse is the status of two: what broke comes first, then what another run does not mend.
func worse(a, b int) int {
	order := []int{passed, inconclusive, infrastructure, wrongUse, broke}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// show shows the report of a matrix, writes its files, and compares it with its baseline.
func (s *suiteRun) show(one *matrixRun) (status int, err error) {
	if len(s.matrices) > 1 {
		fmt.Fprintf(s.out, "%s\n\n", strings.ToUpper(one.name))
	}
	errs := []error{report.Text(s.out, one.report, nil)}
	fmt.Fprintln(s.out)
	for _, f := range s.forms {
		if f.file != "" {
			errs = append(errs, wholefile.WriteFunc(fileOf(f.file, one.name),
				func(w io.Writer) error {
					before := filepath.Base(fileOf(s.baseline, one.name))
					return f.write(w, shown{one.report, s.failOn, one.before, before})
				}))
		}
	}
	if s.baseline != "" {
		status, err = s.compare(one)
		errs = append(errs, err)
	}
	if err = errors.Join(errs...); err != nil {
		status = worse(status, infrastructure)
	}
	return status, err
}

// compare compares a report with its baseline, or writes that.
func (s *suiteRun) compare(one *matrixRun) (status int, err error) {
	path := fileOf(s.baseline, one.name)
	if !s.update {
		return printComparison(s.out, one.before, one.report, &compare.Options{Before: "in " + filepath.Base(path)})
	}
	if one.report.Cancelled || one.report.IsPart() {
		fmt.Fprintf(s.problems, "shakedown: %s is not written: not all cells ran\n", path)
		return inconclusive, nil
	}
	return passed, wholefile.WriteFunc(path, func(w io.Writer) error {
		return report.Write(w, one.report, &report.WriteOptions{Stable: true, WithoutEvidence: true})
	})
}

// printComparison says how two runs differ, and returns the status of that.
func printComparison(w io.Writer, before, after *contract.Report, o *compare.Options) (status int, err error) {
	c, err := compare.Reports(before, after, o)
	if err != nil {
		return report.ExitCode(nil, err, 0), err
	}
	fmt.Fprintf(w, "%s\n", strings.TrimRight(c.String(), "\n"))
	switch {
	case c.Regressed():
		return broke, nil
	case c.Compared() == 0:
		fmt.Fprintln(w, "nothing could be compared")
		return inconclusive, nil
	}
	return passed, nil
}

// sum says what all matrices together come to.
func (s *suiteRun) sum(r *suite.Result) (status int) {
	for _, err := range fielderror.Apart(s.unscored) { // a part that weighs something and has no number
		if part, ok := errors.AsType[*fielderror.Error](err); ok {
			fmt.Fprintf(s.out, "no overall score: nothing was decided of %s\n", strings.TrimPrefix(part.Field, "parts."))
		}
	}
	if len(s.matrices) > 1 {
		verdict := r.Verdict.String()
		if r.Verdict == scoring.Inconclusive && !slices.ContainsFunc(s.matrices, func(one *matrixRun) bool {
			return one.report.Score.Verdict != scoring.Pass && !one.report.Partial()
		}) {
			verdict = "PARTIAL"
		}
		fmt.Fprintf(s.out, "%s: %s\n", verdict, r.Why)
	}
	return statusOf(r.Verdict)
}

// statusOf is the status of a verdict that no report alone has.
func statusOf(v scoring.Verdict) int {
	return report.ExitCode(&contract.Report{Score: scoring.ContractScore{Verdict: v}}, nil, 0)
}
