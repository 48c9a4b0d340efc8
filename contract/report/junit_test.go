package report_test

import (
	"bytes"
	"encoding/xml"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/scoring"
)

// suites is what a CI system reads of a JUnit file.
type suites struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	tally
	Suites []struct {
		Name string `xml:"name,attr"`
		tally
		Time  *float64   `xml:"time,attr"`
		Cases []testcase `xml:"testcase"`
	} `xml:"testsuite"`
}

type tally struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
}

type testcase struct {
	Name    string   `xml:"name,attr"`
	Class   string   `xml:"classname,attr"`
	Time    *float64 `xml:"time,attr"`
	Failure *result  `xml:"failure"`
	Error   *result  `xml:"error"`
	Skipped *result  `xml:"skipped"`
}

type result struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// outcome is the one word a CI system makes of a case.
func (c testcase) outcome() string {
	var all []string
	for word, r := range map[string]*result{"failure": c.Failure, "error": c.Error, "skipped": c.Skipped} {
		if r != nil {
			all = append(all, word)
		}
	}
	if len(all) == 0 {
		return "passed"
	}
	return strings.Join(all, " and ")
}

func parse(t *testing.T, r *contract.Report, o *report.JUnitOptions) suites {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, report.JUnit(&b, r, o))
	var s suites
	require.NoError(t, xml.Unmarshal(b.Bytes(), &s))
	return s
}

func find(t *testing.T, s suites, class, name string) testcase {
	t.Helper()
	for _, suite := range s.Suites {
		for _, c := range suite.Cases {
			if c.Class == class && c.Name == name {
				return c
			}
		}
	}
	require.Fail(t, "no such case", "%s %s", class, name)
	return testcase{}
}

func TestJUnitHasACaseForEveryCellAndOneForTheVerdict(t *testing.T) {
	for name, r := range reports(t) {
		s := parse(t, r, nil)
		assert.Equal(t, len(r.Cells)+1, s.Tests, name)
		var sum tally
		for _, suite := range s.Suites {
			counted := tally{Tests: len(suite.Cases)}
			for _, c := range suite.Cases {
				switch c.outcome() {
				case "failure":
					counted.Failures++
				case "error":
					counted.Errors++
				case "skipped":
					counted.Skipped++
				}
			}
			assert.Equal(t, counted, suite.tally, suite.Name)
			sum.Tests += counted.Tests
			sum.Failures += counted.Failures
			sum.Errors += counted.Errors
		}
		assert.Equal(t, sum, s.tally, name)
	}
}

func TestJUnitOutcomes(t *testing.T) {
	low := contract.Low
	for _, row := range []struct {
		why     string
		state   contract.CellState
		broke   bool
		verdict scoring.Verdict
		failOn  contract.Severity
		want    string
	}{
		{"held", contract.Held, false, scoring.Fail, 0, "passed"},
		{"broken", contract.Broken, true, scoring.Fail, 0, "failure"},
		{"broken although the verdict forgives it", contract.Broken, true, scoring.Pass, 0, "failure"},
		{"broken at the severity that fails", contract.Broken, true, scoring.Pass, contract.Medium, "failure"},
		{"broken below it", contract.Broken, true, scoring.Pass, contract.High, "skipped"},
		{"undelivered", contract.Undelivered, false, scoring.Inconclusive, 0, "skipped"},
		{"undelivered and broken", contract.Undelivered, true, scoring.Inconclusive, 0, "failure"},
		{"inconclusive", contract.Inconclusive, false, scoring.Inconclusive, 0, "error"},
		{"inconclusive beside something worse", contract.Inconclusive, false, scoring.Fail, 0, "error"},
		{"inconclusive and allowed", contract.Inconclusive, false, scoring.Pass, 0, "skipped"},
		{"not run", contract.NotRun, false, scoring.Pass, 0, "skipped"},
	} {
		r := build(t, "m", 1, deskScenarios[:1], []madeInvariant{{id: "i", severity: low + 1}}, nil)
		r.Cells[0].State, r.Cells[0].Violated, r.Score.Verdict = row.state, row.broke, row.verdict
		s := parse(t, r, &report.JUnitOptions{FailOn: row.failOn})
		assert.Equal(t, row.want, find(t, s, "m.calm", "i/1").outcome(), row.why)
	}
}

func TestJUnitIsGreenOnlyWhenTheVerdictIsPass(t *testing.T) {
	for verdict, want := range map[scoring.Verdict]string{
		scoring.Pass: "passed", scoring.Fail: "failure", scoring.Inconclusive: "error",
	} {
		r := passed(t)
		r.Score.Verdict = verdict
		assert.Equal(t, want, find(t, parse(t, r, nil), "contract", "verdict").outcome())
	}
	s := parse(t, starved(t), nil)
	assert.Equal(t, tally{Tests: 9, Errors: 1}, s.tally, "nothing was delivered, and it shows")
}

func TestJUnitShowsWhatBroke(t *testing.T) {
	s := parse(t, desk(t), nil)
	c := find(t, s, "order desk.refund-reply-lost", "one-refund/1")
	require.NotNil(t, c.Failure)
	assert.Equal(t, "2 refunds for order 1042, want 1", c.Failure.Message)
	assert.Equal(t, "broken, critical", c.Failure.Type)
	for _, part := range []string{"prompt: Refund order 1042", "answer: Done:", "faults: refund, call 1: lost_reply", "rerun: go run"} {
		assert.Contains(t, c.Failure.Text, part)
	}
	require.NotNil(t, c.Time)
	assert.Equal(t, 1.25, *c.Time)
	assert.Nil(t, find(t, s, "order desk.calm", "one-refund/1").Time, "unknown is not zero")
}

// junit10 is what junit-10.xsd of Jenkins' xunit plugin knows: the attributes of
// each element, and the elements that may stand in it.
var junit10 = map[string]struct{ attributes, elements string }{
	"testsuites": {"name time tests failures errors", "testsuite"},
	"testsuite": {"name tests failures errors group time skipped timestamp hostname id package file log url version",
		"testsuite properties testcase system-out system-err"},
	"properties": {"", "property"},
	"property":   {"name value", ""},
	"testcase":   {"name time classname group", "skipped error failure rerunFailure rerunError flakyFailure flakyError system-out system-err"},
	"failure":    {"type message", ""},
	"error":      {"type message", ""},
	"skipped":    {"type message", ""},
}

// junitTime is the pattern of that schema for a number of seconds.
var junitTime = regexp.MustCompile(`^(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]{0,3})?$`)

func TestJUnitFitsTheSchemaOfJenkins(t *testing.T) {
	all := reports(t)
	for name, r := range all {
		var b bytes.Buffer
		require.NoError(t, report.JUnit(&b, r, nil))
		var open []string
		for d := xml.NewDecoder(&b); ; {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			switch e := token.(type) {
			case xml.StartElement:
				is, known := junit10[e.Name.Local]
				require.True(t, known, "%s: element %s", name, e.Name.Local)
				if len(open) > 0 {
					assert.Contains(t, strings.Fields(junit10[open[len(open)-1]].elements), e.Name.Local, name)
				}
				for _, a := range e.Attr {
					assert.Contains(t, strings.Fields(is.attributes), a.Name.Local, "%s: of %s", name, e.Name.Local)
					if a.Name.Local == "time" {
						assert.Regexp(t, junitTime, a.Value, name)
					}
				}
				open = append(open, e.Name.Local)
			case xml.EndElement:
				open = open[:len(open)-1]
			}
		}
	}
}
