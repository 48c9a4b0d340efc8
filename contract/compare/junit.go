package compare

import (
	"encoding/xml"
	"fmt"
	"io"

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
	s := junitSuite{Name: printable(fmt.Sprintf("%s and %s", c.Before, c.After))}
	for i := range c.Fields {
		s.add(c.junitField(&c.Fields[i]))
	}
	for _, list := range c.left() {
		for _, name := range list.names {
			s.add(junitCase{Name: printable(name), Class: "not compared",
				Skipped: &junitResult{Message: printable(list.what)}})
		}
	}
	if o := c.Overall; o != nil {
		one := junitCase{Name: "over " + text.Plural(o.Scenarios, "scenario"), Class: "overall"}
		if o.Regression {
			one.Failure = &junitResult{Message: o.line(), Type: "worse"}
		}
		s.add(one)
	}
	if c.Compared() == 0 {
		s.add(junitCase{Name: "compared", Class: "overall",
			Failure: &junitResult{Message: "no field could be compared", Type: "nothing compared"}})
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return written(err)
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(s); err != nil {
		return written(err)
	}
	_, err := io.WriteString(w, "\n")
	return written(err)
}

func (c *Comparison) junitField(f *Field) junitCase {
	out := junitCase{Name: printable(f.Invariant), Class: printable(f.Scenario)}
	switch {
	case f.Regression:
		out.Failure = &junitResult{Message: printable(f.line(c.Before, c.After, c.Tested)),
			Type: "worse, " + f.Severity.String()}
	case f.Unclear != "":
		out.Skipped = &junitResult{Message: printable("neither better nor worse: " + f.Unclear)}
	}
	return out
}

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string       `xml:"name,attr"`
	Class   string       `xml:"classname,attr"`
	Failure *junitResult `xml:"failure,omitempty"`
	Skipped *junitResult `xml:"skipped,omitempty"`
}

type junitResult struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
}

func (s *junitSuite) add(c junitCase) {
	s.Cases = append(s.Cases, c)
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Skipped != nil {
		s.Skipped++
	}
}

func written(err error) error {
	if err != nil {
		return fmt.Errorf("compare: write: %w", err)
	}
	return nil
}
