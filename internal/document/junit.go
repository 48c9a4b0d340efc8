package document

import (
	"encoding/xml"
	"io"
)

// Counts are those of a suite, or of all.
type Counts struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
}

// Suites is a file of JUnit XML with several suites, in the form that Jenkins, GitLab and most
// others read: it has only the elements and attributes of junit-10.xsd, the schema of Jenkins'
// xunit plugin. Texts are written on one line; that of a result keeps its lines.
type Suites struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	Counts
	Suites []*Suite
}

// Add adds a suite, whose cases are complete.
func (all *Suites) Add(s *Suite) {
	s.Name = Clean(s.Name)
	all.Suites = append(all.Suites, s)
	all.Tests += s.Tests
	all.Failures += s.Failures
	all.Errors += s.Errors
}

// A Suite is a list of cases.
type Suite struct {
	XMLName xml.Name `xml:"testsuite"`
	Name    string   `xml:"name,attr"`
	Counts
	// Skipped is an attribute of a suite only: the schema of Jenkins' xunit plugin
	// does not allow it on the root element.
	Skipped    int         `xml:"skipped,attr"`
	Time       string      `xml:"time,attr,omitempty"`
	Properties *Properties `xml:"properties,omitempty"`
	Cases      []Case      `xml:"testcase"`
}

// Add adds a case.
func (s *Suite) Add(c Case) {
	c.Name, c.Class = Clean(c.Name), Clean(c.Class)
	for _, r := range []*Result{c.Failure, c.Error, c.Skipped} {
		if r != nil {
			r.Message = Clean(r.Message)
		}
	}
	s.Cases = append(s.Cases, c)
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
}

// Properties are names with values.
type Properties struct {
	Property []Property `xml:"property"`
}

// Add adds a property.
func (p *Properties) Add(name, value string) {
	p.Property = append(p.Property, Property{name, Clean(value)})
}

// A Property is a name with a value.
type Property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// A Case has at most one result; none: it passed.
type Case struct {
	Name    string  `xml:"name,attr"`
	Class   string  `xml:"classname,attr"`
	Time    string  `xml:"time,attr,omitempty"`
	Failure *Result `xml:"failure,omitempty"`
	Error   *Result `xml:"error,omitempty"`
	Skipped *Result `xml:"skipped,omitempty"`
}

// A Result says why a case did not pass.
type Result struct {
	Message string `xml:"message,attr,omitempty"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes a [Suites] or a [Suite] as a file.
func WriteJUnit(w io.Writer, root any) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(root); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
