package report

import (
	"cmp"
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
//
// Errors: [*FieldError] for a nil report, for values without a meaning and for a
// FailOn that is not allowed, before anything is written; and those of the writer.
func JUnit(w io.Writer, r *contract.Report, o *JUnitOptions) error {
	o = cmp.Or(o, new(JUnitOptions))
	if o.FailOn > scoring.Critical {
		return fields.Wrong("JUnitOptions.FailOn", o.FailOn, "0, low, medium, high, critical")
	}
	if err := check(r); err != nil {
		return err
	}
	all := document.Suites{Name: title(r)}
	all.Add(verdictSuite(r))
	if rates := ratesSuite(r, o); len(rates.Cases) > 0 {
		all.Add(rates)
	}
	for _, s := range scenarioSuites(r, o) {
		all.Add(s)
	}
	return written(document.WriteJUnit(w, &all))
}

func verdictSuite(r *contract.Report) *document.Suite {
	s := &document.Suite{Name: "verdict", Properties: &document.Properties{}}
	s.Properties.Add("verdict", r.Score.Verdict.String())
	s.Properties.Add("why", r.Score.Why)
	for _, f := range facts(r) {
		s.Properties.Add(f.Label, f.Text)
	}
	for i := range r.Defects {
		s.Properties.Add(fmt.Sprintf("defect %d", i+1), defectLine(&r.Defects[i]))
	}
	for _, note := range withCalm(r, notes(r)) {
		s.Properties.Add("note", note)
	}
	c := document.Case{Name: "verdict", Class: title(r)}
	why := &document.Result{Message: r.Score.Why, Type: r.Score.Verdict.String()}
	switch r.Score.Verdict {
	case scoring.Fail:
		c.Failure = why
	case scoring.Inconclusive:
		c.Error = why
	}
	s.Add(c)
	return s
}

func scenarioSuites(r *contract.Report, o *JUnitOptions) []*document.Suite {
	var suites []*document.Suite
	numbers := explained(r)
	byName, took := make(map[string]*document.Suite), make(map[string]time.Duration)
	rates := decisionsOf(r)
	for i := range r.Cells {
		c := &r.Cells[i]
		s := byName[c.Cell.Scenario]
		if s == nil {
			s = &document.Suite{Name: c.Cell.Scenario}
			byName[c.Cell.Scenario] = s
			suites = append(suites, s)
		}
		if took[s.Name] += max(0, c.Elapsed); took[s.Name] > 0 {
			s.Time = seconds(took[s.Name])
		}
		one := caseOf(r, c, o, rates)
		if defect := defectOf(r, numbers, c.Cell); defect != "" && one.Failure != nil {
			one.Failure.Message = defect + ": " + one.Failure.Message
		}
		s.Add(one)
	}
	return suites
}

func ratesSuite(r *contract.Report, o *JUnitOptions) *document.Suite {
	s := &document.Suite{Name: "rates"}
	for _, f := range notable(r) {
		if f.AtLeast == 0 {
			continue
		}
		c := document.Case{Name: f.Scenario + "/" + f.Invariant, Class: title(r) + ".rates"}
		result := &document.Result{Message: standsText(r, f),
			Type: f.Standing.Decision.String() + ", " + f.Severity.String()}
		switch {
		case f.Standing.Decision == stats.Accepted:
		case f.Copies: // its cells have cases of their own
			c.Skipped = result
		case f.Standing.Decision == stats.Open:
			c.Error = result
		case f.Severity >= o.FailOn:
			c.Failure = result
		default:
			c.Skipped = result
		}
		s.Add(c)
	}
	return s
}

func caseOf(r *contract.Report, c *contract.CellReport, o *JUnitOptions,
	rates map[place]*stats.Decision) document.Case {
	out := document.Case{
		Name:  c.Cell.Invariant + "/" + strconv.Itoa(c.Cell.Trial),
		Class: title(r) + "." + c.Cell.Scenario,
	}
	if spent := c.Elapsed; spent > 0 {
		out.Time = seconds(spent)
	}
	m := markOf(c)
	result := &document.Result{Message: c.Why, Type: m.short()}
	switch {
	case m == markHeld:
	case m.broken() && rates[place{c.Cell.Scenario, c.Cell.Invariant}] != nil:
		result.Message = "broken (one trial of a promised rate, see the suite of rates): " + result.Message
		out.Skipped = result
	case m.broken() && c.Severity >= o.FailOn:
		result.Type += ", " + c.Severity.String()
		result.Text = evidenceText(c)
		out.Failure = result
	case m.broken():
		result.Message = fmt.Sprintf("broken (%v, below the severity that fails): %s", c.Severity, result.Message)
		out.Skipped = result
	case m == markInconclusive && r.Score.Verdict != scoring.Pass:
		out.Error = result
	default:
		if result.Message == "" {
			result.Message = m.short()
		}
		out.Skipped = result
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
