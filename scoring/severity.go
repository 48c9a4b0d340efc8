package scoring

import "fmt"

// A Severity says how much a broken invariant matters. The zero value is not a
// severity: an invariant without one is an error, not a low one.
type Severity uint8

// The severities, from the least to the most serious.
const (
	Low      Severity = iota + 1 // weight 1
	Medium                       // weight 1
	High                         // weight 2
	Critical                     // weight 3; broken, it makes the verdict Fail
)

const allowedSeverities = "low, medium, high, critical"

// Weight is what a cell of this severity adds to the totals of the score: 1 for Low
// and Medium, 2 for High, 3 for Critical. It is 0 for a value that is no severity.
func (s Severity) Weight() int {
	switch s {
	case Low, Medium:
		return 1
	case High:
		return 2
	case Critical:
		return 3
	}
	return 0
}

// String returns "low", "medium", "high" or "critical", and "Severity(n)" for
// any other value.
func (s Severity) String() string {
	switch s {
	case Low:
		return "low"
	case Medium:
		return "medium"
	case High:
		return "high"
	case Critical:
		return "critical"
	}
	return fmt.Sprintf("Severity(%d)", uint8(s))
}

// MarshalText returns what String returns for the four severities, and a
// [*FieldError] for any other value.
func (s Severity) MarshalText() ([]byte, error) {
	return marshalName("severity", s, s.String(), s.Weight() > 0, allowedSeverities)
}

// UnmarshalText reads exactly what MarshalText writes. Anything else is a
// [*FieldError] and leaves s unchanged.
func (s *Severity) UnmarshalText(text []byte) error {
	return unmarshalName("severity", text, allowedSeverities, s, Low, Critical)
}

// marshalName and unmarshalName are the text form of every enumeration here.
func marshalName(field string, v fmt.Stringer, name string, ok bool, allowed string) ([]byte, error) {
	if !ok {
		return nil, fields.Wrong(field, v, allowed)
	}
	return []byte(name), nil
}

// unmarshalName assigns the value between first and last whose text form is text.
func unmarshalName[E interface {
	~uint8
	MarshalText() ([]byte, error)
}](field string, text []byte, allowed string, to *E, first, last E) error {
	for v := first; v <= last; v++ {
		if name, err := v.MarshalText(); err == nil && string(name) == string(text) {
			*to = v
			return nil
		}
	}
	return fields.Wrong(field, string(text), allowed)
}
