package compare

import (
	"fmt"
	"io"

	"github.com/shakedown-go/shakedown/internal/junit"
	"github.com/shakedown-go/shakedown/internal/text"
)

// JUnit writes the comparison as JUnit XML, in the form that Jenkins, GitLab and most others
// read. There is one suite, with a test case for each field:
//
//   - worse: a failure, with the counts of both sides.
//   - neither better nor worse, or not compared: skipped, with the reason.
//   - else: passed.
//
// The change over all scenarios is the last case. Without it a comparison whose only
// regression is that of all scenarios together would be all green. So would one in which no
// field could be compared, which has a failure that says so.
//
// Errors are those of the writer.
func (c *Comparison) JUnit(w io.Writer) error {
	s := junit.Suite{Name: printable(fmt.Sprintf("%s and %s", c.Before, c.After))}
	for i := range c.Fields {
		s.Add(c.junitField(&c.Fields[i]))
	}
	for _, list := range c.left() {
		for _, name := range list.names {
			s.Add(junit.Case{Name: printable(name), Class: "not compared",
				Skipped: &junit.Result{Message: printable(list.what)}})
		}
	}
	if o := c.Overall; o != nil {
		one := junit.Case{Name: "over " + text.Plural(o.Scenarios, "scenario"), Class: "overall"}
		if o.Regression {
			one.Failure = &junit.Result{Message: o.line(), Type: "worse"}
		}
		s.Add(one)
	}
	if c.Compared() == 0 {
		s.Add(junit.Case{Name: "compared", Class: "overall",
			Failure: &junit.Result{Message: "no field could be compared", Type: "nothing compared"}})
	}
	return written(junit.Write(w, &s))
}

func (c *Comparison) junitField(f *Field) junit.Case {
	out := junit.Case{Name: printable(f.Invariant), Class: printable(f.Scenario)}
	switch {
	case f.Regression:
		out.Failure = &junit.Result{Message: printable(f.line(c.Before, c.After, c.Tested)),
			Type: "worse, " + f.Severity.String()}
	case f.Unclear != "":
		out.Skipped = &junit.Result{Message: printable("neither better nor worse: " + f.Unclear)}
	}
	return out
}

func written(err error) error {
	if err != nil {
		return fmt.Errorf("compare: write: %w", err)
	}
	return nil
}
