package contracttest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/compare"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/internal/wholefile"
)

const updateVariable = "SHAKEDOWN_UPDATE"

// AssertNoRegression fails the test if the report is worse than the baseline in file, as
// package contract/compare finds: a field after Holm's method, or all scenarios together, at
// a level of 0.05. It also fails if there is no baseline, or if no field could be compared, unless
// the report is that of a part, of which the cells are compared that it has. It reports whether nothing is worse.
//
// The baseline is a run file without evidence ([report.Write]), which belongs into version
// control. A run of the test with SHAKEDOWN_UPDATE=1 in the environment writes it.
//
// It logs in what the matrices differ, and which drop so many trials may well not have seen. No
// regression is not "as good as before": see docs/reports.md.
func AssertNoRegression(t testing.TB, r *contract.Report, file string, msgAndArgs ...any) bool {
	t.Helper()
	if r == nil {
		return verify(t, "there is no report", msgAndArgs)
	}
	switch v := os.Getenv(updateVariable); v {
	case "", "0":
	case "1":
		failure := writeBaseline(r, file)
		if failure == "" {
			t.Logf("contracttest: the baseline %s is written", file)
		}
		return verify(t, failure, msgAndArgs)
	default:
		failure := fmt.Sprintf("%s is %q; allowed: 1, which writes the baseline, and 0", updateVariable, v)
		return verify(t, failure, msgAndArgs)
	}
	c, failure := compareWith(r, file)
	if c != nil && failure == "" {
		logComparison(t, c)
	}
	return verify(t, failure, msgAndArgs)
}

// writeBaseline returns why it could not; empty: it did.
func writeBaseline(r *contract.Report, file string) string {
	if r.IsPart() || r.Cancelled {
		return "the baseline " + file + " was not written: not all cells of the matrix ran"
	}
	err := os.MkdirAll(filepath.Dir(file), 0o777)
	if err == nil {
		err = wholefile.WriteFunc(file, func(w io.Writer) error {
			return report.Write(w, r, &report.WriteOptions{Stable: true, WithoutEvidence: true})
		})
	}
	if err != nil {
		return fmt.Sprintf("the baseline %s was not written: %v", file, err)
	}
	return ""
}

// compareWith compares a report with a baseline. failure is why the test fails.
func compareWith(r *contract.Report, file string) (c *compare.Comparison, failure string) {
	const howTo = "run the test once with " + updateVariable + "=1 and commit the file"
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Sprintf("there is no baseline %s: %s", file, howTo)
	}
	if err != nil {
		return nil, fmt.Sprintf("the baseline was not read: %v", err)
	}
	defer f.Close() //nolint:errcheck // it is only read
	before, err := report.Read(f, nil)
	if err != nil {
		return nil, fmt.Sprintf("the baseline %s is not what was written: %v\nto replace it, %s", file, err, howTo)
	}
	if before.Cancelled || before.IsPart() {
		return nil, fmt.Sprintf("the baseline %s has not all cells of its matrix\nto replace it, %s", file, howTo)
	}
	c, err = compare.Reports(before, r, &compare.Options{Before: filepath.Base(file)})
	switch {
	case err != nil:
		return nil, err.Error()
	case c.Regressed():
		return c, "the report is worse than the baseline:\n" + c.String()
	case c.Compared() == 0 && !r.IsPart():
		return c, "no field could be compared with the baseline:\n" + c.String()
	}
	return c, ""
}

func logComparison(t testing.TB, c *compare.Comparison) {
	t.Helper()
	t.Logf("contracttest: nothing is worse than the baseline:\n%s", c)
	if c.Tested == 0 {
		return
	}
	unseen := func(s *compare.Power, of string) string {
		if s.Nothing {
			return "any drop of " + of
		}
		return fmt.Sprintf("a drop of %s from %.0f %% to above %.0f %%", of, 100*s.From, 100*s.To)
	}
	line := unseen(c.Sees, "one field")
	if o := c.Overall; o != nil && o.Sees != nil { // where trials are not paired nobody knows
		line += ", and " + unseen(o.Sees, "all fields")
	}
	t.Logf("contracttest: so many trials may well not have seen %s", line)
}
