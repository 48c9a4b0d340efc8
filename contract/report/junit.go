package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/document"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// JUnitOptions are the settings of [JUnit]; nil and the zero value work.
type JUnitOptions struct {
	_ struct{}
	// FailOn is the least severity whose broken cells are failures. Broken cells
	// below it are skipped, with the reason. 0: every broken cell is a failure.
	FailOn contract.Severity
}

// JUnit writes the report as JUnit XML, in the form that Jenkins, GitLab and most
// others read. It uses only the elements and attributes of junit-10.xsd, the schema
// of Jenkins' xunit plugin. There is a suite for each scenario with a test case for
// each cell. Before them a suite of one case has the verdict, and
// one has a case for each promised rate.
//
//   - held: passed.
//   - broken, also without a delivered fault: a failure, with the evidence.
//   - a broken trial of a promised rate: skipped, with the reason. The rate is a failure
//     when it was rejected, and an error when it is open.
//   - inconclusive: an error, because it says something about the run and nothing
//     about the agent; skipped when the verdict is Pass, which accepts it.
//   - undelivered, not run: skipped, with the reason.
//   - the verdict: a failure when it is Fail, an error when it is Inconclusive.
//     Without this case a run in which no fault arrived would be all green.
//
// The time of a case is the agent's, in seconds of the cell's own time. It is left
// out if it is unknown. The output is valid XML for every report.
func JUnit(w io.Writer, r *contract.Report, o *JUnitOptions) error {
	o = cmp.Or(o, new(JUnitOptions))
	if o.FailOn > scoring.Critical {
		return fields.Wrong("JUnitOptions.FailOn", o.FailOn, "0, low, medium, high, critical")
	}
	return write(w, r, func() ([]byte, error) {
		all := suites{Name: title(r)}
		all.add(verdictSuite(r))
		if rates := ratesSuite(r, o); len(rates.Cases) > 0 {
			all.add(rates)
		}
		for _, s := range scenarioSuites(r, o) {
			all.add(s)
		}
		text, err := xml.MarshalIndent(&all, "", "  ")
		return fmt.Appendf(nil, "%s%s\n", xml.Header, text), err
	})
}

type counts struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
}

type suites struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	counts
	Suites []*suite
}

type suite struct {
	XMLName xml.Name `xml:"testsuite"`
	Name    string   `xml:"name,attr"`
	counts
	// Skipped is an attribute of a suite only: the schema does not allow it on the root element.
	Skipped    int        `xml:"skipped,attr"`
	Time       string     `xml:"time,attr,omitempty"`
	Properties []property `xml:"properties>property,omitempty"`
	Cases      []testCase `xml:"testcase"`
}

type property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// A testCase has at most one result; none: it passed.
type testCase struct {
	Name    string  `xml:"name,attr"`
	Class   string  `xml:"classname,attr"`
	Time    string  `xml:"time,attr,omitempty"`
	Failure *result `xml:"failure,omitempty"`
	Error   *result `xml:"error,omitempty"`
	Skipped *result `xml:"skipped,omitempty"`
}

type result struct {
	Message string `xml:"message,attr,omitempty"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// add adds a suite whose cases are complete, and counts them.
func (all *suites) add(s *suite) {
	s.Name = document.Clean(s.Name)
	for i := range s.Cases {
		c := &s.Cases[i]
		c.Name, c.Class = document.Clean(c.Name), document.Clean(c.Class)
		s.Tests++
		s.Failures += oneIf(c.Failure != nil)
		s.Errors += oneIf(c.Error != nil)
		s.Skipped += oneIf(c.Skipped != nil)
		if said := cmp.Or(c.Failure, c.Error, c.Skipped); said != nil {
			said.Message = document.Clean(said.Message)
		}
	}
	all.Suites = append(all.Suites, s)
	all.Tests, all.Failures, all.Errors = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors
}

func verdictSuite(r *contract.Report) *suite {
	s := &suite{Name: "verdict"}
	say := func(name, value string) { s.Properties = append(s.Properties, property{name, document.Clean(value)}) }
	say("verdict", verdictName(r))
	say("why", r.Score.Why)
	for _, f := range facts(r) {
		say(f.Label, f.Text)
	}
	for i := range r.Defects {
		say(fmt.Sprintf("defect %d", i+1), defectLine(r, &r.Defects[i]))
	}
	if head := cureHead(r); head != "" {
		say("cure", head)
	}
	for _, note := range notes(r) {
		say("note", note)
	}
	c := testCase{Name: "verdict", Class: title(r)}
	why := &result{Message: r.Score.Why, Type: verdictName(r)}
	switch {
	case r.Score.Verdict == scoring.Fail:
		c.Failure = why
	case r.Partial(): // a part fails nothing, and passes nothing
		c.Skipped = why
	case r.Score.Verdict == scoring.Inconclusive:
		c.Error = why
	}
	s.Cases = []testCase{c}
	return s
}

func scenarioSuites(r *contract.Report, o *JUnitOptions) (all []*suite) {
	numbers := explained(r)
	byName, took := make(map[string]*suite), make(map[string]time.Duration)
	rates := decisionsOf(r)
	for i := range r.Cells {
		c := &r.Cells[i]
		s := byName[c.Cell.Scenario]
		if s == nil {
			s = &suite{Name: c.Cell.Scenario}
			byName[c.Cell.Scenario] = s
			all = append(all, s)
		}
		if took[s.Name] += max(0, c.Elapsed); took[s.Name] > 0 {
			s.Time = seconds(took[s.Name])
		}
		one := caseOf(r, c, o, rates)
		if defect := defectOf(r, numbers, c.Cell); defect != "" && one.Failure != nil {
			one.Failure.Message = "defect " + defect + ": " + one.Failure.Message
		}
		s.Cases = append(s.Cases, one)
	}
	return all
}

func ratesSuite(r *contract.Report, o *JUnitOptions) *suite {
	s := &suite{Name: "rates"}
	for _, f := range notable(r) {
		if f.AtLeast == 0 {
			continue
		}
		c := testCase{Name: f.Scenario + "/" + f.Invariant, Class: title(r) + ".rates"}
		said := &result{Message: standsText(r, f), Type: f.Standing.Decision.String() + ", " + f.Severity.String()}
		switch {
		case f.Standing.Decision == stats.Accepted:
		case f.Copies: // its cells have cases of their own
			c.Skipped = said
		case f.Standing.Decision == stats.Open && r.Partial(): // the whole may decide it
			c.Skipped = said
		case f.Standing.Decision == stats.Open:
			c.Error = said
		case f.Severity >= o.FailOn:
			c.Failure = said
		default:
			c.Skipped = said
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

func caseOf(r *contract.Report, c *contract.CellReport, o *JUnitOptions, rates decisions) testCase {
	out := testCase{
		Name:  c.Cell.Invariant + "/" + strconv.Itoa(c.Cell.Trial),
		Class: title(r) + "." + c.Cell.Scenario,
	}
	if spent := c.Elapsed; spent > 0 {
		out.Time = seconds(spent)
	}
	m := markOf(c)
	said := &result{Message: c.Why, Type: m.short()}
	switch {
	case m == markHeld:
	case m.broken() && rates.of(c) != nil:
		said.Message = "broken (one trial of a promised rate, see the suite of rates): " + said.Message
		out.Skipped = said
	case m.broken() && c.Severity >= o.FailOn:
		said.Type += ", " + c.Severity.String()
		said.Text = evidenceText(c)
		out.Failure = said
	case m.broken():
		said.Message = fmt.Sprintf("broken (%v, below the severity that fails): %s", c.Severity, said.Message)
		out.Skipped = said
	case m == markInconclusive && r.Score.Verdict != scoring.Pass && !r.Partial():
		out.Error = said
	default:
		said.Message = cmp.Or(said.Message, m.short())
		out.Skipped = said
	}
	return out
}

// evidenceText is the text that a CI system shows for a failed case.
func evidenceText(c *contract.CellReport) string {
	item := itemOf(&group{cell: c, mark: markOf(c), places: []*brokenPlace{{cell: c}}}, document.Unlimited)
	var lines []string
	for _, d := range item.Details {
		for _, s := range d.List {
			lines = append(lines, d.Label+": "+document.Clean(s))
		}
		if d.Text != "" {
			lines = append(lines, d.Label+": "+document.Block(d.Text, document.MaxText))
		}
	}
	return strings.Join(lines, "\n")
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
